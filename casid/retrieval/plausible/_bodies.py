"""Plausible bodies of a robot's links: bodies derived from the robot description alone, before any data.

Set on arms at hand. Where the data of an entry allow it, its spread is that of its estimate with one robot left out in
turn (`scripts/acceptance.py real` measures the bodies that follow). A number that has no data says so.

The source of each link's body is the first of these that is available:

* the inertial values of the description, where they can be those of real bodies. A link of impossible density, or a
  needle longer than the arm, is left out by itself (`robot_bodies`); where this is so of more than a third of the
  links, or most are placeholders (spheres, repeated numbers), none is used. A body that reaches far beyond its joints
  is shortened about its centre of mass (`within_the_arm`);
* a uniform ellipsoid in a box half as wide again as the bounds of its centre of mass (a body reaches beyond them), as
  far as it lies within the box around the kinematic skeleton: bounds are often generous, and a link ends where the next
  ones begin;
* a uniform ellipsoid in a box around the kinematic skeleton: from where the link's own joint sits to where those of its
  children sit.

Where along its axis a joint sits is not a matter of kinematics: an offset along the axis of a joint is a tube that the
two links share, half of it each; an offset across it belongs to the parent. The thickness is a share of the robot's
reach. Arms are hollow and every joint has a motor, so that mass grows less than volume: with its cube root. And arms
taper: a link that carries less of the reach has lighter motors (P8). The numbers, what they were set on and what they
move stand in one table, `casid.retrieval.plausible._bodies`. An ellipsoid, not the box itself: real links are thick
where their motors are, not at their ends, and the boxes' moments of inertia were 1.3 times theirs in the median.

The common factor of the boxes' masses is not known from the kinematics. Where torques were measured it follows them
(`casid.identification._bounds`); it is else estimated with the parameters
(`casid.retrieval.plausible.believable`). Where only the largest torque is known, the mass of all moving links is 3.2
times what that torque supports at the length of the arm, ``m = 3.2 tau / (g reach)`` (docs/plausible.md, P10). The
torque limits of descriptions are a worse guide (0.23 to 6.9).

Of published arms (`DescribedArm`) two numbers without a size in them hardly differ from a desktop arm to a foundry
robot:

- the areal mass ``m / reach^2`` [kg/m^2];
- ``m g reach / tau``, with tau the largest torque of a joint: an arm's strongest joint holds the arm and its payload.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.arrays import ALIKE, Array
from casid.description import STANDARD_G, Robot
from casid.inertia import consistency, from_standard, to_standard

# ------------------------------------------------------------------ priors

_NONE = float("nan")


class DescribedArm(NamedTuple):
    """Published numbers of an arm.

    Attributes
    ----------
    name : str
    reach, mass : float
        [m], and with base and without controller [kg].
    torque : float
        Largest torque that a joint is rated for [N.m]; NaN where the maker gives none.
    source : str
    """

    name: str
    reach: float
    mass: float
    torque: float
    source: str


#: Arms whose makers publish reach and mass; torques of the makers' robot descriptions (URDF ``effort``).
DESCRIBED_ARMS = (
    DescribedArm("UR3e", 0.50, 11.2, 54.0, "Universal Robots data sheet; ur_description"),
    DescribedArm("UR5e", 0.85, 20.6, 150.0, "Universal Robots data sheet; ur_description"),
    DescribedArm("UR10e", 1.30, 33.5, 330.0, "Universal Robots data sheet; ur_description"),
    DescribedArm("Panda", 0.855, 18.0, 87.0, "Franka Emika data sheet; franka_description"),
    DescribedArm("LBR iiwa 7 R800", 0.80, 23.9, 176.0, "KUKA data sheet"),
    DescribedArm("LBR iiwa 14 R820", 0.82, 29.9, 320.0, "KUKA data sheet"),
    DescribedArm("xArm 7", 0.70, 13.7, 50.0, "UFACTORY data sheet; xarm_description"),
    DescribedArm("KR 6 R900", 0.901, 52.0, _NONE, "KUKA data sheet"),
    DescribedArm("IRB 120", 0.58, 25.0, _NONE, "ABB data sheet"),
    DescribedArm("IRB 6700-200/2.60", 2.60, 1250.0, _NONE, "ABB data sheet"),
)


class PriorNumber(float):
    """A number of the table: a float with its reasons.

    Attributes
    ----------
    data : str
        What it was set on.
    spread : str
        Of its data, one robot left out where that is known.
    moves : str
        What depends on it.
    """

    data: str
    spread: str
    moves: str

    def __new__(cls, value: float, data: str, spread: str, moves: str) -> PriorNumber:
        """The float, with its reasons."""
        made = super().__new__(cls, value)
        made.data, made.spread, made.moves = data, spread, moves
        return made

    def __reduce__(self) -> tuple[type, tuple[float, str, str, str]]:
        return PriorNumber, (float(self), self.data, self.spread, self.moves)


_FIVE = "five described arms"
_CHECKED = "checked on four other arms; errors of the bodies hardly depend on it"
_BOXES = "bodies of links without inertial values"
_TRUST = "which inertial values of a description are used"

#: Value, data, spread and what it moves.
PRIORS = {
    # Beyond the lightest and the heaviest of the described arms by this factor no arm of its reach is expected.
    "MARGIN": PriorNumber(2.0, "no data: a margin", "tenfold between the arms' areal masses m / reach^2", "`heaviest`"),
    # Largest share of a joint's rated torque that a recording is expected to leave unused, as a factor.
    "UNUSED": PriorNumber(3.0, "no data: motions that identify use a third of the rated torque", "", "`heaviest`"),
    # Mass of a cubic box of 0.1 m before the common factor [kg], and the power of the volume that masses grow with.
    "TYPICAL_MASS": PriorNumber(1.0, "none needed: the common factor follows", "", "nothing but the factor's unit"),
    "GROWTH": PriorNumber(1.0 / 3.0, f"{_FIVE}: hollow, and a motor at every joint", _CHECKED, _BOXES),
    # Densities, as ellipsoids of uniform density, that real links have [kg/m^3].
    "LIGHTEST": PriorNumber(30.0, "foam", "", _TRUST),
    "HEAVIEST": PriorNumber(20000.0, "tungsten", "", _TRUST),
    # Thickness of the boxes around the skeleton as a share of the reach.
    "THICKNESS": PriorNumber(0.08, _FIVE, _CHECKED, _BOXES),
    # Power of the share of the reach beyond a joint with which its link's mass falls, and the least such share.
    "LIGHTER": PriorNumber(0.4, f"{_FIVE}: a link that carries less of the reach has lighter motors", _CHECKED, _BOXES),
    "LEAST": PriorNumber(0.1, _FIVE, _CHECKED, _BOXES),
    # Largest extent of a given body from the centre of its box, in half diagonals of the box.
    "REACH": PriorNumber(3.0, "placeholders and slips of units in descriptions, far beyond", "", _TRUST),
    # Longest semi-axis of a given body, as an ellipsoid of uniform density, in half diagonals of its box.
    "LONGEST": PriorNumber(1.5, "CAD of Kinova 0.85, UR3 1.03, AR5 1.5", "0.85 to 1.5", "bodies of a description"),
    # Mass of all moving links over the mass that the largest torque supports at the arm's length, ``m g reach / tau``.
    "TORQUE_MASS": PriorNumber(
        3.2,
        "UR5 3.82, UR10 4.47, Z1 2.30, xArm7 3.48, Talos 2.34: geometric mean 3.17",
        "2.91 to 3.43 with one of the five left out; six other arms 2.62 to 4.99 (UR3 4.99, Kinova 2.62, Panda 4.25, "
        "iiwa 4.05, Bravo 4.36, AR5 3.24), geometric mean 3.83",
        "masses of all links where nothing else gives their common factor",
    ),
    # Smallest edge of a box [m].
    "SMALLEST_EDGE": PriorNumber(0.01, "no data: a box has a volume", "", _BOXES),
    # Weight kappa of the joint terms' shares of the torque (P2).
    "TERMS": PriorNumber(0.1, "not fitted", "unknown", "joint terms that a motion does not separate; masses a little"),
    # Standard deviation of an offset of friction that data leave open, over the largest torque of its joint.
    "OFFSET": PriorNumber(
        0.05,
        "24 offsets that recordings of seven robots determine: half of them at most 3.4 %, which is 0.67 deviations",
        "UR10e 1.2, 3.4; KR300 2.2, 27; AR5 0.6, 2.6, 2.3, 5.0, 28, 17; Rokae 11, 6.7, 6.6, 26; Panda 3.1, 0.5, "
        "0.4, 0.8, 3.3; UR10 1.2, 6.4, 13, 9.3; TX40 1.3 %; above 10 % those of wrists and of a vertical axis",
        "offsets that a motion does not separate from gravity or Coulomb friction; masses of short recordings",
    ),
    # Weight omega of a rotor inertia, and the share delta of the expected one below which all are alike (P2).
    "ROTOR": PriorNumber(0.2, "not fitted", "unknown", "rotor inertias against the links' own; masses of geared arms"),
    "NO_ROTOR": PriorNumber(0.01, "not fitted", "unknown", "drives whose torque is measured behind the gear"),
}


class Misses(NamedTuple):
    """How far choices of plausible bodies missed the truth of robots whose bodies are known.

    Attributes
    ----------
    scale, spread : float
        c and a: root mean squares of ``e / s'`` and of ``e = log(true / chosen)`` (centres: the difference), with s the
        deviation of the choice's posterior and ``1 / s'^2 = 1 / s^2 + 1 / a^2``. No mass is worse known than by the
        choice alone; a is infinite for centres, whose errors grow with the robot.
    robots : int
        How many.
    shared : bool
        Whether s' is divided by the number of links: where bodies' proportions are known, what torques leave open of
        a total is the mass on the first axis, of one link among them.
    """

    scale: float
    spread: float
    robots: int
    shared: bool = False

    def known(self, deviations: ArrayLike, links: ArrayLike = 1) -> Array:
        """s', of robots with so many links."""
        s, n = np.asarray(deviations, dtype=float), np.asarray(links) if self.shared else 1
        return np.asarray(s / np.sqrt(1.0 + np.square(s / self.spread)) / n)

    def half_width(self, deviations: ArrayLike, links: ArrayLike = 1) -> Array:
        """``t c s'``, half of an interval of 95 % of the logarithm, with Student's t of the robots."""
        from scipy.special import stdtrit  # a model is imported without scipy

        return np.asarray(stdtrit(self.robots - 1, 0.975) * self.scale * self.known(deviations, links))


