"""The parts of a robot: links with their bodies, joints, named frames, capsules and limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import ROUNDING, Array
from casid.errors import RobotError
from casid.inertia import express_in, from_standard, to_standard


def readonly(value: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    """A copy that cannot be written to; RobotError if it has another shape or NaN."""
    array = np.array(value, dtype=float)
    if array.shape != shape:
        raise RobotError(f"{what}: expected shape {shape}, got {array.shape}")
    if np.isnan(array).any():
        raise RobotError(f"{what}: contains NaN")
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class Inertial:
    """Mass [kg], centre of mass [m] and inertia about it [kg.m^2], in the axes of the link frame."""

    mass: float
    com: Array
    inertia_com: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "com", readonly(self.com, (3,), "centre of mass"))
        object.__setattr__(self, "inertia_com", readonly(self.inertia_com, (3, 3), "inertia"))

    def standard_parameters(self) -> Array:
        """The ten standard parameters ``Lxx Lxy Lxz Lyy Lyz Lzz lx ly lz m``."""
        return to_standard(self.mass, self.com, self.inertia_com)

    @classmethod
    def of(cls, standard: ArrayLike) -> Inertial:
        """The body of ten standard parameters."""
        return cls(*from_standard(standard))

    def scaled(self, factor: float) -> Inertial:
        """A body of the same shape with another density."""
        return Inertial(factor * self.mass, self.com, factor * self.inertia_com)


@dataclass(frozen=True, eq=False)
class LinkBounds:
    """A-priori bounds on a link's physical parameters (Gaz et al. 2019, Sec. V): lower and upper, infinite where free.

    Attributes
    ----------
    mass : ndarray, shape (2,)
        [kg]
    com : ndarray, shape (3, 2)
        Box that holds the centre of mass [m].
    inertia_com : ndarray, shape (6, 2)
        Entries ``xx xy xz yy yz zz`` of the inertia about the centre of mass [kg.m^2].
    """

    mass: Array = field(default_factory=lambda: np.array([0.0, np.inf]))
    com: Array = field(default_factory=lambda: np.tile([-np.inf, np.inf], (3, 1)))
    inertia_com: Array = field(default_factory=lambda: np.tile([-np.inf, np.inf], (6, 1)))

    def __post_init__(self) -> None:
        for name, shape in (("mass", (2,)), ("com", (3, 2)), ("inertia_com", (6, 2))):
            bounds = readonly(getattr(self, name), shape, f"bounds of {name}")
            for lower, upper in bounds.reshape(-1, 2):
                if lower > upper:
                    raise RobotError(f"bounds of {name} cross: lower bound {lower:g} exceeds upper bound {upper:g}")
            object.__setattr__(self, name, bounds)

    def given(self) -> dict[str, list[Any]]:
        """Those that are not free, by name, as files write them."""
        free = LinkBounds()
        return {name: box.tolist() for name, box in vars(self).items() if not np.array_equal(box, getattr(free, name))}


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid body: its name, nominal inertial values where known, and bounds on them."""

    name: str
    inertial: Inertial | None = None
    bounds: LinkBounds = field(default_factory=LinkBounds)

    @property
    def weightless(self) -> bool:
        """Whether it is stated to have neither mass nor inertia, or nothing is stated."""
        return self.inertial is None or not self.inertial.standard_parameters().any()


def carried(standard: ArrayLike, placement: Array) -> Array:
    """Standard parameters of a body in the frame in which its own has this placement (4, 4), shape (10,)."""
    return np.asarray(express_in(standard, placement[:3, :3], placement[:3, 3]))


JointType = Literal["revolute", "prismatic"]
#: Limits of a joint by name.
LIMITS = ("lower", "upper", "velocity", "acceleration", "jerk", "effort")


