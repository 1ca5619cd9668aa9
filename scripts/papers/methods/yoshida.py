"""The example of Yoshida and Khalil (2000), and their recursion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from papers.methods.feasible_set import FeasibleSet, Verdict, closest_feasible, feasibility_test
from papers.methods.regression import Kind

import casid
from casid.arrays import Array
from casid.dynamics import BaseParameters, Model

#: Sousa 2014, Table 6.1, column beta_t1, by leading parameter; beta_t2 differs in the first one only.
BETA_T1 = {
    "Lyy1": 6.4, "Lxx2": -5.48, "Lxy2": 0.072, "Lxz2": -0.087, "Lyz2": 0.051, "Lzz2": 5.6, "lx2": 6.5, "ly2": -0.00075,
    "Lxx3": -0.72, "Lxy3": -0.0098, "Lxz3": -0.0098, "Lyz3": -0.00045, "Lzz3": 0.72, "lx3": 0.95, "ly3": 0.015,
}  # fmt: skip
BETA_T2 = {**BETA_T1, "Lyy1": 6.2}
#: Kinds of consistency.
WORDS: dict[Kind, str] = {"semi": "masses and inertias positive", "full": "with the triangle inequality, too"}


#: Norm up to which a proof of infeasibility is claimed: far above any robot's, far below what rounding decides.
CLAIMED = 1e6


@dataclass(frozen=True, eq=False)
class ThreeLink:
    """Verdict on one set: its name and kind of consistency, the test's outcome, the distance from the feasible set."""

    name: str
    kind: Kind
    verdict: Verdict
    distance: float

    @property
    def text(self) -> str:
        """In words."""
        what = f"{self.name}, {WORDS[self.kind]}"
        if self.verdict.feasible:
            return f"{what}: feasible, with a smallest eigenvalue of {self.verdict.margin:.3g} to spare"
        return (
            f"{what}: infeasible, {self.distance:.3e} from the nearest feasible ones. Proof: standard parameters with "
            f"these base parameters would have a norm of more than {min(self.verdict.excluded_radius, CLAIMED):.0e}"
        )


def three_link(table: Mapping[str, float]) -> tuple[BaseParameters, Array]:
    """Base parameters of the robot, and their values of a column."""
    base = Model(casid.load_robot("three_link")).base
    return base, np.array([table[leading] for leading in base.names])


def three_link_verdicts() -> list[ThreeLink]:
    """Both sets, both kinds of consistency."""
    found = []
    for name, table in (("beta_t1", BETA_T1), ("beta_t2", BETA_T2)):
        base, beta = three_link(table)
        for kind in WORDS:
            allowed = FeasibleSet(30, (0, 10, 20), kind)
            verdict = feasibility_test(base.K, beta, allowed)
            distance = 0.0 if verdict.feasible else closest_feasible(base.K, beta, allowed)[1]
            found.append(ThreeLink(name, kind, verdict, distance))
    return found


#: Places of Lxx ... m in a link.
XX, XY, XZ, YY, YZ, ZZ, LX, LY, LZ, M = range(10)


@dataclass(frozen=True, eq=False)
class Recursion:
    """Base parameters as each link's leading ones and what the dependent ones take from them.

    Attributes
    ----------
    base : BaseParameters
        Of a robot whose links have the ten standard parameters.
    beta : ndarray
        Values.
    """

    base: BaseParameters
    beta: Array

    def link(self, index: int, dependent: Array) -> Array:
        """A link's ten parameters, shape (10, samples), from all dependent ones, shape (N, samples)."""
        x = dependent[10 * index : 10 * index + 10].copy()
        for row, place in enumerate(self.base.independent):
            if place // 10 == index:
                others = self.base.K[row].copy()
                others[place] = 0.0
                x[place - 10 * index] = self.beta[row] - others @ dependent
        return np.asarray(x)

    def choose(self, index: int, dependent: Array, mass: Array, lz: Array) -> Array:
        """Dependent parameters with this link's three chosen, its Lyy least; NaN outside its region."""
        chosen = np.broadcast_to(dependent, (len(dependent), len(mass))).copy()
        chosen[10 * index + M], chosen[10 * index + LZ], chosen[10 * index + YY] = mass, lz, 0.0
        least = least_lyy(self.link(index, chosen))
        chosen[10 * index + YY] = least
        return np.asarray(chosen)

    def left(self, dependent: Array) -> Array:
        """What is left for link 1's leading parameter, which must be positive, shape (samples,)."""
        (first,) = (place for place in self.base.independent if place < 10)
        return np.asarray(self.link(0, dependent)[first])


