"""A robot as a file describes it: every link and joint, fixed ones included. Formats read and write this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from casid.description.assembly import assemble
from casid.description.capsules import place_capsule
from casid.description.link import Link
from casid.description.placement import Array
from casid.description.raw import MOVING_TYPES, Lock, RawCapsule, RawFrame, RawJoint, lock_joints, positions
from casid.description.robot import STANDARD_GRAVITY, Robot
from casid.errors import RobotError


@dataclass(frozen=True, eq=False)
class Description:
    """All links and joints of one machine, before anything is locked, merged or left out.

    Attributes
    ----------
    name : str
    where : str
        The file it comes from, for messages.
    base : Link
        The link that no joint carries, with its body where the file gives one (it has no influence on the dynamics).
    joints : tuple of RawJoint
        In the file's order. May be empty: an object that does not move.
    frames, capsules
        Named frames and bodies for collision checks, on any link.
    gravity : ndarray, shape (3,), optional
        [m/s^2]; ``None``: standard gravity along -z, which files need not say.
    total_mass, source
        As in `Robot`.
    transmission : ndarray, optional
        As in `Robot`, over the moving joints in the file's order.
    notes : tuple of str
        What the reader noticed that is worth a look.
    format : str
        Name of the file's format; empty for a description that was never a file.
    content : bytes
        The file itself: a writer of the same format edits it in place.
    """

    name: str
    where: str
    base: Link
    joints: tuple[RawJoint, ...]
    frames: tuple[RawFrame, ...] = ()
    gravity: Array | None = None
    total_mass: tuple[float, float] = (0.0, np.inf)
    source: Mapping[str, str] = field(default_factory=dict)
    transmission: Array | None = None
    capsules: tuple[RawCapsule, ...] = ()
    notes: tuple[str, ...] = ()
    format: str = ""
    content: bytes = b""

    def __post_init__(self) -> None:
        if self.gravity is not None and np.array_equal(self.gravity, STANDARD_GRAVITY):
            object.__setattr__(self, "gravity", None)

    @property
    def links(self) -> tuple[Link, ...]:
        """The base and the links of all joints, in the file's order of joints."""
        return (self.base, *(joint.link for joint in self.joints))

    @property
    def moving(self) -> tuple[RawJoint, ...]:
        """The joints that are not fixed."""
        return tuple(joint for joint in self.joints if joint.type != "fixed")

    def robot(self, *, lock: Lock = (), gravity: ArrayLike | None = None) -> Robot:
        """The machine with its fixed links merged into those that move.

        Raises
        ------
        RobotError
            See `casid.description.assembly.assemble`; and where a transmission couples a locked joint with a free one.
        """
        stated = STANDARD_GRAVITY if self.gravity is None else self.gravity
        robot = assemble(
            self.name,
            self.joints,
            where=self.where,
            base=self.base.name,
            frames=self.frames,
            gravity=stated if gravity is None else gravity,
            total_mass=self.total_mass,
            source=self.source or ({"description": f"{self.format} file {self.where}"} if self.format else {}),
            lock=lock,
        )
        capsules = tuple(
            place_capsule(robot, capsule, number, self.where) for number, capsule in enumerate(self.capsules, start=1)
        )
        transmission = None if self.transmission is None else self._transmission(robot)
        return replace(
            robot,
            capsules=capsules,
            transmission=transmission,
            origin=Origin(self, positions(lock)),
            notes=self.notes,
        )

    def changed(self, *, lock: Lock = (), gravity: ArrayLike | None = None) -> Description:
        """The machine with joints fixed at a position, with another gravity; RobotError as for `robot`."""
        transmission = self.transmission
        if lock and transmission is not None:
            transmission = self.robot(lock=lock).transmission
        joints = tuple(lock_joints(self.joints, lock, self.where))
        stated = self.gravity if gravity is None else np.asarray(gravity, dtype=float)
        return replace(self, joints=joints, gravity=stated, transmission=transmission)

    def _transmission(self, robot: Robot) -> Array:
        assert self.transmission is not None
        moving = [joint.name for joint in self.moving if joint.mimic is None]
        T = self.transmission
        kept = [moving.index(joint.name) for joint in robot.coordinates]
        gone = [k for k in range(len(moving)) if k not in kept]
        if T[np.ix_(kept, gone)].any() or T[np.ix_(gone, kept)].any():
            raise RobotError(
                f"{self.where}: key 'transmission': it couples a locked joint with one that is not; lock both or none"
            )
        return np.asarray(T[np.ix_(kept, kept)])


@dataclass(frozen=True, eq=False)
class Origin:
    """What a `Robot` was made from: its description and the positions of locked joints [rad or m]."""

    description: Description
    locked: Mapping[str, float]

    def unlocked(self) -> Robot:
        """The robot with all its joints; those that casid cannot move (floating, planar) stay fixed at position 0."""
        fixed = [joint.name for joint in self.description.joints if joint.type not in ("fixed", *MOVING_TYPES)]
        return self.description.robot(lock=fixed)
