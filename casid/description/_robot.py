"""What the machine is: a tree of joints, each carrying a link. Frozen, unit-checked, free of any file format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import ROUNDING, Array, read_only
from casid.description.joint_parameters import LOAD_BODY, joint_parameter, symbol_and_joint
from casid.display import Displayed
from casid.errors import RobotError
from casid.files import near
from casid.inertia import Parameters, express_in, from_standard, standard_names, to_standard

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from casid.description._document import Description

# ------------------------------------------------------------------ parts


def checked_array(value: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    """A copy that cannot be written to; RobotError if it has another shape or NaN."""
    array = read_only(value)
    if array.shape != shape:
        raise RobotError(f"{what}: expected shape {shape}, got {array.shape}")
    if np.isnan(array).any():
        raise RobotError(f"{what}: contains NaN")
    return array


@dataclass(frozen=True, eq=False)
class Inertial:
    """Mass [kg], centre of mass [m] and inertia about it [kg.m^2], in the axes of the link frame."""

    mass: float
    com: Array
    inertia_com: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "com", checked_array(self.com, (3,), "centre of mass"))
        object.__setattr__(self, "inertia_com", checked_array(self.inertia_com, (3, 3), "inertia"))

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
            bounds = checked_array(getattr(self, name), shape, f"bounds of {name}")
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
            object.__setattr__(self, name, checked_array(getattr(self, name), shape, f"joint '{self.name}': {name}"))
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
        object.__setattr__(self, "placement", checked_array(self.placement, (4, 4), f"frame '{self.name}': placement"))


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
            object.__setattr__(self, end, checked_array(getattr(self, end), (3,), f"capsule '{self.name}': {end}"))
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
            object.__setattr__(self, name, checked_array(getattr(self, name), (n,), f"limits: {name}"))

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


# ------------------------------------------------------------------ tree

#: Standard gravity [m/s^2], and as a vector of the base frame.
STANDARD_G = 9.80665
STANDARD_GRAVITY = (0.0, 0.0, -STANDARD_G)


@dataclass(frozen=True, eq=False, repr=False)
class Robot(Displayed):
    """A tree of moving joints and their links, on a fixed base.

    Attributes
    ----------
    name : str
    joints : tuple of Joint
        Parents come before their children; the order of the links' parameters. Those that follow no other (see
        `coordinates`) give the order of q, dq, ddq and tau.
    gravity : ndarray, shape (3,)
        Acceleration of gravity in the base frame [m/s^2].
    limits : Limits
        Default: unlimited.
    frames : tuple of Frame
        Named frames fixed to links or to the base.
    total_mass : tuple of float
        Bounds on the sum of the moving links' masses [kg].
    source : mapping
        Where each group of numbers comes from, and the licence.
    transmission : ndarray, shape (n, n), optional
        ``T`` with ``tau = T tau_m`` and ``dq_m = T' dq`` (Sousa 2014, eq. 4.1-4.2): how motors act on joints where
        drive trains are coupled; ``None``: each motor drives its own joint. Ratios may be left out (``T = T_c``, eq.
        4.12): motor-side parameters then count as seen at the joint.
    capsules : tuple of Capsule
        Bodies for collision checks, on links and on the base; empty: none known.
    origin : Description, optional
        What the robot was read from, with the joints that were locked: restores the fixed links and edits the file when
        the robot is written.
    notes : tuple of str
        Findings of the reader that leave the robot as it is.
    """

    name: str
    joints: tuple[Joint, ...]
    gravity: Array = field(default_factory=lambda: np.array(STANDARD_GRAVITY))
    limits: Limits = field(default_factory=lambda: Limits.unlimited(0))
    frames: tuple[Frame, ...] = ()
    total_mass: tuple[float, float] = (0.0, np.inf)
    source: Mapping[str, str] = field(default_factory=dict)
    transmission: Array | None = None
    capsules: tuple[Capsule, ...] = ()
    origin: Description | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.joints:
            raise RobotError(f"robot '{self.name}' has no moving joint")
        object.__setattr__(self, "joints", tuple(self.joints))
        object.__setattr__(self, "gravity", checked_array(self.gravity, (3,), f"robot '{self.name}': gravity"))
        object.__setattr__(self, "source", MappingProxyType(dict(self.source)))
        if not len(self.limits.lower):
            object.__setattr__(self, "limits", Limits.unlimited(self.n))
        if len(self.limits.lower) != self.n:
            raise RobotError(f"robot '{self.name}': limits of {len(self.limits.lower)} joints for {self.n} joints")
        if self.transmission is not None:
            T = checked_array(self.transmission, (self.n, self.n), f"robot '{self.name}': transmission")
            if abs(np.linalg.det(T)) < ROUNDING:
                raise RobotError(f"robot '{self.name}': the transmission matrix is singular")
            object.__setattr__(self, "transmission", T)
        for kind, names in (("joint", [j.name for j in self.joints]), ("link", [j.link.name for j in self.joints])):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise RobotError(f"robot '{self.name}': {kind} names must be unique, '{twice[0]}' appears twice")
        for k, joint in enumerate(self.joints):
            if not -1 <= joint.parent < k:
                raise RobotError(f"robot '{self.name}': joint '{joint.name}' must come after its parent")
            followed = None if joint.mimic is None else joint.mimic.joint
            if followed is not None and not (0 <= followed < len(self.joints) and self.joints[followed].mimic is None):
                raise RobotError(
                    f"robot '{self.name}': joint '{joint.name}' follows joint number {followed}, which is not a joint "
                    "with a coordinate of its own"
                )
        object.__setattr__(self, "capsules", tuple(self.capsules))
        for capsule in self.capsules:
            if not -1 <= capsule.joint < len(self.joints):
                raise RobotError(
                    f"robot '{self.name}': capsule '{capsule.name}' is on joint {capsule.joint} of {len(self.joints)}"
                )

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "source": dict(self.source)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, source=MappingProxyType(state["source"]))

    @property
    def n(self) -> int:
        """Number of coordinates: joints that follow no other."""
        return len(self.coordinates)

    @property
    def coordinates(self) -> tuple[Joint, ...]:
        """The joints with a coordinate of their own, in the order of q, dq, ddq, tau and of the limits."""
        return tuple(joint for joint in self.joints if joint.mimic is None)

    @property
    def coupled(self) -> bool:
        """Whether some joints follow others."""
        return any(joint.mimic is not None for joint in self.joints)

    def coupling(self) -> tuple[Array, Array]:
        """How all joints follow the coordinates: ``q_joints = G q + g``, shapes (joints, n) and (joints,)."""
        column = {k: i for i, k in enumerate(k for k, joint in enumerate(self.joints) if joint.mimic is None)}
        G, offset = np.zeros((len(self.joints), len(column))), np.zeros(len(self.joints))
        for k, joint in enumerate(self.joints):
            rule = joint.mimic or Mimic(k)
            G[k, column[rule.joint]], offset[k] = rule.multiplier, rule.offset
        return G, offset

    @property
    def links(self) -> tuple[Link, ...]:
        """The moving links, in the order of the joints."""
        return tuple(joint.link for joint in self.joints)

    def frame(self, name: str) -> Frame:
        """The named frame, or the frame of the link of that name.

        Raises
        ------
        RobotError
            If the robot has neither; the message lists what it has.
        """
        own = (Frame(joint.link.name, k, np.eye(4)) for k, joint in enumerate(self.joints))
        for frame in (*own, *self.frames):
            if frame.name == name:
                return frame
        known = [*(link.name for link in self.links), *(frame.name for frame in self.frames)]
        raise RobotError(f"robot '{self.name}' has no frame '{name}'{near(name, known)}; known: {', '.join(known)}")

    @property
    def flange(self) -> Frame:
        """Where a load hangs: the last named frame fixed to the last link; the frame of that link if there is none.

        The default frame of payloads, exports and operational space.
        """
        last = len(self.joints) - 1
        fixed = [frame for frame in self.frames if frame.joint == last]
        return fixed[-1] if fixed else Frame(self.links[last].name, last, np.eye(4))

    @property
    def reach(self) -> float:
        """Length of the stretched arm [m]: the longest sum of placements from the base to the end of a chain.

        Frames count at the ends of chains only; prismatic joints count as they are at position 0.
        """
        return max(float(beyond + own) for beyond, own in zip(self.lengths_beyond(), self._lengths(), strict=True))

    def lengths_beyond(self) -> Array:
        """Length from each link's frame to the end of its chain, the arm stretched, shape (links,) [m]; see `reach`."""
        beyond, lengths = np.zeros(len(self.joints)), self._lengths()
        parents = {joint.parent for joint in self.joints}
        for frame in self.frames:
            if frame.joint >= 0 and frame.joint not in parents:
                beyond[frame.joint] = max(beyond[frame.joint], float(np.linalg.norm(frame.placement[:3, 3])))
        for k in reversed(range(len(self.joints))):
            parent = self.joints[k].parent
            if parent >= 0:
                beyond[parent] = max(beyond[parent], beyond[k] + lengths[k])
        return beyond

    def _lengths(self) -> list[float]:
        """From each joint's parent frame to its own link frame [m]."""
        return [
            float(np.linalg.norm(joint.placement[:3, 3]))
            + float(np.linalg.norm(joint.placement[:3, :3] @ joint.link_placement[:3, 3]))
            for joint in self.joints
        ]

    def standard_parameters(self) -> Array:
        """Nominal standard parameters of all links.

        Returns
        -------
        ndarray, shape (10 links,)
            ``Lxx1 Lxy1 Lxz1 Lyy1 Lyz1 Lzz1 lx1 ly1 lz1 m1 Lxx2 ...`` in SI units.

        Raises
        ------
        RobotError
            If links have no inertial values; the message names them.
        """
        missing = [link.name for link in self.links if link.inertial is None]
        if missing:
            raise RobotError(
                f"robot '{self.name}' gives no inertial values (mass, centre of mass, inertia) for "
                f"{'link' if len(missing) == 1 else 'links'} {', '.join(missing)}; add them to its description or pass "
                "the parameters yourself"
            )
        return np.concatenate([link.inertial.standard_parameters() for link in self.links if link.inertial])

    def parameter_names(self) -> tuple[str, ...]:
        """Names of the standard parameters: ``Lxx1 ... m<n>``."""
        return standard_names(len(self.joints))

    @property
    def parameters(self) -> Parameters:
        """Nominal parameters with their names: standard ones and those of joint terms; RobotError as above."""
        links = tuple(link.name for link in self.links)
        return Parameters.of_links(self.standard_parameters(), links, self._terms())

    def _terms(self) -> dict[str, float]:
        """Values of joint terms by parameter name; what brakes a follower brakes the joint that it follows."""
        terms: dict[str, float] = {}
        for k, joint in enumerate(self.joints):
            for symbol, value in joint.terms.items():
                known = joint_parameter(symbol)
                if joint.mimic is None or symbol in LOAD_BODY:
                    name, share = f"{symbol}{k + 1}", 1.0
                elif known is not None and known.follower_power is not None:
                    name = f"{symbol}{joint.mimic.joint + 1}"
                    share = abs(joint.mimic.multiplier) ** known.follower_power
                else:
                    continue
                terms[name] = terms.get(name, 0.0) + share * value
        return terms

    def with_parameters(self, parameters: Parameters | ArrayLike) -> Robot:
        """The same robot with other nominal bodies and joint terms: identified ones, for instance.

        Parameters
        ----------
        parameters
            `Parameters`, whose terms (friction, rotor inertia, ...) replace those of the joints; or standard
            parameters, shape (10 links,), which leave them.

        Raises
        ------
        RobotError
            If they are of another number of links, or a link without mass has a first moment.
        DatasetError
            If a value is not finite.
        """
        given = parameters if isinstance(parameters, Parameters) else Parameters.of_links(parameters)
        if given.n != len(self.joints):
            raise RobotError(f"robot '{self.name}' has {len(self.joints)} links, the parameters are of {given.n}")
        by_joint: dict[int, dict[str, float]] = {}
        for name, value in given.terms.items():
            symbol, number = symbol_and_joint(name, given.n) or (name, -1)
            by_joint.setdefault(number, {})[symbol] = value
        joints = []
        for k, (joint, link) in enumerate(zip(self.joints, given.links.values(), strict=True)):
            if link.mass == 0.0 and link.standard[6:9].any():
                raise RobotError(
                    f"robot '{self.name}', link '{joint.link.name}': a first moment without mass has no centre of mass"
                )
            inertial = Inertial(link.mass, link.com, link.inertia_com)
            terms = by_joint.get(k, {}) if isinstance(parameters, Parameters) else joint.terms
            joints.append(replace(joint, link=replace(joint.link, inertial=inertial), terms=terms))
        return replace(self, joints=tuple(joints))

    def plot_links(self, posture: ArrayLike | None = None) -> tuple[Axes, ...]:
        """Draw the links as ellipsoids of uniform density at joint positions (n,); default: the middle of the range.

        Raises
        ------
        RobotError
            If the mass or inertia of a link is unknown.
        """
        return self._plot("links", posture=posture)

    def __repr__(self) -> str:
        kinds = "".join(joint.type[0].upper() for joint in self.joints)
        masses = [link.inertial.mass for link in self.links if link.inertial is not None]
        count = len(self.joints)
        known = f"{sum(masses):.4g} kg" if len(masses) == count else f"{len(masses)} of {count} bodies known"
        follow = f", {count - self.n} of them follow others" if self.coupled else ""
        return f"Robot({self.name}: {count} joints {kinds}{follow}, {known})"


def capsule_on(robot: Robot, link: str, start: ArrayLike, end: ArrayLike, radius: float, name: str = "") -> Capsule:
    """Make a capsule given in the frame of a link, named frame or the base.

    Parameters
    ----------
    link
        Name of a moving link, of a link that is fixed to one (a `Frame`), or of the base.
    start, end
        Ends of the segment in that frame, shape (3,) [m].
    radius
        [m]
    name
        Default: the link's name.

    Raises
    ------
    RobotError
        For an unknown link or a radius that is not positive.
    """
    frame = robot.frame(link)
    T = frame.placement
    first, last = (T[:3, :3] @ np.asarray(point, dtype=float) + T[:3, 3] for point in (start, end))
    return Capsule(name or link, frame.joint, first, last, radius)
