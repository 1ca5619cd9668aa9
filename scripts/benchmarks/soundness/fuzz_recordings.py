"""Kinds of recordings that casid reads."""

from __future__ import annotations

import gzip
import io
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.soundness import fuzz_mutators as mutators
from benchmarks.soundness.fuzz_kinds import ROBOT, Binary, Generator, Kind, pick
from casid.description import Robot, load_robot
from casid.measurement import Dataset, Processing, check_against, read_dataset


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


class Parquet(Recording):
    """One parquet file of a LeRobot dataset."""

    name, file, needs = "parquet", "run.parquet", "pyarrow"

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        return [self._packed(recording(120), packing) for packing in ("none", "snappy")]

    @staticmethod
    def _packed(arrays: dict[str, np.ndarray], packing: str) -> bytes:
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = {
            "timestamp": pa.array(arrays["t"]), "observation.state": pa.array(arrays["q"].tolist()),
            "action": pa.array(arrays["q"].tolist()), "observation.effort": pa.array(arrays["tau"].tolist()),
            "episode_index": pa.array(np.zeros(len(arrays["t"]), int)),
        }  # fmt: skip
        buffer = io.BytesIO()
        pq.write_table(pa.table(columns), buffer, compression=packing)
        return buffer.getvalue()

    def read(self, path: Path) -> Iterable[Any]:
        from casid.drives import read_commands

        data = read_commands(path, self.robot)
        return [data.t, data.q, data.q_des]


def torch_file(path: Any, entries: dict[str, Any]) -> None:
    """A file as ``torch.save`` writes it: opcodes by hand, since PyTorch is no dependency."""
    storages: list[bytes] = []
    out = io.BytesIO()

    def text(value: str) -> None:
        out.write(b"X" + len(value.encode()).to_bytes(4, "little") + value.encode())

    def number(value: int) -> None:
        out.write(b"J" + int(value).to_bytes(4, "little", signed=True))

    out.write(b"\x80\x02}(")
    for key, value in entries.items():
        text(key)
        if isinstance(value, list):
            out.write(b"(")
            for one in value:
                text(one)
            out.write(b"l")
            continue
        name = {"f4": "FloatStorage", "f8": "DoubleStorage"}[value.dtype.str[1:]]
        out.write(b"ctorch._utils\n_rebuild_tensor_v2\n((")
        text("storage")
        out.write(f"ctorch\n{name}\n".encode())
        text(str(len(storages)))
        text("cpu")
        number(value.size)
        out.write(b"tQ")
        number(0)
        for shape in (value.shape, [s // value.itemsize for s in value.strides]):
            out.write(b"(")
            for one in shape:
                number(one)
            out.write(b"t")
        out.write(b"\x89")
        out.write(b"ccollections\nOrderedDict\n)RtR")
        storages.append(value.tobytes())
    out.write(b"u.")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("traj/data.pkl", out.getvalue())
        archive.writestr("traj/byteorder", "little")
        for k, content in enumerate(storages):
            archive.writestr(f"traj/data/{k}", content)


class Torch(Recording):
    """A PyTorch file, read without PyTorch: a zip archive with a pickle of tensors."""

    name, file = "PyTorch file", "run.pt"

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        buffer = io.BytesIO()
        torch_file(buffer, recording(120))
        return [buffer.getvalue()]

    def spoilt(self, rng: Generator) -> bytes:
        if rng.random() < 0.5:  # the pickle inside, in a sound archive
            content = io.BytesIO()
            with zipfile.ZipFile(io.BytesIO(self.seeds[0])) as good, zipfile.ZipFile(content, "w") as bad:
                spoilt = pick(good.namelist(), rng)
                for name in good.namelist():
                    member = good.read(name)
                    bad.writestr(name, mutators.spoil(member, mutators.BYTES, rng) if name == spoilt else member)
            return content.getvalue()
        return super().spoilt(rng)
