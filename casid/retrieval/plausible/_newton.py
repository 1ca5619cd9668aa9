"""Newton's method for the most plausible parameters at a price of the residual: bodies of known scale, linear rows.

    minimise   D(y) + lambda q(y),    q = ||R y - r||^2    subject to   G y >= h

with slacks s = G y - h and multipliers z, ``s z -> mu``, and a dual matrix Z_k of each link, ``M_k Z_k -> 1``: D's
own logarithm is the barrier of the cone, so that the answers are points of the central path of the least-squares
problem and Nesterov and Todd's direction takes long steps along it. It converges from any start, and from the answer
at a similar price within a few steps.
The answer at lambda is the most plausible of all sets with ``q <= q(lambda)``: the path of prices is the path of
tolerances, from the largest, where the plausible bodies themselves are the answer, to the smallest.

References
----------
Y. Nesterov, M. Todd, "Primal-dual interior-point methods for self-scaled cones", SIAM J. Optimization 8(2), 1998. S.
Boyd, L. Vandenberghe, "Convex optimization", Cambridge 2004, Sec. 11.7.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from casid.arrays import Array
from casid.retrieval.plausible._measure import Measure

#: Complementarity of the rows at first; and of an answer, with its Newton decrement, roughly and exactly.
LOOSEST, ROUGH, EXACT = 1e-6, (1e-7, 1e-3), (1e-12, 1e-8)
#: Steps allowed for one price, roughly and exactly, and the share of the way to the boundary that a step goes at most.
STEPS, BOUNDARY = (400, 120), 0.9


@dataclass(frozen=True, eq=False)
class Point:
    """A point of the method: unknowns, slacks and multipliers of the rows, duals of the cones.

    ``slope`` is the change of q for a relative change of the price, ``solved`` whether the point is the answer.
    """

    y: Array
    slacks: Array
    multipliers: Array
    duals: Array
    steps: int = 0
    solved: bool = False
    slope: float = 0.0


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

    def start(self, y: Array) -> Point:
        """A point with slacks inside."""
        slacks = np.maximum(self._rows @ y - self._least, 1e-2 * (1.0 + np.abs(self._least)))
        return Point(y, slacks, 0.1 / slacks, np.asarray(np.linalg.inv(self._measure.matrices(y)), dtype=float))

    def residual(self, y: Array) -> float:
        """Q at y."""
        return float(np.sum((self._matrix @ y - self._target) ** 2))

    def row_multipliers(self, point: Point) -> Array:
        """Multipliers of the rows as given, >= 0."""
        return np.asarray(point.multipliers / self._sizes)

    def solve(self, point: Point, price: float, rough: bool = False) -> Point:
        """The answer at a price, from a point; ``solved`` states whether it was reached, roughly or exactly."""
        least, enough = ROUGH if rough else EXACT
        now, mu = point, max(float(point.slacks @ point.multipliers) / max(len(point.slacks), 1), LOOSEST)
        floor = 1e-4 * np.sqrt(mu)
        now = replace(now, slacks=np.maximum(now.slacks, floor), multipliers=np.maximum(now.multipliers, floor))
        slope, done = 0.0, False
        for _ in range(STEPS[0 if rough else 1]):
            try:
                made = self._step(now, price, mu)
            except LinAlgError:  # a matrix on the boundary of its cone, within rounding
                made = None
            if made is None:
                break
            now, decrement, slope, along = made
            done = decrement < enough and along == 1.0 and mu <= least
            if done:
                break
            if decrement < 1.0:
                mu = max(0.1 * mu, least)
        return replace(now, solved=done, slope=slope)

    def _step(self, at: Point, price: float, mu: float) -> tuple[Point, float, float, float] | None:
        """One step: the point, the decrement, the change of q with the logarithm of the price, the step's length."""
        y, s, z, measure = at.y, at.slacks, at.multipliers, self._measure
        M = measure.matrices(y)
        W = scaling(M, at.duals)
        H = measure.hessian(y, 0.0, W)[0] + 2.0 * price * self._gram + (self._rows.T * (z / s)) @ self._rows
        try:
            factor, inverse = cho_factor(H, lower=True), np.linalg.inv(W)
        except (LinAlgError, ValueError):
            return None
        by_q = 2.0 * (self._gram @ y - self._pull)
        by_y = measure.gradient(y, 0.0)[0] + price * by_q
        missing = self._rows @ y - self._least - s
        missing[np.abs(missing) <= 1e-13 * (1.0 + np.abs(self._least))] = 0.0
        dy = cho_solve(factor, -by_y + self._rows.T @ (mu / s - z / s * missing))
        decrement = float(np.sqrt(abs((by_y - self._rows.T @ (mu / s)) @ dy)))
        slope = -price * float(by_q @ cho_solve(factor, by_q))
        ds = self._rows @ dy + missing
        dz = mu / s - z - z / s * ds
        dM = measure.matrices(dy)
        dZ = np.linalg.inv(M) - at.duals - inverse @ dM @ inverse
        along = min(_inside(M, dM), _inside(at.duals, dZ), _within(s, ds), _within(z, dz))
        while along > 1e-9 and not np.isfinite(measure.value(y + along * dy, 0.0)):
            along *= 0.5
        made = Point(y + along * dy, s + along * ds, z + along * dz, at.duals + along * dZ, at.steps + 1)
        return made, decrement, slope, along