@dataclass(frozen=True)
class Mimic:
    """What makes a joint dependent: ``q = multiplier q_joint + offset``.

    Attributes
    ----------
    joint : int
        Index of the joint it follows, which has a coordinate of its own.
    multiplier, offset : float
        Ratio of the velocities; position where the other stands at 0 [rad or m].
    """

    joint: int
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint and the link it carries.

    The link frame is reached from the parent link's frame by ``placement``, the joint's motion about (revolute) or
    along (prismatic) ``axis``, then ``link_placement``. Modified DH and URDF have ``link_placement = 1``.

    Attributes
    ----------
    parent : int
        Index of the joint that carries the parent link; -1 for the base.
    placement : ndarray, shape (4, 4)
        Joint frame at rest in the parent link's frame.
    axis : ndarray, shape (3,)
        Unit vector in the joint frame.
    link_placement : ndarray, shape (4, 4)
        Link frame in the moved joint frame.
    mimic : Mimic, optional
        Of a dependent joint (a gripper's second finger): it has no coordinate of its own.
    terms : mapping
        Nominal parameters of joint terms by their symbols: ``{"fv": 0.3, "Ia": 0.1}``; see `casid.dynamics`.
    """

    name: str
    type: JointType
    parent: int
    link: Link
    placement: Array = field(default_factory=lambda: np.eye(4))
    axis: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    link_placement: Array = field(default_factory=lambda: np.eye(4))
    mimic: Mimic | None = None
    terms: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", MappingProxyType(dict(self.terms)))
        if self.type not in ("revolute", "prismatic"):
            raise RobotError(f"joint '{self.name}': type '{self.type}' is neither 'revolute' nor 'prismatic'")
        for name, shape in (("placement", (4, 4)), ("axis", (3,)), ("link_placement", (4, 4))):
            object.__setattr__(self, name, readonly(getattr(self, name), shape, f"joint '{self.name}': {name}"))
        if abs(np.linalg.norm(self.axis) - 1.0) > ROUNDING:
            raise RobotError(f"joint '{self.name}': axis must have unit length, got {self.axis.tolist()}")

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "terms": dict(self.terms)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, terms=MappingProxyType(state["terms"]))


@dataclass(frozen=True, eq=False)
class Frame:
    """A named frame fixed to a link (flange, sensor); ``joint`` is the index of the joint that carries it, -1: base."""

    name: str
    joint: int
    placement: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "placement", readonly(self.placement, (4, 4), f"frame '{self.name}': placement"))


@dataclass(frozen=True, eq=False)
class Capsule:
    """All points within ``radius`` of a segment fixed to a link: a body for collision checks.

    Attributes
    ----------
    name : str
    joint : int
        Index of the joint that carries the link; -1: fixed to the base.
    start, end : ndarray, shape (3,)
        Ends of the segment in the link frame [m]; equal for a sphere.
    radius : float
        [m]
    """

    name: str
    joint: int
    start: Array
    end: Array
    radius: float

    def __post_init__(self) -> None:
        for end in ("start", "end"):
            object.__setattr__(self, end, readonly(getattr(self, end), (3,), f"capsule '{self.name}': {end}"))
            if not np.isfinite(getattr(self, end)).all():
                raise RobotError(f"capsule '{self.name}': {end} must be finite, got {getattr(self, end).tolist()}")
        if not (np.isfinite(self.radius) and self.radius > 0):
            raise RobotError(f"capsule '{self.name}': the radius must be positive, got {self.radius}")


@dataclass(frozen=True, eq=False)
class Limits:
    """Joint limits, one entry a joint, infinite where none is given.

    Attributes
    ----------
    lower, upper : ndarray, shape (n,)
        Position [rad or m].
    velocity, acceleration, jerk : ndarray, shape (n,)
        Largest absolute value [rad/s, rad/s^2, rad/s^3 or m/s, ...].
    effort : ndarray, shape (n,)
        Largest absolute torque or force [N.m or N].
    """

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    jerk: Array
    effort: Array

    def __post_init__(self) -> None:
        n = len(np.asarray(self.lower))
        for name in LIMITS:
            object.__setattr__(self, name, readonly(getattr(self, name), (n,), f"limits: {name}"))

    @property
    def middle(self) -> Array:
        """Middle of the position limits, shape (n,) [rad or m]; where one is free, the position nearest to 0."""
        both = np.isfinite(self.lower) & np.isfinite(self.upper)
        halves = (np.where(both, end, 0.0) / 2 for end in (self.lower, self.upper))
        return np.where(both, sum(halves), np.clip(0.0, self.lower, self.upper))

    @classmethod
    def unlimited(cls, n: int) -> Limits:
        """Limits of ``n`` joints that have none."""
        free = np.full(n, np.inf)
        return cls(-free, free, free, free, free, free)