def least_lyy(x: Array) -> Array:
    """Least t, added to Lxx and Lyy, that gives links a non-negative inertia about the centre of mass.

    Links have the shape (10, samples); NaN where there is no such t.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = 1.0 / x[M]
        xx = x[XX] - (x[LY] ** 2 + x[LZ] ** 2) * inverse
        yy = x[YY] - (x[LX] ** 2 + x[LZ] ** 2) * inverse
        zz = x[ZZ] - (x[LX] ** 2 + x[LY] ** 2) * inverse
        xy, xz, yz = x[XY] + x[LX] * x[LY] * inverse, x[XZ] + x[LX] * x[LZ] * inverse, x[YZ] + x[LY] * x[LZ] * inverse
        a, b, c = xx - xz**2 / zz, xy - xz * yz / zz, yy - yz**2 / zz
        least = -((a + c) / 2 - np.sqrt(((a - c) / 2) ** 2 + b**2))
    return np.where((x[M] > 0) & (zz > 0), least, np.nan)


@dataclass(frozen=True)
class Walk:
    """A search by trial: choices for the last link and for the one before, and how it ended.

    Attributes
    ----------
    outer, inner : int
        Points tried in the last link's region, and in the second link's.
    found : bool
    """

    outer: int
    inner: int
    found: bool


#: Where choices are drawn: masses [kg], first moments [kg.m].
MASSES, MOMENTS = (0.1, 100.0), (-1.0, 1.0)


def walk(recursion: Recursion, seed: int, outer: int = 200, inner: int = 50) -> Walk:
    """Points drawn in the last link's region, for each some in the second's; back to the last link when none will do.

    Masses are drawn by their logarithm. For three links.
    """
    rng, none, tried = np.random.default_rng(seed), np.zeros((30, 1)), 0
    for k in range(outer):
        last = recursion.choose(2, none, *_drawn(rng, 1))
        if not np.isfinite(last[20 + YY, 0]):
            continue
        second = recursion.choose(1, last, *_drawn(rng, inner))
        good = np.flatnonzero(recursion.left(second) > 0)
        if len(good):
            return Walk(k + 1, tried + int(good[0]) + 1, True)
        tried += inner
    return Walk(outer, tried, False)


def _drawn(rng: np.random.Generator, count: int) -> tuple[Array, Array]:
    low, high = float(np.log(MASSES[0])), float(np.log(MASSES[1]))
    return np.exp(rng.uniform(low, high, count)), rng.uniform(*MOMENTS, count)


def most_left(recursion: Recursion, points: int = 25, rounds: int = 12) -> tuple[float, Array]:
    """Largest value left for link 1 over both regions, by grids that close in on the best point, and that point.

    The second link's mass is taken without end: it enters nothing but its own region, which grows with it.

    Returns
    -------
    float
        Not positive: no choice was found; a search proves nothing.
    ndarray, shape (3,)
        Mass and lz of the last link, lz of the second.
    """
    low, high, best = np.array([0.0, -2.0, -2.0]), np.array([8.0, 2.0, 2.0]), -np.inf
    where = np.zeros(3)
    for _ in range(rounds):
        axes = [np.linspace(a, b, points) for a, b in zip(low, high, strict=True)]
        m3, z3, z2 = (grid.ravel() for grid in np.meshgrid(*axes, indexing="ij"))
        last = recursion.choose(2, np.zeros((30, 1)), m3, z3)
        left = recursion.left(recursion.choose(1, last, np.full(len(m3), 1e12), z2))
        left = np.where(np.isnan(left), -np.inf, left)
        k = int(left.argmax())
        if left[k] > best:
            best, where = float(left[k]), np.array([m3[k], z3[k], z2[k]])
        width = (high - low) / 4
        low, high = where - width, where + width
    return best, where
