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
Both are given to IPOPT; automatic differentiation is left with the user's nonlinear rows. A link's cone of physical
consistency is written in coordinates in which it is a quadratic image of free numbers: the factorisations of
`casid.inertia.cones` about a nominal body of the link.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from casid.arrays import Array
from casid.errors import ProblemError
from casid.expressions import interruptible
from casid.inertia import ConsistencyCone, link_slice, standard_size
from casid.retrieval._objectives import LeastSquares
from casid.retrieval._rows import LinearRows, NonlinearRows, Row
from casid.retrieval.constraints._constraint import PhysicalConsistency

#: IPOPT calls it a failure that no digit is left to gain; what it reached is judged by re-check and certificate.
_AT_ROUNDING = ("Search_Direction_Becomes_Too_Small",)
#: Value and Jacobian of some rows, and the Hessian of ``multipliers' value`` in the unknowns that enter curved.
Part = tuple[ca.MX, ca.MX, Callable[[ca.MX], ca.MX]]


@dataclass(frozen=True, eq=False)
class Cone:
    """One link's cone: ``x_k = basis y + offset``, shapes (10, 10) and (10,)."""

    link: int
    notion: ConsistencyCone
    margin: float
    basis: Array
    offset: Array

    @classmethod
    def around(cls, consistency: PhysicalConsistency, nominal: Array) -> Cone:
        """Cone with coordinates scaled by a nominal body, shape (10,)."""
        margin, notion = consistency.margin, consistency.cone
        smallest = float(np.linalg.eigvalsh(notion.matrix(nominal))[0])
        if smallest <= margin:
            raise ProblemError(
                f"link '{consistency.name}': the nominal body does not keep the margin "
                f"{margin:.3g} of physical consistency (smallest eigenvalue {smallest:.3g}); lower the margin, or pass "
                "a nominal body that keeps it"
            )
        basis, offset = notion.coordinates(nominal, margin)
        return cls(consistency.link, notion, margin, basis, offset)

    def factor(self, parameters: Array) -> Array:
        """Numbers t of a body, shape (10,); a body outside the cone is lifted to its inside."""
        y: Array = np.asarray(np.linalg.solve(self.basis, parameters - self.offset))
        return self.notion.factor(y)

    def parameters(self, t: Array) -> Array:
        """The ten parameters at t: consistent up to rounding, whatever t."""
        return np.asarray(self.basis @ self.notion.compose(t) + self.offset)


