"""The lifted program that IPOPT solves, with all its derivatives, and the points to start it from.

What a program is made of beside its structure (data, bounds, weights, lengths, scales, constants of the user's
expressions) are parameters of the graph, and so of the solver, which is built once a process for each shape and set of
options. A problem at other values of its parameters, or solved a second time, finds it there.

Unknowns ``w = (y, T, s)``: preconditioned standard parameters y (``x = C y + x0``), lower triangular factors ``T_k``
with a non-negative diagonal, slacks s >= 0 of the soft rows::

    minimise    scale (||R x - r||^2 + weights' s) + proximal (sum |T_k|^2 over links without bounds)
    subject to  lower <= A x -+ s <= upper,   lower <= g(x) -+ s <= upper,   y_k = q(T_k)
                and, where a ceiling F is given,   |R x - r|^2 <= F

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

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from threading import get_ident
from typing import Any

import casadi as ca
import numpy as np

from casid.arrays import Array, read_only
from casid.errors import ProblemError
from casid.expressions import Rules, Walk, as_function, interruptible, rebuild
from casid.inertia import (
    ConsistencyCone,
    consistency,
    from_standard,
    link_slice,
    pseudo_inertia,
    standard_size,
    tensor,
    tensor_entries,
    to_standard,
)
from casid.retrieval._objectives import LeastSquares
from casid.retrieval._problem import LinearRows, NonlinearRows, Problem, Row, slacks
from casid.retrieval._region import LinkRegion
from casid.retrieval.constraints._constraint import PhysicalConsistency

# ------------------------------------------------------------------ graph

#: Value and Jacobian of some rows, and the Hessian of ``multipliers' value`` in the unknowns that enter curved.
Part = tuple[ca.MX, ca.MX, Callable[[ca.MX], ca.MX]]
#: Rows, columns and places of a matrix's entries, as `casadi.Sparsity.compressed` reads them; a dense one ends with 1.
Pattern = tuple[int, ...]
#: Graphs and solvers that are kept.
_KEPT = 32


@dataclass(frozen=True)
class Operations:
    """What a vector of expressions computes, its constants aside: equal where only those differ.

    Attributes
    ----------
    steps : tuple
        Operations and their places, with the integers among the constants: exponents, and what a graph simplifies.
    function : Function
        Of the unknowns; of one of the equal expressions.
    """

    steps: tuple[Any, ...]
    function: ca.Function = field(compare=False)


def operations(expression: ca.SX, x: ca.SX) -> tuple[Operations, Array]:
    """The operations of an expression, shape (k, 1), of x, shape (N, 1), and the constants that they leave open."""
    function = as_function(expression, x)
    steps: list[Any] = [function.size_in(0), function.size_out(0)]
    constants = []
    for k in range(function.n_instructions()):
        code, places = function.instruction_id(k), (function.instruction_input(k), function.instruction_output(k))
        value: Any = None
        if code == ca.OP_CONST:
            value = float(function.instruction_constant(k))
            if not value.is_integer():
                constants.append(value)
                value = None
        elif code == ca.OP_CALL:  # what it calls has no name to compare
            return Operations((object(),), function), np.zeros(0)
        steps.append((code, *map(tuple, places), value))
    return Operations(tuple(steps), function), np.array(constants)


@lru_cache(_KEPT)
def derivatives(of: Operations) -> tuple[ca.Function, ca.Function, ca.Function]:
    """Value and Jacobian, functions of the unknowns and the open constants, and the Hessian of ``lam' value``."""
    x, lam = ca.SX.sym("x", of.function.numel_in(0)), ca.SX.sym("lam", of.function.numel_out(0))
    constants: list[ca.SX] = []
    if len(of.steps) == 1:
        value = of.function(x)
    else:

        def constant(number: float) -> ca.SX:
            if number.is_integer():
                return ca.SX(number)
            constants.append(ca.SX.sym("c"))
            return constants[-1]

        rules: Rules = {"constant": constant, "entry": lambda k: x[k], "operation": rebuild}
        steps = Walk(of.function, calls=False)
        for step in steps:
            step.value = rules[step.kind](*step.given)
        value = ca.vertcat(ca.SX(0, 1), *steps.values)
    c, slope = ca.vertcat(ca.SX(0, 1), *constants), ca.jacobian(value, x)
    return (
        ca.Function("g", [x, c], [value]),
        ca.Function("dg", [x, c], [slope]),
        ca.Function("ddg", [x, c, lam], [ca.jacobian(slope.T @ lam, x)]),
    )


