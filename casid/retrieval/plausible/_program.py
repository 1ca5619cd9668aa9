"""The nonlinear program of `DivergenceProgram` in IPOPT's form, with exact derivatives.

Unknowns ``w = (y, sigma, v)``: preconditioned parameters, the logarithm of the bodies' scale, violations of soft rows::

    minimise  D(y, sigma) + price ball(w)                                                          (`Measure`)
    subject to  ball(w) = (||R y - r||^2 + weights' v) / room <= 1,   the rows

``log det`` goes through the pivots of M and is NaN outside the cone, where IPOPT's line search does not go. Hessians
are exact: a constant Gram matrix for the ball, a 10 x 10 block a link.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from casid.arrays import Array
from casid.expressions import interruptible
from casid.inertia import DIAGONAL, link_slice, log_det_function
from casid.retrieval._problem import Problem
from casid.retrieval._rows import LinearRows, NonlinearRows
from casid.retrieval.plausible._measure import NO_ROTOR, ROTOR, Measure

_OPTIONS: dict[str, Any] = {
    "print_level": 0, "sb": "yes", "constr_viol_tol": 1e-10, "bound_relax_factor": 0.0, "mumps_permuting_scaling": 0,
    "mumps_scaling": 0, "nlp_scaling_method": "none", "fast_step_computation": "yes",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class BallOutcome:
    """Result of one call of IPOPT.

    Attributes
    ----------
    w : ndarray
    ball : float
        Sum of squares over the ball's size.
    price : float
        Multiplier of the ball, in units of 1 / objective, >= 0.
    multipliers : ndarray
        Multipliers of the linear rows, > 0 at an upper bound.
    iterations : int
    status : str
    """

    w: Array
    ball: float
    price: float
    multipliers: Array
    iterations: int
    status: str


@dataclass(frozen=True, eq=False)
class _Ball:
    """``||matrix y - offset||^2 + weights' v <= 1``."""

    matrix: Array
    offset: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class _ScalarRows:
    """Linear rows ``slope y + shift`` and nonlinear rows of ``x = basis y + origin``, shape (rows,)."""

    symbols: ca.SX
    nonlinear: NonlinearRows
    basis: Array
    origin: Array
    slope: Array
    shift: Array

    def at(self, y: ca.MX) -> tuple[ca.MX, ca.MX, ca.MX]:
        """X, the rows' values and their Jacobian in y."""
        x = ca.DM(self.basis) @ y + ca.DM(self.origin)
        A = ca.sparsify(ca.DM(self.slope))
        values, slopes = A @ y + ca.DM(self.shift), ca.MX(A)
        if self.nonlinear.size:
            value = ca.Function("g", [self.symbols], [self.nonlinear.expression])
            slope = ca.Function("dg", [self.symbols], [ca.jacobian(self.nonlinear.expression, self.symbols)])
            values, slopes = ca.vertcat(values, value(x)), ca.vertcat(slopes, slope(x) @ ca.DM(self.basis))
        return x, values, slopes

    def curvature(self, x: ca.MX, multipliers: ca.MX) -> ca.MX:
        """Hessian in y of the nonlinear rows times multipliers."""
        lam = ca.SX.sym("lam", self.nonlinear.size)
        jacobian = ca.jacobian(self.nonlinear.expression, self.symbols)
        curve = ca.Function("ddg", [self.symbols, lam], [ca.jacobian(jacobian.T @ lam, self.symbols)])
        B = ca.DM(self.basis)
        return B.T @ curve(x, multipliers) @ B


@dataclass(frozen=True, eq=False)
class _DivergenceGraph:
    """The divergence with the joint terms' share, and its derivatives by y and sigma."""

    value: ca.MX
    by_y: ca.MX
    by_sigma: ca.MX
    by_yy: ca.MX
    by_y_sigma: ca.MX
    by_sigma_sigma: ca.MX


def _divergence(y: ca.MX, sigma: ca.MX, measure: Measure) -> _DivergenceGraph:
    """The measure as a graph (`Measure`)."""
    scaled, links, size = measure.scaled, measure.links, y.shape[0]
    block = log_det_function()
    parts = [block(y[link_slice(k)]) for k in range(links)]
    unit = np.zeros(10)
    unit[list(DIAGONAL)] = 1.0
    shrink = [ca.exp(-sigma) if k else ca.MX(1.0) for k in scaled]
    traces = [ca.dot(ca.DM(unit), y[link_slice(k)]) for k in range(links)]
    t, free, u = ca.DM(measure.terms), 4 * float(scaled.sum()), y[10 * links :]
    value = sum((a * b - p[0] for a, b, p in zip(shrink, traces, parts, strict=True)), ca.MX(0))
    value += free * sigma - 4 * links + ca.dot(t, u**2)
    rotor, slope, curve = _rotors(u, measure.rotors)
    by_terms, by_terms_twice = 2 * t * u + slope, ca.MX(2 * t) + curve
    by_y = ca.vertcat(*[a * ca.DM(unit) - p[1] for a, p in zip(shrink, parts, strict=True)], by_terms)
    mixed = [-a * ca.DM(unit) if k else ca.MX(10, 1) for a, k in zip(shrink, scaled, strict=True)]
    inner = sum((a * b for a, b, k in zip(shrink, traces, scaled, strict=True) if k), ca.MX(0))
    return _DivergenceGraph(
        value + rotor,
        by_y,
        free - inner,
        ca.diagcat(*[p[2] for p in parts], ca.diag(by_terms_twice)),
        ca.vertcat(*mixed, ca.MX(size - 10 * links, 1)),
        inner,
    )


