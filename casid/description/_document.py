"""A robot as a file describes it: every link and joint, fixed ones included. Formats read and write this."""

from __future__ import annotations

import heapq
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.description._placement import ANGLE_TOLERANCE, rotation_about, transform
from casid.description._robot import (
    LIMITS,
    STANDARD_GRAVITY,
    Capsule,
    Frame,
    Inertial,
    Joint,
    JointType,
    Limits,
    Link,
    LinkBounds,
    Mimic,
    Robot,
    capsule_on,
    carried,
)
from casid.description.joint_parameters import LOAD_BODY, load_body
from casid.errors import InertiaWarning, RobotError
from casid.files import listed, near
from casid.inertia import consistency

# ------------------------------------------------------------------ joints and frames as a file gives them; locking

#: Joints to turn into fixed ones: names (at position 0), or positions [rad or m] by name.
Lock = Sequence[str] | Mapping[str, float]

#: Joint types that move, as files name them -> as `Joint` names them.
MOVING_TYPES: dict[str, JointType] = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic"}
#: All types that casid knows, as users write them.
TYPES = (*MOVING_TYPES, "fixed")


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


def positions(lock: Lock) -> dict[str, float]:
    """Positions of the locked joints by name."""
    if isinstance(lock, str):
        return {lock: 0.0}
    if isinstance(lock, Mapping):
        return {name: float(value) for name, value in lock.items()}
    return dict.fromkeys(lock, 0.0)


def fixed_name(link: str) -> str:
    """Name that a reader gives to a fixed joint whose format has none."""
    return f"{link}_fixed"


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
        if position != 0.0 and known[name].type not in TYPES:
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
    moved = joint.placement @ motion(joint.type, joint.axis, position) + 0.0
    return replace(joint, type="fixed", placement=moved, mimic=None, locked=True)


def motion(kind: str, axis: Array, position: float, tolerance: float = ANGLE_TOLERANCE) -> Array:
    """Transform of a joint with a unit axis at a position [rad or m], shape (4, 4)."""
    if kind == "prismatic":
        return transform(translation=position * axis)
    return transform(rotation_about(axis, position, tolerance))


def check_types(joints: Sequence[RawJoint], where: str) -> None:
    """Raise a `RobotError` for joints of a type that casid cannot move."""
    for joint in joints:
        if joint.type not in TYPES:
            raise RobotError(
                f"{where}: joint '{joint.name}' is of type '{joint.type}', which casid does not support"
                f"{near(joint.type, TYPES)} (it knows {', '.join(TYPES)}); describe it by several joints of these "
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
                further.joint, rule.multiplier * further.multiplier, rule.multiplier * further.offset + rule.offset
            )
        rules[joint.name] = rule
    return rules


def base_link(joints: Sequence[RawJoint], loose: Sequence[str], where: str) -> str:
    """Name of the base: the only link that no joint carries.

    Raises
    ------
    RobotError
        If several links are carried by no joint, or if all links are carried.
    """
    children = {joint.link.name for joint in joints}
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


