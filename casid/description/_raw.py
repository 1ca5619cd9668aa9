"""Joints and frames as a file gives them, before they become a `Robot`; locking some of them."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from casid.arrays import Array
from casid.description._parts import LIMITS, JointType, Link
from casid.description._placement import rotation_about, transform
from casid.errors import RobotError
from casid.files import listed, near

#: Joints to turn into fixed ones: names (at position 0), or positions [rad or m] by name.
Lock = Sequence[str] | Mapping[str, float]

#: Joint types that move, as files name them -> as `Joint` names them.
MOVING_TYPES: dict[str, JointType] = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic"}


@dataclass(frozen=True)
class JointLimits:
    """Limits of one joint, infinite where none is given; see `casid.description.Limits`."""

    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    acceleration: float = np.inf
    jerk: float = np.inf
    effort: float = np.inf

    def finite(self, keys: Iterable[str] = LIMITS) -> dict[str, float]:
        """Those of the named ones that are given."""
        return {key: value for key in keys if math.isfinite(value := getattr(self, key))}


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
        As in `casid.description.Joint`.
    mimic : MimicRule, optional
        Which joint this one follows, and how.
    terms : mapping
        Nominal parameters of the joint's terms by their symbols (``fv``: viscous friction, ``fc``: Coulomb friction,
        ``Ia``: rotor inertia, ...), see `casid.dynamics.terms`.
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
    def written_type(self) -> str:
        """Type in XML formats, which call a revolute joint without position limits ``continuous``."""
        return "continuous" if self.type == "revolute" and not self.limits.finite(LIMITS[:2]) else self.type

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
    """A capsule in the frame of any link, see `casid.description.Capsule`."""

    name: str
    link: str
    start: Array
    end: Array
    radius: float

    def table(self) -> dict[str, Any]:
        """As files write it."""
        return {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in vars(self).items()}


def positions(lock: Lock) -> dict[str, float]:
    """Positions of the locked joints by name."""
    if isinstance(lock, str):
        return {lock: 0.0}
    if isinstance(lock, Mapping):
        return {name: float(value) for name, value in lock.items()}
    return dict.fromkeys(lock, 0.0)


def renamed(joints: Sequence[RawJoint], names: Mapping[str, str]) -> tuple[RawJoint, ...]:
    """The joints with other names, wherever they are named."""

    def follows(rule: MimicRule | None) -> MimicRule | None:
        return None if rule is None else replace(rule, joint=names.get(rule.joint, rule.joint))

    return tuple(replace(one, name=names.get(one.name, one.name), mimic=follows(one.mimic)) for one in joints)


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


#: Types as users write them.
_TYPES = ("revolute", "continuous", "prismatic", "fixed")


def check_types(joints: Sequence[RawJoint], where: str) -> None:
    """Raise a `RobotError` for joints of a type that casid cannot move."""
    for joint in joints:
        if joint.type != "fixed" and joint.type not in MOVING_TYPES:
            raise RobotError(
                f"{where}: joint '{joint.name}' is of type '{joint.type}', which casid does not support"
                f"{near(joint.type, _TYPES)} (it knows {', '.join(_TYPES)}); describe it by several joints of these "
                f'types, or make it fixed: --lock {joint.name}, load_robot(..., lock=("{joint.name}",)) in Python'
            )


def check_unique(joints: Sequence[RawJoint], frames: Sequence[RawFrame], base: str, where: str) -> None:
    """Raise a `RobotError` where two joints, links or frames share a name (two joints with one link are a loop)."""
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
    names: set[str] = {base, *by_link}
    for frame in frames:
        if frame.name in names:
            raise RobotError(f"{where}: frame '{frame.name}' has the name of another frame or link; rename it")
        names.add(frame.name)


def follow(joints: Sequence[RawJoint], where: str) -> dict[str, MimicRule]:
    """For each moving joint that follows another: the joint with a coordinate of its own that it follows in the end.

    Raises
    ------
    RobotError
        Where the joint it follows does not exist or is fixed, joints follow each other in a circle, or the ratio is
        not a finite number.
    """
    known = {joint.name: joint for joint in joints}
    rules: dict[str, MimicRule] = {}
    for joint in joints:
        rule, path = joint.mimic, [joint.name]
        if rule is None or joint.type == "fixed":
            continue
        while True:
            if not (math.isfinite(rule.multiplier) and math.isfinite(rule.offset)):
                raise RobotError(
                    f"{where}: joint '{joint.name}': the multiplier and offset of its mimic must be finite"
                )
            leader = known.get(rule.joint)
            if leader is None or leader.type == "fixed":
                state = "does not exist" if leader is None else "is fixed"
                raise RobotError(
                    f"{where}: joint '{path[-1]}' mimics joint '{rule.joint}', which {state}"
                    f"{near(rule.joint, known) if leader is None else ''}; correct the name or lock '{path[-1]}'"
                )
            if leader.mimic is None:
                break
            path.append(leader.name)
            if path.count(leader.name) > 1:
                raise RobotError(f"{where}: joints mimic each other in a circle: {' -> '.join(path)}")
            further = leader.mimic
            rule = MimicRule(
                further.joint,
                rule.multiplier * further.multiplier,
                rule.multiplier * further.offset + rule.offset,
            )
        rules[joint.name] = rule
    return rules


def base_link(joints: Sequence[RawJoint], base: str | None, loose: Sequence[str], where: str) -> str:
    """Name of the base: ``base`` where given, else the only link that no joint carries.

    Raises
    ------
    RobotError
        If the given base is carried by a joint, if several links are carried by none, or if all links are carried.
    """
    children = {joint.link.name for joint in joints}
    if base is not None:
        if base in children:
            raise RobotError(f"{where}: the base link '{base}' is carried by a joint, but the base must not move")
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


def by_parent(joints: Sequence[RawJoint]) -> dict[str, list[RawJoint]]:
    """Joints on each link, in the file's order."""
    found: dict[str, list[RawJoint]] = {}
    for joint in joints:
        found.setdefault(joint.parent, []).append(joint)
    return found


def parents_first(joints: Sequence[RawJoint], base: str, where: str) -> list[RawJoint]:
    """Stable topological order: of the joints whose parent link is placed, always the first of the file.

    Raises
    ------
    RobotError
        Where a joint stands on a link that does not exist, or joints form a loop.
    """
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
    path = " -> ".join(reversed(loop))
    return f"the joints form a loop that never reaches the base: {path}; correct one of their parents"
