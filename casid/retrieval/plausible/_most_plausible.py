r"""The convex program of the most plausible parameters among those that explain the data, with a proof of optimality.

With the pseudo-inertia of each link beyond the margin, ``M_k = J_k(x) - margin 1``, and that of its plausible body,
``M0_k``, the log-det (entropic) divergence (Lee, Wensing and Park 2020, Sec. III) is

    D(x) = sum_k  tr(M_k M0_k^-1) / s_k - log det(M_k M0_k^-1 / s_k) - 4,

s_k = s for bodies whose masses are known up to a common factor, 1 for the others, and the program

    minimise    D(x) + kappa sum_j (c_j x_j)^2
    subject to  ||R x - r||^2 + constant + weights' v(x) <= F,  the hard rows, the bounds of the terms.

D is convex in x and grows without bound at the boundary of the cone, so that ``J_k >= margin 1`` needs no constraint.
The sum is over joint terms, c_j x_j the share of all torque that a term makes: where the motion cannot distinguish
terms the smallest are chosen, others are unaffected. With the scale s unknown the program is solved for x and s
at once: ``min_s D`` is the logarithm of a linear function over a concave one, hence quasi-convex, and its stationary
point the global one.

**Proof of a solution.** D (the sum over the terms included) and the sum of squares q are convex, so that with any
``lambda >= 0`` and any multipliers of the rows every feasible z has

    D(z) >= D(x) + lambda (q(x) - F) - g'x + min_z (g - A'(l - u))'z + l'lo - u'hi,     g = grad D(x) + lambda grad q(x)

(weights of soft rows enter as ``lambda w``). The last minimum is over what the gradient leaves: link by link over all M
with ``D_k <= D(x)``, whose trace is bounded by D itself, and over the terms, which D bounds too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.errors import SolveError
from casid.inertia import from_pseudo_inertia, pseudo_inertia
from casid.inertia._divergence import (
    SVEC_WEIGHTS,
    TRIANGLE_MAP,
    Divergence,
    congruence,
    lower_triangle,
    symmetric,
)
from casid.inertia._parameter_vector import link_slice
from casid.retrieval._problem import Problem
from casid.retrieval._rows import split_rows
from casid.retrieval.plausible._program import BallOutcome, BallProgram

Array = NDArray[np.float64]
_FROM_ONE = Divergence(np.eye(4))
#: Gap at which the solve is not repeated; ten times this gap ends the search for other starts.
ENOUGH = 1e-7
#: Weight kappa of the joint terms' shares of the torque.
TERMS = 0.1
#: Prices of the sum of squares, in units of the ball's radius, along the path from the plausible bodies to the data.
PRICES = tuple(10.0 ** np.arange(-2.0, 8.1, 1.0))


@dataclass(frozen=True, eq=False)
class MostPlausible:
    """Solution of the program.

    Attributes
    ----------
    parameters : ndarray, shape (N,)
        Standard parameters, then the extras.
    scale : float
        s.
    divergence, lower_bound : float
        D at the solution, and the proven smallest value of any feasible set (relative to bodies of that scale).
    price : float
        lambda: decrease of D for each unit by which the allowed sum of squares is raised.
    multipliers : ndarray
        Multipliers of the linear rows, > 0 at an upper bound.
    iterations : int
    status : str
    """

    parameters: Array
    scale: float
    divergence: float
    lower_bound: float
    price: float
    multipliers: Array
    iterations: int
    status: str

    @property
    def gap(self) -> float:
        """``(D - lower bound) / max(D, 1)``."""
        return float((self.divergence - self.lower_bound) / max(self.divergence, 1.0))


class DivergenceProgram:
    """The program of one problem; all links fully consistent.

    Parameters
    ----------
    problem
    bodies
        Standard parameters of the plausible bodies, shape (10 n,).
    scaled
        Bodies that share the unknown scale, shape (n,).
    limit
        F: largest allowed objective plus penalty.
    """

    def __init__(self, problem: Problem, bodies: Array, scaled: NDArray[np.bool_], limit: float) -> None:
        self.problem, self.limit, self.scaled = problem, limit, np.asarray(scaled, dtype=bool)
        self.linear, self.nonlinear = split_rows(problem)
        self._margins = np.array([cone.margin for cone in problem.cones])
        self._basis, self._origin = _coordinates(problem, bodies, self._margins)
        self._links = len(problem.cones)
        start = 10 * self._links
        columns = np.linalg.norm(problem.objective.matrix[:, start:] @ self._basis[start:, start:], axis=0)
        size = float(np.linalg.norm(problem.objective.target)) or 1.0
        self._shares = np.where(columns > 0, columns, 1.0) / size  # of the torque, for one unit of a term's y
        self._program = BallProgram(
            problem, self.linear, self.nonlinear, self._basis, self._origin, self.scaled, limit, TERMS * self._shares**2
        )

    # ------------------------------------------------------------------ solve

    def solve(self, start: Array, near: Array | None = None) -> MostPlausible:
        """Solve; the plausible bodies' scale is found along with the parameters.

        The starts are, in this order: a point ``near`` the solution, if given; the end of the path on which
        ``D + lambda q`` is minimised for a growing lambda, from the plausible bodies until the data are explained; and
        the given ``start``.

        Raises
        ------
        SolveError
            If no point that explains the data is found.
        """
        best: MostPlausible | None = None
        iterations = 0
        status = "no start"
        ways = (
            lambda: None if near is None else self._program.start(self._inside(self._coordinates_of(near), 1e-3)),
            self._explained,
            lambda: self._program.start(self._inside(self._coordinates_of(start), 1e-2)),
        )
        for way in ways:
            w = way()
            if w is None:
                continue
            for _ in range(2):  # a second solve from the end point: the gap may still be large at the first
                outcome = self._program.within(w)
                iterations += outcome.iterations
                status, w = outcome.status, outcome.w
                made = self._judged(outcome, iterations)
                if made is not None and (best is None or made.gap < best.gap):
                    best = made
                if made is None or made.gap <= ENOUGH:
                    break
            if best is not None and best.gap <= 10 * ENOUGH:
                break
        if best is None:
            raise SolveError(f"problem '{self.problem.name}': no plausible parameters found ({status})", None)
        return best

    def _explained(self) -> Array | None:
        """A point within the ball, along the path of growing price; None where the path does not reach the ball."""
        y = np.zeros(self.problem.variables.size)
        for k in range(self._links):
            y[link_slice(k)] = lower_triangle(np.eye(4))
        w = self._program.start(y)
        for price in PRICES:
            outcome = self._program.priced(w, price)
            if not np.isfinite(outcome.w).all():
                return None
            w = outcome.w
            if outcome.ball < 1.0:
                return w
        return None

    def _judged(self, outcome: BallOutcome, iterations: int) -> MostPlausible | None:
        """The solver's point and multipliers with their proof; None where the point does not explain the data."""
        size = self.problem.variables.size
        point = self._basis @ outcome.w[:size] + self._origin
        scale = float(np.exp(outcome.w[size]))
        value = self.divergence(point, scale) if np.isfinite(outcome.w).all() else np.inf
        if not np.isfinite(value) or outcome.ball > 1.0 + 1e-8:
            return None
        bound = self.lower_bound(point, scale, outcome.price, outcome.multipliers)
        return MostPlausible(point, scale, value, bound, outcome.price, outcome.multipliers, iterations, outcome.status)

    def _inside(self, y: Array, lift: float) -> Array:
        """The point with each link's eigenvalues lifted to a share of its largest: away from the boundary."""
        y = y.copy()
        for k in range(self._links):
            values, vectors = np.linalg.eigh(symmetric(y[link_slice(k)]))
            values = np.maximum(values, lift * max(float(values[-1]), 1e-6))
            lifted = vectors @ np.diag(values) @ vectors.T
            y[link_slice(k)] = lower_triangle(lifted)
        return y

    # ------------------------------------------------------------------ in numpy

    def _coordinates_of(self, x: Array) -> Array:
        return np.asarray(np.linalg.solve(self._basis, x - self._origin), dtype=float)

    def divergence(self, x: Array, scale: float) -> float:
        """D at x; infinite outside the cone."""
        y = self._coordinates_of(x)
        total = TERMS * float(np.sum((self._shares * y[10 * self._links :]) ** 2))
        for k, scaled in enumerate(self.scaled):
            total += float(_FROM_ONE.value(symmetric(y[link_slice(k)]) / (scale if scaled else 1.0)))
        return max(total, 0.0)

    def lower_bound(self, x: Array, scale: float, price: float, multipliers: Array) -> float:
        """Proven smallest D of any feasible set, see the module; valid for any multipliers."""
        objective, links = self.problem.objective, self._links
        here = self.divergence(x, scale)
        weights = price * np.array([np.inf if row.weight is None else row.weight for row in self.linear.rows])
        low, high = self.linear.lower, self.linear.upper
        at_low = np.where(np.isfinite(low), np.clip(-multipliers, 0.0, weights), 0.0)
        at_high = np.where(np.isfinite(high), np.clip(multipliers, 0.0, weights), 0.0)
        y = self._coordinates_of(x)
        gradient = price * self._basis.T @ objective.gradient(x)
        for k, scaled in enumerate(self.scaled):
            s = scale if scaled else 1.0
            gradient[link_slice(k)] += _FROM_ONE.gradient(symmetric(y[link_slice(k)]) / s, TRIANGLE_MAP) / s
        gradient[10 * links :] += 2.0 * TERMS * self._shares**2 * y[10 * links :]
        bound = here + price * (objective(x) - self.limit) - float(gradient @ y)
        left = gradient - self._basis.T @ self.linear.matrix.T @ (at_low - at_high)
        shift = self.linear.matrix @ self._origin  # rows in y: A C y within [lo - A x0, hi - A x0]
        bound += float(at_low @ np.where(np.isfinite(low), low - shift, 0.0))
        bound -= float(at_high @ np.where(np.isfinite(high), high - shift, 0.0))
        largest = 4.0 * _largest(here / 4.0) * np.where(self.scaled, scale, 1.0)  # of tr M in the bodies' coordinates
        for k in range(links):
            dual = symmetric(left[link_slice(k)] / SVEC_WEIGHTS**2)  # <dual, M(y)> = left'y
            bound += min(0.0, float(np.linalg.eigvalsh(dual)[0])) * float(largest[k])
        reach = np.sqrt(here / TERMS) / self._shares
        for rest, most, (name, (lower, upper)) in zip(
            left[10 * links :], reach, self.problem.variables.extras.items(), strict=True
        ):
            unit = self._basis[self._position(name), self._position(name)]
            bound += float((rest * np.clip([-most, most], lower / unit, upper / unit)).min())
        return bound

    def _position(self, name: str) -> int:
        return 10 * self._links + list(self.problem.variables.extras).index(name)