def _rotors(u: ca.MX, expected: Array) -> tuple[ca.MX, ca.MX, ca.MX]:
    """Value, slope and curvature of the rotors' part of the measure."""
    which = ca.DM((expected > 0).astype(float))
    a = ca.DM(np.where(expected > 0, expected, 1.0))
    share = (which * u / a + NO_ROTOR + (1 - which)) / (1.0 + NO_ROTOR)  # 1 where none is expected
    value = ROTOR * ca.sum1(share - ca.log(share) - 1.0)
    rate = which / (a * (1.0 + NO_ROTOR))
    return value, ROTOR * rate * (1 - 1 / share), ROTOR * (rate / share) ** 2


class BallProgram:
    """The program of one problem in coordinates ``x = basis y + origin``.

    Parameters
    ----------
    problem, linear, nonlinear
        The problem and its scalar rows.
    basis, origin
        Coordinates.
    measure
        D.
    limit
        Largest objective plus penalty.
    """

    def __init__(
        self,
        problem: Problem,
        linear: LinearRows,
        nonlinear: NonlinearRows,
        basis: Array,
        origin: Array,
        measure: Measure,
        limit: float,
    ) -> None:
        self._size, self._scaled, self._linear = problem.variables.size, measure.scaled, len(linear.rows)
        rows = [*linear.rows, *nonlinear.rows]
        weights = np.array([row.weight or 0.0 for row in rows])
        self._soft = np.flatnonzero(weights)
        self._room = max(limit - problem.objective.constant, 1e-300)
        ball = _Ball(
            problem.objective.matrix @ basis / np.sqrt(self._room),
            (problem.objective.target - problem.objective.matrix @ origin) / np.sqrt(self._room),
            weights[self._soft] / self._room,
        )
        slope = linear.matrix @ basis
        scales = np.maximum(np.abs(slope).max(axis=1, initial=0.0), 1e-12)
        self._scales = np.concatenate([scales, np.ones(nonlinear.size)])
        low = np.concatenate([linear.lower, nonlinear.lower]) / self._scales
        high = np.concatenate([linear.upper, nonlinear.upper]) / self._scales
        second = low[self._soft]
        low[self._soft] = -np.inf
        self._low, self._high = np.concatenate([low, second]), np.concatenate([high, np.full(len(second), np.inf)])
        scalar = _ScalarRows(
            problem.variables.x, nonlinear, basis, origin, slope / scales[:, None], linear.matrix @ origin / scales
        )
        self._nlp = self._functions(ball, scalar, measure)
        self._priced: ca.Function | None = None

    def _functions(self, ball: _Ball, scalar: _ScalarRows, measure: Measure) -> dict[str, Any]:
        """The program and the functions of its gradient, Jacobian and Hessian."""
        y, sigma, price = ca.MX.sym("y", self._size), ca.MX.sym("s"), ca.MX.sym("p")
        v = ca.MX.sym("v", len(self._soft))
        w, lam_f = ca.vertcat(y, sigma, v), ca.MX.sym("lam_f")
        D = _divergence(y, sigma, measure)
        M, gram = ca.DM(ball.matrix), ca.DM(2.0 * ball.matrix.T @ ball.matrix)
        residual = M @ y - ca.DM(ball.offset)
        wv = ca.DM(ball.weights)
        inside = ca.sumsqr(residual) + ca.dot(wv, v)
        inside_y = 2 * (M.T @ residual)
        gradient = ca.vertcat(ca.densify(D.by_y + price * inside_y), D.by_sigma, price * wv)
        x, values, slopes = scalar.at(y)
        g, jacobian = self._constraints(values, slopes, v, (inside, inside_y, wv))
        lam_g = ca.MX.sym("lam_g", g.shape[0])
        H = lam_f * D.by_yy
        H = H + (lam_f * price + lam_g[0]) * gram
        if scalar.nonlinear.size:
            H = H + scalar.curvature(x, self._row_multipliers(lam_g, values.shape[0])[self._linear :])
        corner = lam_f * D.by_y_sigma
        hessian = ca.diagcat(
            ca.vertcat(ca.horzcat(H, corner), ca.horzcat(corner.T, lam_f * D.by_sigma_sigma)),
            ca.DM(len(self._soft), len(self._soft)),
        )
        names, f = ["x", "p"], D.value + price * inside
        return {
            "nlp": {"x": w, "p": price, "f": f, "g": g},
            "grad_f": ca.Function("grad_f", [w, price], [f, gradient], names, ["f", "grad_f_x"]),
            "jac_g": ca.Function("jac_g", [w, price], [g, jacobian], names, ["g", "jac_g_x"]),
            "hess_lag": ca.Function(
                "hess_lag", [w, price, lam_f, lam_g], [ca.triu(hessian)], [*names, "lam_f", "lam_g"],
                ["triu_hess_gamma_x_x"],
            ),
        }  # fmt: skip

    def _constraints(
        self, values: ca.MX, slopes: ca.MX, v: ca.MX, ball: tuple[ca.MX, ca.MX, ca.DM]
    ) -> tuple[ca.MX, ca.MX]:
        """The ball, the rows less their violations, the lower sides of soft rows; and the Jacobian of all."""
        inside, inside_y, wv = ball
        pick = np.zeros((values.shape[0], len(self._soft)))
        pick[self._soft, np.arange(len(self._soft))] = 1.0 / self._scales[self._soft]
        pick_dm, soft = ca.sparsify(ca.DM(pick)), self._soft.tolist()
        again = (values + pick_dm @ v)[soft] if soft else ca.MX(0, 1)
        zero = ca.DM(values.shape[0], 1)
        rows = [ca.horzcat(inside_y.T, ca.DM(1, 1), wv.T), ca.horzcat(slopes, zero, -pick_dm)]
        if soft:
            rows.append(ca.horzcat(slopes[soft, :], ca.DM(len(soft), 1), pick_dm[soft, :]))
        return ca.vertcat(inside, values - pick_dm @ v, again), ca.vertcat(*rows)

    def _row_multipliers(self, lam_g: ca.MX, rows: int) -> ca.MX:
        """Multipliers of the rows: those of both sides of soft rows added."""
        total = lam_g[1 : 1 + rows]
        if len(self._soft):
            spread = ca.DM(rows, len(self._soft))
            for position, row in enumerate(self._soft.tolist()):
                spread[row, position] = 1.0
            total = total + spread @ lam_g[1 + rows :]
        return total

    # ------------------------------------------------------------------ solve

    def start(self, y: Array) -> Array:
        """W at a point y; the scale suits the traces."""
        traces = np.array([y[10 * k + np.array(DIAGONAL)].sum() for k in range(len(self._scaled))])
        sigma = float(np.log(max(traces[self._scaled].mean() / 4.0, 1e-9))) if self._scaled.any() else 0.0
        return np.concatenate([y, [sigma], np.zeros(len(self._soft))])

    def priced(self, w: Array, price: float) -> BallOutcome:
        """Minimise D + price ball, without the ball as a constraint."""
        if self._priced is None:
            self._priced = self._solver({"tol": 1e-3, "mu_strategy": "adaptive", "max_iter": 60, "mu_target": 1e-4})
        return self._run(self._priced, w, price, np.inf)

    def within(self, w: Array) -> BallOutcome:
        """Minimise D within the ball."""
        options = {
            "tol": 1e-9, "dual_inf_tol": 1e-7, "compl_inf_tol": 1e-9, "mu_target": 1e-10, "max_iter": 150,
            "mu_strategy": "adaptive", "acceptable_tol": 1e-8, "acceptable_iter": 5,
        }  # fmt: skip
        return self._run(self._solver(options), w, 0.0, 1.0)

    def _solver(self, options: dict[str, Any]) -> ca.Function:
        quiet: dict[str, Any] = {
            "print_time": False,
            "show_eval_warnings": False,
            "calc_lam_p": False,
            "calc_multipliers": False,
        }
        given = {key: value for key, value in self._nlp.items() if key != "nlp"}
        return ca.nlpsol("plausible", "ipopt", self._nlp["nlp"], {**quiet, **given, "ipopt": {**_OPTIONS, **options}})

    def _run(self, solver: ca.Function, w: Array, price: float, radius: float) -> BallOutcome:
        free, slacks = 30.0 if self._scaled.any() else 0.0, len(self._soft)
        inf = np.full(self._size, np.inf)
        with interruptible():
            result = solver(
                x0=w,
                p=price,
                lbx=np.concatenate([-inf, [-free], np.zeros(slacks)]),
                ubx=np.concatenate([inf, [free], np.full(slacks, np.inf)]),
                lbg=np.concatenate([[-np.inf], self._low]),
                ubg=np.concatenate([[radius], self._high]),
            )
        stats = solver.stats()
        found, lam = (np.array(result[name], dtype=float).ravel() for name in ("x", "lam_g"))
        lam = np.nan_to_num(lam)
        rows = len(self._scales)
        multipliers = lam[1 : 1 + rows].copy()
        multipliers[self._soft] += lam[1 + rows :]
        return BallOutcome(
            found,
            float(result["g"][0]),
            max(float(lam[0]), 0.0) / self._room,
            (multipliers / self._scales)[: self._linear],
            int(stats["iter_count"]),
            str(stats["return_status"]),
        )
