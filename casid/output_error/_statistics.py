"""What the data tell of each parameter: intervals, the partner it is confused with, what stays open, profiles."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from casid.output_error._rollout import ALL, Branch
from casid.output_error._runs import SCALED, FreeRuns, Parameter, Point
from casid.output_error._search import Block, Normal, Search, correlation
from casid.output_error._servo import KINDS, Unknown

Array = NDArray[np.float64]

#: A posterior deviation above this share of the weak prior's: the data do not tell.
OPEN = 0.5
#: Fewest pieces whose scores give a variance of their own.
_PIECES = 10
#: Directions with less than this share of a piece's information are left out where pieces are compared.
_RANK = 1e-6
#: Harmonics of the error of an encoder's steps.
_HARMONICS = 6
#: A profile's path: factor between its steps, most of them, refinements of an end; iterations at each value and their
#: first damping, small for the long valleys of parameters that are traded.
_GROWTH, _FAR, _REFINED, _DESCENT, _PLAIN = 2.0, 14, 3, 8, 1e-8


@dataclass(frozen=True)
class Estimate:
    """A parameter with what the data tell of it.

    Attributes
    ----------
    name, attribute, unit : str
    joint : int
        Coordinate; -1: all.
    value, sd : float
    low, high : float
        Interval of 95 %; the bounds where the data do not determine it.
    determined : bool
        Whether the data, not a bound or the weak prior, give the value.
    partner : str
        The parameter that it is confused with most; empty below a correlation of 0.5.
    correlation : float
        With that partner.
    words : str
        What to know of it.
    """

    name: str
    attribute: str
    unit: str
    joint: int
    value: float
    sd: float
    low: float
    high: float
    determined: bool
    partner: str
    correlation: float
    words: str

    @property
    def bounded_above_only(self) -> bool:
        """Whether the data give an upper bound of a value that cannot be negative, and no more."""
        return self.determined and self.attribute != "bias" and self.low <= 1e-5 and 0 <= self.value


def covariance(search: Search, point: Point, normal: Normal) -> tuple[Array, float]:
    """Covariance of the parameters by data, priors of the user and weak priors, and degrees of freedom.

    Fisher information of errors whose correlation counts (each joint's own inflation), or, where that is larger, the
    variance of scores that the encoders' steps cause (`_steps`), or that of the pieces' scores (White 1982).
    """
    runs = search.runs
    shown = runs.simulate(point)
    errors = [piece.measured - q for piece, q in zip(runs.pieces, shown, strict=True)]
    inflation = correlation(errors)
    A = normal.A
    D = search.scaling(normal, point.theta)
    inverse = np.linalg.pinv(A / np.outer(D, D), rcond=1e-10, hermitian=True) / np.outer(D, D)
    factor = float((normal.squares * inflation).sum() / (normal.count * len(inflation)))
    factor /= search.scale**2 * search.inflation
    fisher = inverse * max(factor, 1e-300)
    fisher = _widened(fisher, inverse @ _steps(search, point, normal, shown) @ inverse)
    count = sum(len(e) / inflation for e in errors)
    freedom = max(1.0, float(np.sum(count)) - len(point.theta))
    if len(normal.blocks) < _PIECES:
        fisher = fisher * max(1.0, _heterogeneity(normal, point, factor))
        return fisher, freedom
    scores = np.array([_score(made, len(point.theta)) for made in normal.blocks])
    scores = scores - scores.mean(axis=0)
    m = len(scores)
    sandwich = inverse @ (scores.T @ scores * m / (m - 1)) @ inverse
    return _widened(fisher, sandwich), min(freedom, m - 1.0)


def _heterogeneity(normal: Normal, point: Point, factor: float) -> float:
    """How much farther the estimates of the pieces are apart than their covariances let expect.

    ``Q / dof`` with Cochran's ``Q = sum_m (theta_m - theta)' A_m (theta_m - theta)`` in units of the errors' variance
    (Cochran 1954; as a factor of variances: Birge 1932): one number of all parameters, for pieces too few to give each
    parameter a variance of its own.
    """
    size, total, rank = len(point.theta), 0.0, 0
    least = 1e-12 * np.maximum(np.diag(normal.A), 0.0)
    for made in normal.blocks:
        A, s = np.zeros((size, size)), _score(made, size)
        for block in made:
            A[np.ix_(block.places, block.places)] += _eliminated(block, _eliminated(block, block.A).T)
        known = np.flatnonzero(np.diag(A) > least)
        D = np.sqrt(np.diag(A)[known])
        scaled = A[np.ix_(known, known)] / np.outer(D, D)
        if not (len(known) and np.isfinite(scaled).all() and np.isfinite(s).all()):
            continue
        w, V = np.linalg.eigh(scaled)
        kept = w > _RANK * w[-1]
        total += float((((V.T @ (s[known] / D))[kept]) ** 2 / w[kept]).sum())
        rank += int(kept.sum())
    return total / max(rank - size, 1) / max(factor, 1e-300)


def _widened(C: Array, other: Array) -> Array:
    """A covariance with the larger of both variances."""
    grow = np.sqrt(np.maximum(np.diag(other), 1e-300) / np.maximum(np.diag(C), 1e-300))
    grow = np.maximum(grow, 1.0)
    return np.asarray(C * np.outer(grow, grow))


def _score(made: Sequence[Block], size: int) -> Array:
    """Gradient of one piece in the parameters, its initial state eliminated."""
    g = np.zeros(size)
    for block in made:
        g[block.places] += _eliminated(block, block.g)
    return g


def _eliminated(block: Block, g: Array) -> Array:
    """Gradients in parameters and initial state -> in the parameters alone, shape (parameters, ...)."""
    m = len(block.places)
    return np.asarray(g[:m] - block.A[:m, m:] @ np.linalg.solve(block.A[m:, m:], g[m:]))


def _steps(search: Search, point: Point, normal: Normal, shown: Sequence[Array]) -> Array:
    """Covariance of the score where encoders have steps: their error is a function of the position.

    Rounding to steps D errs by a sawtooth of the position x; with its phase unknown, the errors' covariance is

        E e(x) e(y) = (D^2 / 12) sum_k a_k cos(2 pi k (x - y) / D),   a_k = (6 / (pi k)^2) exp(-(2 pi k s / D)^2),

    dithered by other errors of variance s^2 (Widrow and Kollar 2008, ch. 9), so that samples of a joint at rest or at
    its turning points repeat one error. Other errors count as independent here.
    """
    runs, size, n = search.runs, len(point.theta), search.runs.robot.n
    moved = [np.abs(np.diff(np.asarray(data.q), axis=0)) for data in runs.recordings]
    quantum = np.array([min(np.min(s[s[:, j] > 1e-9, j], initial=np.inf) for s in moved) for j in range(n)])
    variance = normal.squares / normal.count
    quantum = np.where(np.isfinite(quantum), np.minimum(quantum, np.sqrt(12.0 * variance)), 1e-9)
    rest = np.maximum(variance - quantum**2 / 12.0, 0.0)
    k = np.arange(1, _HARMONICS + 1)
    shares = 6 / (np.pi * k) ** 2 * np.exp(-((2 * np.pi * k * np.sqrt(rest)[:, None] / quantum[:, None]) ** 2))

    def use(index: int, branch: Branch, places: list[int], start: Array, q: Array, S: Array) -> Array:
        block = next(b for b in normal.blocks[index] if b.places == places)
        made = np.zeros((size, size))
        for place, j in enumerate(branch.joints):
            r = runs.pieces[index].measured[:, j] - shown[index][:, j]
            phase = 2 * np.pi * np.outer(shown[index][:, j], k) / quantum[j]
            waves = np.hstack([np.cos(phase), np.sin(phase)]) * np.tile(np.sqrt(shares[j]), 2) * quantum[j] / 12**0.5
            g = _eliminated(block, (S[:, place] * search.weights(r)[:, None]).T @ waves)
            made[np.ix_(places, places)] += g @ g.T
        return made

    total = sum(sum(made) for made in runs.linearised(point, use))
    others = float(np.mean(variance - quantum**2 / 12.0 * shares.sum(axis=1))) / (search.scale**2 * search.inflation)
    return np.asarray(total + max(others, 0.0) * normal.A)


def estimates(
    search: Search, point: Point, normal: Normal, weak: Array, ratios: Sequence[int]
) -> tuple[tuple[Estimate, ...], Array]:
    """All parameters, and their covariance.

    Parameters
    ----------
    weak
        Standard deviations of the weak priors; infinite where the user gave a prior.
    ratios
        Joints whose gain nothing known fixes.
    """
    C, freedom = covariance(search, point, normal)
    sd = np.sqrt(np.maximum(np.diag(C), 0.0))
    unit = np.where(sd > 0, sd, np.inf)
    rho = C / unit / unit[:, None]
    width = float(student.ppf(0.975, freedom))
    parameters, made = search.runs.parameters, []
    for i, p in enumerate(parameters):
        others = np.abs(rho[i]).copy()
        others[i] = 0.0
        best = int(others.argmax()) if len(others) > 1 else i
        partner = parameters[best].name if others[best] >= 0.5 else ""
        value = float(point.theta[i])
        low, high = max(value - width * sd[i], p.lower), min(value + width * sd[i], p.upper)
        opened = bool(sd[i] > OPEN * weak[i]) or (p.joint in ratios and p.attribute in SCALED)
        if opened:
            low, high = p.lower, p.upper
        words = _words(p, value, low, high, opened, partner, float(rho[i, best]), p.joint in ratios)
        made.append(
            Estimate(p.name, p.attribute, p.unit, p.joint, value, float(sd[i]), low, high, not opened, partner,
                     float(rho[i, best]) if partner else 0.0, words)
        )  # fmt: skip
    return tuple(made), C


def _words(
    p: Parameter, value: float, low: float, high: float, opened: bool, partner: str, rho: float, ratio: bool
) -> str:
    near = f", traded with {partner}" if partner and abs(rho) > 0.9 else ""
    if ratio and p.attribute in SCALED:
        assumed = "no known torque fixes the gain: assumed; only ratios to kp are found"
        return assumed if p.attribute == "kp" else "ratio to kp is found, the value carries the assumed kp"
    if opened:
        return f"not determined{near}"
    if p.lower == 0.0 and low <= 1e-9 * max(high, 1.0) and p.attribute != "bias":
        return f"at most {high:.3g}{near}"
    if value <= p.lower or value >= p.upper:
        return f"at its bound{near}"
    return f"traded with {partner} ({rho:+.2f})" if near else ""


@dataclass(frozen=True, eq=False)
class Profile:
    """Interval of one parameter by re-optimisation of all others.

    Attributes
    ----------
    name, unit : str
    level, value : float
        Of confidence; where the objective is least.
    low, high : float
        Ends of the interval; where the objective does not rise enough, the farthest value that was tried.
    closed : (bool, bool)
        Whether the objective rises by the threshold below and above.
    path : ndarray, shape (k, 2)
        Values in rising order, and the rise of the objective over its threshold (1 at an end of the interval).
    words : str
        What that means.
    """

    name: str
    unit: str
    level: float
    value: float
    low: float
    high: float
    closed: tuple[bool, bool]
    path: Array
    words: str


class Profiles:
    """Profiles of the objective in single parameters (Venzon and Moolgavkar 1988; Raue et al. 2009).

    A parameter is fixed on a path of values, all others and the initial states are optimised again, without the weak
    priors. Its interval ends where the objective, a sum of squares of independent errors of variance 1, has risen by
    ``t^2 C / inv(A)``: t is Student's quantile, C the variance of `covariance`, so that both intervals agree where the
    objective is a parabola.

    Parameters
    ----------
    search, point, normal
        At the minimum.
    weak
        Deviations of the weak priors; infinite where the user gave a prior.
    fine
        Free runs with finer steps, which the profiles are of: dry friction makes those of coarse steps rough.
    level
        Of confidence.
    """

    def __init__(
        self, search: Search, point: Point, normal: Normal, weak: Array, fine: FreeRuns, level: float = 0.95
    ) -> None:  # fmt: skip
        C, freedom = covariance(search, point, normal)
        D = search.scaling(normal, point.theta)
        inverse = np.linalg.pinv(normal.A / np.outer(D, D), rcond=1e-10, hermitian=True) / np.outer(D, D)
        self.level, quantile = level, float(student.ppf(0.5 + level / 2, freedom))
        self.half = quantile * np.sqrt(np.maximum(np.diag(C), 1e-300))
        self.threshold = quantile**2 * np.maximum(np.diag(C) / np.maximum(np.diag(inverse), 1e-300), 1.0)
        runs = copy(fine)
        runs.parameters = tuple(
            replace(p, unknown=Unknown(None, np.inf, p.unknown.lower, p.unknown.upper)) if np.isfinite(sd) else p
            for p, sd in zip(runs.parameters, weak, strict=True)
        )
        self.search = replace(search, runs=runs, history=[], budget=np.inf)
        enough = 0.01 * float(self.threshold.min())
        self.point, self.normal = self.search.descended(point, self.search.normal(point), _DESCENT, enough, _PLAIN)

    def of(self, i: int) -> Profile:
        """Profile of one parameter, by its place."""
        p, value = self.search.runs.parameters[i], float(self.point.theta[i])
        path = {value: (self.normal.cost, Point(np.delete(self.point.theta, i), self.point.starts))}
        self._side(i, -1.0, p.lower, path)
        self._side(i, 1.0, p.upper, path)
        least = min(cost for cost, _ in path.values())
        rises = np.array([[v, (cost - least) / self.threshold[i]] for v, (cost, _) in sorted(path.items())])
        best = int(rises[:, 1].argmin())
        ends = _crossing(rises[best::-1]), _crossing(rises[best:])
        closed = ends[0] is not None, ends[1] is not None
        low, high = (float(rises[k, 0]) if end is None else end for k, end in zip((0, -1), ends, strict=True))
        words = _profile_words(low, high, closed, float(rises[:, 1].max()), self.level)
        return Profile(p.name, p.unit, self.level, float(rises[best, 0]), low, high, closed, rises, words)

    def _side(self, i: int, side: float, bound: float, path: dict[float, tuple[float, Point]]) -> None:
        """Values to one side until the objective has risen enough, the bound, or the last step; the end refined."""
        value, least, top = float(self.point.theta[i]), self.normal.cost, float(self.threshold[i])
        step = min(0.5 * float(self.half[i]), 0.25 * max(abs(value), 1e-3))
        inner, point = value, path[value][1]
        for _ in range(_FAR):
            tried = min(max(inner + side * step, min(bound, inner)), max(bound, inner))
            if tried == inner:
                return
            path[tried] = cost, reached = self._at(i, tried, point)
            if cost - least >= top:
                break
            inner, point, step = tried, reached, step * _GROWTH
        else:
            return
        outer = tried
        for _ in range(_REFINED):  # the root of the rise is nearly linear
            a, b = (np.sqrt(max(path[v][0] - least, 0.0) / top) for v in (inner, outer))
            if abs(b - 1.0) < 0.02 or b <= a:
                break
            tried = inner + (outer - inner) * float(np.clip((1.0 - a) / (b - a), 0.05, 0.95))
            path[tried] = cost, reached = self._at(i, tried, path[inner][1])
            inner, outer = (tried, outer) if cost - least < top else (inner, tried)

    def _at(self, i: int, value: float, point: Point) -> tuple[float, Point]:
        """Least objective with one parameter fixed, and where it is, from a point of the others."""
        runs, p = copy(self.search.runs), self.search.runs.parameters[i]
        runs.known = runs.known.copy()
        runs.known[slice(None) if p.joint == ALL else p.joint, KINDS.index(p.kind)] = value
        runs.parameters = tuple(q for k, q in enumerate(runs.parameters) if k != i)
        search, tangent = replace(self.search, runs=runs, history=[]), self._tangent(i, value)
        point = min(point, tangent, key=search.value)
        reached, normal = search.descended(
            point, search.normal(point), _DESCENT, 0.01 * float(self.threshold[i]), _PLAIN
        )
        own = p.unknown.value is not None and np.isfinite(p.unknown.sd)
        prior = ((value - float(p.unknown.value or 0.0)) / p.unknown.sd) ** 2 if own else 0.0
        return normal.cost + prior, reached

    def _tangent(self, i: int, value: float) -> Point:
        """The minimum with one parameter fixed as the normal equations at the minimum expect it, within the bounds."""
        rest, change = np.arange(len(self.point.theta)) != i, np.zeros(len(self.point.theta))
        change[i] = value - self.point.theta[i]
        D = self.search.scaling(self.normal, self.point.theta)[rest]
        A = self.normal.A[np.ix_(rest, rest)] / np.outer(D, D)
        change[rest] = -np.linalg.pinv(A, 1e-10, True) @ (self.normal.A[rest, i] / D) / D * change[i]
        theta = np.clip(self.point.theta + change, self.search.lower, self.search.upper)
        starts = [x.copy() for x in self.point.starts]
        for made, start in zip(self.normal.blocks, starts, strict=True):
            for branch, block in zip(self.search.runs.branches, made, strict=True):
                m, moved = len(block.places), (theta - self.point.theta)[block.places]
                start[self.search.runs.state(branch)] -= np.linalg.solve(block.A[m:, m:], block.A[m:, :m] @ moved)
        return Point(theta[rest], starts)


def _crossing(rises: Array) -> float | None:
    """Where the root of the rise first passes 1 on a path that leads away from the minimum; None: nowhere."""
    above = np.flatnonzero(rises[:, 1] >= 1.0)
    if not len(above):
        return None
    (v, a), (w, b) = rises[above[0] - 1], rises[above[0]]
    a, b = np.sqrt(max(a, 0.0)), np.sqrt(b)
    return float(v + (w - v) * (1.0 - a) / (b - a))


def _profile_words(low: float, high: float, closed: Sequence[bool], most: float, level: float) -> str:
    (below, above), sure = closed, f"{100 * level:.3g} %"
    if below and above:
        return f"from {low:.4g} to {high:.4g} ({sure})"
    if above:
        return f"bounded above only: at most {high:.4g} ({sure}); open below, down to {low:.3g}"
    if below:
        return f"bounded below only: at least {low:.4g} ({sure}); open above, up to {high:.3g}"
    return f"open: from {low:.3g} to {high:.3g} the objective rises by {most:.2g} of its threshold at most"