def _coordinates(problem: Problem, bodies: Array, margins: Array) -> tuple[Array, Array]:
    """``x = C y + x0``: a link's y is the lower triangle of M in the coordinates in which its plausible body is 1."""
    size, lengths = problem.variables.size, np.linalg.norm(problem.objective.matrix, axis=0)
    basis, origin = np.zeros((size, size)), np.zeros(size)
    for k, margin in enumerate(margins):
        link = link_slice(k)
        body = pseudo_inertia(bodies[link])
        smallest = float(np.linalg.eigvalsh(body)[0])
        beyond = body - margin * np.eye(4) if smallest > 2 * margin else body
        factor = np.linalg.cholesky(beyond)
        basis[link, link] = congruence(factor)
        origin[link] = from_pseudo_inertia(margin * np.eye(4))
    for k in range(10 * len(margins), size):
        basis[k, k] = 1.0 / lengths[k] if lengths[k] > 0 else 1.0
    typical = float(np.median(np.linalg.norm(problem.objective.matrix @ basis[:, : 10 * len(margins)], axis=0)))
    for k in range(10 * len(margins), size):
        basis[k, k] *= typical or 1.0
    return basis, origin


def _largest(divergence: float) -> float:
    """Largest l with ``l - log l - 1 <= divergence``, by Newton's method from above."""
    value = 2.0 * divergence + 4.0
    for _ in range(100):
        step = (value - np.log(value) - 1.0 - divergence) / (1.0 - 1.0 / value)
        value -= step
        if abs(step) <= 1e-12 * value:
            break
    return float(value) * (1.0 + 1e-9)