#: Of totals, single links and centres of mass [m], by where a body is from: the kinematics, its link's shape, inertial
#: values of a description (the truth within 10 % of it). Robots: scripts/benchmarks/real/mass_deviations.csv.
MISSES = {
    "skeleton": (Misses(1.374, 0.218, 37), Misses(1.423, 0.551, 34), Misses(1.093, np.inf, 30)),
    "shape": (Misses(4.796, 0.117, 28, True), Misses(1.276, 0.430, 28), Misses(1.369, np.inf, 28)),
    "description": (Misses(4.997, 0.054, 29, True), Misses(1.020, 0.087, 29), Misses(0.294, np.inf, 29)),
}


def misses(origin: str) -> tuple[Misses, Misses, Misses]:
    """Those of a body of this origin (`PlausibleBodies.origins`): of totals, of single links, of centres."""
    return MISSES.get(origin, MISSES["skeleton"])


# ------------------------------------------------------------------ bodies


def heaviest(reach: float, torque: float) -> float:
    """Mass that no arm of this reach exceeds whose recorded torques are this large [kg]; the smaller of two limits.

    Parameters
    ----------
    reach
        Of the longest chain [m].
    torque
        Largest recorded torque of a revolute joint [N.m]; a motion uses a third of the rated one at least.
    """
    areal = max(arm.mass / arm.reach**2 for arm in DESCRIBED_ARMS)
    held = max(STANDARD_G * arm.mass * arm.reach / arm.torque for arm in DESCRIBED_ARMS if arm.torque == arm.torque)
    return PRIORS["MARGIN"] * min(areal * reach**2, PRIORS["UNUSED"] * held * torque / (STANDARD_G * reach))