def scaling(M: Array, Z: Array) -> Array:
    """Nesterov and Todd's W of each link, ``W Z W = M``, shape (links, 4, 4); M itself where ``Z = M^-1``."""
    values, vectors = np.linalg.eigh(M)
    root = vectors * np.sqrt(np.maximum(values, 1e-300))[:, None, :] @ np.swapaxes(vectors, 1, 2)
    inner, turned = np.linalg.eigh(root @ Z @ root)
    middle = turned / np.sqrt(np.maximum(inner, 1e-300))[:, None, :] @ np.swapaxes(turned, 1, 2)
    W = root @ middle @ root
    return np.asarray((W + np.swapaxes(W, 1, 2)) / 2)


def _inside(M: Array, dM: Array) -> float:
    """Longest step, at most 1, that keeps matrices positive definite."""
    roots = np.linalg.inv(np.linalg.cholesky(M))
    falling = float(np.linalg.eigvalsh(roots @ dM @ np.swapaxes(roots, 1, 2)).min())
    return min(1.0, -BOUNDARY / falling) if falling < 0 else 1.0


def _within(s: Array, ds: Array) -> float:
    """Longest step, at most 1, that keeps numbers positive."""
    return min(1.0, float(np.min(-BOUNDARY * s[ds < 0] / ds[ds < 0], initial=1.0)))


#: First price of the path of prices and the last one, in units of the least sum of squares asked for, and the largest
#: factor from one to the next.
CHEAP, DEAR, DEARER = 1e-9, 1e14, 30.0
#: Relative error to which the increase of the sum of squares meets its limit, the prices tried for it, and how many
#: of them may fail.
MET, TRIED, FAILURES = 1e-5, 25, 2


class Climb:
    """The path of growing prices, from the plausible bodies to the data; ``room``: least sum of squares asked for."""

    def __init__(self, newton: PricedNewton, least: float, room: float, first: Point, met: float) -> None:
        self._newton, self._least, self._point, self._met = newton, least, first, met
        self._unit = 1.0 / max(least, room, 1e-300)
        self.price = 0.0

    def _exact(self, point: Point, price: float) -> Point | None:
        """The exact answer at a price, from the rough one; None: none found."""
        made = self._newton.solve(point, price)
        self._point, self.price = point, price
        return made if made.solved else None

    def _fallback(self, price: float | None) -> Point | None:
        """The exact answer at a price that is known to be high enough."""
        return None if price is None else self._exact(self._newton.solve(self._point, price, rough=True), price)

    def to(self, room: float) -> Point | None:
        """The point whose sum of squares is ``room``, within ``met`` of its increase over the least; None: none found.

        The logarithm of the increase falls almost linearly in that of the price: Newton's method within a bracket.
        """
        price = self.price or CHEAP * self._unit
        point = self._newton.solve(self._point, price, rough=True)
        below, above = 0.0, np.inf
        wanted = np.log(max(room - self._least, 1e-12 * room)) - 2 * self._met  # within the limit
        answer: float | None = None
        failures, rough = 0, True
        for _ in range(TRIED):
            if not point.solved:  # too far: a price between
                failures += 1
                if failures > FAILURES:
                    return self._fallback(answer)
                price = float(np.sqrt(price * self.price)) if self.price else 0.1 * price
                point = self._newton.solve(self._point, price, rough)
                continue
            self._point, self.price = point, price
            left = self._newton.residual(point.y) - self._least
            if left <= 0:
                above = price
                now = -np.inf
            else:
                now = np.log(left)
                if abs(now - wanted) <= self._met or (now < wanted and below == 0.0):
                    if not rough:
                        return point
                    rough, below, above = False, below and price / DEARER, np.inf
                    point = self._newton.solve(point, price)
                    continue
                below, above = (price, above) if now > wanted else (below, price)
                answer = price if now <= wanted else answer
            steepness = point.slope / left if left > 0 else 0.0
            step = (
                np.exp(np.clip((wanted - now) / steepness, -np.log(DEARER), np.log(DEARER)))
                if steepness < 0
                else DEARER
            )
            price = price * step
            if not below < price < above:
                price = DEARER * below if np.isinf(above) else float(np.sqrt(max(below, 1e-6 * above) * above))
            if price > DEAR * self._unit:
                return self._fallback(answer)
            point = self._newton.solve(point, price, rough)
        return self._fallback(answer)
