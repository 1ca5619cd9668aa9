"""Choice of the most plausible parameter set among those that explain the data, with a proof of its optimality.

With D of docs/plausible.md (P1, P2), the divergence of the links' ``M_k = J_k(x) - margin 1`` from plausible bodies and
the joint terms' parts, the program (P3) is

    minimise    D(x, s)
    subject to  ||R x - r||^2 + constant + weights' v(x) <= F,  the hard rows, the bounds of the terms.

D is convex in x and grows without bound at the boundary of the cone, so that ``J_k >= margin 1`` needs no constraint.
With the scale s of the bodies unknown the program is solved for x and s at once: ``min_s D`` is the logarithm of a
linear function over a concave one, hence quasi-convex, and its stationary point the global one.

**Solvers.** `casid.inertia.InteriorPoint` along the path of prices (P4), where the scale is known and the rows that act
are linear and hard; a nonlinear row is left out first, and the answer taken if it obeys the row: it is then the optimum
with the row too. Otherwise IPOPT, from the interior point's answer.

**Proof of a solution** (P5). D (the sum over the terms included) and the sum of squares q are convex, so that with any
``lambda >= 0`` and any multipliers of the rows every feasible z has

    D(z) >= D(x) + lambda (q(x) - F) - g'x + min_z (g - A'(l - u))'z + l'lo - u'hi,     g = grad D(x) + lambda grad q(x)

(weights of soft rows enter as ``lambda w``). The last minimum is over what the gradient leaves: link by link over all M
with ``D_k <= D(x)``, whose trace is bounded by D itself, and over the terms, which D bounds too.

Where data leave parameters open, the consistent optimum is a face of the feasible set, and a solver ends somewhere on
it: links as thin as needles, masses at their bounds. The choice made here is lexicographic: first the certified best
fit ``F*``; then, of all sets that obey every hard constraint with a residual norm of at most ``(1 + share) sqrt F*``,
the one of least log-det divergence from plausible bodies (`plausible_bodies`). Both steps are convex and each has its
proof (`DivergenceProgram`): no set is more plausible within that distance of the best fit.

Nothing can be held out of a list of coefficients, so that the tolerance rests on their errors. A best fit that misses
them by more than their standard deviations s allow shows that these are too small: an identification's deviations are
those of noise, its errors those of the model. They are then raised by one factor, the Birge ratio b, until what is
missed is what would be expected.

Only those errors are missed that no consistent parameters follow. Near the best fit x* the fitted coefficients are a
smooth function of the given ones, ``d(M x) = S dr``, S the sensitivity of the barrier problem, whose cones have the
curvature of Nesterov and Todd's scaling W of ``J_k`` and their multipliers Z_k (active rows: multiplier over slack):

    S = 2 M (2 M'M + H)^-1 M',        E ||M x* - r||^2 = b^2 tr((1 - S) C (1 - S)'),    C = diag(s^2)

Without standard deviations all coefficients are taken to err alike, ``C = 1``. The choice may miss the coefficients by
what the true parameters are expected to, ``||M x - r||^2 = b^2 tr C``: the discrepancy principle.

References
----------
R. T. Birge, "The calculation of errors by the method of least squares", Physical Review 40(2), 1932. V. A. Morozov, "On
the solution of functional equations by the method of regularization", Soviet Math. Doklady 7, 1966. Y. Nesterov, M.
Todd, "Primal-dual interior-point methods for self-scaled cones", SIAM J. Optimization 8(2), 1998.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.arrays import ALIKE, ROUNDING, Array
from casid.errors import ProblemError, SolveError
from casid.expressions import interruptible
from casid.inertia import (
    DEARER,
    DIAGONAL,
    EXACT,
    MET,
    ROUGH,
    STANDARD_MAP,
    SVEC_WEIGHTS,
    TRIANGLE_MAP,
    Climb,
    Full,
    InteriorPoint,
    Measure,
    Parameters,
    Point,
    Scaling,
    congruence,
    divergence_hessian,
    from_pseudo_inertia,
    link_slice,
    log_det_function,
    lower_triangle,
    pseudo_inertia,
    symmetric,
)
from casid.retrieval._bound import Dual, lower_bound
from casid.retrieval._objectives import PERFECT, LeastSquares, chi_square
from casid.retrieval._problem import Problem, slacks, split_rows
from casid.retrieval._solution import ENOUGH, ParameterResult, Solution
from casid.retrieval.constraints._constraint import FEASIBILITY
from casid.retrieval.plausible._bodies import PRIORS, PlausibleBodies, plausible_bodies

# ------------------------------------------------------------------ program

#: Least eigenvalue of a link's matrix, as a share of its largest, where IPOPT begins.
LIFT = 1e-3
#: Curvature of what nothing determines, where that of plausible bodies is 1.
OPEN = 1e-9
#: Prices on the way to a given one, each `DEARER` times the one before.
CLIMB = 6
_IPOPT: dict[str, Any] = {
    "print_level": 0, "sb": "yes", "constr_viol_tol": 1e-10, "bound_relax_factor": 0.0, "mumps_permuting_scaling": 0,
    "mumps_scaling": 0, "nlp_scaling_method": "none", "fast_step_computation": "yes", "tol": 1e-9, "dual_inf_tol": 1e-7,
    "compl_inf_tol": 1e-9, "mu_target": 1e-10, "max_iter": 150, "mu_strategy": "adaptive", "acceptable_tol": 1e-8,
    "acceptable_iter": 5,
}  # fmt: skip
_OPTIONS: dict[str, Any] = {"print_time": False, "show_eval_warnings": False, "calc_lam_p": False, "ipopt": _IPOPT}


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
    limit : float
        F, of objective plus penalty, that the proof is for.
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
    limit: float
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
    rotors
        Rotor inertias that are expected, by the name of their unknown [kg.m^2].
    """

    def __init__(
        self, problem: Problem, bodies: Array, scaled: NDArray[np.bool_], rotors: Mapping[str, float] | None = None
    ) -> None:
        self.problem, self.scaled = problem, np.asarray(scaled, dtype=bool)
        self.linear, self.nonlinear = split_rows(problem)
        self._links, self._standard = len(problem.cones), 10 * len(problem.cones)
        self.basis, self.origin = _coordinates(problem, bodies)
        own = slice(self._standard, None)
        columns = np.linalg.norm(problem.objective.matrix[:, own] @ self.basis[own, own], axis=0)
        size = float(np.linalg.norm(problem.objective.target)) or 1.0
        shares = np.where(columns > 0, columns, 1.0) / size  # of the torque, for one unit of a term's y
        known = np.array([(rotors or {}).get(name, 0.0) for name in problem.variables.extras])
        expected = known / np.diag(self.basis)[own]
        terms = np.where(expected > 0, 0.0, PRIORS["TERMS"] * shares**2)
        self.measure = Measure(self.scaled, terms, expected, PRIORS["ROTOR"], PRIORS["NO_ROTOR"])
        low, high = self.linear.lower, self.linear.upper
        hard = np.array([row.weight is None for row in self.linear.rows], dtype=bool)
        equation = high - low <= ALIKE * (1.0 + np.abs(low))
        self._sides = hard & ~equation & np.isfinite(low), hard & ~equation & np.isfinite(high)
        self._plain = bool((hard & ~equation).all()) and not self.scaled.any()

    # ------------------------------------------------------------------ solve

    def path(
        self, limits: Sequence[float], start: Array, met: float = MET, near: Array | None = None
    ) -> list[MostPlausible]:
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
        near
            A point near the answer, shape (N,), where IPOPT begins.

        Returns
        -------
        list of MostPlausible
            In the order of the limits. A rough path (``met`` above `MET`) ends before a limit at which no point that
            explains the data is found.

        Raises
        ------
        SolveError
            If there is no such point at the largest limit, or, on an exact path, at one of them.
        """
        found: dict[int, MostPlausible] = {}
        constant, program = self.problem.objective.constant, self._interior_point()
        least = program.residual(self._coordinates_of(start))
        climb = Climb(program, program.start(), least, min(limits) - constant, met)
        for k in sorted(range(len(limits)), key=lambda k: -limits[k]):
            point = climb.to(limits[k] - constant)
            made = None if point is None else self._relaxed(program, point, climb.price, limits[k])
            if made is None or not self._plain or made.gap > 10 * ENOUGH or not self._obeyed(made.parameters):
                try:
                    made = self._by_ipopt(limits[k], [near, None if made is None else made.parameters, start], made)
                except SolveError:
                    if not found or met <= MET:
                        raise
                    break
            found[k] = made
        return [found[k] for k in range(len(limits)) if k in found]

    def priced(
        self,
        price: float,
        near: Array | None = None,
        left_out: Sequence[str] = (),
        objective: LeastSquares | None = None,
        relaxed: bool = False,
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
        relaxed
            Whether rows that are no linear inequalities are left out.

        Returns
        -------
        ndarray or None
            ``None`` where another row is no linear inequality, the bodies' scale is unknown, or no answer is found.
        """
        if not self._plain or (self.nonlinear.size and not relaxed):
            return None
        kept = np.array([name not in left_out for name in self.problem.variables.names])
        program = self._interior_point(kept, objective)
        point = program.start(None if near is None else self._coordinates_of(near)[kept])
        for step in range(CLIMB if near is None else 0, 0, -1):
            point = program.solve(point, price * DEARER**-step, ROUGH)
        point = program.solve(point, price)
        if not point.solved:
            return None if near is None else self.priced(price, None, left_out, objective, relaxed)
        y = np.zeros(len(kept))
        y[kept] = point.y
        return self.basis @ y + self.origin

    def duals(self, prices: Sequence[float]) -> Iterator[tuple[Array, Array]]:
        """Parameters of least ``D + price q`` for growing prices, and multipliers of the linear rows in units of q.

        Multipliers are > 0 at an upper bound; the numbers need not be exact, they serve for a bound. Rows that are no
        linear inequalities are left out.
        """
        program = self._interior_point()
        point = program.start()
        for price in prices:
            point = program.solve(point, price, ROUGH if price < prices[-1] else EXACT)
            yield self.basis @ point.y + self.origin, self._multipliers(program, point) / price

    def covariance(self, answer: MostPlausible, free: NDArray[np.bool_]) -> Array:
        """Covariance of all unknowns, shape (N, N): the inverse curvature of ``D + price q`` at an answer (P11).

        A row with the multiplier z keeps its slack within 1/z: the curvature z^2 across it. D does not change with the
        common factor of bodies and references, where that is unknown: D'' is projected across ``y`` of free bodies.

        Parameters
        ----------
        answer
        free
            Bodies that share an unknown factor, shape (n,).
        """
        y, last = self._coordinates_of(answer.parameters), self._standard
        squares, rows = self.problem.objective.matrix @ self.basis, self.linear.matrix @ self.basis
        H = 2.0 * answer.price * squares.T @ squares + (rows.T * answer.multipliers**2) @ rows
        H[last:, last:] += np.diag(self.measure.curvature(y[last:]))
        H += OPEN * np.eye(len(y))
        pull = np.zeros(len(y))
        for k, block in enumerate(divergence_hessian(self.measure.matrices(y), TRIANGLE_MAP)):
            H[link_slice(k), link_slice(k)] += block
            pull[link_slice(k)] = free[k] * (block @ y[link_slice(k)])
        if free.any():
            H -= np.outer(pull, pull) / (pull @ y)
        return np.asarray(self.basis @ np.linalg.solve(H, self.basis.T))

    # ------------------------------------------------------------------ by the interior point

    def _interior_point(
        self, kept: NDArray[np.bool_] | None = None, objective: LeastSquares | None = None
    ) -> InteriorPoint:
        """Of the linear inequalities, for all unknowns or for those that are kept, the others zero."""
        A, shift = self.linear.matrix @ self.basis, self.linear.matrix @ self.origin
        lower, upper = self._sides
        rows = np.vstack([A[lower], -A[upper]])
        least = np.concatenate([(self.linear.lower - shift)[lower], (shift - self.linear.upper)[upper]])
        squares, measure = objective or self.problem.objective, replace(self.measure, scaled=np.zeros_like(self.scaled))
        matrix, target = squares.matrix @ self.basis, squares.target - squares.matrix @ self.origin
        if kept is not None:
            touched = np.abs(rows[:, kept]).max(axis=1, initial=0.0) > 0
            rows, least, matrix = rows[touched][:, kept], least[touched], matrix[:, kept]
            extras = kept[self._standard :]
            measure = replace(measure, terms=measure.terms[extras], sizes=measure.sizes[extras])
        return InteriorPoint(measure, matrix, target, rows, least)

    def _multipliers(self, program: InteriorPoint, point: Point) -> Array:
        """Multipliers of the linear rows, > 0 at an upper bound."""
        both, (lower, upper) = program.row_multipliers(point), self._sides
        multipliers = np.zeros(len(lower))
        multipliers[lower] -= both[: int(lower.sum())]
        multipliers[upper] += both[int(lower.sum()) :]
        return multipliers

    def _relaxed(self, program: InteriorPoint, point: Point, price: float, limit: float) -> MostPlausible:
        """The answer without the rows that are no linear inequalities, with its proof."""
        x = self.basis @ point.y + self.origin
        reached = self.problem.objective(x)
        free = reached <= limit and price * (limit - reached) <= ALIKE  # the data do not pull at all
        asked = limit if free else reached
        return self._proven(x, 1.0, asked, price, self._multipliers(program, point), point.steps, "Solve_Succeeded")

    def _obeyed(self, x: Array) -> bool:
        """Whether x obeys the nonlinear rows, none of them soft."""
        values = self.nonlinear.values(self.problem.variables.x, x)
        hard = all(row.weight is None for row in self.nonlinear.rows)
        return hard and bool((values >= self.nonlinear.lower).all() and (values <= self.nonlinear.upper).all())

    def _coordinates_of(self, x: Array) -> Array:
        return np.asarray(np.linalg.solve(self.basis, x - self.origin), dtype=float)

    # ------------------------------------------------------------------ by IPOPT

    def _by_ipopt(self, limit: float, starts: Sequence[Array | None], known: MostPlausible | None) -> MostPlausible:
        """Solve by IPOPT from each start in turn, until the gap is closed; better than what is known."""
        best = known if known is not None and self._plain and self._obeyed(known.parameters) else None
        room, status = max(limit - self.problem.objective.constant, 1e-300), "no start"
        for x in starts:
            if x is None:
                continue
            w = self._start(x)
            for _ in range(2):  # a second solve from the end point: the gap may still be large at the first
                w, made, status = self._run(w, room, limit)
                if made is not None and (best is None or made.gap < best.gap):
                    best = made
                if made is None or made.gap <= ENOUGH:
                    break
            if best is not None and best.gap <= 10 * ENOUGH:
                break
        if best is None:
            raise SolveError(f"problem '{self.problem.name}': no plausible parameters found ({status})", None)
        return best

    def _start(self, x: Array) -> Array:
        """IPOPT's unknowns ``w = (y, sigma, v)`` at x, every link a little inside the cone, the scale that suits."""
        y = self._coordinates_of(x)
        for k in range(self._links):
            values, vectors = np.linalg.eigh(symmetric(y[link_slice(k)]))
            values = np.maximum(values, LIFT * max(float(values[-1]), 1e-6))
            y[link_slice(k)] = lower_triangle(vectors @ np.diag(values) @ vectors.T)
        traces = np.trace(self.measure.matrices(y)[self.scaled], axis1=1, axis2=2)
        sigma = float(np.log(traces.mean() / 4.0)) if self.scaled.any() else 0.0
        return np.concatenate([y, [sigma], np.zeros(len(self._slacks[2]))])

    @cached_property
    def _slacks(self) -> tuple[list[int], list[int], Array]:
        """Soft rows, the violation v of each, unknowns too, and their weights (`slacks`)."""
        return slacks((*self.linear.rows, *self.nonlinear.rows))

    @cached_property
    def _nlp(self) -> tuple[ca.Function, Array, Array, Array]:
        """IPOPT's solver, bounds of its rows, and their units; the room of the sum of squares is its parameter.

        The rows are the sum of squares with the price of the violations, over the room; all rows less their violations;
        the lower sides of soft rows. ``log det`` goes through the pivots of M and is NaN outside the cone, where
        IPOPT's line search does not go.
        """
        y, sigma, room = ca.MX.sym("y", len(self.origin)), ca.MX.sym("s"), ca.MX.sym("room")
        soft, own, weights = self._slacks
        v, links, objective = ca.MX.sym("v", len(weights)), self._links, self.problem.objective
        log_det, u, D = log_det_function(), y[self._standard :], self.measure
        shrink = [ca.exp(-sigma) if scaled else ca.MX(1.0) for scaled in self.scaled]
        blocks = [y[link_slice(k)] for k in range(links)]
        traces = [a * ca.sum1(block[list(DIAGONAL)]) for a, block in zip(shrink, blocks, strict=True)]
        value = sum(traces, 4.0 * float(self.scaled.sum()) * sigma - 4.0 * links + ca.dot(ca.DM(D.terms), u**2))
        value -= sum((log_det(block) for block in blocks), ca.MX(0))
        share = (ca.DM(D.rates) * u + ca.DM(D.sizes == 0) + D.offset) / (1.0 + D.offset)
        value += D.weight * ca.sum1(share - ca.log(share) - 1.0)
        pick = np.zeros((len(self.linear.rows) + self.nonlinear.size, len(weights)))
        residual = ca.DM(objective.matrix @ self.basis) @ y - ca.DM(objective.target - objective.matrix @ self.origin)
        inside = (ca.sumsqr(residual) + ca.dot(ca.DM(weights), v)) / room
        slope = self.linear.matrix @ self.basis
        units = np.concatenate(
            [np.maximum(np.abs(slope).max(axis=1, initial=0.0), 1e-12), np.ones(self.nonlinear.size)]
        )
        curved = ca.Function("rows", [self.problem.variables.x], [self.nonlinear.expression])
        values = ca.vertcat(
            ca.sparsify(ca.DM(slope)) @ y + ca.DM(self.linear.matrix @ self.origin),
            curved(ca.DM(self.basis) @ y + ca.DM(self.origin)),
        ) / ca.DM(units)
        pick[soft, own] = 1.0 / units[soft]
        violations = ca.sparsify(ca.DM(pick)) @ v
        low = np.concatenate([self.linear.lower, self.nonlinear.lower]) / units
        high = np.concatenate([self.linear.upper, self.nonlinear.upper]) / units
        second = low[soft]
        low[soft] = -np.inf
        g = ca.vertcat(inside, values - violations, (values + violations)[soft] if soft else ca.MX(0, 1))
        nlp: dict[str, Any] = {"x": ca.vertcat(y, sigma, v), "p": room, "f": value, "g": g}
        above = np.concatenate([[1.0], high, np.full(len(second), np.inf)])
        return ca.nlpsol("plausible", "ipopt", nlp, _OPTIONS), np.concatenate([[-np.inf], low, second]), above, units

    def _run(self, w: Array, room: float, limit: float) -> tuple[Array, MostPlausible | None, str]:
        """IPOPT's end point, the answer with its proof (None where it does not explain the data), and the status."""
        solver, low, high, units = self._nlp
        free = np.concatenate([np.full(len(self.origin), np.inf), [30.0 if self.scaled.any() else 0.0]])
        count = len(self._slacks[2])
        bounds = np.concatenate([-free, np.zeros(count)]), np.append(free, np.full(count, np.inf))
        with interruptible():
            result = solver(x0=w, p=room, lbx=bounds[0], ubx=bounds[1], lbg=low, ubg=high)
        found, lam, g = (np.nan_to_num(np.array(result[name], dtype=float).ravel()) for name in ("x", "lam_g", "g"))
        stats, rows = solver.stats(), len(units)
        x, scale = self.basis @ found[: len(self.origin)] + self.origin, float(np.exp(found[len(self.origin)]))
        multipliers = lam[1 : 1 + rows].copy()
        multipliers[self._slacks[0]] += lam[1 + rows :]
        multipliers = (multipliers / units)[: len(self.linear.rows)]
        status, price = str(stats["return_status"]), max(float(lam[0]), 0.0) / room
        if not np.isfinite(self.divergence(x, scale)) or g[0] > 1.0 + FEASIBILITY:
            return found, None, status
        return found, self._proven(x, scale, limit, price, multipliers, int(stats["iter_count"]), status), status

    # ------------------------------------------------------------------ proof

    def divergence(self, x: Array, scale: float) -> float:
        """D at x; infinite outside the cone."""
        return max(self.measure.value(self._coordinates_of(x), float(np.log(scale))), 0.0)

    def _proven(
        self, x: Array, scale: float, limit: float, price: float, multipliers: Array, iterations: int, status: str
    ) -> MostPlausible:
        bound = self.lower_bound(x, scale, price, multipliers, limit)
        value = self.divergence(x, scale)
        return MostPlausible(x, scale, value, bound, limit, price, multipliers, iterations, status)

    def lower_bound(self, x: Array, scale: float, price: float, multipliers: Array, limit: float) -> float:
        """Proven smallest D of any set with at most ``limit``, see the module; valid for any multipliers."""
        objective, sigma, here = self.problem.objective, float(np.log(scale)), self.divergence(x, scale)
        low, high, dual = self.linear.lower, self.linear.upper, Dual.of(self.linear, multipliers)
        hard = np.isinf(dual.weights)
        at_low, at_high = replace(dual, weights=np.where(hard, np.inf, price * np.where(hard, 0, dual.weights))).sides
        y = self._coordinates_of(x)
        gradient = price * self.basis.T @ objective.gradient(x) + self.measure.gradient(y, sigma)
        bound = here + price * (objective(x) - limit) - float(gradient @ y)
        left = gradient - self.basis.T @ self.linear.matrix.T @ (at_low - at_high)
        shift = self.linear.matrix @ self.origin  # rows in y: A C y within [lo - A x0, hi - A x0]
        bound += float(at_low @ np.where(np.isfinite(low), low - shift, 0.0))
        bound -= float(at_high @ np.where(np.isfinite(high), high - shift, 0.0))
        traces, least, most = self.measure.reach(here, sigma)
        duals = symmetric(left[: self._standard].reshape(-1, 10) / SVEC_WEIGHTS**2)  # <dual, M(y)> = left'y
        bound += float(np.minimum(np.linalg.eigvalsh(duals)[:, 0], 0.0) @ traces)
        units, rest = np.diag(self.basis)[self._standard :], left[self._standard :]
        given = np.array(list(self.problem.variables.extras.values())).reshape(-1, 2) / units[:, None]
        ends = np.stack([rest * np.maximum(least, given[:, 0]), rest * np.minimum(most, given[:, 1])])
        return bound + float(ends.min(axis=0).sum())


