"""The lifted program that IPOPT solves, with all its derivatives.

Unknowns ``w = (y, T, s)``: preconditioned standard parameters y (``x = C y + x0``), lower triangular factors ``T_k``
with a non-negative diagonal, slacks s >= 0 of the soft rows::

    minimise    scale (||R x - r||^2 + weights' s) + proximal (sum |T_k|^2 over links without bounds)
    subject to  lower <= A x -+ s <= upper,   lower <= g(x) -+ s <= upper,   y_k = q(T_k)

where q are the ten quadratic forms of `cones`: the entries of ``T_k T_k'`` for full consistency. With ``diag T >= 0``
IPOPT's own barrier, ``-mu sum log T_ii = -mu/2 sum log det``, is the log-det barrier of the cones: for convex
constraints every barrier problem has one minimiser, whatever the start, and their limit is the analytic centre of the
optimal set.

The objective's Hessian is the constant ``2 R'R``; that of the factors is linear in the multipliers, one block a link.
Both are given to IPOPT; automatic differentiation is left with the user's nonlinear rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.expressions.interrupts import interruptible
from casid.inertia.cones import ConsistencyCone
from casid.retrieval.objectives import LeastSquares
from casid.retrieval.program.cones import Cone
from casid.retrieval.rows import LinearRows, NonlinearRows

Array = NDArray[np.float64]
#: IPOPT calls it a failure that no digit is left to gain; what it reached is judged by re-check and certificate.
_AT_ROUNDING = ("Search_Direction_Becomes_Too_Small",)


@dataclass(frozen=True, eq=False)
class Point:
    """A primal-dual point of the lifted program, in the program's own scaling."""

    w: Array
    multipliers: Array
    bound_multipliers: Array


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one call of IPOPT left."""

    point: Point
    status: str
    success: bool
    iterations: int
    mu: float

    @property
    def good(self) -> bool:
        """It succeeded, with finite numbers."""
        return self.success and bool(np.isfinite(self.point.w).all())


class LiftedProgram:
    """The lifted program of one problem; built once, solved from any number of starts.

    Parameters
    ----------
    x
        Symbols of the unknowns, shape (N,).
    objective, linear, nonlinear
        The sum of squares and the scalar rows.
    cones
        One a link with physical consistency.
    nominal
        Nominal point, shape (N,).
    unbounded
        Links that no bound limits; they are unbounded to the nominal body.
    region
        Upper bound of ``|T_k|^2`` for those links (4 at the nominal body).
    barrier
        Without it the factors' diagonals are free, and the program of a problem without rows has equalities only.
    """

    def __init__(
        self,
        x: ca.SX,
        objective: LeastSquares,
        linear: LinearRows,
        nonlinear: NonlinearRows,
        cones: tuple[Cone, ...],
        nominal: Array,
        unbounded: tuple[int, ...] = (),
        region: float = 1e6,
        barrier: bool = True,
    ) -> None:
        self.objective, self.linear, self.nonlinear, self.cones = objective, linear, nonlinear, cones
        self.nominal, self._x, self._unbounded, self._region = nominal, x, unbounded, region
        self._barrier = barrier
        size = len(nominal)
        self._basis, self._origin = _coordinates(cones, nominal)
        self._factor_slices = _slices([10 for _ in cones], size)
        factors = self._factor_slices[-1].stop if cones else size
        soft = [(i, r.weight) for i, r in enumerate((*linear.rows, *nonlinear.rows)) if r.weight is not None]
        self._soft = tuple(i for i, _ in soft)
        self.weights = np.array([w for _, w in soft])
        self._dimensions = (size, factors - size, len(soft))
        self._scale_rows()

    def _scale_rows(self) -> None:
        """Rows are divided by their gradient's largest entry in y at the nominal point."""
        matrix = self.linear.matrix @ self._basis
        self.linear_scale = np.maximum(np.abs(matrix).max(axis=1, initial=0.0), 1e-12)
        if self.nonlinear.size:
            jacobian = ca.Function("slope", [self._x], [ca.jacobian(self.nonlinear.expression, self._x)])(self.nominal)
            steep = np.abs(np.array(ca.densify(jacobian)) @ self._basis).max(axis=1)
            steep = np.where(np.isfinite(steep), steep, 1.0)
        else:
            steep = np.zeros(0)
        self.nonlinear_scale = np.where(steep > 0, np.clip(steep, 1e-6, 1e6), 1.0)

    # ------------------------------------------------------------------ points

    @property
    def coordinates(self) -> tuple[Array, Array]:
        """C and x0 of ``x = C y + x0``, shapes (N, N) and (N,)."""
        return self._basis, self._origin

    def start(self, x: Array) -> Array:
        """W at a point x; a point outside a cone enters with lifted eigenvalues."""
        y = np.linalg.solve(self._basis, x - self._origin)
        parts = [y]
        for cone in self.cones:
            link = slice(10 * cone.link, 10 * cone.link + 10)
            t = cone.factor(x[link])
            y[link] = np.linalg.solve(cone.basis, cone.parameters(t) - cone.offset)
            parts.append(t)
        return np.concatenate([*parts, np.zeros(len(self._soft))])

    def parameters(self, w: Array) -> Array:
        """Standard parameters at w, rebuilt from the factors so that the cones hold up to rounding."""
        x = self._basis @ w[: len(self.nominal)] + self._origin
        for cone, entries in zip(self.cones, self._factor_slices, strict=True):
            x[10 * cone.link : 10 * cone.link + 10] = cone.parameters(w[entries])
        return np.asarray(x)

    def gradient_size(self) -> float:
        """Largest entry of the objective's gradient in y at the nominal point."""
        return float(np.abs(self._basis.T @ self.objective.gradient(self.nominal)).max())

    def row_multipliers(self, point: Point, scale: float) -> tuple[Array, Array]:
        """Multipliers of the linear and nonlinear rows, in units of the plain objective; > 0 at an upper bound."""
        raw = point.multipliers[: len(self.linear.rows) + self.nonlinear.size].copy()
        extra = point.multipliers[self._extra_rows]
        for position, total in zip(self._soft, extra, strict=True):
            raw[position] += total
        split = len(self.linear.rows)
        return raw[:split] / (self.linear_scale * scale), raw[split:] / (self.nonlinear_scale * scale)

    @property
    def _extra_rows(self) -> slice:
        start = len(self.linear.rows) + self.nonlinear.size
        return slice(start, start + len(self._soft))

    # ------------------------------------------------------------------ program

    @cached_property
    def _program(self) -> tuple[dict[str, ca.MX], dict[str, Any], Mapping[str, Array]]:
        size, factors, slacks = self._dimensions
        y, t, s = ca.MX.sym("y", size), ca.MX.sym("T", factors), ca.MX.sym("s", slacks)
        w, p = ca.vertcat(y, t, s), ca.MX.sym("p", 2 + size)
        scale, proximal, slope = p[0], p[1], p[2:]
        basis = _sparse(self._basis)
        x = basis @ y + ca.DM(self._origin)

        matrix = self.objective.matrix @ self._basis
        residual_map, gram = ca.DM(matrix), ca.DM(matrix.T @ matrix)
        offset = ca.DM(self.objective.target - self.objective.matrix @ self._origin)
        residual = residual_map @ y - offset
        unbounded = np.zeros(size + factors)
        for cone, entries in zip(self.cones, self._factor_slices, strict=True):
            if cone.link in self._unbounded:
                unbounded[entries] = 1.0
        free = [k for k in self._unbounded if k not in {c.link for c in self.cones}]
        for k in free:
            unbounded[10 * k : 10 * k + 10] = 1.0
        centre = np.zeros(size + factors)
        for k in free:
            centre[10 * k : 10 * k + 10] = np.linalg.solve(self._basis, self.nominal - self._origin)[
                10 * k : 10 * k + 10
            ]
        away = ca.DM(unbounded) * (ca.vertcat(y, t) - ca.DM(centre))
        weights = ca.DM(self.weights)
        f = scale * (ca.sumsqr(residual) + ca.dot(weights, s)) + proximal * ca.sumsqr(away) + ca.dot(slope, y)
        gradient = ca.densify(
            ca.vertcat(
                2 * scale * (residual_map.T @ residual) + 2 * proximal * away[:size] + slope,
                2 * proximal * away[size:],
                scale * weights,
            )
        )

        # rows: linear, nonlinear, second sides of soft rows, region of the unbounded cones, factorisations
        rows = self.linear.matrix @ self._basis / self.linear_scale[:, None]
        g_linear = _sparse(rows) @ y + ca.DM(self.linear.matrix @ self._origin / self.linear_scale)
        curved = self.nonlinear.expression / ca.DM(self.nonlinear_scale) if self.nonlinear.size else ca.SX(0, 1)
        lam = ca.SX.sym("lam", self.nonlinear.size)
        jacobian = ca.jacobian(curved, self._x)
        value_f = ca.Function("g", [self._x], [curved])
        slope_f = ca.Function("dg", [self._x], [jacobian])
        curve_f = ca.Function("ddg", [self._x, lam], [ca.jacobian(jacobian.T @ lam, self._x)])
        both = ca.vertcat(g_linear, value_f(x))
        slope_y = ca.vertcat(_sparse(rows), slope_f(x) @ basis)
        count = both.shape[0]
        scales = np.concatenate([self.linear_scale, self.nonlinear_scale])
        pick = ca.DM(count, slacks)
        for position, i in enumerate(self._soft):
            pick[i, position] = 1.0 / scales[i]
        soft = list(self._soft)
        cone_y, cone_t, products, product_slopes = self._cone_parts(t)
        region = self._region_rows(size, factors)
        g = ca.vertcat(
            both - pick @ s,
            both[soft] + pick[soft, :] @ s if soft else ca.MX(0, 1),
            region[:, size:] @ (t * t),
            cone_y @ y - products,
        )
        zero = ca.DM
        jac = ca.vertcat(
            ca.horzcat(slope_y, zero(count, factors), -pick),
            ca.horzcat(slope_y[soft, :], zero(len(soft), factors), pick[soft, :]) if soft else ca.MX(0, size + factors),
            ca.horzcat(zero(region.shape[0], size), region[:, size:] @ ca.diag(2 * t), zero(region.shape[0], slacks)),
            ca.horzcat(cone_y, -product_slopes, zero(cone_y.shape[0], slacks)),
        )
        lam_f, lam_g = ca.MX.sym("lam_f"), ca.MX.sym("lam_g", g.shape[0])
        lam_curved = lam_g[len(self.linear.rows) : count]
        if soft:
            extra = ca.DM(count, len(soft))
            for position, i in enumerate(soft):
                extra[i, position] = 1.0
            lam_curved = lam_curved + extra[len(self.linear.rows) :, :] @ lam_g[self._extra_rows]
        first_cone = self._extra_rows.stop + region.shape[0]
        h_t = cone_t(lam_g[first_cone:])
        if region.shape[0]:
            h_t = h_t + ca.diag(2 * (region[:, size:].T @ lam_g[self._extra_rows.stop : first_cone]))
        h_y = 2 * lam_f * scale * gram
        if self.nonlinear.size:
            h_y = h_y + basis.T @ curve_f(x, lam_curved) @ basis
        h_proximal = 2 * lam_f * proximal * ca.diag(ca.DM(unbounded))
        hessian = ca.triu(ca.diagcat(ca.diagcat(h_y, h_t) + h_proximal, ca.DM(slacks, slacks)))
        functions = {
            "grad_f": ca.Function("grad_f", [w, p], [f, gradient], ["x", "p"], ["f", "grad_f_x"]),
            "jac_g": ca.Function("jac_g", [w, p], [g, jac], ["x", "p"], ["g", "jac_g_x"]),
            "hess_lag": ca.Function(
                "hess_lag", [w, p, lam_f, lam_g], [hessian], ["x", "p", "lam_f", "lam_g"], ["triu_hess_gamma_x_x"]
            ),
        }
        return {"x": w, "p": p, "f": f, "g": g}, functions, self._bounds(region.shape[0])

    def _bounds(self, region: int) -> dict[str, Array]:
        size, factors, slacks = self._dimensions
        lower_w = np.full(size + factors + slacks, -np.inf)
        for cone, entries in zip(self.cones, self._factor_slices, strict=True):
            lower_w[entries] = [0.0 if i in cone.notion.non_negative and self._barrier else -np.inf for i in range(10)]
        lower_w[size + factors :] = 0.0
        scales = np.concatenate([self.linear_scale, self.nonlinear_scale])
        lower = np.concatenate([self.linear.lower, self.nonlinear.lower]) / scales
        upper = np.concatenate([self.linear.upper, self.nonlinear.upper]) / scales
        soft = list(self._soft)
        second = lower[soft]
        lower[soft] = -np.inf
        equal = np.zeros(10 * len(self.cones))
        return {
            "lbx": lower_w,
            "ubx": np.full(len(lower_w), np.inf),
            "lbg": np.concatenate([lower, second, np.full(region, -np.inf), equal]),
            "ubg": np.concatenate([upper, np.full(len(soft), np.inf), np.ones(region), equal]),
        }

    def _region_rows(self, size: int, factors: int) -> ca.DM:
        cones = [(c, e) for c, e in zip(self.cones, self._factor_slices, strict=True) if c.link in self._unbounded]
        rows = ca.DM(len(cones), size + factors)
        for k, (_, entries) in enumerate(cones):
            rows[k, entries] = 1.0 / self._region
        return rows

    def _cone_parts(self, t: ca.MX) -> tuple[ca.DM, ca.Function, ca.MX, ca.MX]:
        """Selection of the cones' y, their forms q(T), the forms' Jacobian, and the Hessian of ``-lam' q(T)``."""
        size = len(self.nominal)
        select = ca.DM(10 * len(self.cones), size)
        lam = ca.MX.sym("lam", t.shape[0])
        functions = {notion: _quadratic_functions(notion) for notion in {c.notion for c in self.cones}}
        products, slopes, curves = [], [], []
        for k, cone in enumerate(self.cones):
            select[10 * k : 10 * k + 10, 10 * cone.link : 10 * cone.link + 10] = ca.DM.eye(10)
            product, slope, curve = functions[cone.notion]
            part = t[10 * k : 10 * k + 10]
            products.append(product(part))
            slopes.append(slope(part))
            curves.append(-curve(lam[10 * k : 10 * k + 10]))
        hessian = ca.diagcat(*curves) if curves else ca.MX(0, 0)
        return (
            ca.sparsify(select),
            ca.Function("factor_hessian", [lam], [hessian]),
            ca.vertcat(*products) if products else ca.MX(0, 1),
            ca.diagcat(*slopes) if slopes else ca.MX(0, 0),
        )

    # ------------------------------------------------------------------ solve

    def solver(self, options: Mapping[str, Any]) -> ca.Function:
        """An IPOPT solver of this program."""
        program, functions, _ = self._program
        ipopt = {"print_level": 0, "sb": "yes", "bound_relax_factor": 0.0, "nlp_scaling_method": "none", **options}
        quiet = {"print_time": False, "show_eval_warnings": False, "calc_lam_p": False, "calc_multipliers": False}
        return ca.nlpsol("retrieval", "ipopt", program, {**quiet, **functions, "ipopt": ipopt})

    def solve(
        self, solver: ca.Function, point: Array | Point, scale: float, proximal: float, slope: Array | None = None
    ) -> Outcome:
        """Run IPOPT from w, or warm from a primal-dual point; ``slope'x`` is added to the objective, shape (N,)."""
        bounds = self._program[2]
        warm: dict[str, Array] = {}
        if isinstance(point, Point):
            w, warm = point.w, {"lam_g0": point.multipliers, "lam_x0": point.bound_multipliers}
        else:
            w = point
        tilt = np.zeros(len(self.nominal)) if slope is None else self._basis.T @ slope
        with interruptible():
            result = solver(x0=w, p=np.concatenate([[scale, proximal], tilt]), **bounds, **warm)
        stats = solver.stats()
        history = stats.get("iterations", {}).get("mu", [])
        return Outcome(
            Point(*(np.array(result[name]).reshape(-1) for name in ("x", "lam_g", "lam_x"))),
            str(stats["return_status"]),
            bool(stats["success"]) or stats["return_status"] in _AT_ROUNDING,
            int(stats["iter_count"]),
            float(history[-1]) if len(history) else 0.1,
        )

    def objective_value(self, w: Array) -> float:
        """Sum of squares plus soft penalty at w."""
        slacks = w[len(w) - len(self._soft) :]
        return self.objective(self.parameters(w)) + float(self.weights @ slacks)


