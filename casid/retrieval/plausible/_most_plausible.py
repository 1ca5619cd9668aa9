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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from casid.arrays import Array
from casid.errors import SolveError
from casid.inertia import SVEC_WEIGHTS, link_slice, lower_triangle, symmetric
from casid.retrieval._objectives import LeastSquares
from casid.retrieval._problem import Problem
from casid.retrieval._rows import split_rows
from casid.retrieval.plausible._measure import TERMS, Measure, MostPlausible, coordinates
from casid.retrieval.plausible._newton import DEARER, MET, Climb, Point, PricedNewton
from casid.retrieval.plausible._program import BallOutcome, BallProgram

#: Gap at which the solve is not repeated; ten times this gap ends the search for other starts.
ENOUGH = 1e-7
#: Prices on the way to a given one, each `DEARER` times the one before.
CLIMB = 6
#: Prices of the sum of squares, in units of the ball's radius, along the path from the plausible bodies to the data.
PRICES = tuple(10.0 ** np.arange(-2.0, 8.1, 1.0))


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
    rotors
        Rotor inertias that are expected, by the name of their unknown [kg.m^2].
    """

    def __init__(
        self,
        problem: Problem,
        bodies: Array,
        scaled: NDArray[np.bool_],
        limit: float,
        rotors: Mapping[str, float] | None = None,
    ) -> None:
        self.problem, self.limit, self.scaled = problem, limit, np.asarray(scaled, dtype=bool)
        self.linear, self.nonlinear = split_rows(problem)
        self._margins = np.array([cone.margin for cone in problem.cones])
        self._basis, self._origin = coordinates(problem, bodies, self._margins)
        self._links = len(problem.cones)
        start = 10 * self._links
        columns = np.linalg.norm(problem.objective.matrix[:, start:] @ self._basis[start:, start:], axis=0)
        size = float(np.linalg.norm(problem.objective.target)) or 1.0
        shares = np.where(columns > 0, columns, 1.0) / size  # of the torque, for one unit of a term's y
        known = np.array([(rotors or {}).get(name, 0.0) for name in problem.variables.extras])
        expected = known / np.diag(self._basis)[start:]
        self.measure = Measure(self.scaled, np.where(expected > 0, 0.0, TERMS * shares**2), expected)

    @cached_property
    def _program(self) -> BallProgram:
        return BallProgram(
            self.problem, self.linear, self.nonlinear, self._basis, self._origin, self.measure, self.limit
        )

    # ------------------------------------------------------------------ solve

    def solve(self, start: Array, near: Array | None = None) -> MostPlausible:
        """Solve; the plausible bodies' scale is found along with the parameters.

        Bodies of known scale with linear hard rows by Newton's method along the path of prices (`path`); otherwise, or
        where that ends without a proof, by IPOPT.

        Parameters
        ----------
        start
            The best fit, shape (N,).
        near
            A point near the answer, shape (N,), where IPOPT begins.

        Raises
        ------
        SolveError
            If no point that explains the data is found.
        """
        made = self.path([self.limit], start)[0]
        if made is not None and made.gap <= 10 * ENOUGH:
            return made
        try:
            other = self._by_ipopt(start, near)
        except SolveError:
            if made is None:
                raise
            return made
        return other if made is None or other.gap < made.gap else made

    def path(self, limits: Sequence[float], start: Array, met: float = MET) -> list[MostPlausible | None]:
        """The most plausible parameters for each of several limits of the objective, each with its proof.

        The largest limit is well conditioned and comes first; every other one starts from the one before it. The
        proof is for the sum of squares that was reached (``MostPlausible.limit``), which differs from the limit by
        about 0.002 % of the allowed increase at most.

        Parameters
        ----------
        limits
            Of objective plus penalty, in any order.
        start
            The best fit, shape (N,).
        met
            Relative error to which the allowed increase is met.

        Returns
        -------
        list of MostPlausible or None
            In the order of the limits; None where Newton's method does not apply or ends without an answer.
        """
        found: list[MostPlausible | None] = [None] * len(limits)
        newton = self._newton()
        if newton is None:
            return found
        least = newton.residual(self._coordinates_of(start))
        climb = Climb(newton, least, min(limits) - self.problem.objective.constant, self._first(newton), met)
        for k in sorted(range(len(limits)), key=lambda k: -limits[k]):
            room = limits[k] - self.problem.objective.constant
            point = climb.to(room)
            if point is None:
                break
            found[k] = self._proven(newton, point, climb.price, limits[k])
        return found

    def priced(
        self,
        price: float,
        near: Array | None = None,
        left_out: Sequence[str] = (),
        objective: LeastSquares | None = None,
    ) -> Array | None:
        """Parameters of least ``D + price q``, shape (N,), some of the joint terms' unknowns zero; no proof.

        Parameters
        ----------
        price
            Of the sum of squares, as `MostPlausible.price`.
        near
            A point near the answer, within the cone, shape (N,); default: the path from the plausible bodies.
        left_out
            Names of unknowns that are zero; their bounds must allow it.
        objective
            In place of the problem's.

        Returns
        -------
        ndarray or None
            ``None`` where Newton's method does not apply or ends without an answer.
        """
        kept = np.array([name not in left_out for name in self.problem.variables.names])
        newton = self._newton(kept, objective)
        if newton is None:
            return None
        start = self._start() if near is None else self._coordinates_of(near)
        point = _climbed(newton, newton.start(start[kept]), price, CLIMB if near is None else 0)
        if not point.solved and near is not None:
            return self.priced(price, None, left_out, objective)
        y = np.zeros(len(kept))
        y[kept] = point.y
        return self._basis @ y + self._origin if point.solved else None

    def duals(self, prices: Sequence[float]) -> Iterator[tuple[Array, Array]]:
        """Parameters of least ``D + price q`` for growing prices, and multipliers of the linear rows in units of q.

        Multipliers are > 0 at an upper bound; the numbers need not be exact, they serve for a bound. Nothing where
        Newton's method does not apply.
        """
        newton = self._newton()
        if newton is None:
            return
        point = self._first(newton)
        for price in prices:
            point = newton.solve(point, price, rough=price < prices[-1])
            yield self._basis @ point.y + self._origin, self._row_multipliers(newton, point) / price

    def _start(self) -> Array:
        """The plausible bodies with the rotors that are expected."""
        y = np.zeros(self.problem.variables.size)
        for k in range(self._links):
            y[link_slice(k)] = lower_triangle(np.eye(4))
        y[10 * self._links :] = self.measure.rotors
        return y

    def _first(self, newton: PricedNewton) -> Point:
        return newton.start(self._start())

    def _newton(
        self, kept: NDArray[np.bool_] | None = None, objective: LeastSquares | None = None
    ) -> PricedNewton | None:
        """Newton's method for this problem, or for those of its unknowns that are kept, the others zero.

        None where the scale is an unknown, or a row is nonlinear, soft, or an equation.
        """
        low, high = self.linear.lower, self.linear.upper
        equations = np.any(high - low <= 1e-9 * (1.0 + np.abs(low))) if len(low) else False
        if (
            self.scaled.any()
            or self.nonlinear.size
            or equations
            or any(row.weight is not None for row in self.linear.rows)
        ):
            return None
        A, shift = self.linear.matrix @ self._basis, self.linear.matrix @ self._origin
        self._sides = np.isfinite(low), np.isfinite(high)
        rows = np.vstack([A[self._sides[0]], -A[self._sides[1]]])
        least = np.concatenate([(low - shift)[self._sides[0]], (shift - high)[self._sides[1]]])
        squares, measure = objective or self.problem.objective, self.measure
        matrix, target = squares.matrix @ self._basis, squares.target - squares.matrix @ self._origin
        if kept is not None:
            touched = np.abs(rows[:, kept]).max(axis=1, initial=0.0) > 0
            rows, least, matrix = rows[touched][:, kept], least[touched], matrix[:, kept]
            extras = kept[10 * self._links :]
            measure = replace(measure, terms=measure.terms[extras], rotors=measure.rotors[extras])
        return PricedNewton(measure, matrix, target, rows, least)

    def _row_multipliers(self, newton: PricedNewton, point: Point) -> Array:
        """Multipliers of the linear rows, > 0 at an upper bound."""
        both = newton.row_multipliers(point)
        lower, upper = self._sides
        multipliers = np.zeros(len(lower))
        multipliers[lower] -= both[: int(lower.sum())]
        multipliers[upper] += both[int(lower.sum()) :]
        return multipliers

    def _proven(self, newton: PricedNewton, point: Point, price: float, limit: float) -> MostPlausible:
        """The point with its proof."""
        multipliers = self._row_multipliers(newton, point)
        x, scale = self._basis @ point.y + self._origin, 1.0
        reached = self.problem.objective(x)
        free = reached <= limit and price * (limit - reached) <= 1e-9  # the data do not pull at all
        asked = limit if free else reached
        value = self.divergence(x, scale)
        bound = self.lower_bound(x, scale, price, multipliers, asked)
        return MostPlausible(x, scale, value, bound, asked, price, multipliers, point.steps, "Solve_Succeeded")

    def _by_ipopt(self, start: Array, near: Array | None) -> MostPlausible:
        """Solve by IPOPT.

        The starts are, in this order: a point ``near`` the solution, if given; the end of the path on which
        ``D + lambda q`` is minimised for a growing lambda, from the plausible bodies until the data are explained; and
        the given ``start``.
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
        return MostPlausible(
            point, scale, value, bound, self.limit, outcome.price, outcome.multipliers, iterations, outcome.status
        )

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
        return max(self.measure.value(self._coordinates_of(x), float(np.log(scale))), 0.0)

    def lower_bound(
        self, x: Array, scale: float, price: float, multipliers: Array, limit: float | None = None
    ) -> float:
        """Proven smallest D of any feasible set, see the module; valid for any multipliers."""
        objective, links, sigma = self.problem.objective, self._links, float(np.log(scale))
        here, allowed = self.divergence(x, scale), self.limit if limit is None else limit
        weights = np.array([np.inf if row.weight is None else price * row.weight for row in self.linear.rows])
        low, high = self.linear.lower, self.linear.upper
        at_low = np.where(np.isfinite(low), np.clip(-multipliers, 0.0, weights), 0.0)
        at_high = np.where(np.isfinite(high), np.clip(multipliers, 0.0, weights), 0.0)
        y = self._coordinates_of(x)
        gradient = price * self._basis.T @ objective.gradient(x) + self.measure.gradient(y, sigma)[0]
        bound = here + price * (objective(x) - allowed) - float(gradient @ y)
        left = gradient - self._basis.T @ self.linear.matrix.T @ (at_low - at_high)
        shift = self.linear.matrix @ self._origin  # rows in y: A C y within [lo - A x0, hi - A x0]
        bound += float(at_low @ np.where(np.isfinite(low), low - shift, 0.0))
        bound -= float(at_high @ np.where(np.isfinite(high), high - shift, 0.0))
        traces, least, most = self.measure.reach(here, sigma)
        for k in range(links):
            dual = symmetric(left[link_slice(k)] / SVEC_WEIGHTS**2)  # <dual, M(y)> = left'y
            bound += min(0.0, float(np.linalg.eigvalsh(dual)[0])) * float(traces[k])
        units = np.diag(self._basis)[10 * links :]
        for rest, unit, down, up, (lower, upper) in zip(
            left[10 * links :], units, least, most, self.problem.variables.extras.values(), strict=True
        ):
            bound += float((rest * np.array([max(down, lower / unit), min(up, upper / unit)])).min())
        return bound


def _climbed(newton: PricedNewton, point: Point, price: float, steps: int) -> Point:
    """The answer at a price, by way of lower ones."""
    for step in range(steps, 0, -1):
        point = newton.solve(point, price * DEARER**-step, rough=True)
    return newton.solve(point, price)