@dataclass(frozen=True, eq=False)
class PlausibleBodies:
    """One plausible body for every link.

    Attributes
    ----------
    parameters : ndarray, shape (10 n,)
        Standard parameters, all fully consistent.
    origins : tuple of str
        Source of each: ``description``, ``box of its centre of mass`` or ``skeleton``.
    weighed : bool
        Whether the masses of the boxes are those expected of this robot; if not, they are known up to a common factor.
    """

    parameters: Array
    origins: tuple[str, ...]
    weighed: bool = False

    @property
    def boxes(self) -> NDArray[np.bool_]:
        """Links whose bodies are boxes, shape (n,)."""
        return np.array([origin != "description" for origin in self.origins])

    @property
    def scaled(self) -> NDArray[np.bool_]:
        """Links whose masses are known up to a common factor only, shape (n,)."""
        return self.boxes & (not self.weighed)

    def weighing(self, mass: float) -> PlausibleBodies:
        """The bodies with boxes that weigh so much together [kg]: their masses are then known."""
        tens, boxes = self.parameters.reshape(-1, 10).copy(), self.boxes
        tens[boxes] *= mass / float(tens[boxes, 9].sum())
        return PlausibleBodies(tens.ravel(), self.origins, weighed=True)


def plausible_bodies(robot: Robot, nominal: bool = True, torques: ArrayLike | None = None) -> PlausibleBodies:
    """Plausible bodies of all links.

    Parameters
    ----------
    robot
    nominal
        Use the inertial values of the description, where they are trustworthy.
    torques
        Largest measured torque of each joint [N.m], shape (n,): what the masses of boxes follow.
    """
    boxes, carried = _skeleton(robot)
    described = robot_bodies(robot, boxes) if nominal else None
    bodies, origins = [], []
    for k, (link, box, share) in enumerate(zip(robot.links, boxes, carried, strict=True)):
        if described is not None and k not in described.repaired:
            bodies.append(within_the_arm(described.parameters[10 * k : 10 * k + 10], box))
            origins.append("description")
            continue
        com = link.bounds.com
        fills = bool(np.isfinite(com).all())  # the body reaches beyond the box of its centre
        corners = _common(com + np.array([-1.0, 1.0]) * (com[:, 1:] - com[:, :1]) / 4, box) if fills else box
        lighter = 1.0 if fills else share ** PRIORS["LIGHTER"]  # given bounds taper already
        bodies.append(_uniform_ellipsoid(corners, lighter))
        origins.append("box of its centre of mass" if fills else "skeleton")
    made = PlausibleBodies(np.concatenate(bodies), tuple(origins))
    return _weighed(robot, made, torques)