def _coordinates(problem: Problem, bodies: Array) -> tuple[Array, Array]:
    """``x = C y + x0``: a link's y is the lower triangle of M in the coordinates in which its plausible body is 1."""
    size, lengths = problem.variables.size, np.linalg.norm(problem.objective.matrix, axis=0)
    basis, origin, links = np.zeros((size, size)), np.zeros(size), 10 * len(problem.cones)
    for k, cone in enumerate(problem.cones):
        link, margin = link_slice(k), cone.margin * np.eye(4)
        body = pseudo_inertia(bodies[link])
        beyond = body - margin if float(np.linalg.eigvalsh(body)[0]) > 2 * cone.margin else body
        basis[link, link] = congruence(np.linalg.cholesky(beyond))
        origin[link] = from_pseudo_inertia(margin)
    typical = float(np.median(np.linalg.norm(problem.objective.matrix @ basis[:, :links], axis=0))) or 1.0
    for k in range(links, size):
        basis[k, k] = typical / (lengths[k] or 1.0)
    return basis, origin


# ------------------------------------------------------------------ choice

#: Largest relative increase of the residual's norm that the choice may use.
LARGEST_SHARE = 0.005
#: Gap up to which the choice counts as certified, and the largest violation of a constraint on re-check.
CERTIFIED, FEASIBLE = 1e-6, 1e-7


