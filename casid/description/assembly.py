"""From a list of joints of any type to a `Robot`: tree order, locked joints, lumping of everything that is fixed.

Readers turn a file into `RawJoint`s and leave the rest to `assemble`, so that every format means the same thing.
"""

from __future__ import annotations

import heapq
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from casid.description.placement import Array, rotation_about, transform
from casid.description.robot import (
    STANDARD_GRAVITY,
    Frame,
    Inertial,
    Joint,
    JointType,
    Limits,
    Link,
    LinkBounds,
    Robot,
)
from casid.description.words import listed, near
from casid.errors import InertiaWarning, RobotError
from casid.inertia import consistency, express_in, from_standard

#: Joints to turn into fixed ones: names (at position 0), or positions [rad or m] by name.
Lock = Sequence[str] | Mapping[str, float]

_MOVING: dict[str, JointType] = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic"}


@dataclass(frozen=True)
class JointLimits:
    """Limits of one joint, infinite where none is given; see `casid.description.robot.Limits`."""

    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    acceleration: float = np.inf
    jerk: float = np.inf
    effort: float = np.inf


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
    mimic : str, optional
        Name of the joint this one follows; refused unless locked.
    """

    name: str
    type: str
    parent: str
    link: Link
    placement: Array = field(default_factory=lambda: np.eye(4))
    axis: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    link_placement: Array = field(default_factory=lambda: np.eye(4))
    limits: JointLimits = JointLimits()
    mimic: str | None = None
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


def assemble(
    name: str,
    joints: Sequence[RawJoint],
    *,
    where: str,
    base: str | None = None,
    loose: Sequence[str] = (),
    frames: Sequence[RawFrame] = (),
    gravity: ArrayLike = STANDARD_GRAVITY,
    total_mass: tuple[float, float] = (0.0, np.inf),
    source: Mapping[str, str] | None = None,
    lock: Lock = (),
) -> Robot:
    """Assemble a robot on a fixed base.

    Joints keep their order wherever parents already come before their children. The links of fixed joints become named
    `Frame`s; their mass joins the moving link that carries them (or disappears in the base). A moving link's bounds
    describe the lumped body; where *locking* joints enlarges a body, its bounds no longer apply and are dropped.

    Parameters
    ----------
    name
        Of the robot.
    joints
        Of any type, in any order.
    where
        What the joints come from (a file name), for messages.
    base
        Name of the base link; default: the only link that no joint carries.
    loose
        Links that no joint mentions (an error unless there is no joint at all).
    frames
        More named frames.
    gravity, total_mass, source
        As in `Robot`.
    lock
        Names of joints to fix at position 0, or a mapping from their names to positions [rad or m].

    Returns
    -------
    Robot

    Raises
    ------
    RobotError
        Duplicate names, a loop, a missing parent link, several base links, a joint type that casid cannot move, limits
        that cross, or no moving joint at all.

    Warns
    -----
    InertiaWarning
        For each link whose nominal mass and inertia no real body can have.
    """
    joints = _locked(joints, lock, where)
    _check_types(joints, where)
    _check_unique(joints, frames, where)
    base = _base(joints, base, loose, where)
    ordered = _parents_first(joints, base, where)

    carrier: dict[str, tuple[int, Array]] = {base: (-1, np.eye(4))}  # link -> carrying moving joint, placement there
    moving: list[tuple[RawJoint, int, Array]] = []  # joint, index of the parent, placement in the parent moving link
    bodies: list[_Body] = []
    named = [Frame(base, -1, np.eye(4))]
    lost_mass = False
    for joint in ordered:
        parent, placement = carrier[joint.parent]
        if joint.type == "fixed":
            placement = placement @ joint.rest + 0.0
            carrier[joint.link.name] = (parent, placement)
            named.append(Frame(joint.link.name, parent, placement))
            if parent >= 0:
                _warn_of(joint.link, name, where, strict=False)
                bodies[parent].add(joint, placement)
            else:
                lost_mass |= joint.locked
        else:
            carrier[joint.link.name] = (len(moving), np.eye(4))
            moving.append((joint, parent, placement @ joint.placement + 0.0))
            bodies.append(_Body(joint.link))
    if not moving:
        raise RobotError(f"{where}: robot '{name}' has no moving joint (joints: {listed(j.name for j in joints)})")

    for frame in frames:
        if frame.link not in carrier:
            raise RobotError(
                f"{where}: frame '{frame.name}' stands on link '{frame.link}', which does not exist"
                f"{near(frame.link, carrier)} (links: {listed(carrier)})"
            )
        index, placement = carrier[frame.link]
        named.append(Frame(frame.name, index, placement @ frame.placement + 0.0))

    links = [body.link() for body in bodies]
    for link in links:
        _warn_of(link, name, where, strict=True)
    return Robot(
        name=name,
        joints=tuple(
            Joint(j.name, _MOVING[j.type], parent, link, placement, j.axis, j.link_placement)
            for (j, parent, placement), link in zip(moving, links, strict=True)
        ),
        gravity=np.asarray(gravity, dtype=float),
        limits=_limits([joint for joint, _, _ in moving], where),
        frames=tuple(named),
        total_mass=(0.0, total_mass[1]) if lost_mass else total_mass,
        source=source or {},
    )


class _Body:
    """A moving link and the inertials of what is fixed to it."""

    def __init__(self, own: Link) -> None:
        self.own = own
        self.locked = False
        self.parts: list[Array] = []

    def add(self, joint: RawJoint, placement: Array) -> None:
        self.locked |= joint.locked
        if joint.link.inertial is not None:
            parameters = joint.link.inertial.standard_parameters()
            self.parts.append(express_in(parameters, placement[:3, :3], placement[:3, 3]))

    def link(self) -> Link:
        bounds = LinkBounds() if self.locked else self.own.bounds
        if not self.parts:
            return replace(self.own, bounds=bounds)
        own = [] if self.own.inertial is None else [self.own.inertial.standard_parameters()]
        return Link(self.own.name, Inertial(*from_standard(np.sum([*own, *self.parts], axis=0))), bounds)


def _locked(joints: Sequence[RawJoint], lock: Lock, where: str) -> list[RawJoint]:
    if isinstance(lock, str):
        lock = (lock,)
    positions = {name: float(q) for name, q in lock.items()} if isinstance(lock, Mapping) else dict.fromkeys(lock, 0.0)
    known = {joint.name: joint for joint in joints}
    for name, position in positions.items():
        if name not in known:
            raise RobotError(
                f"{where}: cannot lock joint '{name}', there is none of that name{near(name, known)} "
                f"(joints: {listed(known)})"
            )
        if not np.isfinite(position):
            raise RobotError(f"{where}: cannot lock joint '{name}' at position {position}; give a finite number")
        if position != 0.0 and known[name].type not in ("fixed", *_MOVING):
            raise RobotError(
                f"{where}: joint '{name}' of type '{known[name].type}' can only be locked at position 0, not {position}"
            )
    return [_lock(joint, positions[joint.name]) if joint.name in positions else joint for joint in joints]


def _lock(joint: RawJoint, position: float) -> RawJoint:
    if joint.type == "fixed":
        return joint
    motion = np.eye(4)
    if joint.type == "prismatic":
        motion = transform(translation=position * joint.axis)
    elif joint.type in _MOVING:
        motion = transform(rotation_about(joint.axis, position))
    return replace(joint, type="fixed", placement=joint.placement @ motion + 0.0, mimic=None, locked=True)


def _check_types(joints: Sequence[RawJoint], where: str) -> None:
    coupled = [joint.name for joint in joints if joint.mimic is not None]
    for joint in joints:
        if joint.type != "fixed" and joint.type not in _MOVING:
            raise RobotError(
                f"{where}: joint '{joint.name}' is of type '{joint.type}', which casid does not support (it knows "
                "revolute, continuous, prismatic, fixed); describe it by several joints of these types, or make it "
                f'fixed: load_robot(..., lock=("{joint.name}",))'
            )
        if joint.mimic is not None:
            names = ", ".join(f'"{name}"' for name in coupled)
            raise RobotError(
                f"{where}: joint '{joint.name}' mimics joint '{joint.mimic}'; casid does not support coupled joints, so "
                f"make {'it' if len(coupled) == 1 else 'each joint that mimics another'} fixed: load_robot(..., "
                f"lock=({names},)), or lock={{name: position, ...}} to fix joints away from 0"
            )


def _check_unique(joints: Sequence[RawJoint], frames: Sequence[RawFrame], where: str) -> None:
    by_name: set[str] = set()
    by_link: dict[str, str] = {}
    for joint in joints:
        if joint.name in by_name:
            raise RobotError(f"{where}: two joints are named '{joint.name}'; joint names must be unique")
        if joint.link.name in by_link:
            raise RobotError(
                f"{where}: link '{joint.link.name}' is carried by two joints, '{by_link[joint.link.name]}' and "
                f"'{joint.name}'; either two links share a name, or the links form a closed loop, which casid does not "
                "support (a robot is a tree: cut the loop at one of these joints)"
            )
        by_name.add(joint.name)
        by_link[joint.link.name] = joint.name
    names: set[str] = set(by_link)
    for frame in frames:
        if frame.name in names:
            raise RobotError(f"{where}: frame '{frame.name}' has the name of another frame or link; rename it")
        names.add(frame.name)


def _base(joints: Sequence[RawJoint], base: str | None, loose: Sequence[str], where: str) -> str:
    children = {joint.link.name for joint in joints}
    if base is not None:
        if base in children:
            raise RobotError(f"{where}: the base link '{base}' is carried by a joint; the base carries, it is not carried")
        return base
    roots = list(dict.fromkeys([*(j.parent for j in joints if j.parent not in children), *loose]))
    if len(roots) > 1:
        raise RobotError(
            f"{where}: a robot is one tree, but {len(roots)} links are carried by no joint: {listed(roots)}; "
            "connect all but one of them by (fixed) joints"
        )
    if not roots:
        raise RobotError(f"{where}: {_loop(joints)}" if joints else f"{where}: there is no joint and no link")
    return roots[0]


def _parents_first(joints: Sequence[RawJoint], base: str, where: str) -> list[RawJoint]:
    """Stable topological order: of the joints whose parent link is placed, always the first of the file."""
    carried: dict[str, list[int]] = {}
    for k, joint in enumerate(joints):
        carried.setdefault(joint.parent, []).append(k)
    ready = list(carried.get(base, []))
    order: list[int] = []
    while ready:
        k = heapq.heappop(ready)
        order.append(k)
        for child in carried.get(joints[k].link.name, []):
            heapq.heappush(ready, child)
    if len(order) < len(joints):
        placed = set(order)
        rest = [joint for k, joint in enumerate(joints) if k not in placed]
        links = [base, *(joint.link.name for joint in joints)]
        for joint in rest:
            if joint.parent not in links:
                raise RobotError(
                    f"{where}: joint '{joint.name}' stands on link '{joint.parent}', which does not exist"
                    f"{near(joint.parent, links)} (links: {listed(links)})"
                )
        raise RobotError(f"{where}: {_loop(rest)}")
    return [joints[k] for k in order]


def _loop(joints: Sequence[RawJoint]) -> str:
    """Describe the loop that is met by walking from the first joint to its parents."""
    carrying = {joint.link.name: joint for joint in joints}
    joint, seen = joints[0], []
    while joint.name not in seen:
        seen.append(joint.name)
        joint = carrying[joint.parent]
    loop = [*seen[seen.index(joint.name) :], joint.name]
    return f"the joints form a loop that never reaches the base: {' -> '.join(reversed(loop))}; correct one of their parents"


def _limits(joints: Sequence[RawJoint], where: str) -> Limits:
    for joint in joints:
        limits = joint.limits
        if limits.lower > limits.upper:
            raise RobotError(
                f"{where}: the limits of joint '{joint.name}' cross: lower {limits.lower:g} exceeds upper {limits.upper:g}"
            )
        for key in ("velocity", "acceleration", "jerk", "effort"):
            if getattr(limits, key) < 0:
                raise RobotError(
                    f"{where}: the {key} limit of joint '{joint.name}' is {getattr(limits, key):g}; "
                    "it is a largest absolute value and cannot be negative"
                )
    keys = ("lower", "upper", "velocity", "acceleration", "jerk", "effort")
    return Limits(*(np.array([getattr(joint.limits, key) for joint in joints], dtype=float) for key in keys))


def _warn_of(link: Link, robot: str, where: str, *, strict: bool) -> None:
    """Warn of an inconsistent link; a fixed part (``strict=False``) may be a point mass, a rod, or nothing."""
    if link.inertial is None:
        return
    margins = consistency(link.inertial.standard_parameters())
    if not strict:
        slack = 1e-9 * abs(np.trace(link.inertial.inertia_com)) + 1e-15 * margins.mass
        if margins.mass >= 0 and min(margins.smallest_principal_moment, margins.triangle_margin) >= -slack:
            return
    complaint = margins.complaint()
    if complaint:
        warnings.warn(f"robot '{robot}' ({where}), link '{link.name}': {complaint}", InertiaWarning, stacklevel=4)
