"""The parts of the lifted program: cones, unknowns, objective, and blocks of rows with their own derivatives.

`casid.retrieval.program._nlp` states the program; each function here makes one part of it. A link's cone of physical
consistency is written in coordinates in which it is a quadratic image of free numbers: the factorisations of
`casid.inertia.cones` about a nominal body of the link.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np

from casid.arrays import Array
from casid.errors import ProblemError
from casid.inertia import ConsistencyCone, link_slice, standard_size
from casid.retrieval._rows import LinearRows, NonlinearRows, Row
from casid.retrieval.constraints._bounds import PhysicalConsistency


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
class Unknowns:
    """Symbols ``w = (y, T, s)`` and parameters ``p = (scale, proximal, slope)`` of the program.

    Attributes
    ----------
    y : MX, shape (N, 1)
        Preconditioned parameters.
    t : MX, shape (10 n, 1)
        Factors of the links with a cone.
    s : MX
        Slacks of the soft rows.
    p : MX, shape (2 + N, 1)
    """

    y: ca.MX
    t: ca.MX
    s: ca.MX
    p: ca.MX

    @classmethod
    def of(cls, size: int, factors: int, slacks: int) -> Unknowns:
        """Fresh symbols."""
        sizes = {"y": size, "T": factors, "s": slacks, "p": 2 + size}
        return cls(*(ca.MX.sym(name, length) for name, length in sizes.items()))

    @property
    def w(self) -> ca.MX:
        """All unknowns."""
        return ca.vertcat(self.y, self.t, self.s)


@dataclass(frozen=True, eq=False)
class Objective:
    """A convex quadratic of the unknowns: value, gradient in w, and its constant Hessians in y and in T."""

    value: ca.MX
    gradient: ca.MX
    hessian_y: ca.MX
    hessian_t: ca.MX


@dataclass(frozen=True, eq=False)
class Block:
    """Rows ``lower <= value <= upper``.

    Attributes
    ----------
    value : MX, shape (k, 1)
    jacobian : MX, shape (k, number of unknowns)
    hessian : callable
        From multipliers, shape (k, 1), to the Hessian of ``multipliers' value`` in the unknowns that enter curved:
        y for the constraints' rows, T for the others.
    lower, upper : ndarray, shape (k,)
    """

    value: ca.MX
    jacobian: ca.MX
    hessian: Callable[[ca.MX], ca.MX]
    lower: Array
    upper: Array

    @property
    def size(self) -> int:
        """Number k of rows."""
        return len(self.lower)


@dataclass(frozen=True, eq=False)
class Affine:
    """``x = basis y + origin``, shapes (N, N) and (N,)."""

    basis: Array
    origin: Array


@dataclass(frozen=True, eq=False)
class Proximal:
    """What keeps links near that nothing bounds: ``|shares * ((y, T) - centre)|^2``, shapes (N + 10 n,)."""

    shares: Array
    centre: Array

    @classmethod
    def of(cls, cones: tuple[Cone, ...], nominal: Array, unbounded: tuple[int, ...]) -> Proximal:
        """About T = 0 for links with a cone, about the nominal parameters for those without one."""
        size = len(nominal)
        shares, centre = np.zeros((2, size + standard_size(len(cones))))
        coned = {cone.link: position for position, cone in enumerate(cones)}
        for k in unbounded:
            if k in coned:
                shares[size:][link_slice(coned[k])] = 1.0
            else:  # y is x there
                shares[link_slice(k)] = 1.0
                centre[link_slice(k)] = nominal[link_slice(k)]
        return cls(shares, centre)


@dataclass(frozen=True, eq=False)
class ScaledRows:
    """The constraints' rows with their scales: each row is divided by its own.

    Attributes
    ----------
    linear, nonlinear
    scales : ndarray, shape (k,)
        Of the linear rows, then of the others.
    soft : tuple of int
        Places of the soft rows among all k.
    """

    linear: LinearRows
    nonlinear: NonlinearRows
    scales: Array
    soft: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number k of rows."""
        return len(self.scales)

    def bounds(self) -> tuple[Array, Array]:
        """Scaled lower and upper bounds; the lower one of a soft row is a row of its own, behind all others."""
        lower = np.concatenate([self.linear.lower, self.nonlinear.lower]) / self.scales
        upper = np.concatenate([self.linear.upper, self.nonlinear.upper]) / self.scales
        soft = list(self.soft)
        second = lower[soft]
        lower[soft] = -np.inf
        return np.concatenate([lower, second]), np.concatenate([upper, np.full(len(soft), np.inf)])


def objective_block(
    u: Unknowns, at: Affine, matrix: Array, target: Array, weights: Array, proximal: Proximal
) -> Objective:
    """``scale (||R x - r||^2 + weights's) + proximal |...|^2 + slope'y``; see the program."""
    size = len(at.origin)
    scale, strength, slope = u.p[0], u.p[1], u.p[2:]
    in_y = matrix @ at.basis
    R = ca.DM(in_y)
    residual = R @ u.y - ca.DM(target - matrix @ at.origin)
    shares, price = ca.DM(proximal.shares), ca.DM(weights)
    away = shares * (ca.vertcat(u.y, u.t) - ca.DM(proximal.centre))
    value = scale * (ca.sumsqr(residual) + ca.dot(price, u.s)) + strength * ca.sumsqr(away) + ca.dot(slope, u.y)
    gradient = ca.vertcat(
        2 * scale * (R.T @ residual) + 2 * strength * away[:size] + slope,
        2 * strength * away[size:],
        scale * price,
    )
    pull = 2 * strength * ca.diag(shares)
    return Objective(
        value, ca.densify(gradient), 2 * scale * ca.DM(in_y.T @ in_y) + pull[:size, :size], pull[size:, size:]
    )


