"""The convex program of the most plausible parameters among those that explain the data, with a proof of optimality.

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
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.arrays import ALIKE, Array
from casid.description.joint_parameters import joint_parameter
from casid.errors import SolveError
from casid.expressions import interruptible
from casid.inertia import (
    DEARER,
    DIAGONAL,
    EXACT,
    MET,
    ROUGH,
    SVEC_WEIGHTS,
    TRIANGLE_MAP,
    Climb,
    InteriorPoint,
    Measure,
    Point,
    congruence,
    divergence_hessian,
    from_pseudo_inertia,
    link_slice,
    log_det_function,
    lower_triangle,
    pseudo_inertia,
    symmetric,
)
from casid.retrieval._bound import Dual
from casid.retrieval._objectives import LeastSquares
from casid.retrieval._problem import Problem, slacks, split_rows
from casid.retrieval._solution import ENOUGH
from casid.retrieval.constraints._constraint import FEASIBILITY
from casid.retrieval.plausible._bodies import PRIORS

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
    expected
        Of joint terms, by the name of their unknown: the value of one that cannot be negative (a rotor inertia), the
        standard deviation of any other (an offset of friction).
    """

    def __init__(
        self, problem: Problem, bodies: Array, scaled: NDArray[np.bool_], expected: Mapping[str, float] | None = None
    ) -> None:
        self.problem, self.scaled = problem, np.asarray(scaled, dtype=bool)
        self.linear, self.nonlinear = split_rows(problem)
        self._links, self._standard = len(problem.cones), 10 * len(problem.cones)
        self.basis, self.origin = _coordinates(problem, bodies)
        own = slice(self._standard, None)
        columns = np.linalg.norm(problem.objective.matrix[:, own] @ self.basis[own, own], axis=0)
        size = float(np.linalg.norm(problem.objective.target)) or 1.0
        shares = np.where(columns > 0, columns, 1.0) / size  # of the torque, for one unit of a term's y
        extras, units = problem.variables.extras, np.diag(self.basis)[own]
        known = np.array([(expected or {}).get(name, 0.0) for name in extras]) / units
        positive = np.array([_never_negative(name) for name in extras], dtype=bool)
        terms = np.where(known > 0, 0.5 / np.where(known > 0, known, 1.0) ** 2, PRIORS["TERMS"] * shares**2)
        sizes = np.where(positive, known, 0.0)
        terms[sizes > 0] = 0.0
        self.measure = Measure(self.scaled, terms, sizes, PRIORS["ROTOR"], PRIORS["NO_ROTOR"])
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
    ) -> Array | None:
        """Parameters of least ``D + price q``, shape (N,), some of the joint terms' unknowns zero; rough, no proof.

        Rows that are no linear inequalities are left out.

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
            ``None`` where the bodies' scale is unknown, or no answer is found.
        """
        if not self._plain:
            return None
        kept = np.array([name not in left_out for name in self.problem.variables.names])
        program = self._interior_point(kept, objective)
        point = program.start(None if near is None else self._coordinates_of(near)[kept])
        for step in range(CLIMB if near is None else 0, -1, -1):
            point = program.solve(point, price * DEARER**-step, ROUGH)
        if not point.solved:
            return None if near is None else self.priced(price, None, left_out, objective)
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


def _never_negative(name: str) -> bool:
    """Whether an unknown is a joint term that cannot be negative, whatever its bounds."""
    entry = joint_parameter(name.rstrip("0123456789"))
    return entry is not None and entry.nonnegative


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