def _weighed(robot: Robot, bodies: PlausibleBodies, torques: ArrayLike | None) -> PlausibleBodies:
    """The bodies with the masses of the boxes that are expected of this robot."""
    boxes, tens = bodies.boxes, bodies.parameters.reshape(-1, 10)
    if not boxes.any():
        return bodies
    if not boxes.all():  # the described links of the same robot, over their own boxes
        whole = plausible_bodies(robot, nominal=False).parameters.reshape(-1, 10)
        factor = float(np.exp(np.median(np.log(tens[~boxes, 9] / whole[~boxes, 9]))))
    else:
        factor = (0.0 if torques is None else held_mass(robot, torques)) / float(tens[:, 9].sum())
    return bodies.weighing(factor * float(tens[boxes, 9].sum())) if np.isfinite(factor) and factor > 0 else bodies


def held_mass(robot: Robot, torques: ArrayLike) -> float:
    """Mass of the moving links that the largest torques imply, ``3.2 tau / (g reach)`` [kg]; 0 without a torque."""
    revolute = np.array([joint.type == "revolute" for joint in robot.coordinates])
    if not revolute.any() or not robot.reach:
        return 0.0
    strongest = float(np.abs(np.asarray(torques, dtype=float))[revolute].max())
    return PRIORS["TORQUE_MASS"] * strongest / (STANDARD_G * robot.reach)


def skeleton_boxes(robot: Robot) -> Array:
    """Box of each link in its link frame, lower and upper corner [m], shape (links, 3, 2)."""
    return _skeleton(robot)[0]


def _skeleton(robot: Robot) -> tuple[Array, Array]:
    """Boxes, and the share of the reach that each link carries, shape (links,), at least `PRIORS["LEAST"]`."""
    n = len(robot.links)
    points: list[list[Array]] = [[] for _ in range(n)]
    for k, joint in enumerate(robot.joints):
        origin, axis = joint.placement[:3, 3], joint.placement[:3, :3] @ joint.axis
        # Standard DH: the link frame sits beyond the joint; the tube along the axis may lie on either side of it.
        beyond = joint.placement[:3, :3] @ joint.link_placement[:3, 3]
        along = float(axis @ origin)
        start = origin - along * axis  # foot of the perpendicular from the parent's origin on the joint's axis
        seat = start + along / 2 * axis
        if joint.parent >= 0:
            points[joint.parent] += [np.zeros(3), start, seat]
        into = np.linalg.inv(joint.placement @ joint.link_placement)
        for point in (seat, origin, origin + beyond):
            points[k].append(into[:3, :3] @ point + into[:3, 3])
    for frame in robot.frames:
        if frame.joint >= 0:
            points[frame.joint].append(frame.placement[:3, 3])
    reach = robot.reach or 1.0
    carried = np.maximum(robot.lengths_beyond() / reach, PRIORS["LEAST"])
    half = PRIORS["THICKNESS"] * reach / 2
    spans = [np.column_stack([np.min(cloud, axis=0), np.max(cloud, axis=0)]) for cloud in points]
    return np.array(spans) + np.array([-half, half]), carried


def _common(corners: Array, box: Array) -> Array:
    """What a box shares with the skeleton's, both shape (3, 2); an axis along which they share nothing stays."""
    both = np.column_stack([np.maximum(corners[:, 0], box[:, 0]), np.minimum(corners[:, 1], box[:, 1])])
    return np.where((both[:, 1] - both[:, 0] > PRIORS["SMALLEST_EDGE"])[:, None], both, corners)