@dataclass(frozen=True)
class Shape:
    """The structure of a lifted program: equal shapes share a graph.

    Attributes
    ----------
    numbers : tuple of (str, tuple)
        Name and pattern of each.
    cones : tuple of (int, ConsistencyCone)
        Link and notion of each.
    curved : Operations
        Of the nonlinear rows.
    soft, slack : tuple of int
        Soft rows, and the slack of each.
    unbounded : tuple of int
        Links that are drawn to the nominal body.
    """

    numbers: tuple[tuple[str, Pattern], ...]
    cones: tuple[tuple[int, ConsistencyCone], ...]
    curved: Operations
    soft: tuple[int, ...]
    slack: tuple[int, ...]
    unbounded: tuple[int, ...]


def sparsity(pattern: Pattern) -> ca.Sparsity:
    """CasADi's object of a pattern (before CasADi 3.8, its `compressed` does not read the dense form)."""
    lines, columns, *places = pattern
    return ca.Sparsity.dense(lines, columns) if places == [1] else ca.Sparsity.compressed(list(pattern))


class Graph:
    """Program, derivatives and solvers of a shape.

    The parameters are ``p = (scale, proximal, slope)`` and the shape's numbers.
    Jacobians are rows by (y, T, s); of the Hessian the blocks of y and of T are given, s enters linearly.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        patterns = {name: sparsity(own) for name, own in shape.numbers}
        self._size, self._slacks = patterns["origin"].size1(), patterns["price"].size1()
        y, s = ca.MX.sym("y", self._size), ca.MX.sym("s", self._slacks)
        t = ca.MX.sym("T", standard_size(len(shape.cones)))
        one = ca.Sparsity.dense(1, 1)
        patterns = {"scale": one, "proximal": one, "slope": patterns["origin"], **patterns}
        ends = np.cumsum([0, *(own.nnz() for own in patterns.values())]).tolist()
        p = ca.MX.sym("p", ends[-1])
        self._p = {
            name: ca.reshape(part, own) if own.is_dense() else ca.MX(own, part)
            for (name, own), part in zip(patterns.items(), ca.vertsplit(p, ends), strict=True)
        }
        w, lam_f = ca.vertcat(y, t, s), ca.MX.sym("lam_f")
        f, gradient, of_y, of_t = self._objective_part(y, t, s)
        parts = (self._row_part(y, s), self._region_part(t), self._cone_part(y, t), self._level_part(y, t, s))
        g, jacobian = ca.vertcat(*[part[0] for part in parts]), ca.vertcat(*[part[1] for part in parts])
        lam_g = ca.MX.sym("lam_g", g.shape[0])
        ends = np.cumsum([0, *(part[0].shape[0] for part in parts)]).tolist()
        curves = (part[2](lam) for part, lam in zip(parts, ca.vertsplit(lam_g, ends), strict=True))
        rows, region, cones, level = curves
        of_y, of_t = lam_f * of_y + rows + level, lam_f * of_t + region + cones
        hessian = ca.diagcat(of_y, of_t, ca.DM(self._slacks, self._slacks))
        self._last: tuple[Array, ca.DM] = np.full(p.numel(), np.nan), ca.DM(p.sparsity())
        names, hess = ["x", "p"], [w, p, lam_f, lam_g]
        self.program = {"x": w, "p": p, "f": f, "g": g}
        self.functions = {
            "grad_f": ca.Function("grad_f", [w, p], [f, gradient], names, ["f", "grad_f_x"]),
            "jac_g": ca.Function("jac_g", [w, p], [g, jacobian], names, ["g", "jac_g_x"]),
            "hess_lag": ca.Function(
                "hess_lag", hess, [ca.triu(hessian)], [*names, "lam_f", "lam_g"], ["triu_hess_gamma_x_x"]
            ),
        }

    def _objective_part(self, y: ca.MX, t: ca.MX, s: ca.MX) -> tuple[ca.MX, ca.MX, ca.MX, ca.MX]:
        """``scale (|R x - r|^2 + weights's) + proximal |...|^2 + slope'y``: value, gradient, blocks of the Hessian.

        The proximal term is about T = 0 for unbounded links with a cone, about the nominal body for those without one.
        """
        shape, numbers, size = self.shape, self._p, self._size
        shares = np.zeros(size + t.shape[0])
        coned = {link: position for position, (link, _) in enumerate(shape.cones)}
        for k in shape.unbounded:  # without a cone y is x
            shares[slice(size, None) if k in coned else slice(None)][link_slice(coned.get(k, k))] = 1.0
        R, scale, strength, price = (numbers[name] for name in ("matrix", "scale", "proximal", "price"))
        residual = R @ y - numbers["target"]
        away = ca.DM(shares) * ca.vertcat(y - numbers["centre"], t)
        value = scale * (ca.sumsqr(residual) + ca.dot(price, s)) + strength * ca.sumsqr(away)
        value += ca.dot(numbers["slope"], y)
        of_y = 2 * scale * (R.T @ residual) + 2 * strength * away[:size] + numbers["slope"]
        gradient = ca.densify(ca.vertcat(of_y, 2 * strength * away[size:], scale * price))
        pull = 2 * strength * ca.diag(ca.sparsify(ca.DM(shares)))
        gram = ca.MX(ca.Sparsity.upper(size), numbers["gram"])  # of the Hessian the upper triangle counts
        return value, gradient, 2 * scale * gram + pull[:size, :size], pull[size:, size:]

    def _row_part(self, y: ca.MX, s: ca.MX) -> Part:
        """The constraints: ``lower <= g - s <= upper``, ``g + s >= lower`` for the lower side of soft rows."""
        shape, soft, constants = self.shape, list(self.shape.soft), self._p["constants"]
        scales, basis, steep = self._p["scales"], self._p["basis"], self._p["steep"]
        linear = steep.shape[0]
        value, steepness, curvature = derivatives(shape.curved)
        full, curved = basis @ y + self._p["origin"], scales.shape[0] > linear
        own = scales[linear:] if curved else ca.MX(0, 1)
        g = ca.vertcat(steep @ y + self._p["offset"], value(full, constants) / own)
        dg = ca.vertcat(steep, ca.diag(1 / own) @ (steepness(full, constants) @ basis))
        pattern = ca.Sparsity.triplet(scales.shape[0], self._slacks, soft, list(shape.slack))
        pick = ca.diag(1 / scales) @ ca.MX(ca.DM(pattern, 1.0))
        none = ca.DM(scales.shape[0], standard_size(len(shape.cones)))
        found, jacobian = g - pick @ s, ca.horzcat(dg, none, -pick)
        if soft:
            found = ca.vertcat(found, g[soft] + pick[soft, :] @ s)
            jacobian = ca.vertcat(jacobian, ca.horzcat(dg[soft, :], none[soft, :], pick[soft, :]))

        def hessian(multipliers: ca.MX) -> ca.MX:
            if not curved:
                return ca.MX(self._size, self._size)
            of_rows = multipliers[: scales.shape[0]]
            if soft:
                of_rows[soft] += multipliers[scales.shape[0] :]
            return basis.T @ curvature(full, constants, of_rows[linear:] / own) @ basis

        return found, jacobian, hessian

    def _region_part(self, t: ca.MX) -> Part:
        """``|T_k|^2 / region <= 1`` for links with a cone that nothing bounds."""
        shape = self.shape
        bounded = [position for position, (link, _) in enumerate(shape.cones) if link in shape.unbounded]
        pattern = ca.DM(len(bounded), t.shape[0])
        for row, position in enumerate(bounded):
            pattern[row, link_slice(position)] = 1.0
        squares = ca.MX(pattern) / self._p["region"]
        before, behind = ca.DM(len(bounded), self._size), ca.DM(len(bounded), self._slacks)

        def hessian(multipliers: ca.MX) -> ca.MX:
            return ca.diag(2 * (squares.T @ multipliers)) if bounded else ca.MX(*[t.shape[0]] * 2)

        return squares @ (t * t), ca.horzcat(before, squares @ ca.diag(2 * t), behind), hessian

    def _cone_part(self, y: ca.MX, t: ca.MX) -> Part:
        """``y_k - q(T_k) = 0``."""
        select, kinds = ca.DM(t.shape[0], y.shape[0]), self.shape.cones
        products, slopes = [], []
        for position, (link, notion) in enumerate(kinds):
            select[link_slice(position), link_slice(link)] = ca.DM.eye(standard_size(1))
            product, slope, _ = quadratic_functions(notion)
            products.append(product(t[link_slice(position)]))
            slopes.append(slope(t[link_slice(position)]))

        def hessian(multipliers: ca.MX) -> ca.MX:
            curves = [quadratic_functions(n)[2](multipliers[link_slice(k)]) for k, (_, n) in enumerate(kinds)]
            return -ca.diagcat(*curves) if curves else ca.MX(0, 0)

        select = ca.sparsify(select)
        value = select @ y - ca.vertcat(*products) if kinds else ca.MX(0, 1)
        away = ca.diagcat(*slopes) if kinds else ca.MX(0, 0)
        return value, ca.horzcat(select, -away, ca.DM(t.shape[0], self._slacks)), hessian

    def _level_part(self, y: ca.MX, t: ca.MX, s: ca.MX) -> Part:
        """``|R x - r|^2 / F <= 1``, if there is a ceiling F."""
        numbers, ceiling = self._p, self._p["ceiling"]
        R, some = numbers["matrix"], ceiling.shape[0]
        residual = R @ y - numbers["target"]
        share = 1 / ceiling if some else ca.MX(0, 1)
        before, behind = share @ (2 * residual.T @ R), ca.DM(some, t.shape[0] + s.shape[0])

        def hessian(multipliers: ca.MX) -> ca.MX:
            gram = ca.MX(ca.Sparsity.upper(self._size), numbers["gram"])
            return 2 * ca.dot(share, multipliers) * gram if some else ca.MX(*gram.shape)

        return share * ca.sumsqr(residual), ca.horzcat(before, behind), hessian

    def vector(self, p: Array) -> ca.DM:
        """The parameters as CasADi takes them, at 60 ns a number: only those are handed over that the last had not."""
        last, vector = self._last
        changed = np.flatnonzero(p != last)
        vector = ca.DM(vector)
        vector.nz[changed.tolist()] = ca.DM(p[changed])
        self._last = p, vector
        return vector

    def solver(self, plugin: str, options: Mapping[str, Any], given: Mapping[str, Any]) -> ca.Function:
        """A new solver: IPOPT with some options, or any plugin with what is given to `casadi.nlpsol`."""
        if not ca.has_nlpsol(plugin):
            raise ProblemError(f"solver: this CasADi has no nlpsol plugin '{plugin}'")
        quiet = {"print_time": False, "show_eval_warnings": False, "calc_lam_p": False, "calc_multipliers": False}
        every: dict[str, Any] = {"print_time": False, **given}
        if plugin == "ipopt":
            own = {"print_level": 0, "sb": "yes", "bound_relax_factor": 0.0, "nlp_scaling_method": "none", **options}
            every = {**quiet, **self.functions, **given, "ipopt": {**own, **given.get("ipopt", {})}}
        try:
            return ca.nlpsol("retrieval", plugin, self.program, every)
        except RuntimeError as error:
            reason = re.split(r"\.cpp:\d+: ", str(error))[-1].splitlines()[0]
            own_place = f"the solver's own stand in {{'{plugin}': {{...}}}}"
            raise ProblemError(f"solver '{plugin}' does not take these options: {reason}; {own_place}") from None


@lru_cache(_KEPT)
def graph_of(shape: Shape) -> Graph:
    """The graph of a shape."""
    return Graph(shape)


@lru_cache(_KEPT)
def solver_of(graph: Graph, options: tuple[tuple[str, Any], ...], thread: int) -> ca.Function:
    """IPOPT with some options on a graph, one for each thread that asks."""
    return graph.solver("ipopt", dict(options), {})


@lru_cache
def quadratic_functions(notion: ConsistencyCone) -> tuple[ca.Function, ca.Function, ca.Function]:
    """q(t), its Jacobian, and the Hessian of ``lam' q(t)``, which does not depend on t."""
    t, lam = ca.SX.sym("t", standard_size(1)), ca.SX.sym("lam", standard_size(1))
    product = notion.products(t)
    return (
        ca.Function("q", [t], [product]),
        ca.Function("slope", [t], [ca.jacobian(product, t)]),
        ca.Function("curve", [lam], [ca.hessian(ca.dot(lam, product), t)[0]]),
    )


# ------------------------------------------------------------------ program

#: IPOPT calls it a failure that no digit is left to gain; what it reached is judged by re-check and certificate.
_AT_ROUNDING = ("Search_Direction_Becomes_Too_Small",)


@dataclass(frozen=True, eq=False)
class Cone:
    """One link's cone: ``x_k = basis y + offset``, shapes (10, 10) and (10,)."""

    link: int
    notion: ConsistencyCone
    basis: Array
    offset: Array

    @classmethod
    def around(cls, consistency: PhysicalConsistency, nominal: Array) -> Cone:
        """Cone with coordinates scaled by a nominal body, shape (10,): one and the same for the same numbers."""
        return _around(consistency, tuple(nominal.tolist()))

    def factor(self, parameters: Array) -> Array:
        """Numbers t of a body, shape (10,); a body outside the cone is lifted to its inside."""
        y: Array = np.asarray(np.linalg.solve(self.basis, parameters - self.offset))
        return self.notion.factor(y)


@lru_cache(256)
def _around(consistency: PhysicalConsistency, numbers: tuple[float, ...]) -> Cone:
    margin, notion, nominal = consistency.margin, consistency.cone, np.array(numbers)
    smallest = float(np.linalg.eigvalsh(notion.matrix(nominal))[0])
    if smallest <= margin:
        raise ProblemError(
            f"link '{consistency.name}': the nominal body does not keep the margin "
            f"{margin:.3g} of physical consistency (smallest eigenvalue {smallest:.3g}); lower the margin, or pass "
            "a nominal body that keeps it"
        )
    basis, offset = notion.coordinates(nominal, margin)
    return Cone(consistency.link, notion, basis, offset)


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

    @property
    def lower(self) -> Array:
        """Lower bounds of all rows."""
        return np.concatenate([self.linear.lower, self.nonlinear.lower])

    @property
    def upper(self) -> Array:
        """Upper bounds of all rows."""
        return np.concatenate([self.linear.upper, self.nonlinear.upper])

    def values(self, symbols: ca.SX, x: Array) -> Array:
        """Values of all rows at x."""
        return np.concatenate([self.linear.matrix @ x, self.nonlinear.values(symbols, x)])


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
    ceiling
        Largest sum of squares: a row of its own, the last one.
    """

    def __init__(
        self,
        x: ca.SX,
        objective: LeastSquares,
        within: FeasibleSet,
        unbounded: tuple[int, ...] = (),
        region: float = 1e6,
        barrier: bool = True,
        ceiling: float | None = None,
    ) -> None:
        nonlinear, cones, nominal = within.nonlinear, within.cones, within.nominal
        self.objective, self.linear, self.cones, self.nominal = objective, within.linear, cones, nominal
        self._x, self._within, self._unbounded, self._region, self._barrier = x, within, unbounded, region, barrier
        self._ceiling = np.array([] if ceiling is None else [ceiling])
        size, factors = len(nominal), standard_size(len(cones))
        #: C and x0 of ``x = C y + x0``, shapes (N, N) and (N,).
        self.basis, self.origin = _coordinates(cones, size)
        self._factor_slices = [slice(size + at.start, size + at.stop) for at in map(link_slice, range(len(cones)))]
        self._steep = within.linear.matrix @ self.basis
        soft, self._slack, self.weights = slacks(within.rows)
        self._soft = tuple(soft)
        self._dimensions = (size, factors, len(self.weights))
        found = nonlinear.kept("operations", x)
        if not found:
            found.append(operations(nonlinear.expression, x))
        self._operations, self._constants = found[0]
        self.scales = self._row_scales()

    def _row_scales(self) -> Array:
        """What rows are divided by: their gradient's largest entry in y at the nominal point."""
        linear = np.maximum(np.abs(self._steep).max(axis=1, initial=0.0), 1e-12)
        found = self._within.nonlinear.kept("slopes", self.cones, tuple(self.nominal.tolist()))
        if not found:
            jacobian = derivatives(self._operations)[1](self.nominal, self._constants)
            found.append(np.asarray(np.abs(np.array(ca.densify(jacobian)) @ self.basis).max(axis=1)))
        steep = np.where(np.isfinite(found[0]), found[0], 1.0)
        return np.concatenate([linear, np.where(steep > 0, np.clip(steep, 1e-6, 1e6), 1.0)])

    # ------------------------------------------------------------------ points

    def start(self, x: Array) -> Array:
        """W at a point x: a point outside a cone enters with lifted eigenvalues, slacks are what soft rows lack."""
        factors = [cone.factor(x[link_slice(cone.link)]) for cone in self.cones]
        w = np.concatenate([x, *factors, self._lacks(np.asarray(x, dtype=float))])
        w[: len(x)] = self._composed(w)
        return w

    def _composed(self, w: Array) -> Array:
        """The y of the factors at w, and its own where a link has none."""
        size, factors, _ = self._dimensions
        y, every = w[:size].copy(), w[size : size + factors].reshape(-1, 10)
        for notion in {cone.notion for cone in self.cones}:
            own = [k for k, cone in enumerate(self.cones) if cone.notion == notion]
            for k, ten in zip(own, notion.compose(every[own]), strict=True):
                y[link_slice(self.cones[k].link)] = ten
        return np.asarray(y)

    def _lacks(self, x: Array) -> Array:
        """What the soft rows lack at a point; 0 where they are undefined."""
        if not self._soft:
            return np.zeros(0)
        soft = list(self._soft)
        values = self._within.values(self._x, x)[soft]
        lacks = np.maximum(np.maximum(self._within.lower[soft] - values, values - self._within.upper[soft]), 0.0)
        found = np.zeros(len(self.weights))
        np.maximum.at(found, self._slack, np.where(np.isfinite(lacks), lacks, 0.0))
        return found

    def parameters(self, w: Array) -> Array:
        """Standard parameters at w, rebuilt from the factors so that the cones hold up to rounding."""
        return np.asarray(self.basis @ self._composed(w) + self.origin)

    def row_multipliers(self, point: Point, scale: float) -> tuple[Array, Array]:
        """Multipliers of the linear and nonlinear rows, in units of the plain objective; > 0 at an upper bound."""
        split, count, soft = len(self.linear.rows), len(self.scales), list(self._soft)
        raw = point.multipliers[:count].copy()
        raw[soft] += point.multipliers[count : count + len(soft)]
        return raw[:split] / (self.scales[:split] * scale), raw[split:] / (self.scales[split:] * scale)

    # ------------------------------------------------------------------ program

    @cached_property
    def _numbers(self) -> dict[str, tuple[Pattern, Array]]:
        """Pattern and entries of the numbers of the graph's shape, by name; matrices of few entries are sparse."""
        linear, lengths = self.linear.matrix, self.scales[: len(self.linear.matrix)]
        matrix, target, gram = _fit(self.objective, self.cones)
        centre = np.zeros(len(self.nominal))
        for k in self._unbounded:
            centre[link_slice(k)] = self.nominal[link_slice(k)]
        return {
            "matrix": ((*self.objective.matrix.shape, 1), matrix),
            "target": _dense(target),
            "gram": _dense(gram),
            "price": _dense(self.weights),
            "centre": _dense(centre),
            "steep": _sparse(self._steep / lengths[:, None]),
            "offset": _dense(linear @ self.origin / lengths),
            "basis": _sparse(self.basis),
            "origin": _dense(self.origin),
            "scales": _dense(self.scales),
            "constants": _dense(self._constants),
            "region": _dense(np.array([self._region])),
            "ceiling": _dense(self._ceiling),
        }

    @cached_property
    def _own_numbers(self) -> Array:
        return np.concatenate([entries for _, entries in self._numbers.values()])

    def numbers(self, scale: float, proximal: float, slope: Array | None = None) -> ca.DM:
        """Parameters p of the graph for one call; ``slope'y`` is added to the objective."""
        own = np.zeros(len(self.nominal)) if slope is None else slope
        return self.graph.vector(np.concatenate([[scale, proximal], own, self._own_numbers]))

    @cached_property
    def graph(self) -> Graph:
        """The graph that the program shares with all of its shape."""
        return graph_of(
            Shape(
                tuple((name, pattern) for name, (pattern, _) in self._numbers.items()),
                tuple((cone.link, cone.notion) for cone in self.cones),
                self._operations,
                self._soft,
                tuple(self._slack),
                self._unbounded,
            )
        )

    @cached_property
    def bounds(self) -> dict[str, Array]:
        """Of the unknowns and the rows.

        The factors' diagonals (with a barrier) and the slacks are not negative; the lower bound of a soft row is that
        of a row of its own, behind all others.
        """
        size, factors, slacks = self._dimensions
        least = np.full(size + factors + slacks, -np.inf)
        least[size + factors :] = 0.0
        for cone, entries in zip(self.cones, self._factor_slices, strict=True):
            if self._barrier:
                least[entries][list(cone.notion.non_negative)] = 0.0
        lower, upper, soft = self._within.lower / self.scales, self._within.upper / self.scales, list(self._soft)
        second = lower[soft]
        lower[soft] = -np.inf
        regions = sum(cone.link in self._unbounded for cone in self.cones)
        level = 1 - self.objective.constant / self._ceiling
        return {
            "lbx": least,
            "ubx": np.full(len(least), np.inf),
            "lbg": np.concatenate([lower, second, np.full(regions, -np.inf), np.zeros(factors), level - np.inf]),
            "ubg": np.concatenate([upper, np.full(len(soft), np.inf), np.ones(regions), np.zeros(factors), level]),
        }

    # ------------------------------------------------------------------ solve

    def solver(
        self, options: Mapping[str, Any], plugin: str = "ipopt", given: Mapping[str, Any] | None = None
    ) -> ca.Function:
        """A solver of this program: IPOPT with some options, or any plugin with what is given to `casadi.nlpsol`."""
        if plugin == "ipopt" and not given:
            return solver_of(self.graph, tuple(options.items()), get_ident())
        return self.graph.solver(plugin, options, given or {})

    def plain(self, names: Sequence[str]) -> dict[str, Any]:
        """The program for any solver, in units of the objective: see `casid.retrieval.nlp`."""
        program, bounds = self.graph.program, self.bounds
        w = program["x"]
        of_w = ca.Function("program", [w, program["p"]], [program["f"], program["g"]])
        f, g = of_w(w, self.numbers(1.0, 0.0))
        y = w[: len(self.nominal)]
        for cone, entries in zip(self.cones, self._factor_slices, strict=True):
            y[link_slice(cone.link)] = quadratic_functions(cone.notion)[0](w[entries])
        pattern, shares = _sparse(self.basis)
        x = ca.DM(sparsity(pattern), shares) @ y + ca.DM(self.origin)
        every = [*(f"y {name}" for name in names), *(f"T{c.link + 1} {k}" for c in self.cones for k in range(10))]
        return {
            "x": w,
            "f": f + self.objective.constant,
            "g": g,
            **bounds,
            "x0": self.start(self.nominal),
            "names": (*every, *(f"s {self._within.rows[row].label}" for row in self._soft)),
            "parameters": ca.Function("parameters", [w], [x], ["x"], ["parameters"]),
        }

    def solve(
        self, solver: ca.Function, point: Array | Point, scale: float, proximal: float, slope: Array | None = None
    ) -> Outcome:
        """Run IPOPT from w, or warm from a primal-dual point; ``slope'x`` is added to the objective, shape (N,)."""
        warm: dict[str, Array] = {}
        if isinstance(point, Point):
            w, warm = point.w, {"lam_g0": point.multipliers, "lam_x0": point.bound_multipliers}
        else:
            w = point
        p = self.numbers(scale, proximal, None if slope is None else self.basis.T @ slope)
        with interruptible():
            result = solver(x0=w, p=p, **self.bounds, **warm)
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
        slacks = w[len(w) - len(self.weights) :]
        return self.objective(self.parameters(w)) + float(self.weights @ slacks)


def _dense(vector: Array) -> tuple[Pattern, Array]:
    """Pattern and entries of a column."""
    return (len(vector), 1, 1), vector


def _sparse(matrix: Array) -> tuple[Pattern, Array]:
    """Those of a matrix without its zeros."""
    columns, rows = np.nonzero(matrix.T)
    lines, width = matrix.shape
    ends = np.searchsorted(columns, np.arange(width + 1))
    return (lines, width, *ends.tolist(), *rows.tolist()), matrix[rows, columns]


@lru_cache(64)
def _coordinates(cones: tuple[Cone, ...], size: int) -> tuple[Array, Array]:
    """C and x0 of ``x = C y + x0``, block diagonal: the cones' bases; 1 and 0 for links without one and for extras."""
    basis, origin = np.eye(size), np.zeros(size)
    for cone in cones:
        link = link_slice(cone.link)
        basis[link, link], origin[link] = cone.basis, cone.offset
    return read_only(basis), read_only(origin)


@lru_cache(64)
def _fit(objective: LeastSquares, cones: tuple[Cone, ...]) -> tuple[Array, Array, Array]:
    """In y, of the sum of squares: its matrix by columns, its target, the lower triangle of its Hessian's half."""
    size = objective.matrix.shape[1]
    basis, origin = _coordinates(cones, size)
    matrix = objective.matrix @ basis
    gram = (matrix.T @ matrix)[np.tril_indices(size)]
    return matrix.ravel(order="F"), objective.target - objective.matrix @ origin, gram


# ------------------------------------------------------------------ starting points

#: Smallest edge of a nominal body [m]; half the edge of one about whose size nothing is known; largest edge.
SMALLEST_EDGE, HALF_EDGE, LARGEST_EDGE = 0.02, 0.15, 10.0
#: Farthest centre of mass of a nominal body [m]: second moments of twice as many digits leave none for its own.
FARTHEST = 1e6


def nominal_parameters(problem: Problem) -> Array:
    """A plausible body for every link, fully consistent: start of the solver and scale of its variables.

    A link with bounds on its centre of mass is taken for a uniform box of that size, with its share of the mass.
    Without them, the robot description's inertial values are used where they are those of a real body; else a box of
    0.3 m. Extras start at 0, or at the bound next to it.

    Returns
    -------
    ndarray, shape (N,)
    """
    regions = problem.regions
    masses = _nominal_masses(problem, regions)
    parts = []
    for link, region, mass, cone in zip(problem.variables.robot.links, regions, masses, problem.cones, strict=True):
        if not np.isfinite(region.com).all() and link.inertial is not None:
            given = link.inertial.standard_parameters()
            smallest = max(given[9] * SMALLEST_EDGE**2 / 12, 10 * cone.margin)
            if consistency(given).pseudo_inertia_margin > smallest:
                parts.append(given)
                continue
        parts.append(_box_body(link.name, mass, *_box(region.com), 2 * cone.margin))
    extras = [min(max(0.0, low), high) for low, high in problem.variables.extras.values()]
    return np.concatenate([*parts, extras])


def random_parameters(problem: Problem, rng: np.random.Generator) -> Array:
    """A random consistent point: masses, centres of mass and second moments uniform within their bounds.

    Quantities without bounds are drawn around the nominal body, over a factor of ten each way.
    """
    nominal = nominal_parameters(problem)
    parts = []
    for k, region in enumerate(problem.regions):
        mass0, com0, inertia0 = from_standard(nominal[link_slice(k)])
        high = region.mass[1]
        low = min(max(region.mass[0], 0.0), high)  # masses without consistency may be negative
        mass = rng.uniform(low, high) if np.isfinite(high) else mass0 * 10 ** rng.uniform(-1, 1)
        box = np.where(np.isfinite(region.com), region.com, com0[:, None] + np.array([-HALF_EDGE, HALF_EDGE]))
        com = rng.uniform(box.min(axis=1), box.max(axis=1))  # bounds of a single point cross by rounding
        reach = region.box[[0, 3, 5]].min() / 2
        if np.isfinite(reach):
            second = rng.uniform(0.0, reach, 3)
        else:
            second = np.trace(inertia0) / 6 * 10 ** rng.uniform(-1, 1, 3)
        axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        sigma = axes @ np.diag(second) @ axes.T
        parts.append(to_standard(max(mass, 1e-3 * mass0), com, np.trace(sigma) * np.eye(3) - sigma))
    extras = [rng.uniform(*_finite_range(low, high)) for low, high in problem.variables.extras.values()]
    return np.concatenate([*parts, extras])


def uniform_parameters(problem: Problem, rng: np.random.Generator) -> Array:
    """A random point, uniform in every mass, centre of mass and entry of the inertia about it, between their bounds.

    Line 1 of Algorithm 1 of Gaz et al. (2019): such a point is seldom consistent. What has no bounds is drawn as
    `random_parameters` does.
    """
    x, facts = random_parameters(problem, rng), problem.facts

    def drawn(bounds: Array, given: Array) -> Array:
        known = np.asarray(np.isfinite(bounds).all(axis=-1))
        low, high = np.where(known[..., None], bounds, 0.0).T
        return np.where(known, rng.uniform(np.minimum(low, high), high), given)

    for k in range(len(problem.variables)):
        mass, com, inertia = from_standard(x[link_slice(k)])
        moments = tensor(drawn(facts.inertia_com[k], tensor_entries(inertia)))
        weight = float(drawn(np.maximum(facts.mass[k], 0.0), np.array(mass)))
        x[link_slice(k)] = to_standard(max(weight, 1e-3 * mass), drawn(facts.com[k], com), moments)
    return x


def _finite_range(low: float, high: float) -> tuple[float, float]:
    """A range to draw from: the bounds, a missing one replaced by 1 beyond the other, or by -1 and 1."""
    if np.isfinite(low):
        return low, high if np.isfinite(high) else low + 1.0
    return (high - 1.0, high) if np.isfinite(high) else (-1.0, 1.0)


def _box_body(link: str, mass: float, centre: Array, edges: Array, margin: float) -> Array:
    """A uniform box; larger and heavier than asked for where its pseudo-inertia would not keep the margin."""
    if np.abs(centre).max() > FARTHEST:
        raise ProblemError(
            f"{link}: its centre of mass is bounded to about {np.abs(centre).max():.3g} m: no body there keeps its "
            "margin in double precision; metres are expected, not mm"
        )
    while True:
        second = mass * edges**2 / 12
        body = to_standard(mass, centre, np.diag(second.sum() - second))
        if np.linalg.eigvalsh(pseudo_inertia(body))[0] > margin:
            return body
        edges, mass = 1.2 * edges, max(mass, 1.2 * margin) * 1.02


def _box(com: Array) -> tuple[Array, Array]:
    bounded = np.asarray(np.isfinite(com).all(axis=1))
    centre = np.where(bounded[:, None], com, 0.0).mean(axis=1)
    edges = np.where(bounded, com[:, 1] - com[:, 0], 2 * HALF_EDGE)
    half = LARGEST_EDGE / 2  # of a wider box the part about the frame's origin, as near as the bounds allow
    inside = np.clip(0.0, np.where(bounded, com[:, 0] + half, 0.0), np.where(bounded, com[:, 1] - half, np.inf))
    centre = np.where(edges > LARGEST_EDGE, inside, centre)
    return centre, np.clip(edges, SMALLEST_EDGE, LARGEST_EDGE)


def _nominal_masses(problem: Problem, regions: tuple[LinkRegion, ...]) -> Array:
    """Equal shares of the total mass where it is bounded, else 1 kg a link; kept within each link's own bounds."""
    shares = np.ones(len(regions))
    for links, lower, upper in problem.facts.totals:
        if np.isfinite(upper):
            shares[list(links)] = (max(lower, 0.0) + upper) / 2 / len(links)
    for k, region in enumerate(regions):
        high = region.mass[1]
        low = min(max(region.mass[0], 0.0), high)  # masses without consistency may be negative
        inside = (low + high) / 2 if np.isfinite(high) else max(2 * low, 1.0)
        if not low < shares[k] < high:
            shares[k] = inside
    return np.maximum(shares, 1e-3)
