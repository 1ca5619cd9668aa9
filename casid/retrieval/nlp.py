"""The lifted program that IPOPT solves, with all its derivatives.

Unknowns ``w = (y, T, s)``: preconditioned standard parameters y (``x = C y + x0``), lower triangular factors ``T_k``
with a non-negative diagonal, slacks s >= 0 of the soft rows::

    minimise    scale (||R x - r||^2 + weights' s) + pull (sum tr T_k T_k' over links without bounds)
    subject to  lower <= A x -+ s <= upper,   lower <= g(x) -+ s <= upper,   Mt_k(y) = T_k T_k'

With ``diag T >= 0`` IPOPT's own barrier, ``-mu sum log T_ii = -mu/2 sum log det Mt_k``, is the log-det barrier of the cones: for
convex constraints every barrier problem has one minimiser, whatever the start, and their limit is the analytic centre of the optimal set.

The objective's Hessian is the constant ``2 R'R``; that of the factors is linear in the multipliers, one block a link. Both are given
to IPOPT; automatic differentiation is left with the user's nonlinear rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.retrieval.cones import Cone, lower_entries
from casid.retrieval.objectives import LeastSquares
from casid.retrieval.rows import LinearRows, NonlinearRows

Array = NDArray[np.float64]


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
        Nominal point, shape (N,): y is such that cones are the identity there.
    pulled
        Links that no bound limits; they are pulled to the nominal body.
    region
        Upper bound of ``tr Mt`` for those links.
    """

    def __init__(
        self, x: ca.SX, objective: LeastSquares, linear: LinearRows, nonlinear: NonlinearRows, cones: tuple[Cone, ...],
        nominal: Array, pulled: tuple[int, ...] = (), region: float = 1e6,
    ) -> None:
        self.objective, self.linear, self.nonlinear, self.cones = objective, linear, nonlinear, cones
        self.nominal, self._x, self._pulled, self._region = nominal, x, pulled, region
        size = len(nominal)
        self._basis, self._origin = _coordinates(cones, nominal)
        self._factor_slices = _slices([c.size * (c.size + 1) // 2 for c in cones], size)
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

    def start(self, x: Array) -> Array:
        """w at a point x; a point outside a cone enters with lifted eigenvalues."""
        parts = [np.linalg.solve(self._basis, x - self._origin)]
        for cone in self.cones:
            link = slice(10 * cone.link, 10 * cone.link + 10)
            entries = cone.start_factor(x[link])
            parts.append(entries)
            if cone.kind == "full":
                parts[0][link] = np.linalg.solve(self._basis[link, link], cone.from_factor(entries) - self._origin[link])
        return np.concatenate([*parts, np.zeros(len(self._soft))])

    def parameters(self, w: Array) -> Array:
        """Standard parameters at w, rebuilt from the factors so that ``J >= margin 1`` holds up to rounding."""
        x = self._basis @ w[: len(self.nominal)] + self._origin
        for cone, entries in zip(self.cones, self._factor_slices, strict=True):
            if cone.kind == "full":
                x[10 * cone.link : 10 * cone.link + 10] = cone.from_factor(w[entries])
        return np.asarray(x)

    def gradient_size(self) -> float:
        """Largest entry of the objective's gradient in y at the nominal point."""
        return float(np.abs(self._basis.T @ self.objective.gradient(self.nominal)).max())

    def row_multipliers(self, point: Point, scale: float) -> tuple[Array, Array]:
        """Multipliers of the linear and nonlinear rows in x and in units of the plain objective; > 0 at an upper bound."""
        raw = point.multipliers[: len(self.linear.rows) + self.nonlinear.size].copy()
        extra = point.multipliers[self._extra_rows]
        for position, total in zip(self._soft, extra, strict=True):
            raw[position] += total
        split = len(self.linear.rows)
        return raw[:split] / (self.linear_scale * scale), raw[split:] / (self.nonlinear_scale * scale)

    def cone_multipliers(self, point: Point, scale: float) -> list[Array]:
        """Symmetric multiplier of ``M(x) - margin 1 >= 0`` of each cone, in units of the plain objective."""
        result = []
        offset = self._extra_rows.stop + len(self._pulled)
        for cone in self.cones:
            count = cone.size * (cone.size + 1) // 2
            values = point.multipliers[offset : offset + count] / scale
            offset += count
            scaled = np.zeros((cone.size, cone.size))
            for value, (i, j) in zip(values, lower_entries(cone.size), strict=True):
                scaled[i, j] += value / 2
                scaled[j, i] += value / 2
            inverse = np.linalg.inv(cone.factor)
            result.append(inverse.T @ scaled @ inverse)
        return result

    @property
    def _extra_rows(self) -> slice:
        start = len(self.linear.rows) + self.nonlinear.size
        return slice(start, start + len(self._soft))

    # ------------------------------------------------------------------ program

    @cached_property
    def _program(self) -> tuple[dict[str, ca.MX], dict[str, Any], Mapping[str, Array]]:
        size, factors, slacks = self._dimensions
        y, t, s = ca.MX.sym("y", size), ca.MX.sym("T", factors), ca.MX.sym("s", slacks)
        w, p = ca.vertcat(y, t, s), ca.MX.sym("p", 2)
        scale, pull = p[0], p[1]
        basis = _sparse(self._basis)
        x = basis @ y + ca.DM(self._origin)

        residual_map = ca.DM(self.objective.matrix @ self._basis)
        offset = ca.DM(self.objective.target - self.objective.matrix @ self._origin)
        residual = residual_map @ y - offset
        pulled = np.zeros(size + factors)
        for cone, entries in zip(self.cones, self._factor_slices, strict=True):
            if cone.link in self._pulled:
                pulled[entries] = 1.0
        free = [k for k in self._pulled if k not in {c.link for c in self.cones}]
        for k in free:
            pulled[10 * k : 10 * k + 10] = 1.0
        centre = np.zeros(size + factors)
        for k in free:
            centre[10 * k : 10 * k + 10] = np.linalg.solve(self._basis, self.nominal - self._origin)[10 * k : 10 * k + 10]
        away = ca.DM(pulled) * (ca.vertcat(y, t) - ca.DM(centre))
        weights = ca.DM(self.weights)
        f = scale * (ca.sumsqr(residual) + ca.dot(weights, s)) + pull * ca.sumsqr(away)
        gradient = ca.densify(ca.vertcat(
            2 * scale * (residual_map.T @ residual) + 2 * pull * away[:size], 2 * pull * away[size:], scale * weights))

        # rows: linear, nonlinear, second sides of soft rows, region of the pulled cones, factorisations
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
        cone_y, cone_t, cone_offset, products, product_slopes = self._cone_parts(t)
        region = self._region_rows(size, factors)
        g = ca.vertcat(
            both - pick @ s, both[soft] + pick[soft, :] @ s if soft else ca.MX(0, 1), region[:, size:] @ (t * t),
            cone_y @ y + ca.DM(cone_offset) - products,
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
            lam_curved = lam_curved + (extra @ lam_g[self._extra_rows])[len(self.linear.rows) :]
        first_cone = self._extra_rows.stop + region.shape[0]
        h_t = cone_t(lam_g[first_cone:]) + ca.diag(2 * (region[:, size:].T @ lam_g[self._extra_rows.stop : first_cone]))
        h_y = 2 * lam_f * scale * (residual_map.T @ residual_map)
        if self.nonlinear.size:
            h_y = h_y + basis.T @ curve_f(x, lam_curved) @ basis
        h_pull = 2 * lam_f * pull * ca.diag(ca.DM(pulled))
        hessian = ca.triu(ca.diagcat(ca.diagcat(h_y, h_t) + h_pull, ca.DM(slacks, slacks)))
        functions = {
            "grad_f": ca.Function("grad_f", [w, p], [f, gradient], ["x", "p"], ["f", "grad_f_x"]),
            "jac_g": ca.Function("jac_g", [w, p], [g, jac], ["x", "p"], ["g", "jac_g_x"]),
            "hess_lag": ca.Function("hess_lag", [w, p, lam_f, lam_g], [hessian], ["x", "p", "lam_f", "lam_g"],
                                    ["triu_hess_gamma_x_x"]),
        }
        return {"x": w, "p": p, "f": f, "g": g}, functions, self._bounds(region.shape[0])

    def _bounds(self, region: int) -> dict[str, Array]:
        size, factors, slacks = self._dimensions
        lower_w = np.full(size + factors + slacks, -np.inf)
        for cone, entries in zip(self.cones, self._factor_slices, strict=True):
            lower_w[entries] = [0.0 if i == j else -np.inf for i, j in lower_entries(cone.size)]
        lower_w[size + factors :] = 0.0
        scales = np.concatenate([self.linear_scale, self.nonlinear_scale])
        lower = np.concatenate([self.linear.lower, self.nonlinear.lower]) / scales
        upper = np.concatenate([self.linear.upper, self.nonlinear.upper]) / scales
        soft = list(self._soft)
        second = lower[soft]
        lower[soft] = -np.inf
        equal = np.zeros(sum(c.size * (c.size + 1) // 2 for c in self.cones))
        return {
            "lbx": lower_w, "ubx": np.full(len(lower_w), np.inf),
            "lbg": np.concatenate([lower, second, np.full(region, -np.inf), equal]),
            "ubg": np.concatenate([upper, np.full(len(soft), np.inf), np.ones(region), equal]),
        }

    def _region_rows(self, size: int, factors: int) -> ca.DM:
        cones = [(c, e) for c, e in zip(self.cones, self._factor_slices, strict=True) if c.link in self._pulled]
        rows = ca.DM(len(cones), size + factors)
        for k, (_, entries) in enumerate(cones):
            rows[k, entries] = 1.0 / self._region
        return rows

    def _cone_parts(self, t: ca.MX) -> tuple[ca.DM, ca.Function, Array, ca.MX, ca.MX]:
        """Affine maps of Mt(y), products T T', their Jacobian, and the Hessian of multipliers' products with them."""
        size = len(self.nominal)
        maps, offsets, products, slopes = [], [], [], []
        lam = ca.MX.sym("lam", t.shape[0])
        blocks = []
        for d in (4, 6):
            cones = [(c, e) for c, e in zip(self.cones, self._factor_slices, strict=True) if c.size == d]
            if not cones:
                continue
            product, slope, curve = _triangle_functions(d)
            for cone, entries in cones:
                link = slice(10 * cone.link, 10 * cone.link + 10)
                place = slice(entries.start - size, entries.stop - size)
                matrix = np.zeros((entries.stop - entries.start, size))
                matrix[:, link] = cone.scaled_map @ self._basis[link, link]
                matrix[np.abs(matrix) < 1e-13 * np.abs(matrix).max()] = 0.0
                maps.append((place.start, matrix))
                offsets.append((place.start, cone.scaled_offset + cone.scaled_map @ self._origin[link]))
                products.append((place.start, product(t[place])))
                slopes.append((place.start, slope(t[place])))
                blocks.append((place.start, -curve(lam[place])))
        order = sorted(range(len(maps)), key=lambda k: maps[k][0])
        stacked = _sparse(np.vstack([maps[k][1] for k in order])) if maps else ca.DM(0, size)
        offset = np.concatenate([offsets[k][1] for k in order]) if maps else np.zeros(0)
        product_all = ca.vertcat(*[products[k][1] for k in order]) if maps else ca.MX(0, 1)
        slope_all = ca.diagcat(*[slopes[k][1] for k in order]) if maps else ca.MX(0, 0)
        hessian = ca.diagcat(*[blocks[k][1] for k in order]) if maps else ca.MX(0, 0)
        return stacked, ca.Function("factor_hessian", [lam], [hessian]), offset, product_all, slope_all

    # ------------------------------------------------------------------ solve

    def solver(self, options: Mapping[str, Any]) -> ca.Function:
        """An IPOPT solver of this program."""
        program, functions, _ = self._program
        ipopt = {"print_level": 0, "sb": "yes", "bound_relax_factor": 0.0, "nlp_scaling_method": "none", **options}
        quiet = {"print_time": False, "show_eval_warnings": False, "calc_lam_p": False, "calc_multipliers": False}
        return ca.nlpsol("retrieval", "ipopt", program, {**quiet, **functions, "ipopt": ipopt})

    def solve(self, solver: ca.Function, point: Array | Point, scale: float, pull: float) -> Outcome:
        """Run IPOPT from w, or warm from a primal-dual point."""
        bounds = self._program[2]
        warm = {}
        w = point
        if isinstance(point, Point):
            w = point.w
            warm = {"lam_g0": point.multipliers, "lam_x0": point.bound_multipliers}
        result = solver(x0=w, p=ca.DM([scale, pull]), **bounds, **warm)
        stats = solver.stats()
        history = stats.get("iterations", {}).get("mu", [])
        return Outcome(
            Point(*(np.array(result[name]).reshape(-1) for name in ("x", "lam_g", "lam_x"))),
            str(stats["return_status"]), bool(stats["success"]), int(stats["iter_count"]),
            float(history[-1]) if len(history) else 0.1,
        )

    def objective_value(self, w: Array) -> float:
        """Sum of squares plus soft penalty at w."""
        slacks = w[len(w) - len(self._soft) :]
        return self.objective(self.parameters(w)) + float(self.weights @ slacks)


def _coordinates(cones: tuple[Cone, ...], nominal: Array) -> tuple[Array, Array]:
    """C and x0 of ``x = C y + x0``: y of a link with a full cone are the entries of Mt, else relative to the nominal body."""
    size = len(nominal)
    basis, origin = np.eye(size), np.zeros(size)
    links = {cone.link: cone for cone in cones}
    for k in range(size // 10 if size >= 10 else 0):
        cone = links.get(k)
        if cone is None:
            continue
        link = slice(10 * k, 10 * k + 10)
        if cone.kind == "full":
            inverse = np.linalg.inv(cone.scaled_map)
            basis[link, link], origin[link] = inverse, -inverse @ cone.scaled_offset
        else:
            basis[link, link] = np.diag(_typical(nominal[link]))
    return basis, origin


def _typical(parameters: Array) -> Array:
    """Size of each of a link's ten parameters."""
    inertia = np.abs(parameters[[0, 3, 5]]).max()
    return np.array([inertia] * 6 + [np.sqrt(inertia * parameters[9])] * 3 + [parameters[9]])


def _triangle_functions(d: int) -> tuple[ca.Function, ca.Function, ca.Function]:
    """Lower triangle of T T' for entries t of T, its Jacobian, and the Hessian of ``lam' vec(T T')``."""
    entries = lower_entries(d)
    t, lam = ca.SX.sym("t", len(entries)), ca.SX.sym("lam", len(entries))
    triangle = ca.SX(d, d)
    for k, (i, j) in enumerate(entries):
        triangle[i, j] = t[k]
    square = triangle @ triangle.T
    product = ca.vertcat(*[square[i, j] for i, j in entries])
    return (
        ca.Function("product", [t], [product]),
        ca.Function("slope", [t], [ca.jacobian(product, t)]),
        ca.Function("curve", [lam], [ca.hessian(ca.dot(lam, product), t)[0]]),
    )


def _slices(sizes: list[int], start: int) -> list[slice]:
    ends = np.cumsum([start, *sizes])
    return [slice(int(a), int(b)) for a, b in zip(ends[:-1], ends[1:], strict=True)]


def _sparse(matrix: Array) -> ca.DM:
    return ca.sparsify(ca.DM(matrix))