def within_the_arm(ten: Array, box: Array) -> Array:
    """The body with its axes shortened to the extents of its box of the skeleton; mass and centre of mass are kept.

    The eigenvalues of the second moment about the centre, ``Sigma = tr(I)/2 1 - I``, are limited to ``m s^2 / 5`` with
    s 1.5 half diagonals of the box: those of an ellipsoid of uniform density whose semi-axes are s.
    """
    mass, com, inertia = from_standard(ten)
    values, vectors = np.linalg.eigh(np.trace(inertia) / 2 * np.eye(3) - inertia)
    most = mass * (PRIORS["LONGEST"] * float(np.linalg.norm(box[:, 1] - box[:, 0])) / 2) ** 2 / 5
    if values[-1] <= most:
        return ten
    second = np.minimum(values, most)
    return to_standard(mass, com, vectors @ np.diag(second.sum() - second) @ vectors.T)


def _uniform_ellipsoid(corners: Array, lighter: float) -> Array:
    """Ellipsoid of uniform density that fills a box, shape (3, 2); ``lighter`` is a factor of its mass."""
    edges = np.maximum(corners[:, 1] - corners[:, 0], PRIORS["SMALLEST_EDGE"])
    mass = lighter * PRIORS["TYPICAL_MASS"] * (float(np.prod(edges)) / 0.1**3) ** PRIORS["GROWTH"]
    second = mass * edges**2 / 20
    return to_standard(mass, corners.mean(axis=1), np.diag(second.sum() - second))


@dataclass(frozen=True, eq=False)
class RobotBodies:
    """The inertial values of a description, as far as they can be those of real links.

    Attributes
    ----------
    parameters : ndarray, shape (10 n,)
        Standard parameters, zero where the description has none or an impossible one.
    repaired : tuple of int
        Links whose values cannot be used.
    reasons : tuple of str
        Why, for each of them.
    """

    parameters: Array
    repaired: tuple[int, ...]
    reasons: tuple[str, ...]


def robot_bodies(robot: Robot, boxes: Array | None = None) -> RobotBodies | None:
    """The bodies of the description; None where fewer than two thirds of them can be those of real links.

    None too where most links are spheres or share the same numbers: placeholders. A single link without values, or
    with impossible ones, is left out, and the others are used.
    """
    boxes = skeleton_boxes(robot) if boxes is None else boxes
    found, repaired, reasons = np.zeros((len(robot.links), 10)), [], []
    for k, link in enumerate(robot.links):
        ten = None if link.inertial is None else link.inertial.standard_parameters()
        why = "the description has none" if ten is None else _unreal(ten, boxes[k])
        if ten is None or why:
            repaired.append(k)
            reasons.append(why)
        else:
            found[k] = ten
    known = [ten for ten in found if ten[9] > 0]
    if 3 * len(known) < 2 * len(found) or _placeholders(known):
        return None
    return RobotBodies(found.ravel(), tuple(repaired), tuple(reasons))


def _placeholders(tens: Sequence[Array]) -> bool:
    """Whether most of these bodies are spheres, or copies of each other."""
    moments = [np.linalg.eigvalsh(from_standard(ten)[2]) for ten in tens]
    spheres = sum(bool(np.ptp(values) <= ALIKE * abs(values).max()) for values in moments)
    copies = sum(any(np.allclose(ten, other, rtol=ALIKE, atol=0) for other in tens[:k]) for k, ten in enumerate(tens))
    return max(spheres, copies) > len(tens) / 2


def _unreal(ten: Array, box: Array) -> str:
    """Why these cannot be the values of a link in this box; empty where they can."""
    if not consistency(ten).full:
        return "no body has such moments of inertia"
    mass, com, inertia = from_standard(ten)
    second = np.linalg.eigvalsh(np.trace(inertia) / 2 * np.eye(3) - inertia)
    semi = np.sqrt(5.0 * second / mass)
    density = mass / (4.0 / 3.0 * np.pi * float(np.prod(semi)))
    diagonal = float(np.linalg.norm(box[:, 1] - box[:, 0])) / 2
    if not PRIORS["LIGHTEST"] <= density <= PRIORS["HEAVIEST"]:
        return f"its density would be {density:.3g} kg/m^3"
    if float(semi[-1]) > PRIORS["REACH"] * diagonal:
        return f"it would be {2 * float(semi[-1]):.2f} m long"
    if float(np.linalg.norm(com - box.mean(axis=1))) > PRIORS["REACH"] * diagonal:
        return "its centre of mass is far from its joints"
    return ""