@dataclass(frozen=True, eq=False)
class FeasibleSet:
    """Rows and cones that a program's points obey, and the nominal point that sets their scale, shape (N,)."""

    linear: LinearRows
    nonlinear: NonlinearRows
    cones: tuple[Cone, ...]
    nominal: Array

    @property
    def rows(self) -> tuple[Row, ...]:
        """Linear rows, then the others."""
        return (*self.linear.rows, *self.nonlinear.rows)

    def hard(self) -> FeasibleSet:
        """Without the soft rows, which exclude nothing."""
        return FeasibleSet(self.linear.hard(), self.nonlinear.hard(), self.cones, self.nominal)


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
        self._labels = tuple(row.label for row in within.rows)
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
        """For CasADi's interface to IPOPT: the program, its derivatives, its bounds.

        The parameters are ``p = (scale, proximal, slope)``. Jacobians are rows by (y, T, s); of the Hessian the blocks
        of y and of T are given, s enters linearly.
        """
        size, factors, slacks = self._dimensions
        sizes = {"y": size, "T": factors, "s": slacks, "p": 2 + size}
        y, t, s, p = (ca.MX.sym(name, length) for name, length in sizes.items())
        w, lam_f = ca.vertcat(y, t, s), ca.MX.sym("lam_f")
        f, gradient, of_y, of_t = self._objective_part(y, t, s, p)
        parts = (self._row_part(y, s), self._region_part(t), self._cone_part(y, t))
        g, jacobian = ca.vertcat(*[part[0] for part in parts]), ca.vertcat(*[part[1] for part in parts])
        lam_g = ca.MX.sym("lam_g", g.shape[0])
        ends = np.cumsum([0, *(part[0].shape[0] for part in parts)]).tolist()
        rows, region, cones = (part[2](lam) for part, lam in zip(parts, ca.vertsplit(lam_g, ends), strict=True))
        hessian = ca.diagcat(lam_f * of_y + rows, lam_f * of_t + region + cones, ca.DM(slacks, slacks))
        names, hess = ["x", "p"], [w, p, lam_f, lam_g]
        functions = {
            "grad_f": ca.Function("grad_f", [w, p], [f, gradient], names, ["f", "grad_f_x"]),
            "jac_g": ca.Function("jac_g", [w, p], [g, jacobian], names, ["g", "jac_g_x"]),
            "hess_lag": ca.Function(
                "hess_lag", hess, [ca.triu(hessian)], [*names, "lam_f", "lam_g"], ["triu_hess_gamma_x_x"]
            ),
        }
        low, high = self._row_bounds()
        least = np.full(ends[2] - ends[1], -np.inf)  # of the region
        bounds = {
            "lbx": self._lower_bounds(),
            "ubx": np.full(sum(self._dimensions), np.inf),
            "lbg": np.concatenate([low, least, np.zeros(factors)]),
            "ubg": np.concatenate([high, np.ones(len(least)), np.zeros(factors)]),
        }
        return {"x": w, "p": p, "f": f, "g": g}, functions, bounds

    def _objective_part(self, y: ca.MX, t: ca.MX, s: ca.MX, p: ca.MX) -> tuple[ca.MX, ca.MX, ca.MX, ca.MX]:
        """``scale (|R x - r|^2 + weights's) + proximal |...|^2 + slope'y``: value, gradient, blocks of the Hessian.

        The proximal term is about T = 0 for unbounded links with a cone, about the nominal body for those without one.
        """
        size = len(self.nominal)
        shares, centre = np.zeros((2, size + t.shape[0]))
        coned = {cone.link: position for position, cone in enumerate(self.cones)}
        for k in self._unbounded:
            if k in coned:
                shares[size:][link_slice(coned[k])] = 1.0
            else:  # y is x there
                shares[link_slice(k)] = 1.0
                centre[link_slice(k)] = self.nominal[link_slice(k)]
        scale, strength, slope = p[0], p[1], p[2:]
        in_y = self.objective.matrix @ self._basis
        R, price = ca.DM(in_y), ca.DM(self.weights)
        residual = R @ y - ca.DM(self.objective.target - self.objective.matrix @ self._origin)
        away = ca.DM(shares) * (ca.vertcat(y, t) - ca.DM(centre))
        value = scale * (ca.sumsqr(residual) + ca.dot(price, s)) + strength * ca.sumsqr(away) + ca.dot(slope, y)
        of_y = 2 * scale * (R.T @ residual) + 2 * strength * away[:size] + slope
        gradient = ca.densify(ca.vertcat(of_y, 2 * strength * away[size:], scale * price))
        pull = 2 * strength * ca.diag(ca.DM(shares))
        return value, gradient, 2 * scale * ca.DM(in_y.T @ in_y) + pull[:size, :size], pull[size:, size:]

    def _row_part(self, y: ca.MX, s: ca.MX) -> Part:
        """The constraints: ``lower <= g - s <= upper``, ``g + s >= lower`` for the lower side of soft rows."""
        linear, scales, soft = self.linear, self._scales, list(self._soft)
        split, slacks = len(linear.rows), len(soft)
        lam = ca.SX.sym("lam", self.nonlinear.size)
        scaled = self.nonlinear.expression / ca.DM(scales[split:]) if self.nonlinear.size else ca.SX(0, 1)
        slope = ca.jacobian(scaled, self._x)
        value, steepness = ca.Function("g", [self._x], [scaled]), ca.Function("dg", [self._x], [slope])
        curvature = ca.Function("ddg", [self._x, lam], [ca.jacobian(slope.T @ lam, self._x)])
        basis = ca.sparsify(ca.DM(self._basis))
        steep = ca.sparsify(ca.DM(linear.matrix @ self._basis / scales[:split, None]))
        full = basis @ y + ca.DM(self._origin)
        g = ca.vertcat(steep @ y + ca.DM(linear.matrix @ self._origin / scales[:split]), value(full))
        dg = ca.vertcat(steep, steepness(full) @ basis)
        pick = ca.DM(len(scales), slacks)
        for column, row in enumerate(soft):
            pick[row, column] = 1.0 / scales[row]
        none = ca.DM(len(scales), self._dimensions[1])
        found, jacobian = g - pick @ s, ca.horzcat(dg, none, -pick)
        if soft:
            found = ca.vertcat(found, g[soft] + pick[soft, :] @ s)
            jacobian = ca.vertcat(jacobian, ca.horzcat(dg[soft, :], none[soft, :], pick[soft, :]))

        def hessian(multipliers: ca.MX) -> ca.MX:
            if not self.nonlinear.size:
                return ca.MX(len(self.nominal), len(self.nominal))
            of_rows = multipliers[: len(scales)]
            if soft:
                of_rows = of_rows + ca.sparsify(pick > 0) @ multipliers[len(scales) :]
            return basis.T @ curvature(full, of_rows[split:]) @ basis

        return found, jacobian, hessian

    def _row_bounds(self) -> tuple[Array, Array]:
        """Scaled lower and upper bounds; the lower one of a soft row is a row of its own, behind all others."""
        lower = np.concatenate([self.linear.lower, self.nonlinear.lower]) / self._scales
        upper = np.concatenate([self.linear.upper, self.nonlinear.upper]) / self._scales
        soft = list(self._soft)
        second = lower[soft]
        lower[soft] = -np.inf
        return np.concatenate([lower, second]), np.concatenate([upper, np.full(len(soft), np.inf)])

    def _region_part(self, t: ca.MX) -> Part:
        """``|T_k|^2 / region <= 1`` for links with a cone that nothing bounds."""
        places = [position for position, cone in enumerate(self.cones) if cone.link in self._unbounded]
        squares = ca.DM(len(places), t.shape[0])
        for row, position in enumerate(places):
            squares[row, link_slice(position)] = 1.0 / self._region
        before, behind = ca.DM(len(places), len(self.nominal)), ca.DM(len(places), len(self._soft))

        def hessian(multipliers: ca.MX) -> ca.MX:
            return ca.diag(2 * (squares.T @ multipliers)) if places else ca.MX(*[t.shape[0]] * 2)

        return squares @ (t * t), ca.horzcat(before, squares @ ca.diag(2 * t), behind), hessian

    def _cone_part(self, y: ca.MX, t: ca.MX) -> Part:
        """``y_k - q(T_k) = 0``."""
        select = ca.DM(t.shape[0], y.shape[0])
        functions = {notion: _quadratic_functions(notion) for notion in {cone.notion for cone in self.cones}}
        products, slopes = [], []
        for position, cone in enumerate(self.cones):
            select[link_slice(position), link_slice(cone.link)] = ca.DM.eye(standard_size(1))
            product, slope, _ = functions[cone.notion]
            products.append(product(t[link_slice(position)]))
            slopes.append(slope(t[link_slice(position)]))

        def hessian(multipliers: ca.MX) -> ca.MX:
            curves = [-functions[cone.notion][2](multipliers[link_slice(k)]) for k, cone in enumerate(self.cones)]
            return ca.diagcat(*curves) if curves else ca.MX(0, 0)

        select = ca.sparsify(select)
        value = select @ y - ca.vertcat(*products) if self.cones else ca.MX(0, 1)
        away = ca.diagcat(*slopes) if self.cones else ca.MX(0, 0)
        return value, ca.horzcat(select, -away, ca.DM(t.shape[0], len(self._soft))), hessian

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

    def solver(
        self, options: Mapping[str, Any], plugin: str = "ipopt", given: Mapping[str, Any] | None = None
    ) -> ca.Function:
        """A solver of this program: IPOPT with some options, or any plugin with what is given to `casadi.nlpsol`."""
        program, functions, _ = self._program
        given = dict(given or {})
        if not ca.has_nlpsol(plugin):
            raise ProblemError(f"solver: this CasADi has no nlpsol plugin '{plugin}'")
        if plugin != "ipopt":
            return _made(plugin, program, {"print_time": False, **given})
        own = given.pop("ipopt", {})
        ipopt = {"print_level": 0, "sb": "yes", "bound_relax_factor": 0.0, "nlp_scaling_method": "none", **options}
        quiet = {"print_time": False, "show_eval_warnings": False, "calc_lam_p": False, "calc_multipliers": False}
        return _made(plugin, program, {**quiet, **functions, **given, "ipopt": {**ipopt, **own}})

    def plain(self, names: Sequence[str]) -> dict[str, Any]:
        """The program for any solver, in units of the objective: see `casid.retrieval.nlp`."""
        program, _, bounds = self._program
        w, size = program["x"], len(self.nominal)
        of_w = ca.Function("program", [w, program["p"]], [program["f"], program["g"]])
        f, g = of_w(w, ca.vertcat(1.0, ca.DM.zeros(1 + size)))
        y = w[:size]
        for cone, entries in zip(self.cones, self._factor_slices, strict=True):
            y[link_slice(cone.link)] = _quadratic_functions(cone.notion)[0](w[entries])
        x = ca.sparsify(ca.DM(self._basis)) @ y + ca.DM(self._origin)
        every = [*(f"y {name}" for name in names), *(f"T{c.link + 1} {k}" for c in self.cones for k in range(10))]
        return {
            "x": w,
            "f": f + self.objective.constant,
            "g": g,
            **bounds,
            "x0": self.start(self.nominal),
            "names": (*every, *(f"s {self._labels[row]}" for row in self._soft)),
            "parameters": ca.Function("parameters", [w], [x], ["x"], ["parameters"]),
        }

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
            str(stats.get("return_status", "")),
            bool(stats["success"]) or stats.get("return_status") in _AT_ROUNDING,
            int(stats.get("iter_count", 0)),
            float(history[-1]) if len(history) else 0.1,
        )

    def objective_value(self, w: Array) -> float:
        """Sum of squares plus soft penalty at w."""
        slacks = w[len(w) - len(self._soft) :]
        return self.objective(self.parameters(w)) + float(self.weights @ slacks)


