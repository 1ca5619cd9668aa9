"""Robot files of other formats, sidecars, and `convert`: what it writes is read again and means the same."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.soundness import fuzz_mutators as mutators
from benchmarks.soundness.fuzz_kinds import ROBOTS, Generator, Kind, RobotToml, Urdf, pick, robot_numbers
from casid.description import Robot, convert, load_robot
from casid.description._sidecar import SUFFIX
from casid.dynamics import Model
from casid.errors import CasidError

MJCF = b"""<mujoco model="arm">
  <compiler angle="radian" autolimits="true"/>
  <default>
    <joint damping="0.1" armature="0.02"/>
    <default class="small"><geom type="capsule" size="0.03" density="800"/><joint frictionloss="0.3"/></default>
  </default>
  <asset><material name="grey" rgba="0.5 0.5 0.5 1"/></asset>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="base" pos="0 0 0.1">
      <body name="one" euler="0 0.1 0">
        <joint name="j1" axis="0 0 1" range="-2 2"/>
        <inertial pos="0 0 0.1" mass="2" diaginertia="0.02 0.02 0.01" quat="1 0 0.1 0"/>
        <body name="two" pos="0 0 0.3" childclass="small">
          <joint name="j2" axis="0 1 0" range="-1 1" stiffness="2"/>
          <joint name="j3" type="slide" axis="1 0 0" range="0 0.2"/>
          <geom fromto="0 0 0 0 0 0.3"/>
          <geom type="box" size="0.02 0.03 0.1" mass="0.4" pos="0.1 0 0"/>
          <site name="tip" pos="0 0 0.3"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator><position joint="j1" kp="50" kv="2" forcerange="-20 20"/><motor joint="j2" gear="3"/></actuator>
</mujoco>
"""


class Written(Kind):
    """Files of a format, as casid writes them for shipped robots, and further ones."""

    further: tuple[bytes, ...] = ()
    sources = ("spatial_2r", "three_link", "panda")

    def spoilt(self, rng: Generator) -> bytes:
        gentle = mutators.spoil(pick(self.seeds, rng), (mutators.other_number, mutators.other_lines), rng)
        return gentle if rng.random() < 0.5 else super().spoilt(rng)

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / self.file
            found = list(self.further)
            for name in self.sources:
                convert(ROBOTS / f"{name}.toml", path)
                found.append(path.read_bytes())
            return found

    def read(self, path: Path) -> Iterable[Any]:
        from casid.identification.repair import check_file

        return [*robot_numbers(load_robot(path)), *(link.repaired for link in check_file(path).links)]


class Mjcf(Written):
    name, file, further = "MJCF", "machine.xml", (MJCF, MJCF)


class Sdf(Written):
    name, file = "SDF", "machine.sdf"


class Sidecar(Kind):
    """The file beside a URDF that holds what a URDF cannot: bounds, capsules, joint terms, limits."""

    name, file = "sidecar", f"machine.urdf{SUFFIX}"
    _pair: tuple[bytes, bytes] | None = None

    @cached_property
    def pairs(self) -> list[tuple[bytes, bytes]]:
        """URDF and sidecar as casid writes them."""
        found = []
        with tempfile.TemporaryDirectory() as folder:
            urdf, source = Path(folder) / "machine.urdf", Path(folder) / "arm.xml"
            source.write_bytes(MJCF)
            for robot in (ROBOTS / "panda.toml", ROBOTS / "identified" / "emps.toml", source):
                if robot.exists():
                    written = convert(robot, urdf)
                    found += [(urdf.read_bytes(), path.read_bytes()) for path in written.files[1:]]
        return found

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        return [sidecar for _, sidecar in self.pairs]

    def spoilt(self, rng: Generator) -> bytes:
        self._pair = pick(self.pairs, rng)
        return mutators.spoil(self._pair[1], (*mutators.BYTES, *mutators.TEXT), rng)

    def place(self, content: bytes, folder: Path) -> Path:
        (folder / "machine.urdf").write_bytes((self._pair or self.pairs[0])[0])
        super().place(content, folder)
        return folder / "machine.urdf"

    def read(self, path: Path) -> Iterable[Any]:
        robot = load_robot(path)
        return [*robot_numbers(robot), *(np.array(list(joint.terms.values())) for joint in robot.joints if joint.terms)]


def _bodies(robot: Robot) -> Any:
    return np.concatenate([link.inertial.standard_parameters() for link in robot.links if link.inertial is not None])


class AnyRobot(Kind):
    """A robot file of any format, spoilt as those of its format are."""

    file = "machine.any"
    kinds: tuple[Kind, ...] = (RobotToml(), Urdf(), Mjcf(), Sdf())
    _kind: Kind = kinds[1]

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        return self._kind.seeds

    def spoilt(self, rng: Generator) -> bytes:
        self._kind = pick(self.kinds, rng)
        return self._kind.spoilt(rng)

    def place(self, content: bytes, folder: Path) -> Path:
        return self._kind.place(content, folder)


class Convert(AnyRobot):
    """A spoilt robot file, converted: what is written can be read, by MuJoCo too, and has the same mass matrix."""

    name = "convert"
    _target = ".urdf"

    def spoilt(self, rng: Generator) -> bytes:
        self._kind = pick(self.kinds, rng)
        self._target = pick((".urdf", ".xml", ".sdf", ".toml"), rng)
        gentle = (mutators.other_number, mutators.other_number, mutators.other_lines, mutators.repeated_key)
        return mutators.spoil(pick(self._kind.seeds, rng), gentle, rng)

    def read(self, path: Path) -> Iterable[Any]:
        with tempfile.TemporaryDirectory() as scratch:
            out = Path(scratch) / f"written{self._target}"
            refused = any("MuJoCo refuses" in note for note in convert(path, out).notes)
            try:
                before = load_robot(path)
            except CasidError:  # e.g. no moving joint: a description that is converted all the same
                before = None
            try:
                after = load_robot(out)
            except CasidError as error:
                if before is None:
                    return []
                raise AssertionError(f"convert wrote a file that casid refuses: {error}") from error
            if before is not None:
                self._compare(before, after)
            loads = self._target == ".xml" and not refused and self._moving_bodies(after)
            if loads and find_spec("mujoco") is not None:
                self._load_in_mujoco(out)
            return robot_numbers(after)

    @staticmethod
    def _moving_bodies(robot: Any) -> bool:
        return all(link.inertial is not None and link.inertial.mass > 1e-9 for link in robot.links)

    @staticmethod
    def _load_in_mujoco(path: Path) -> None:
        import mujoco

        try:
            mujoco.MjModel.from_xml_path(str(path))
        except ValueError as error:
            raise AssertionError(f"convert wrote a file that MuJoCo refuses: {error}") from error

    @staticmethod
    def _compare(before: Any, after: Any) -> None:
        if before.n != after.n:
            raise AssertionError(f"{before.n} joints became {after.n}")
        if any(link.inertial is None for link in (*before.links, *after.links)):
            return
        q = np.linspace(0.1, 0.5, before.n)
        one, two = (
            np.asarray(Model(robot).with_parameters(_bodies(robot)).mass_matrix(q)) for robot in (before, after)
        )
        scale = np.abs(one).max()
        if np.isfinite(scale) and not np.allclose(one, two, rtol=1e-6, atol=1e-6 * scale):
            raise AssertionError("the mass matrix of the written file differs")
