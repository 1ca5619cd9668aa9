"""Kinds of files that casid reads: good ones to begin with, how they are spoilt, and what is read from them."""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmarks.measure import NotMeasured
from benchmarks.soundness import fuzz_mutators as mutators
from casid.description import Robot, load_robot
from casid.errors import CasidError

Generator = np.random.Generator
ROBOT = "three_link"
ROBOTS = Path(__file__).resolve().parents[3] / "robots"


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
        from casid.identification.repair import check_file

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


class Trajectory(Kind):
    name, file = "trajectory", "motion.toml"

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        from casid import motion
        from casid.motion import trajectory_text

        rng = np.random.default_rng(4)
        fourier, spline = motion.Fourier(0.5, 3), motion.QuinticSpline(10.0, 12, False)
        bases = (fourier, spline, motion.Ramped(fourier, 0.5), motion.Poses(6))
        return [
            trajectory_text(motion.Trajectory(basis, rng.normal(size=(3, basis.size)), ("a", "b", "c"), "arm")).encode()
            for basis in bases
        ]

    def read(self, path: Path) -> Iterable[Any]:
        from casid.motion import read_trajectory

        trajectory = read_trajectory(path)
        return [trajectory.coefficients, *trajectory.motion(trajectory.basis.samples(20))]
