"""The numbers behind plausible bodies that no law gives: one table, each with its data, its spread, and what it moves.

Set on arms at hand. Where the data of an entry allow it, its spread is that of its estimate with one robot left out in
turn (`scripts/acceptance.py real` measures the bodies that follow). A number that has no data says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array

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
        from scipy.stats import t  # a model is imported without scipy

        return np.asarray(t.ppf(0.975, self.robots - 1) * self.scale * self.known(deviations, links))


#: Of totals, single links and centres of mass [m], by where a body is from: the kinematics, its link's shape, inertial
#: values of a description (the truth within 10 % of it). Robots: scripts/benchmarks/real/mass_deviations.csv.
MISSES = {
    "skeleton": (Misses(1.273, 0.212, 37), Misses(1.346, 0.553, 34), Misses(1.062, np.inf, 30)),
    "shape": (Misses(4.553, 0.119, 28, True), Misses(1.326, 0.442, 28), Misses(1.612, np.inf, 28)),
    "description": (Misses(5.179, 0.056, 29, True), Misses(1.012, 0.085, 29), Misses(0.246, np.inf, 29)),
}


def misses(origin: str) -> tuple[Misses, Misses, Misses]:
    """Those of a body of this origin (`PlausibleBodies.origins`): of totals, of single links, of centres."""
    return MISSES.get(origin, MISSES["skeleton"])


def priors() -> Iterator[tuple[str, PriorNumber]]:
    """All entries by their names."""
    return iter(PRIORS.items())
