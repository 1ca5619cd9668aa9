"""From a list of joints of any type to a `Robot`: tree order, locked joints, lumping of everything that is fixed.

Readers turn a file into `RawJoint`s and leave the rest to `assemble`, so that every format means the same thing.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from casid.description.joint import Joint, Mimic
from casid.description.link import Inertial, Link, LinkBounds
from casid.description.placement import Array
from casid.description.raw import MOVING_TYPES, Lock, RawFrame, RawJoint, lock_joints
from casid.description.robot import STANDARD_GRAVITY, Frame, Limits, Robot
from casid.description.tree import base_link, check_types, check_unique, follow, parents_first
from casid.errors import InertiaWarning, RobotError
from casid.files._words import listed, near
from casid.inertia import consistency, express_in, from_standard


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
    joints = lock_joints(joints, lock, where)
    check_types(joints, where)
    base = base_link(joints, base, loose, where)
    check_unique(joints, frames, base, where)
    ordered = parents_first(joints, base, where)
    rules = follow(joints, where)

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
    number = {joint.name: k for k, (joint, _, _) in enumerate(moving)}
    mimic = {name: Mimic(number[rule.joint], rule.multiplier, rule.offset) for name, rule in rules.items()}
    return Robot(
        name=name,
        joints=tuple(
            Joint(
                j.name,
                MOVING_TYPES[j.type],
                parent,
                link,
                placement,
                j.axis,
                j.link_placement,
                mimic.get(j.name),
                j.terms,
            )
            for (j, parent, placement), link in zip(moving, links, strict=True)
        ),
        gravity=np.asarray(gravity, dtype=float),
        limits=_limits([joint for joint, _, _ in moving if joint.name not in rules], where),
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


def _limits(joints: Sequence[RawJoint], where: str) -> Limits:
    for joint in joints:
        limits = joint.limits
        if limits.lower > limits.upper:
            raise RobotError(
                f"{where}: the limits of joint '{joint.name}' cross: "
                f"lower {limits.lower:g} exceeds upper {limits.upper:g}"
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
