"""Newton's method for the most plausible parameters at a price of the residual: problems with linear rows.

    minimise   D(y, sigma) + lambda q(y),    q = ||R y - r||^2    subject to   G y >= h

D is self-concordant but for its scale, q quadratic, so that Newton's method with slacks s = G y - h and multipliers z
(a primal-dual method: s z -> mu) converges from any start, and from the answer at a similar price within a few steps.
The answer at lambda is the most plausible of all sets with ``q <= q(lambda)``: the path of prices is the path of
tolerances, from the largest, where the plausible bodies themselves are the answer, to the smallest.

References
----------
Y. Nesterov, A. Nemirovskii, "Interior-point polynomial algorithms in convex programming", SIAM 1994, Ch. 2. S. Boyd, L.
Vandenberghe, "Convex optimization", Cambridge 2004, Sec. 11.7.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from casid.retrieval.plausible._measure import Measure

Array = NDArray[np.float64]
#: Complementarity and Newton decrement at which a point counts as solved, and the steps allowed for it.
MU, DECREMENT, STEPS = 1e-12, 1e-9, 120
#: Share of the way to the boundary that a step goes at most.
BOUNDARY = 0.95


@dataclass(frozen=True, eq=False)
class Point:
    """A point of the method: unknowns, logarithm of the scale, slacks and multipliers of the rows, and its state.

    ``slope`` is the change of q for a relative change of the price, ``solved`` whether the point is the answer.
    """

    y: Array
    sigma: float
    slacks: Array
    multipliers: Array
    steps: int = 0
    solved: bool = False
    slope: float = 0.0


@dataclass(frozen=True, eq=False)
class _System:
    """Factors of one Newton step."""

    factor: tuple[Array, bool]
    mixed: Array
    turned: Array
    pivot: float

    def solve(self, by_y: Array, by_sigma: float) -> tuple[Array, float]:
        """Solution of the bordered system."""
        step = cho_solve(self.factor, by_y)
        sigma = (by_sigma - float(self.mixed @ step)) / self.pivot
        return step - self.turned * sigma, sigma


class PricedNewton:
    """The program of one problem.

    Parameters
    ----------
    measure
        D.
    matrix, target
        ``q = ||matrix y - target||^2``.
    rows, least
        ``G y >= h``, shapes (rows, N), (rows,).
    """

    def __init__(self, measure: Measure, matrix: Array, target: Array, rows: Array, least: Array) -> None:
        self._measure, self._matrix, self._target = measure, matrix, target
        self._gram, self._pull = matrix.T @ matrix, matrix.T @ target
        sizes = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
        self._sizes, self._rows, self._least = sizes, rows / sizes[:, None], least / sizes
        self._free = bool(measure.scaled.any())

    def start(self, y: Array) -> Point:
        """A point with slacks inside."""
        slacks = np.maximum(self._rows @ y - self._least, 1e-2 * (1.0 + np.abs(self._least)))
        return Point(y, 0.0, slacks, 0.1 / slacks)

    def residual(self, y: Array) -> float:
        """Q at y."""
        return float(np.sum((self._matrix @ y - self._target) ** 2))

    def row_multipliers(self, point: Point) -> Array:
        """Multipliers of the rows as given, >= 0."""
        return point.multipliers / self._sizes

    def solve(self, point: Point, price: float) -> Point:
        """The answer at a price, from a point; ``solved`` states whether it was reached."""
        y, sigma = point.y, point.sigma
        s, z = np.maximum(point.slacks, 1e-12), point.multipliers
        count = max(len(s), 1)
        mu = max(float(s @ z) / count, 1e-6)
        s, z = np.maximum(s, 1e-4 * np.sqrt(mu)), np.maximum(z, 1e-4 * np.sqrt(mu))
        last, done = None, False
        for step in range(1, STEPS + 1):
            system = self._system(y, sigma, (s, z), price)
            if system is None:
                break
            by_y, by_sigma = self._measure.gradient(y, sigma)
            by_y = by_y + 2.0 * price * (self._gram @ y - self._pull)
            missing = self._rows @ y - self._least - s
            barrier = mu / s - z / s * missing
            dy, dsigma = system.solve(-by_y + self._rows.T @ barrier, -by_sigma if self._free else 0.0)
            dsigma = dsigma if self._free else 0.0
            decrement = float(np.sqrt(abs((by_y - self._rows.T @ (mu / s)) @ dy) + abs(by_sigma * dsigma)))
            ds = self._rows @ dy + missing
            dz = mu / s - z - z / s * ds
            along = self._length(y, sigma, dy, dsigma, s, ds, decrement)
            also = min(1.0, float(np.min(-BOUNDARY * z[dz < 0] / dz[dz < 0], initial=1.0)))
            y, sigma, s, z = y + along * dy, sigma + along * dsigma, s + along * ds, z + also * dz
            off = float(np.max(np.abs(missing) / (1.0 + np.abs(self._least)), initial=0.0)) * (1.0 - along)
            if decrement < 0.3 or along == 1.0:
                mu = max(min(0.1 * mu, 0.1 * float(s @ z) / count), MU) if len(s) else MU
            last = system
            done = decrement < DECREMENT + 10.0 * np.sqrt(MU * len(s)) * 1e-3 and off < 1e-11 and mu <= MU
            if done:
                break
        slope = 0.0
        if last is not None:
            g = 2.0 * (self._gram @ y - self._pull)
            slope = -price * float(g @ last.solve(g, 0.0)[0])
        return Point(y, sigma, s, z, point.steps + step, done, slope)

    def _system(self, y: Array, sigma: float, rows: tuple[Array, Array], price: float) -> _System | None:
        s, z = rows
        H, mixed, twice = self._measure.hessian(y, sigma)
        H = H + 2.0 * price * self._gram + (self._rows.T * (z / s)) @ self._rows
        try:
            factor = cho_factor(H, lower=True)
        except (LinAlgError, ValueError):
            return None
        turned = cho_solve(factor, mixed)
        pivot = twice - float(mixed @ turned)
        if not self._free:
            return _System(factor, 0 * mixed, 0 * mixed, 1.0)
        return _System(factor, mixed, turned, pivot if pivot > 0.05 * twice else max(twice, 1.0))

    def _length(
        self, y: Array, sigma: float, dy: Array, dsigma: float, s: Array, ds: Array, decrement: float
    ) -> float:
        """Step length: inside the cone and the slacks, damped where the decrement is large, no rise of D's domain."""
        limit = min(1.0, float(np.min(-BOUNDARY * s[ds < 0] / ds[ds < 0], initial=1.0)))
        M, dM = self._measure.matrices(y), self._measure.matrices(dy)
        roots = np.linalg.inv(np.linalg.cholesky(M))
        falling = float(np.linalg.eigvalsh(roots @ dM @ np.swapaxes(roots, 1, 2)).min())
        if falling < 0:
            limit = min(limit, -BOUNDARY / falling)
        if abs(dsigma) > 0:
            limit = min(limit, 1.0 / abs(dsigma))
        while limit > 1e-12 and not np.isfinite(self._measure.value(y + limit * dy, sigma + limit * dsigma)):
            limit *= 0.5
        return limit
