"""The graph of the lifted program: one for all programs of a shape, with their numbers as its parameters.

What a program is made of beside its structure (data, bounds, weights, lengths, scales, constants of the user's
expressions) are parameters of the graph, and so of the solver, which is built once a process for each shape and set of
options. A problem at other values of its parameters, or solved a second time, finds it there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np

from casid.arrays import Array
from casid.errors import ProblemError
from casid.expressions import Rules, Walk, as_function, rebuild
from casid.inertia import ConsistencyCone, link_slice, standard_size

#: Value and Jacobian of some rows, and the Hessian of ``multipliers' value`` in the unknowns that enter curved.
Part = tuple[ca.MX, ca.MX, Callable[[ca.MX], ca.MX]]
#: Rows, columns and places of a matrix's entries, as `casadi.Sparsity.compressed` reads them.
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


class Graph:
    """Program, derivatives and solvers of a shape.

    The parameters are ``p = (scale, proximal, slope)`` and the shape's numbers.
    Jacobians are rows by (y, T, s); of the Hessian the blocks of y and of T are given, s enters linearly.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        patterns = {name: ca.Sparsity.compressed(list(own)) for name, own in shape.numbers}
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
        parts = (self._row_part(y, s), self._region_part(t), self._cone_part(y, t))
        g, jacobian = ca.vertcat(*[part[0] for part in parts]), ca.vertcat(*[part[1] for part in parts])
        lam_g = ca.MX.sym("lam_g", g.shape[0])
        ends = np.cumsum([0, *(part[0].shape[0] for part in parts)]).tolist()
        rows, region, cones = (part[2](lam) for part, lam in zip(parts, ca.vertsplit(lam_g, ends), strict=True))
        hessian = ca.diagcat(lam_f * of_y + rows, lam_f * of_t + region + cones, ca.DM(self._slacks, self._slacks))
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
