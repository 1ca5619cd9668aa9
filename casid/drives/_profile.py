"""Profile intervals: one parameter is fixed on a path of values, all others are optimised again."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.special import stdtrit

from casid.arrays import Array
from casid.drives._runs import FreeRuns, Point
from casid.drives._search import AGAIN, Normal, Search
from casid.drives._servo import Unknown
from casid.drives._statistics import covariance
from casid.evidence import NOTICEABLE

#: A profile's path: factor between its steps, most of them, refinements of an end; first damping at each
#: value, small for the long valleys of parameters that are traded.
_GROWTH, _FAR, _REFINED, _PLAIN = 2.0, 14, 3, 1e-8


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

    def plain(self) -> dict[str, Any]:
        """Plain values by name."""
        return {**asdict(self), "path": self.path.tolist(), "closed": list(self.closed)}


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
        inverse = search.inverse(normal, point.theta)
        self.level, quantile = level, stdtrit(freedom, 0.5 + level / 2)
        self.half = quantile * np.sqrt(np.maximum(np.diag(C), 1e-300))
        self.threshold = quantile**2 * np.maximum(np.diag(C) / np.maximum(np.diag(inverse), 1e-300), 1.0)
        runs = copy(fine)
        runs.parameters = tuple(
            replace(p, unknown=Unknown(None, np.inf, p.unknown.lower, p.unknown.upper)) if np.isfinite(sd) else p
            for p, sd in zip(runs.parameters, weak, strict=True)
        )
        tolerance = 0.01 * float(self.threshold.min()) / len(self.half)
        self.search = replace(search, runs=runs, tolerance=tolerance, budget=np.inf)
        self.point, self.normal = self.search.descended(point, self.search.normal(point), AGAIN, _PLAIN)

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
            if abs(b - 1.0) < NOTICEABLE - 1.0 or b <= a:
                break
            tried = inner + (outer - inner) * float(np.clip((1.0 - a) / (b - a), 0.05, 0.95))
            path[tried] = cost, reached = self._at(i, tried, path[inner][1])
            inner, outer = (tried, outer) if cost - least < top else (inner, tried)

    def _at(self, i: int, value: float, point: Point) -> tuple[float, Point]:
        """Least objective with one parameter fixed, and where it is, from a point of the others."""
        p = self.search.runs.parameters[i]
        runs = self.search.runs.holding(p.kind, list(p.joints), value)
        runs.parameters = tuple(q for k, q in enumerate(runs.parameters) if k != i)
        search, tangent = replace(self.search, runs=runs), self._tangent(i, value)
        point = min(point, tangent, key=search.value)
        reached, normal = search.descended(point, search.normal(point), AGAIN, _PLAIN)
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