# ------------------------------------------------------------------ description


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
        [m/s^2]; ``None``: standard gravity along -z, the default of files.
    total_mass, source
        As in `Robot`.
    transmission : ndarray, optional
        As in `Robot`, over the moving joints in the file's order.
    notes : tuple of str
        Findings of the reader that leave the robot as it is.
    format : str
        Name of the file's format; empty for a description that was never a file.
    content : bytes
        The file itself: a writer of the same format edits it in place.
    folder : Path, optional
        That of the file: addresses of meshes are relative to it.
    locked : mapping
        Of a robot's `origin`: positions of the joints that were locked, by name [rad or m].
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
    folder: Path | None = None
    locked: Mapping[str, float] = field(default_factory=dict)

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

    def with_links(self, changed: Callable[[Link, bool], Link]) -> Description:
        """The machine with other links: ``(link, whether it does not move on its own) -> link``."""
        joints = tuple(replace(joint, link=changed(joint.link, joint.type == "fixed")) for joint in self.joints)
        return replace(self, base=changed(self.base, True), joints=joints)

    def robot(self, *, lock: Lock = (), gravity: ArrayLike | None = None) -> Robot:
        """The robot on its fixed base, with fixed links merged into those that move.

        Joints keep their order wherever parents already come before their children. The links of fixed joints become
        named `Frame`s; their mass joins the moving link that carries them (or disappears in the base). A moving link's
        bounds describe the lumped body; where *locking* joints enlarges a body, its bounds no longer apply and are
        dropped.

        Parameters
        ----------
        lock
            Names of joints to fix at position 0, or a mapping from their names to positions [rad or m].
        gravity
            Shape (3,) [m/s^2]; default: that of the description.

        Raises
        ------
        RobotError
            Duplicate names, a loop, a missing parent link, several base links, a joint type that casid cannot move,
            limits that cross, no moving joint at all, or a transmission that couples a locked joint with a free one.

        Warns
        -----
        InertiaWarning
            For each link whose nominal mass and inertia no real body can have.
        """
        where = self.where
        joints = lock_joints(self.joints, lock, where)
        check_types(joints, where)
        merged = Merged(self, joints)
        rules = follow(joints, where)
        if not merged.moving:
            names = listed(joint.name for joint in joints)
            raise RobotError(f"{where}: robot '{self.name}' has no moving joint (joints: {names})")
        for frame in self.frames:
            merged.add_frame(frame)
        stated = STANDARD_GRAVITY if self.gravity is None else self.gravity
        read_from = {"description": f"{self.format} file {where}"} if self.format else {}
        robot = Robot(
            name=self.name,
            joints=merged.joints(rules),
            gravity=np.asarray(stated if gravity is None else gravity, dtype=float),
            limits=_limits([body.joint for body in merged.moving if body.joint.name not in rules], where),
            frames=tuple(merged.frames),
            total_mass=(0.0, self.total_mass[1]) if merged.lost_mass else self.total_mass,
            source=self.source or read_from,
            origin=replace(self, locked=positions(lock)),
            notes=self.notes,
        )
        capsules = tuple(_placed(robot, capsule, k, where) for k, capsule in enumerate(self.capsules, start=1))
        transmission = None if self.transmission is None else self._transmission(robot)
        return replace(robot, capsules=capsules, transmission=transmission)

    def unlocked(self) -> Robot:
        """The robot with all its joints; those that casid cannot move (floating, planar) stay fixed at position 0.

        Its warnings are those of the loader, which has given them.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.robot(lock=[joint.name for joint in self.joints if joint.type not in TYPES])

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


def robot_reference(robot: Robot) -> dict[str, Any]:
    """Name of a robot, and the file and the locked joints that it was read with: what a result says of its robot."""
    origin = robot.origin
    if origin is None or origin.folder is None:
        return {"robot": robot.name}
    file = (origin.folder / origin.where).resolve()
    locked = {"locked": dict(origin.locked)} if origin.locked else {}
    return {"robot": robot.name, "robot_file": str(file), **locked}


@dataclass(frozen=True, eq=False)
class Part:
    """A link that is fixed to a moving one; ``placement``: its frame in the moving link's."""

    joint: RawJoint
    placement: Array

    def parameters(self) -> Array:
        """Standard parameters in the moving link's frame, shape (10,); zero where no body is given."""
        body = self.link.inertial
        return np.zeros(10) if body is None else carried(body.standard_parameters(), self.placement)

    @property
    def link(self) -> Link:
        """The fixed link."""
        return self.joint.link


@dataclass(frozen=True, eq=False)
class MovingBody:
    """A moving link and all links that are fixed to it.

    Attributes
    ----------
    joint : RawJoint
        What carries the moving link.
    parent : int
        Number of the moving body it stands on; -1: the base.
    placement : ndarray, shape (4, 4)
        The joint in that body.
    fixed : list of Part
    """

    joint: RawJoint
    parent: int
    placement: Array
    fixed: list[Part] = field(default_factory=list)

    @property
    def link(self) -> Link:
        """The moving link itself."""
        return self.joint.link

    @property
    def parts(self) -> list[Part]:
        """Fixed links that have a body."""
        return [part for part in self.fixed if part.link.inertial is not None]

    def of_parts(self) -> Array:
        """Standard parameters of the fixed links together, shape (10,)."""
        return np.asarray(np.sum([np.zeros(10), *(part.parameters() for part in self.parts)], axis=0))

    def total(self) -> Array | None:
        """Standard parameters of the lumped body; ``None``: no link gives any."""
        own = [] if self.link.inertial is None else [self.link.inertial.standard_parameters()]
        tens = [*own, *(part.parameters() for part in self.parts)]
        return np.asarray(np.sum(tens, axis=0)) if tens else None

    def lumped(self) -> Link:
        """The moving link with all that is fixed to it; its bounds are dropped where locked joints enlarge it."""
        bounds = LinkBounds() if any(part.joint.locked for part in self.fixed) else self.link.bounds
        total = self.total()
        body = Inertial.of(total) if total is not None and self.parts else self.link.inertial
        return Link(self.link.name, body, bounds)

    def terms(self) -> Mapping[str, float]:
        """The joint's terms, the bodies that load locked joints added to its own."""
        own = self.joint.terms
        loads = [(load_body(part.joint.terms), part.placement) for part in self.fixed]
        behind = [carried(body, placement) for body, placement in loads if body is not None]
        load = load_body(own) if behind else None
        if load is None:
            return own
        return {**own, **dict(zip(LOAD_BODY, np.sum([load, *behind], axis=0).tolist(), strict=True))}


