"""Kinds of files that casid reads: good ones to begin with, how they are spoilt, and what is read from them."""

from __future__ import annotations

import gzip
import io
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from casid.description import Robot, load_robot
from casid.errors import CasidError
from casid.measurement import Dataset, Processing, check_against, read_dataset
from measures import fuzz_mutators as mutators
from measures.measure import NotMeasured

Generator = np.random.Generator
ROBOT = "three_link"
ROBOTS = Path(__file__).resolve().parents[2] / "robots"


T = TypeVar("T")


def pick(items: Sequence[T], rng: Generator) -> T:
    """One of several things."""
    return items[int(rng.integers(len(items)))]


class Kind(ABC):
    """One kind of file.

    Attributes
    ----------
    name : str
    file : str
        Name of the spoilt file.
    needs : str
        Package without which it cannot be read.
    """

    name: str
    file: str
    needs: str = "casid"
    #: One input in so many is a bomb or a very large file.
    rare = 250

    def check_available(self) -> None:
        """NotMeasured without the package that it needs."""
        if find_spec(self.needs) is None:
            raise NotMeasured(f"needs the package {self.needs}")

    @cached_property
    @abstractmethod
    def seeds(self) -> Sequence[bytes]:
        """Good files."""

    def spoilt(self, rng: Generator) -> bytes:
        """A file that may be no good."""
        bombs = self.bombs()
        if bombs and rng.integers(self.rare) == 0:
            return pick(bombs, rng)()
        return mutators.spoil(pick(self.seeds, rng), (*mutators.BYTES, *mutators.TEXT), rng)

    def bombs(self) -> Sequence[Callable[[], bytes]]:
        """Small files that become large ones."""
        return (mutators.large_text,)

    def place(self, content: bytes, folder: Path) -> Path:
        """Write a file into an empty folder; returns what is to be read."""
        path = folder / self.file
        path.write_bytes(content)
        return path

    def may_change(self) -> bool:
        """Whether reading may go on writing the file."""
        return False

    @abstractmethod
    def read(self, path: Path) -> Iterable[Any]:
        """Read the file and use it; all numbers that come out of it."""


class Binary(Kind):
    """A file that is no text."""

    def spoilt(self, rng: Generator) -> bytes:
        bombs = self.bombs()
        if bombs and rng.integers(self.rare) == 0:
            return pick(bombs, rng)()
        return mutators.spoil(pick(self.seeds, rng), mutators.BYTES, rng)

    def bombs(self) -> Sequence[Callable[[], bytes]]:
        return ()


# ---------------------------------------------------------------------- robots


def robot_numbers(robot: Robot) -> list[Any]:
    numbers: list[Any] = [robot.gravity]
    numbers += [joint.placement for joint in robot.joints] + [joint.axis for joint in robot.joints]
    numbers += [link.inertial.standard_parameters() for link in robot.links if link.inertial is not None]
    numbers += [frame.placement for frame in robot.frames]
    return numbers + [np.array([*c.start, *c.end, c.radius]) for c in robot.capsules]


class RobotToml(Kind):
    name, file = "robot TOML", "machine.toml"

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        return [path.read_bytes() for path in sorted(ROBOTS.glob("*.toml"))]

    def read(self, path: Path) -> Iterable[Any]:
        return robot_numbers(load_robot(path))


URDF = """<?xml version="1.0"?>
<!-- a robot -->
<robot name="arm">
  <link name="base"/>
  {links}
  <joint name="tip_joint" type="fixed"><parent link="link3"/><child link="tip"/><origin xyz="0 0 0.1"/></joint>
  <link name="tip"><inertial><mass value="0.1"/><inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/>
  </inertial></link>
</robot>
"""
LINK = """<link name="link{k}">
    <inertial><origin xyz="0.01 0.02 0.2" rpy="0 0.1 0"/><mass value="2.{k}"/>
      <inertia ixx="0.05" ixy="0.001" ixz="0" iyy="0.06" iyz="0" izz="0.02"/></inertial>
    <collision><origin xyz="0 0 0.1"/><geometry>{shape}</geometry></collision>
  </link>
  <joint name="joint{k}" type="{type}"><parent link="{parent}"/><child link="link{k}"/>
    <origin xyz="0 0 0.3" rpy="1.5707963267948966 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" velocity="3" effort="50"/><dynamics damping="0.1" friction="0.2"/></joint>"""


