"""A robot as a file describes it: every link and joint, fixed ones included. Formats read and write this."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.description._parts import LIMITS, Capsule, Frame, Inertial, Joint, Limits, Link, LinkBounds, Mimic, carried
from casid.description._raw import (
    MOVING_TYPES,
    Lock,
    MimicRule,
    RawCapsule,
    RawFrame,
    RawJoint,
    base_link,
    check_types,
    check_unique,
    follow,
    lock_joints,
    parents_first,
    positions,
)
from casid.description._robot import STANDARD_GRAVITY, Robot, capsule_on
from casid.description.joint_parameters import LOAD_BODY, load_body
from casid.errors import InertiaWarning, RobotError
from casid.files import listed, near
from casid.inertia import consistency


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
        """The robot with all its joints; those that casid cannot move (floating, planar) stay fixed at position 0."""
        return self.robot(lock=[joint.name for joint in self.joints if joint.type not in ("fixed", *MOVING_TYPES)])

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
        load = load_body(own)
        loads = [(load_body(part.joint.terms), part.placement) for part in self.fixed]
        behind = [carried(body, placement) for body, placement in loads if body is not None]
        if load is None or not behind:
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
        base = base_link(joints, description.base.name, (), self.where)
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