class Merged:
    """Moving links with everything that is fixed to them.

    Parameters
    ----------
    description
        The machine.
    joints
        Its joints, some of them locked.

    Attributes
    ----------
    moving : list of MovingBody
        Parents first.
    frames : list of Frame
        The base, fixed links and named frames.
    lost_mass : bool
        Whether a locked joint has left mass in the base.

    Raises
    ------
    RobotError
        Where names are not unique, a parent is missing, or joints form a loop.
    """

    def __init__(self, description: Description, joints: Sequence[RawJoint]) -> None:
        self.name, self.where = description.name, description.where
        base = description.base.name
        if any(joint.link.name == base for joint in joints):
            raise RobotError(f"{self.where}: the base link '{base}' is carried by a joint, but the base must not move")
        check_unique(joints, description.frames, base, self.where)
        self.moving: list[MovingBody] = []
        self.frames = [Frame(base, -1, np.eye(4))]
        self.lost_mass = False
        self._carrier: dict[str, tuple[int, Array]] = {base: (-1, np.eye(4))}  # link -> moving body, placement there
        for joint in parents_first(joints, base, self.where):
            self._add(joint)

    def _add(self, joint: RawJoint) -> None:
        """Add a joint whose parent link has been added."""
        parent, placement = self._carrier[joint.parent]
        if joint.type != "fixed":
            self._carrier[joint.link.name] = (len(self.moving), np.eye(4))
            self.moving.append(MovingBody(joint, parent, placement @ joint.placement + 0.0))
            return
        placement = placement @ joint.rest + 0.0
        self._carrier[joint.link.name] = (parent, placement)
        self.frames.append(Frame(joint.link.name, parent, placement))
        if parent >= 0:
            self.moving[parent].fixed.append(Part(joint, placement))
        else:
            self.lost_mass |= joint.locked

    def add_frame(self, frame: RawFrame) -> None:
        """Add a named frame of any link."""
        if frame.link not in self._carrier:
            raise RobotError(
                f"{self.where}: frame '{frame.name}' stands on link '{frame.link}', which does not exist"
                f"{near(frame.link, self._carrier)} (links: {listed(self._carrier)})"
            )
        index, placement = self._carrier[frame.link]
        self.frames.append(Frame(frame.name, index, placement @ frame.placement + 0.0))

    def joints(self, rules: Mapping[str, MimicRule]) -> tuple[Joint, ...]:
        """The moving joints with their lumped links."""
        links = [body.lumped() for body in self.moving]
        carriers = {body.parent for body in self.moving}
        for body in self.moving:
            for part in body.fixed:
                _warn_of(part.link, self.name, self.where, strict=False)
        for k, link in enumerate(links):
            if not (link.weightless and k in carriers):  # several joints of one body have nothing between them
                _warn_of(link, self.name, self.where, strict=True)
        number = {body.joint.name: k for k, body in enumerate(self.moving)}
        mimic = {name: Mimic(number[rule.joint], rule.multiplier, rule.offset) for name, rule in rules.items()}
        return tuple(
            Joint(
                j.name, MOVING_TYPES[j.type], body.parent, link, body.placement, j.axis, j.link_placement,
                mimic.get(j.name), body.terms(),
            )
            for body, link in zip(self.moving, links, strict=True)
            for j in (body.joint,)
        )  # fmt: skip


def moving_bodies(description: Description, locked: Mapping[str, float]) -> dict[str, MovingBody]:
    """Moving links by name, with what is fixed to each, some joints being locked at positions [rad or m].

    Raises
    ------
    RobotError
        Where names are not unique, a parent is missing, or joints form a loop.
    """
    joints = lock_joints(description.joints, dict(locked), description.where)
    return {body.link.name: body for body in Merged(description, joints).moving}


def _limits(joints: Sequence[RawJoint], where: str) -> Limits:
    for joint in joints:
        limits = joint.limits
        if limits.lower > limits.upper:
            raise RobotError(
                f"{where}: the limits of joint '{joint.name}' cross: "
                f"lower {limits.lower:g} exceeds upper {limits.upper:g}"
            )
        for key in LIMITS[2:]:
            if getattr(limits, key) < 0:
                raise RobotError(
                    f"{where}: the {key} limit of joint '{joint.name}' is {getattr(limits, key):g}; "
                    "it is a largest absolute value and cannot be negative"
                )
    return Limits(*(np.array([getattr(joint.limits, key) for joint in joints], dtype=float) for key in LIMITS))


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
        warnings.warn(f"robot '{robot}' ({where}), link '{link.name}': {complaint}", InertiaWarning, stacklevel=5)


def _placed(robot: Robot, capsule: RawCapsule, number: int, where: str) -> Capsule:
    """Carry a capsule of any link to the moving link that holds it; RobotError naming file and capsule."""
    try:
        return capsule_on(robot, capsule.link, capsule.start, capsule.end, capsule.radius, capsule.name)
    except RobotError as error:
        raise RobotError(f"{where}: capsule {number}: {error}") from None
