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
from typing import Any

import casadi as ca
import numpy as np

from casid.arrays import Array
from casid.expressions import interruptible
from casid.inertia import link_slice, standard_size
from casid.retrieval._objectives import LeastSquares
from casid.retrieval.program._blocks import (
    Affine,
    Cone,
    FeasibleSet,
    Proximal,
    ScaledRows,
    Unknowns,
    cone_block,
    objective_block,
    region_block,
    row_block,
)

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
    objective
        The sum of squares.
    within
        Scalar rows, one cone a link with physical consistency, and the nominal point.
    unbounded
        Links that no bound limits; they are drawn to the nominal body.
    region
        Upper bound of ``|T_k|^2`` for those links (4 at the nominal body).
    barrier
        Without it the factors' diagonals are free, and the program of a problem without rows has equalities only.
    """

    def __init__(
        self,
        x: ca.SX,
        objective: LeastSquares,
        within: FeasibleSet,
        unbounded: tuple[int, ...] = (),
        region: float = 1e6,
        barrier: bool = True,
    ) -> None:
        linear, nonlinear, cones, nominal = within.linear, within.nonlinear, within.cones, within.nominal
        self.objective, self.linear, self.nonlinear, self.cones = objective, linear, nonlinear, cones
        self.nominal, self._x, self._unbounded, self._region = nominal, x, unbounded, region
        self._barrier = barrier
        size, factors = len(nominal), standard_size(len(cones))
        self._basis, self._origin = _coordinates(cones, nominal)
        self._factor_slices = [slice(size + at.start, size + at.stop) for at in map(link_slice, range(len(cones)))]
        soft = [(i, r.weight) for i, r in enumerate((*linear.rows, *nonlinear.rows)) if r.weight is not None]
        self._soft = tuple(i for i, _ in soft)
        self.weights = np.array([w for _, w in soft])
        self._dimensions = (size, factors, len(soft))
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

    @property
    def _scales(self) -> Array:
        return np.concatenate([self.linear_scale, self.nonlinear_scale])

    # ------------------------------------------------------------------ points

    @property
    def coordinates(self) -> tuple[Array, Array]:
        """C and x0 of ``x = C y + x0``, shapes (N, N) and (N,)."""
        return self._basis, self._origin

    def start(self, x: Array) -> Array:
        """W at a point x: a point outside a cone enters with lifted eigenvalues, slacks are what soft rows lack."""
        y = np.array(x, dtype=float)
        parts = [y]
        for cone in self.cones:
            t = cone.factor(x[link_slice(cone.link)])
            y[link_slice(cone.link)] = cone.notion.compose(t)
            parts.append(t)
        return np.concatenate([*parts, self._lacks(np.asarray(x, dtype=float))])

    def _lacks(self, x: Array) -> Array:
        """What the soft rows lack at a point; 0 where they are undefined."""
        if not self._soft:
            return np.zeros(0)
        soft = list(self._soft)
        values = np.concatenate([self.linear.matrix @ x, self.nonlinear.values(self._x, x)])[soft]
        low = np.concatenate([self.linear.lower, self.nonlinear.lower])[soft]
        high = np.concatenate([self.linear.upper, self.nonlinear.upper])[soft]
        lacks = np.maximum(np.maximum(low - values, values - high), 0.0)
        return np.where(np.isfinite(lacks), lacks, 0.0)

    def parameters(self, w: Array) -> Array:
        """Standard parameters at w, rebuilt from the factors so that the cones hold up to rounding."""
        x = self._basis @ w[: len(self.nominal)] + self._origin
        for cone, entries in zip(self.cones, self._factor_slices, strict=True):
            x[link_slice(cone.link)] = cone.parameters(w[entries])
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
    def _program(self) -> tuple[dict[str, ca.MX], dict[str, ca.Function], dict[str, Array]]:
        """For CasADi's interface to IPOPT: the program, its derivatives, its bounds."""
        u = Unknowns.of(*self._dimensions)
        at = Affine(self._basis, self._origin)
        scaled = ScaledRows(self.linear, self.nonlinear, self._scales, self._soft)
        proximal = Proximal.of(self.cones, self.nominal, self._unbounded)
        objective = objective_block(u, at, self.objective.matrix, self.objective.target, self.weights, proximal)
        rows = row_block(u, at, scaled, self._x)
        region = region_block(u, self.cones, self._unbounded, self._region)
        cones = cone_block(u, self.cones)
        blocks = (rows, region, cones)

        w, lam_f = u.w, ca.MX.sym("lam_f")
        g = ca.vertcat(*[block.value for block in blocks])
        lam_g = ca.MX.sym("lam_g", g.shape[0])
        of_rows, of_region, of_cones = ca.vertsplit(lam_g, np.cumsum([0, *(block.size for block in blocks)]).tolist())
        hessian = ca.diagcat(
            lam_f * objective.hessian_y + rows.hessian(of_rows),
            lam_f * objective.hessian_t + region.hessian(of_region) + cones.hessian(of_cones),
            ca.DM(len(self._soft), len(self._soft)),
        )
        jacobian = ca.vertcat(*[block.jacobian for block in blocks])
        names = ["x", "p"]
        functions = {
            "grad_f": ca.Function("grad_f", [w, u.p], [objective.value, objective.gradient], names, ["f", "grad_f_x"]),
            "jac_g": ca.Function("jac_g", [w, u.p], [g, jacobian], names, ["g", "jac_g_x"]),
            "hess_lag": ca.Function(
                "hess_lag",
                [w, u.p, lam_f, lam_g],
                [ca.triu(hessian)],
                [*names, "lam_f", "lam_g"],
                ["triu_hess_gamma_x_x"],
            ),
        }
        bounds = {
            "lbx": self._lower_bounds(),
            "ubx": np.full(sum(self._dimensions), np.inf),
            "lbg": np.concatenate([block.lower for block in blocks]),
            "ubg": np.concatenate([block.upper for block in blocks]),
        }
        return {"x": w, "p": u.p, "f": objective.value, "g": g}, functions, bounds

    def _lower_bounds(self) -> Array:
        """Of the unknowns: the factors' diagonals (with a barrier) and the slacks are not negative."""
        size, factors, _ = self._dimensions
        lower = np.full(sum(self._dimensions), -np.inf)
        if self._barrier:
            for cone, entries in zip(self.cones, self._factor_slices, strict=True):
                lower[entries][list(cone.notion.non_negative)] = 0.0
        lower[size + factors :] = 0.0
        return lower

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
        link = link_slice(cone.link)
        basis[link, link], origin[link] = cone.basis, cone.offset
    return basis, origin