@dataclass(frozen=True, eq=False)
class Believable(ParameterResult):
    """The most plausible parameter set among those that explain the data.

    Attributes
    ----------
    problem : Problem
    best : float
        Objective plus penalty of the best fit, F*.
    limit : float
        Largest allowed objective plus penalty, F.
    bodies : PlausibleBodies
        The plausible bodies before their common scale.
    choice : MostPlausible
        Solution of the program: parameters, scale, divergence and its lower bound.
    max_violation : float
        Of any hard constraint, re-checked in numpy.
    time : float
        [s]
    rotors : mapping of str to float
        Rotor inertias that were expected [kg.m^2].
    """

    problem: Problem
    best: float
    limit: float
    bodies: PlausibleBodies
    choice: MostPlausible
    max_violation: float
    time: float
    rotors: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""

    @property
    def x(self) -> Array:
        """All unknowns of the problem, shape (N,): standard parameters, then the extras."""
        return self.choice.parameters

    @cached_property
    def parameters(self) -> Parameters:
        """All unknowns by name."""
        variables = self.problem.variables
        return Parameters(variables.names, self.x, tuple(link.name for link in variables))

    @property
    def objective(self) -> float:
        """Sum of squares at the choice."""
        return self.problem.objective(self.x)

    @property
    def share(self) -> float:
        """Allowed relative increase of the residual's norm."""
        return float(np.sqrt(self.limit / self.best) - 1.0) if self.best > 0 else float("inf")

    @property
    def scale(self) -> float:
        """Common factor of the plausible bodies' masses, as found with the parameters."""
        return self.choice.scale

    @property
    def plausible(self) -> Array:
        """The plausible bodies at that scale, shape (10 n,)."""
        factors = np.where(self.bodies.scaled, self.scale, 1.0)
        return np.asarray((self.bodies.parameters.reshape(-1, 10) * factors[:, None]).ravel())

    @property
    def divergence(self) -> float:
        """Log-det divergence from the plausible bodies."""
        return self.choice.divergence

    @cached_property
    def covariance(self) -> Array:
        """Covariance of all unknowns, shape (N, N): the choice is the mode of a posterior (docs/plausible.md, P11)."""
        program = DivergenceProgram(self.problem, self.bodies.parameters, self.bodies.scaled, self.rotors)
        return program.covariance(self.choice, np.full(len(self.bodies.origins), self.bodies.boxes.all()))

    @property
    def gap(self) -> float:
        """Proven relative gap of the divergence."""
        return self.choice.gap

    @property
    def certified(self) -> bool:
        """No set that explains the data as well is more plausible, and every hard constraint holds on re-check."""
        return self.gap <= CERTIFIED and self.max_violation <= FEASIBLE

    def __repr__(self) -> str:
        proof = f"gap {self.gap:.0e}" if self.certified else f"not certified, gap {self.gap:.0e}"
        return f"Believable({self.problem.name}: divergence {self.divergence:.4g}, {proof}, scale {self.scale:.3g})"