def _coordinates(cones: tuple[Cone, ...], nominal: Array) -> tuple[Array, Array]:
    """C and x0 of ``x = C y + x0``, block diagonal: the cones' bases; 1 and 0 for links without one and for extras."""
    basis, origin = np.eye(len(nominal)), np.zeros(len(nominal))
    for cone in cones:
        link = slice(10 * cone.link, 10 * cone.link + 10)
        basis[link, link], origin[link] = cone.basis, cone.offset
    return basis, origin


def _quadratic_functions(notion: ConsistencyCone) -> tuple[ca.Function, ca.Function, ca.Function]:
    """q(t), its Jacobian, and the Hessian of ``lam' q(t)``, which does not depend on t."""
    t, lam = ca.SX.sym("t", 10), ca.SX.sym("lam", 10)
    product = notion.products(t)
    return (
        ca.Function("q", [t], [product]),
        ca.Function("slope", [t], [ca.jacobian(product, t)]),
        ca.Function("curve", [lam], [ca.hessian(ca.dot(lam, product), t)[0]]),
    )


def _slices(sizes: list[int], start: int) -> list[slice]:
    ends = np.cumsum([start, *sizes])
    return [slice(int(a), int(b)) for a, b in pairwise(ends)]


def _sparse(matrix: Array) -> ca.DM:
    return ca.sparsify(ca.DM(matrix))