def _made(plugin: str, program: Mapping[str, ca.MX], options: Mapping[str, Any]) -> ca.Function:
    try:
        return ca.nlpsol("retrieval", plugin, program, options)
    except RuntimeError as error:
        reason = str(error).splitlines()[-1]
        raise ProblemError(f"solver '{plugin}' does not take these options: {reason}") from None


def _coordinates(cones: tuple[Cone, ...], nominal: Array) -> tuple[Array, Array]:
    """C and x0 of ``x = C y + x0``, block diagonal: the cones' bases; 1 and 0 for links without one and for extras."""
    basis, origin = np.eye(len(nominal)), np.zeros(len(nominal))
    for cone in cones:
        link = link_slice(cone.link)
        basis[link, link], origin[link] = cone.basis, cone.offset
    return basis, origin


def _quadratic_functions(notion: ConsistencyCone) -> tuple[ca.Function, ca.Function, ca.Function]:
    """q(t), its Jacobian, and the Hessian of ``lam' q(t)``, which does not depend on t."""
    t, lam = ca.SX.sym("t", standard_size(1)), ca.SX.sym("lam", standard_size(1))
    product = notion.products(t)
    return (
        ca.Function("q", [t], [product]),
        ca.Function("slope", [t], [ca.jacobian(product, t)]),
        ca.Function("curve", [lam], [ca.hessian(ca.dot(lam, product), t)[0]]),
    )