def believable(
    problem: Problem,
    solution: Solution,
    bodies: PlausibleBodies | None = None,
    *,
    share: float | None = None,
    tolerance: float | None = None,
    near: Array | None = None,
    rotors: Mapping[str, float] | None = None,
) -> Believable:
    """Choose the most plausible parameter set among those that explain the data.

    Parameters
    ----------
    problem, solution
        A problem with full consistency of every link, and its (certified) best fit.
    bodies
        Plausible bodies; default: `plausible_bodies` of the problem's robot.
    share
        Relative increase of the residual's norm over the best fit that is allowed; default 0.5 %. Of an exact fit,
        whose residual is rounding: a residual of 1e-6 of the size of the data.
    tolerance
        In place of ``share``: allowed increase of the objective, e.g. from standard deviations of the coefficients
        (`casid.retrieval.insight._intervals.indistinguishable`); at least 1e-12 of its size.
    near
        Parameters to start from, shape (N,), such as the choice of a similar problem; default: the plausible bodies.
    rotors
        Rotor inertias that are expected, by the names of their unknowns [kg.m^2].

    Raises
    ------
    ProblemError
        If a link's consistency is not full, the solution is not feasible, or share or tolerance is not positive.
    SolveError
        If no answer is found.

    References
    ----------
    T. Lee, P. M. Wensing, F. C. Park, "Geometric robot dynamic identification: a convex programming approach", IEEE
    Transactions on Robotics 36(2), 2020, Sec. III.
    """
    _check(problem, solution)
    if share is not None and tolerance is not None:
        raise ProblemError(
            "believable: give either the share of the residual or the tolerance of the objective, not both"
        )
    best = solution.total
    if tolerance is None:
        part = LARGEST_SHARE if share is None else check_share(share)
        limit = _allowed(problem, best, part)
    else:
        if not (np.isfinite(tolerance) and tolerance > 0):
            raise ProblemError(f"tolerance: expected a positive number, got {tolerance}")
        limit = best + max(tolerance, ROUNDING * problem.objective.size)
    return _choices(problem, solution, [limit], bodies, rotors, near=near)[0]