class Urdf(Kind):
    name, file = "URDF", "machine.urdf"

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        shapes = ('<box size="0.1 0.1 0.3"/>', '<cylinder radius="0.05" length="0.3"/>', '<sphere radius="0.1"/>')
        types, parents = ("revolute", "prismatic", "continuous"), ("base", "link1", "link2")
        links = [LINK.format(k=k + 1, shape=shapes[k], type=types[k], parent=parents[k]) for k in range(3)]
        return [URDF.format(links="\n  ".join(links)).encode()]

    @cached_property
    def robot(self) -> Robot:
        with tempfile.TemporaryDirectory() as folder:
            return load_robot(self.place(self.seeds[0], Path(folder)))

    def read(self, path: Path) -> Iterable[Any]:
        from casid.excitation import fit_capsules
        from casid.identification import check_file

        numbers: list[Any] = []
        failures: list[CasidError] = []
        for read in (
            lambda: robot_numbers(load_robot(path)),
            lambda: [link.repaired for link in check_file(path).links],
            lambda: [np.array([*c.start, *c.end, c.radius]) for c in fit_capsules(path, self.robot)],
        ):
            try:
                numbers += read()
            except CasidError as error:
                failures.append(error)
        if failures and not numbers:
            raise failures[0]
        return numbers


class Stl(Binary):
    name, file, needs = "STL", "mesh.stl", "trimesh"

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        import trimesh

        box: Any = trimesh.creation.box((0.1, 0.2, 0.3))
        return [box.export(file_type="stl"), box.export(file_type="stl_ascii").encode()]

    def spoilt(self, rng: Generator) -> bytes:
        if rng.random() < 0.5:
            return mutators.spoil(self.seeds[1], (*mutators.BYTES, *mutators.TEXT), rng)
        return super().spoilt(rng)

    def read(self, path: Path) -> Iterable[Any]:
        from casid.retrieval import read_stl

        return [read_stl(path)]


# ---------------------------------------------------------------------- recordings


def recording(samples: int = 300) -> dict[str, np.ndarray]:
    """A smooth motion of three joints."""
    t = np.arange(samples) * 0.01
    phase = np.array([0.3, 0.5, 0.8])
    q = np.sin(np.outer(t, phase) * 2 * np.pi)
    return {"t": t, "q": q, "dq": np.gradient(q, t, axis=0), "tau": 3.0 * np.cos(np.outer(t, phase)) + q}


def dataset_numbers(data: Dataset) -> list[Any]:
    return [value for value in (data.t, data.q, data.tau, data.dq, data.ddq) if value is not None]


class Recording(Binary):
    """A recording is read, checked against a robot, and filtered."""

    rare = 150

    @cached_property
    def robot(self) -> Robot:
        return load_robot(ROBOT)

    def read(self, path: Path) -> Iterable[Any]:
        data = check_against(read_dataset(path), self.robot)
        return [*dataset_numbers(data), *dataset_numbers(Processing().apply(data))]


class Npz(Recording):
    name, file = "npz", "run.npz"

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        return [self._packed(recording(), np.savez), self._packed(recording(), np.savez_compressed)]

    @staticmethod
    def _packed(arrays: dict[str, np.ndarray], save: Callable[..., None]) -> bytes:
        buffer = io.BytesIO()
        save(buffer, **arrays)
        return buffer.getvalue()

    def spoilt(self, rng: Generator) -> bytes:
        if rng.random() < 0.4:
            return self._packed(mutators.other_arrays(recording(), rng), np.savez)
        return super().spoilt(rng)

    def bombs(self) -> Sequence[Callable[[], bytes]]:
        return (mutators.zip_bomb,)


class Mat(Recording):
    name, file = "mat", "run.mat"

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        return [
            self._packed(recording(), compress, form) for compress, form in ((True, "5"), (False, "5"), (False, "4"))
        ]

    @staticmethod
    def _packed(arrays: dict[str, np.ndarray], compress: bool, form: str) -> bytes:
        from scipy.io import savemat

        buffer = io.BytesIO()
        savemat(buffer, arrays, do_compression=compress, format=form)
        return buffer.getvalue()

    def spoilt(self, rng: Generator) -> bytes:
        if rng.random() < 0.4:
            arrays = mutators.other_arrays(recording(), rng)
            arrays = {key: value.astype("f4") if value.dtype == "f2" else value for key, value in arrays.items()}
            return self._packed(arrays, bool(rng.integers(2)), "5")
        return super().spoilt(rng)

    def bombs(self) -> Sequence[Callable[[], bytes]]:
        return (mutators.matlab_bomb,)


class Csv(Recording):
    name, file = "csv", "run.csv"

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        names = (
            lambda signal, k: f"{signal}{k + 1}",
            lambda signal, k: f"/joint_states/{('shoulder', 'elbow', 'wrist')[k]}/{signal}",
            lambda signal, k: f"{signal}_{('shoulder', 'elbow', 'wrist')[k]}",
        )
        arrays = recording(120)
        table = np.column_stack(list(arrays.values()))
        found = []
        for name in names:
            header = ["t", *(name(signal, k) for signal in ("q", "dq", "tau") for k in range(3))]
            for delimiter in (",", ";", "\t"):
                rows = (delimiter.join(f"{x:.6g}" for x in row) for row in table)
                found.append("\n".join([delimiter.join(header), *rows]).encode())
        return found

    def spoilt(self, rng: Generator) -> bytes:
        return Kind.spoilt(self, rng)