def row_block(u: Unknowns, at: Affine, rows: ScaledRows, x: ca.SX) -> Block:
    """The constraints: ``lower <= g - s <= upper``, where ``g + s >= lower`` stands for the lower side of soft rows."""
    slacks, factors, soft = len(rows.soft), u.t.shape[0], list(rows.soft)
    split = len(rows.linear.rows)
    basis = sparse(at.basis)
    steep = sparse(rows.linear.matrix @ at.basis / rows.scales[:split, None])
    curved, slope, curvature = _nonlinear_functions(rows, x)
    full = basis @ u.y + ca.DM(at.origin)
    g = ca.vertcat(steep @ u.y + ca.DM(rows.linear.matrix @ at.origin / rows.scales[:split]), curved(full))
    dg = ca.vertcat(steep, slope(full) @ basis)
    pick = ca.DM(rows.size, slacks)
    for column, row in enumerate(soft):
        pick[row, column] = 1.0 / rows.scales[row]
    none = ca.DM(rows.size, factors)
    value, jacobian = g - pick @ u.s, ca.horzcat(dg, none, -pick)
    if soft:
        value = ca.vertcat(value, g[soft] + pick[soft, :] @ u.s)
        jacobian = ca.vertcat(jacobian, ca.horzcat(dg[soft, :], none[soft, :], pick[soft, :]))

    def hessian(multipliers: ca.MX) -> ca.MX:
        if not rows.nonlinear.size:
            return ca.MX(len(at.origin), len(at.origin))
        of_rows = multipliers[: rows.size]
        if soft:
            spread = ca.sparsify(pick > 0)
            of_rows = of_rows + spread @ multipliers[rows.size :]
        return basis.T @ curvature(full, of_rows[split:]) @ basis

    return Block(value, jacobian, hessian, *rows.bounds())


def region_block(u: Unknowns, cones: tuple[Cone, ...], unbounded: tuple[int, ...], region: float) -> Block:
    """``|T_k|^2 / region <= 1`` for links with a cone that nothing bounds."""
    places = [position for position, cone in enumerate(cones) if cone.link in unbounded]
    squares = ca.DM(len(places), u.t.shape[0])
    for row, position in enumerate(places):
        squares[row, link_slice(position)] = 1.0 / region
    before, behind = ca.DM(len(places), u.y.shape[0]), ca.DM(len(places), u.s.shape[0])

    def hessian(multipliers: ca.MX) -> ca.MX:
        return ca.diag(2 * (squares.T @ multipliers)) if places else ca.MX(*[u.t.shape[0]] * 2)

    jacobian = ca.horzcat(before, squares @ ca.diag(2 * u.t), behind)
    return Block(squares @ (u.t * u.t), jacobian, hessian, np.full(len(places), -np.inf), np.ones(len(places)))


def cone_block(u: Unknowns, cones: tuple[Cone, ...]) -> Block:
    """``y_k - q(T_k) = 0``."""
    count = standard_size(len(cones))
    select = ca.DM(count, u.y.shape[0])
    functions = {notion: _quadratic_functions(notion) for notion in {cone.notion for cone in cones}}
    products, slopes = [], []
    for position, cone in enumerate(cones):
        select[link_slice(position), link_slice(cone.link)] = ca.DM.eye(standard_size(1))
        product, slope, _ = functions[cone.notion]
        products.append(product(u.t[link_slice(position)]))
        slopes.append(slope(u.t[link_slice(position)]))

    def hessian(multipliers: ca.MX) -> ca.MX:
        curves = [-functions[cone.notion][2](multipliers[link_slice(k)]) for k, cone in enumerate(cones)]
        return ca.diagcat(*curves) if curves else ca.MX(0, 0)

    select = ca.sparsify(select)
    value = select @ u.y - ca.vertcat(*products) if cones else ca.MX(0, 1)
    away = ca.diagcat(*slopes) if cones else ca.MX(0, 0)
    jacobian = ca.horzcat(select, -away, ca.DM(count, u.s.shape[0]))
    return Block(value, jacobian, hessian, np.zeros(count), np.zeros(count))


def sparse(matrix: Array) -> ca.DM:
    """A matrix without its zeros."""
    return ca.sparsify(ca.DM(matrix))


def _nonlinear_functions(rows: ScaledRows, x: ca.SX) -> tuple[ca.Function, ca.Function, ca.Function]:
    """The scaled nonlinear rows of x, their Jacobian, and the Hessian of ``lam' g``."""
    split = len(rows.linear.rows)
    curved = rows.nonlinear.expression / ca.DM(rows.scales[split:]) if rows.nonlinear.size else ca.SX(0, 1)
    lam = ca.SX.sym("lam", rows.nonlinear.size)
    jacobian = ca.jacobian(curved, x)
    return (
        ca.Function("g", [x], [curved]),
        ca.Function("dg", [x], [jacobian]),
        ca.Function("ddg", [x, lam], [ca.jacobian(jacobian.T @ lam, x)]),
    )


def _quadratic_functions(notion: ConsistencyCone) -> tuple[ca.Function, ca.Function, ca.Function]:
    """q(t), its Jacobian, and the Hessian of ``lam' q(t)``, which does not depend on t."""
    t, lam = ca.SX.sym("t", standard_size(1)), ca.SX.sym("lam", standard_size(1))
    product = notion.products(t)
    return (
        ca.Function("q", [t], [product]),
        ca.Function("slope", [t], [ca.jacobian(product, t)]),
        ca.Function("curve", [lam], [ca.hessian(ca.dot(lam, product), t)[0]]),
    )