def believable_path(
    problem: Problem,
    solution: Solution,
    shares: Sequence[float],
    bodies: PlausibleBodies | None = None,
    rotors: Mapping[str, float] | None = None,
    *,
    rough: bool = False,
) -> tuple[Believable, ...]:
    """The choices for several shares, largest first, each from the one before.

    Parameters
    ----------
    problem, solution, bodies, rotors
        As of `believable`.
    shares
        Relative increases of the residual's norm, all positive.
    rough
        Meet the shares within 2 % of themselves: faster.

    Raises
    ------
    ProblemError, SolveError
        As `believable`.
    """
    _check(problem, solution)
    ordered = sorted({check_share(share) for share in shares}, reverse=True)
    limits = [_allowed(problem, solution.total, share) for share in ordered]
    return tuple(_choices(problem, solution, limits, bodies, rotors, 0.02 if rough else MET))


def _allowed(problem: Problem, best: float, share: float) -> float:
    """F of a share of the residual."""
    return max(best * (1.0 + share) ** 2, best + ROUNDING * problem.objective.size)


def _choices(
    problem: Problem,
    solution: Solution,
    limits: Sequence[float],
    bodies: PlausibleBodies | None,
    rotors: Mapping[str, float] | None,
    met: float = MET,
    near: Array | None = None,
) -> list[Believable]:
    """The choices for some limits, see `DivergenceProgram.path`."""
    began, best = perf_counter(), solution.total
    chosen = bodies or plausible_bodies(problem.variables.robot)
    program = DivergenceProgram(problem, chosen.parameters, chosen.scaled, rotors)
    made = []
    for found in program.path(limits, np.array(solution.x), met, near):
        worst = problem.hard_violation(problem.violations(found.parameters))
        took = perf_counter() - began
        made.append(Believable(problem, best, found.limit, chosen, found, worst, took, rotors or {}))
    return made


