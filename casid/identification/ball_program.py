"""The program of `casid.identification.divergence` as IPOPT sees it, with all its derivatives.

Unknowns ``w = (y, sigma, v)``: preconditioned parameters, the logarithm of the bodies' scale, violations of soft rows::

    minimise  sum_k exp(-sigma_k) tr M_k - log det M_k + 4 sigma_k  + sum_j t_j y_j^2  + price ball(w)
    subject to  ball(w) = (||R y - r||^2 + weights' v) / room <= 1,   the rows

``log det`` goes through the pivots of M and is NaN outside the cone, where IPOPT's line search does not go. Hessians
are exact: a constant Gram matrix for the ball, a 10 x 10 block a link.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.expressions._evaluate import interruptible
from casid.inertia._parameter_vector import link_slice
from casid.retrieval.problem import Problem
from casid.retrieval.rows import LinearRows, NonlinearRows

Array = NDArray[np.float64]
LOWER = tuple((i, j) for i in range(4) for j in range(i + 1))
_DIAGONAL = (0, 2, 5, 9)
_OPTIONS: dict[str, Any] = {
    "print_level": 0, "sb": "yes", "constr_viol_tol": 1e-10, "bound_relax_factor": 0.0, "mumps_permuting_scaling": 0,
    "mumps_scaling": 0, "nlp_scaling_method": "none", "fast_step_computation": "yes",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class BallOutcome:
    """What one call of IPOPT left.

    Attributes
    ----------
    w : ndarray
    ball : float
        Sum of squares over the ball's size.
    price : float
        Multiplier of the ball, in units of 1 / objective, >= 0.
    multipliers : ndarray
        Of the linear rows, > 0 at an upper bound.
    iterations : int
    status : str
    """

    w: Array
    ball: float
    price: float
    multipliers: Array
    iterations: int
    status: str


class BallProgram:
    """The program of one problem in coordinates ``x = basis y + origin``.

    Parameters
    ----------
    problem, linear, nonlinear
        The problem and its scalar rows.
    basis, origin
        Coordinates.
    scaled
        Which links share the unknown scale, shape (n,).
    limit
        Largest objective plus penalty.
    terms
        t_j of the unknowns beyond the links.
    """

    def __init__(
        self,
        problem: Problem,
        linear: LinearRows,
        nonlinear: NonlinearRows,
        basis: Array,
        origin: Array,
        scaled: NDArray[np.bool_],
        limit: float,
        terms: Array,
    ) -> None:
        self._size, self._scaled, self._linear = problem.variables.size, scaled, len(linear.rows)
        rows = [*linear.rows, *nonlinear.rows]
        weights = np.array([row.weight or 0.0 for row in rows])
        self._soft = np.flatnonzero(weights)
        self._room = max(limit - problem.objective.constant, 1e-300)
        matrix = problem.objective.matrix @ basis / np.sqrt(self._room)
        offset = (problem.objective.target - problem.objective.matrix @ origin) / np.sqrt(self._room)
        slope = linear.matrix @ basis
        scales = np.maximum(np.abs(slope).max(axis=1, initial=0.0), 1e-12)
        self._scales = np.concatenate([scales, np.ones(nonlinear.size)])
        low = np.concatenate([linear.lower, nonlinear.lower]) / self._scales
        high = np.concatenate([linear.upper, nonlinear.upper]) / self._scales
        second = low[self._soft]
        low[self._soft] = -np.inf
        self._low, self._high = np.concatenate([low, second]), np.concatenate([high, np.full(len(second), np.inf)])
        shift = linear.matrix @ origin / scales
        self._nlp = self._functions(
            problem, nonlinear, basis, origin, matrix, offset, slope / scales[:, None], shift,
            weights[self._soft] / self._room, terms,
        )  # fmt: skip
        self._priced: ca.Function | None = None

    def _functions(
        self,
        problem: Problem,
        nonlinear: NonlinearRows,
        basis: Array,
        origin: Array,
        matrix: Array,
        offset: Array,
        slope: Array,
        shift: Array,
        weights: Array,
        terms: Array,
    ) -> dict[str, Any]:
        size, links, slacks = self._size, len(self._scaled), len(self._soft)
        y, sigma, v, price = ca.MX.sym("y", size), ca.MX.sym("s"), ca.MX.sym("v", slacks), ca.MX.sym("p")
        w, lam_f = ca.vertcat(y, sigma, v), ca.MX.sym("lam_f")
        block = _block_function()
        parts = [block(y[link_slice(k)]) for k in range(links)]
        unit = np.zeros(10)
        unit[list(_DIAGONAL)] = 1.0
        shrink = [ca.exp(-sigma) if scaled else ca.MX(1.0) for scaled in self._scaled]
        traces = [ca.dot(ca.DM(unit), y[link_slice(k)]) for k in range(links)]
        t = ca.DM(terms)
        D = sum((a * b - p[0] for a, b, p in zip(shrink, traces, parts, strict=True)), ca.MX(0))
        D += 4 * float(self._scaled.sum()) * sigma - 4 * links + ca.dot(t, y[10 * links :] ** 2)
        M, gram = ca.DM(matrix), ca.DM(2.0 * matrix.T @ matrix)
        residual = M @ y - ca.DM(offset)
        wv = ca.DM(weights)
        ball = ca.sumsqr(residual) + ca.dot(wv, v)
        ball_y = 2 * (M.T @ residual)
        D_y = ca.vertcat(*[a * ca.DM(unit) - p[1] for a, p in zip(shrink, parts, strict=True)], 2 * t * y[10 * links :])
        mixed = ca.vertcat(*[
            -a * ca.DM(unit) if scaled else ca.MX(10, 1) for a, scaled in zip(shrink, self._scaled, strict=True)
        ], ca.MX(size - 10 * links, 1))  # fmt: skip
        inner = sum((a * b for a, b, k in zip(shrink, traces, self._scaled, strict=True) if k), ca.MX(0))
        D_s = 4 * float(self._scaled.sum()) - inner
        gradient = ca.vertcat(ca.densify(D_y + price * ball_y), D_s, price * wv)
        # rows
        symbols = problem.variables.x
        x = ca.DM(basis) @ y + ca.DM(origin)
        lam = ca.SX.sym("lam", nonlinear.size)
        jacobian = ca.jacobian(nonlinear.expression, symbols)
        value_f = ca.Function("g", [symbols], [nonlinear.expression])
        slope_f = ca.Function("dg", [symbols], [jacobian])
        curve_f = ca.Function("ddg", [symbols, lam], [ca.jacobian(jacobian.T @ lam, symbols)])
        A = ca.sparsify(ca.DM(slope))
        values, slopes = A @ y + ca.DM(shift), ca.MX(A)
        if nonlinear.size:
            values, slopes = ca.vertcat(values, value_f(x)), ca.vertcat(slopes, slope_f(x) @ ca.DM(basis))
        pick = np.zeros((values.shape[0], slacks))
        pick[self._soft, np.arange(slacks)] = 1.0 / self._scales[self._soft]
        pick_dm, soft = ca.sparsify(ca.DM(pick)), self._soft.tolist()
        again = (values + pick_dm @ v)[soft] if soft else ca.MX(0, 1)
        g = ca.vertcat(ball, values - pick_dm @ v, again)
        zero = ca.DM(values.shape[0], 1)
        rows = [ca.horzcat(ball_y.T, ca.DM(1, 1), wv.T), ca.horzcat(slopes, zero, -pick_dm)]
        if soft:
            rows.append(ca.horzcat(slopes[soft, :], ca.DM(len(soft), 1), pick_dm[soft, :]))
        lam_g = ca.MX.sym("lam_g", g.shape[0])
        H = lam_f * ca.diagcat(*[p[2] for p in parts], ca.diag(2 * t))
        H = H + (lam_f * price + lam_g[0]) * gram
        if nonlinear.size:
            total = lam_g[1 : 1 + values.shape[0]]
            if soft:
                spread = ca.DM(values.shape[0], len(soft))
                for position, row in enumerate(soft):
                    spread[row, position] = 1.0
                total = total + spread @ lam_g[1 + values.shape[0] :]
            B = ca.DM(basis)
            H = H + B.T @ curve_f(x, total[self._linear :]) @ B
        corner = lam_f * mixed
        hessian = ca.diagcat(
            ca.vertcat(ca.horzcat(H, corner), ca.horzcat(corner.T, lam_f * inner)), ca.DM(slacks, slacks)
        )
        names = ["x", "p"]
        return {
            "nlp": {"x": w, "p": price, "f": D + price * ball, "g": g},
            "grad_f": ca.Function("grad_f", [w, price], [D + price * ball, gradient], names, ["f", "grad_f_x"]),
            "jac_g": ca.Function("jac_g", [w, price], [g, ca.vertcat(*rows)], names, ["g", "jac_g_x"]),
            "hess_lag": ca.Function(
                "hess_lag", [w, price, lam_f, lam_g], [ca.triu(hessian)], [*names, "lam_f", "lam_g"],
                ["triu_hess_gamma_x_x"],
            ),
        }  # fmt: skip

    # ------------------------------------------------------------------ solve

    def start(self, y: Array) -> Array:
        """W at a point y; the scale suits the traces."""
        traces = np.array([y[10 * k + np.array(_DIAGONAL)].sum() for k in range(len(self._scaled))])
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


def _block_function() -> ca.Function:
    """Of a 4x4 matrix by its lower triangle: log det, its gradient, and the Hessian of -log det; by its pivots."""
    t = ca.SX.sym("y", 10)
    a = ca.SX(4, 4)
    for k, (i, j) in enumerate(LOWER):
        a[i, j] = a[j, i] = t[k]
    logarithms = ca.SX(0)
    for i in range(4):
        logarithms += ca.log(a[i, i])
        if i < 3:
            a[i + 1 :, i + 1 :] = a[i + 1 :, i + 1 :] - a[i + 1 :, i] @ a[i, i + 1 :] / a[i, i]
    hessian, gradient = ca.hessian(logarithms, t)
    return ca.Function("block", [t], [logarithms, ca.densify(gradient), ca.densify(-hessian)])
