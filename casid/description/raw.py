"""Joints and frames as a file gives them, before they become a `Robot`; locking some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from casid.description.joint import JointType
from casid.description.link import Link
from casid.description.placement import Array, rotation_about, transform
from casid.errors import RobotError
from casid.files._words import listed, near

#: Joints to turn into fixed ones: names (at position 0), or positions [rad or m] by name.
Lock = Sequence[str] | Mapping[str, float]

#: Joint types that move, as files name them -> as `Joint` names them.
MOVING_TYPES: dict[str, JointType] = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic"}


@dataclass(frozen=True)
class JointLimits:
    """Limits of one joint, infinite where none is given; see `casid.description.robot.Limits`."""

    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    acceleration: float = np.inf
    jerk: float = np.inf
    effort: float = np.inf


@dataclass(frozen=True)
class MimicRule:
    """A joint that follows another: ``q = multiplier q_joint + offset``."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class RawJoint:
    """A joint as a file gives it, fixed ones included.

    Attributes
    ----------
    type : str
        ``revolute``, ``continuous``, ``prismatic`` or ``fixed``; anything else is refused unless locked.
    parent : str
        Name of the link the joint stands on.
    link : Link
        The link it carries.
    placement, axis, link_placement : ndarray
        As in `casid.description.robot.Joint`.
    mimic : MimicRule, optional
        Which joint this one follows, and how.
    terms : mapping
        Nominal parameters of the joint's terms by their symbols (``fv``: viscous friction, ``fc``: Coulomb friction,
        ``Ia``: rotor inertia, ...), see `casid.dynamics.JOINT_TERMS`.
    """

    name: str
    type: str
    parent: str
    link: Link
    placement: Array = field(default_factory=lambda: np.eye(4))
    axis: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    link_placement: Array = field(default_factory=lambda: np.eye(4))
    limits: JointLimits = JointLimits()
    mimic: MimicRule | None = None
    terms: Mapping[str, float] = field(default_factory=dict)
    locked: bool = False

    @property
    def rest(self) -> Array:
        """Link frame in the parent link's frame at position 0."""
        return self.placement @ self.link_placement + 0.0


@dataclass(frozen=True, eq=False)
class RawFrame:
    """A named frame on a link, moving or not."""

    name: str
    link: str
    placement: Array


@dataclass(frozen=True, eq=False)
class RawCapsule:
    """A capsule in the frame of any link, see `casid.description.robot.Capsule`."""

    name: str
    link: str
    start: Array
    end: Array
    radius: float


def positions(lock: Lock) -> dict[str, float]:
    """Positions of the locked joints by name."""
    if isinstance(lock, str):
        return {lock: 0.0}
    if isinstance(lock, Mapping):
        return {name: float(value) for name, value in lock.items()}
    return dict.fromkeys(lock, 0.0)


def lock_joints(joints: Sequence[RawJoint], lock: Lock, where: str) -> list[RawJoint]:
    """Turn the joints named in ``lock`` into fixed ones at the given positions (default 0).

    Raises
    ------
    RobotError
        For unknown names, positions that are not finite, and joints of unknown type away from 0.
    """
    wanted = positions(lock)
    known = {joint.name: joint for joint in joints}
    for name, position in wanted.items():
        if name not in known:
            raise RobotError(
                f"{where}: cannot lock joint '{name}', there is none of that name{near(name, known)} "
                f"(joints: {listed(known)})"
            )
        if not np.isfinite(position):
            raise RobotError(f"{where}: cannot lock joint '{name}' at position {position}; give a finite number")
        if position != 0.0 and known[name].type not in ("fixed", *MOVING_TYPES):
            raise RobotError(
                f"{where}: joint '{name}' of type '{known[name].type}' can only be locked at position 0, not {position}"
            )
    wanted = _with_followers(joints, wanted)
    return [_lock(joint, wanted[joint.name]) if joint.name in wanted else joint for joint in joints]


def _with_followers(joints: Sequence[RawJoint], wanted: Mapping[str, float]) -> dict[str, float]:
    """Positions of the locked joints and of all joints that follow them."""
    found = dict(wanted)
    for _ in joints:
        for joint in joints:
            rule = joint.mimic
            if rule is not None and joint.name not in found and rule.joint in found:
                found[joint.name] = rule.multiplier * found[rule.joint] + rule.offset
    return found


def _lock(joint: RawJoint, position: float) -> RawJoint:
    if joint.type == "fixed":
        return joint
    motion = np.eye(4)
    if joint.type == "prismatic":
        motion = transform(translation=position * joint.axis)
    elif joint.type in MOVING_TYPES:
        motion = transform(rotation_about(joint.axis, position))
    return replace(joint, type="fixed", placement=joint.placement @ motion + 0.0, mimic=None, locked=True)