def _check(problem: Problem, solution: Solution) -> None:
    """ProblemError where a problem or its best fit does not allow a choice."""
    problem.require_squares("plausible links")
    if any(entry.cone != Full() for entry in problem.cones):
        raise ProblemError("believable: expected full physical consistency of every link; set consistency to 'full'")
    if solution.status not in ("optimal", "feasible"):
        raise ProblemError(
            f"problem '{problem.name}': expected a feasible solution as the best fit, got {solution.status}"
        )


def check_share(share: float) -> float:
    """The share by which the residual's norm may grow; `ProblemError` if it is not above 0 and at most 1."""
    if not 0 < share <= 1:
        raise ProblemError(f"share: expected a positive number of at most 1, e.g. 0.005, got {share}")
    return share


def noise_share(samples: int, rank: int, confidence: float = 0.95) -> float:
    """Relative increase of the residual's norm that noise explains, at most 0.5 %.

    With the residual variance ``s^2 = F* / (samples - rank)``, the true parameters lie within ``F* + s^2 chi^2_rank``.
    """
    if samples <= rank:
        return LARGEST_SHARE
    growth = chi_square(rank, 1.0 - confidence) / (samples - rank)
    return min(LARGEST_SHARE, float(np.sqrt(1.0 + growth)) - 1.0)