class CsvGz(Recording):
    name, file = "csv.gz", "run.csv.gz"

    @cached_property
    def plain(self) -> Csv:
        return Csv()

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        return [gzip.compress(content) for content in self.plain.seeds[:3]]

    def spoilt(self, rng: Generator) -> bytes:
        return gzip.compress(self.plain.spoilt(rng), 1) if rng.random() < 0.3 else super().spoilt(rng)

    def bombs(self) -> Sequence[Callable[[], bytes]]:
        return (mutators.gzip_bomb,)


class RecordingToml(Kind):
    name, file = "recording TOML", "run.toml"

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        text = """file = "run.npz"
time_scale = 1.0
degrees = false
gains = [1.0, 1.5, 2.0]
transmission = [[1.0, 0.0, 0.0], [0.0, 2.0, 0.5], [0.0, 0.0, 1.0]]
position_offset = [0.1, 0.0, -0.1]
unwrap = true
rows = [10, 290]
between = [0.2, 2.8]
name = "test"
columns = { q = "q", tau = "tau" }
"""
        return [text.encode(), b'file = "run.npz"\nrate = 100.0\n[columns]\ntau = "tau"\n']

    @cached_property
    def beside(self) -> bytes:
        buffer = io.BytesIO()
        arrays: dict[str, Any] = dict(recording())
        np.savez(buffer, **arrays)
        return buffer.getvalue()

    @cached_property
    def robot(self) -> Robot:
        return load_robot(ROBOT)

    def place(self, content: bytes, folder: Path) -> Path:
        (folder / "run.npz").write_bytes(self.beside)
        return super().place(content, folder)

    def read(self, path: Path) -> Iterable[Any]:
        data = check_against(read_dataset(path), self.robot)
        return [*dataset_numbers(data), *dataset_numbers(Processing().apply(data))]


class Bag(Recording):
    """An MCAP file, a folder with one, a folder with SQLite: whatever file of it is spoilt."""

    name, file, needs = "bag", "run.mcap", "rosbags"

    @cached_property
    def folders(self) -> list[dict[str, bytes]]:
        from rosbags import rosbag2
        from rosbags.typesys import Stores, get_typestore

        store = get_typestore(Stores.LATEST)
        kind = "sensor_msgs/msg/JointState"
        State, Header, Time = (
            store.types[name] for name in (kind, "std_msgs/msg/Header", "builtin_interfaces/msg/Time")
        )
        arrays, found = recording(120), []
        plugins = (rosbag2.StoragePlugin.MCAP, rosbag2.StoragePlugin.SQLITE3)
        for plugin, packed in ((plugins[0], False), (plugins[0], True), (plugins[1], False)):
            with tempfile.TemporaryDirectory() as scratch:
                writer = rosbag2.Writer(Path(scratch) / "bag", version=9, storage_plugin=plugin)
                if packed:
                    writer.set_compression(rosbag2.CompressionMode.STORAGE, rosbag2.CompressionFormat.ZSTD)
                with writer:
                    connection = writer.add_connection("/joint_states", kind, typestore=store)
                    for k in range(len(arrays["t"])):
                        stamp = Time(sec=k // 100, nanosec=(k % 100) * 10**7)
                        names = ["joint1", "joint2", "joint3"]
                        message = State(Header(stamp, ""), names, arrays["q"][k], arrays["dq"][k], arrays["tau"][k])
                        writer.write(connection, k * 10**7, store.serialize_cdr(message, kind))
                found.append({path.name: path.read_bytes() for path in (Path(scratch) / "bag").iterdir()})
        return found

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        return [content for folder in self.folders for content in folder.values()]

    def spoilt(self, rng: Generator) -> bytes:
        self._chosen = int(rng.integers(len(self.folders)))
        names = sorted(self.folders[self._chosen])
        self._spoilt = pick(names, rng)
        content = self.folders[self._chosen][self._spoilt]
        text = self._spoilt.endswith(".yaml")
        return mutators.spoil(content, (*mutators.BYTES, *mutators.TEXT) if text else mutators.BYTES, rng)

    def place(self, content: bytes, folder: Path) -> Path:
        if self._spoilt.endswith(".mcap"):
            return super().place(content, folder)
        bag = folder / "bag"
        bag.mkdir()
        for name, good in self.folders[self._chosen].items():
            (bag / name).write_bytes(content if name == self._spoilt else good)
        return bag


class Trajectory(Kind):
    name, file = "trajectory", "motion.toml"

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        from casid import excitation

        rng = np.random.default_rng(4)
        fourier, spline = excitation.Fourier(0.5, 3), excitation.QuinticSpline(10.0, 12, False)
        bases = (fourier, spline, excitation.Ramped(fourier, 0.5), excitation.Poses(6))
        return [
            excitation.trajectory_toml(
                excitation.Trajectory(basis, rng.normal(size=(3, basis.size)), ("a", "b", "c"), "arm")
            ).encode()
            for basis in bases
        ]

    def read(self, path: Path) -> Iterable[Any]:
        from casid.excitation import read_trajectory

        trajectory = read_trajectory(path)
        return [trajectory.coefficients, *trajectory.motion(trajectory.basis.samples(20))]