#: Relative gaps that are aimed at in turn, down to rounding; they end where the solution is certified.
GAPS = tuple(10.0 ** np.arange(3.0, -12.0, -0.5))
#: How much heavier than plausible the bodies are from which D is measured, in turn.
HEAVY = (1e3, 1.0)


def polished(solution: Solution, bodies: PlausibleBodies | None = None) -> Solution:
    """The solution with the better of two points and the higher of two proven bounds; itself where nothing is gained.

    The answer y at a price lambda minimises ``D + lambda q`` with a dual matrix of each link, ``Z_k = M_k^-1 - 1`` up
    to the price: with growing price these become the multipliers of the cones at the least q, and the lower bound
    that they give (`casid.retrieval._bound`) its proof, with a gap of about the number of inequalities
    over ``lambda q``. It is free of the cancellation that multipliers of a lifted program suffer where data are
    nearly without noise. D is measured from very heavy bodies first: its linear term, which costs the bound ``tr M_k
    / lambda``, is then small. Where every link is as thin as the margin allows, M_k of heavy bodies is lost in
    rounding; plausible bodies and a higher price end the proof there.

    Nonlinear rows are left out of the search: a point that violates them is not taken, and a bound without them holds.

    Parameters
    ----------
    solution
        Feasible, not certified.
    bodies
        Default: `plausible_bodies` of the robot.
    """
    problem = solution.problem
    if solution.certified or not solution.usable or any(cone.cone != Full() for cone in problem.cones):
        return solution
    given = bodies or plausible_bodies(problem.variables.robot)
    for heavy in HEAVY:
        if not solution.certified:
            solution = _sharper(solution, heavy * given.parameters)
    return solution


def _sharper(solution: Solution, bodies: Array) -> Solution:
    """The solution along the path of prices from these bodies, standard parameters of shape (10 n,)."""
    problem = solution.problem
    program = DivergenceProgram(problem, bodies, np.zeros(len(problem.cones), dtype=bool))
    linear = program.linear
    inequalities = 4 * len(problem.cones) + 2 * len(linear.rows) + 1
    prices = [inequalities / (gap * max(solution.total, 1e-300)) for gap in GAPS]
    for x, multipliers in program.duals(prices):
        bound = lower_bound(problem, x, linear, multipliers).lower_bound
        better = problem.objective(x) + problem.penalty(x) < solution.total
        feasible = problem.met(problem.violations(x), solution.tolerances.feasibility)
        point = x if better and feasible else solution.x
        solution = replace(solution, x=point, lower_bound=max(bound, solution.lower_bound))
        if solution.certified:
            break
    return solution


# ------------------------------------------------------------------ tolerance from coefficients


@dataclass(frozen=True)
class Tolerance:
    """Allowed increase of the sum of squares, and what it rests on.

    Attributes
    ----------
    value : float
    ratio : float
        Birge ratio b: what the standard deviations were multiplied with; the deviation itself where none are given.
    given : bool
        Whether the coefficients have standard deviations.
    """

    value: float
    ratio: float
    given: bool

    @property
    def reason(self) -> str:
        """What it rests on, in words."""
        if not self.given:
            return f"deviation of the coefficients {self.ratio:.2g}, from what the best fit misses"
        if self.ratio <= 1.0:
            return "standard deviations of the coefficients"
        return (
            f"standard deviations of the coefficients times {self.ratio:.3g}: the best fit shows that they are so large"
        )


def coefficient_tolerance(solution: Solution) -> Tolerance:
    """The tolerance that follows from a problem's coefficients.

    Parameters
    ----------
    solution
        The best fit of a problem with coefficients.

    Raises
    ------
    ProblemError
        If the problem has no coefficients, or the best fit is perfect and their deviations are not given.
    """
    problem = solution.problem
    given = problem.coefficients
    if given is None:
        raise ProblemError(f"problem '{problem.name}': it has no coefficients from which a tolerance could follow")
    sd = np.ones(len(problem.objective.target)) if given.sd is None else np.asarray(given.sd, dtype=float)[given.used]
    missed = np.eye(len(sd)) - sensitivity(solution)
    expected = float(np.sum((missed * sd) ** 2))
    found = max(solution.objective - problem.objective.constant, 0.0)
    birge = float(np.sqrt(found / expected)) if expected > 0 else 0.0
    if given.sd is None and found <= PERFECT * problem.objective.size:
        raise ProblemError(
            f"problem '{problem.name}': the fit of the coefficients is perfect and their standard deviations are not "
            "given: give a share"
        )
    ratio = birge if given.sd is None else max(1.0, birge)
    allowed = float(np.sum((ratio * sd) ** 2))
    return Tolerance(max(allowed - found, 0.0), ratio, given.sd is not None)


def sensitivity(solution: Solution) -> Array:
    """Change S of the fitted values with the target, shape (rows, rows); the module's equation."""
    problem, x = solution.problem, np.array(solution.x)
    rows, multipliers = _rows(solution)
    left = problem.objective.gradient(x) + rows.T @ multipliers[0]
    M, standard = problem.objective.matrix, problem.variables.standard_size
    basis = np.eye(problem.variables.size)
    curvature = np.zeros(problem.variables.size)
    for k, entry in enumerate(problem.cones):
        link = link_slice(k)
        J = pseudo_inertia(x[link]) - entry.margin * np.eye(4)
        Z = (STANDARD_MAP.T @ left[link]).reshape(4, 4)
        W = Scaling.between(*(matrix[None] for matrix in _inside(J, (Z + Z.T) / 2))).W[0]
        basis[link, link] = congruence(np.linalg.cholesky(W))
        curvature[link] = SVEC_WEIGHTS**2
    curvature[standard:] = 1e-12 * max(float(np.abs(M).max()) ** 2, 1e-300)
    A, G = M @ basis, rows @ basis
    H = np.diag(curvature) + 2 * A.T @ A + (G.T * multipliers[1]) @ G
    return np.asarray(2 * A @ np.linalg.solve(H, A.T))


def _rows(solution: Solution) -> tuple[Array, tuple[Array, Array]]:
    """Linear hard rows, their multipliers, and these over their slacks."""
    linear, _ = split_rows(solution.problem)
    known = {label: iter(values) for label, values in solution.multipliers.items()}
    own = [next(known[row.label], 0.0) if row.constraint >= 0 else 0.0 for row in linear.rows]
    multipliers, values = np.array(own, dtype=float), linear.matrix @ np.array(solution.x)
    slacks = np.where(multipliers > 0, linear.upper - values, values - linear.lower)
    weights = np.abs(multipliers) / np.maximum(slacks, 1e-12 * (1.0 + np.abs(values)))
    return linear.matrix, (multipliers, weights)


def _inside(J: Array, Z: Array) -> tuple[Array, Array]:
    """A matrix and its multiplier, of which one is zero in each direction, moved to the central path.

    There they have eigenvectors in common, and the products of their eigenvalues are `ROUNDING` times those of the
    largest ones: the smaller of each two follows from the larger.
    """
    sizes = [max(float(np.linalg.norm(matrix, 2)), 1e-300) for matrix in (J, Z)]
    _, vectors = np.linalg.eigh(J / sizes[0] - Z / sizes[1])
    a, z = (np.maximum(np.diag(vectors.T @ matrix @ vectors), 0.0) for matrix in (J, Z))
    product, own = ROUNDING * sizes[0] * sizes[1], a / sizes[0] > z / sizes[1]
    a = np.where(own, np.maximum(a, ROUNDING * sizes[0]), 0.0)
    z = np.where(own, 0.0, np.maximum(z, ROUNDING * sizes[1]))
    a[~own], z[own] = product / z[~own], product / a[own]
    return (vectors * a) @ vectors.T, (vectors * z) @ vectors.T
