"""Rigorous lower bound on a problem's optimum, in plain numpy, independent of the solver; the linear rows it rests on.

The relaxation of a constraint is that of its quadratic form where it has one (`casid.retrieval._region`; exact for
second-order cones and concave forms). A constraint on a single centre of mass is relaxed by planes that support the set
of centres of mass: the box of the centre of mass is halved repeatedly, and interval arithmetic removes the cells in
which no point meets the constraints, each branch of an if-else for itself. The cells that are left cover the set, of
any shape, so ``n'c <= h(n)`` with h the support of the cells in the direction n holds at every feasible point; times
the mass it is linear, ``n'l <= h(n) m``. Other constraints are left out, which only lowers a lower bound.

**Theorem.** Let ``F(z) = ||R z - r||^2 + constant + sum_i w_i v_i(z)`` with ``v_i >= 0`` the violations of the soft
rows, over all z with ``a_j'z`` within ``[lo_j, hi_j]`` (hard rows), ``M_k(z) >= eps_k 1`` (cones) and anything else.
Take *any* vector rho (a point x gives ``rho = R x - r``) and *any* numbers ``u_j, l_j >= 0``, zero where the bound is
infinite, with ``u_i + l_i <= w_i`` on soft rows, and any ``Z_k >= 0``. Then for every feasible z ::

    F(z) >= constant - |rho|^2 - 2 rho'r + sum_j (l_j lo_j - u_j hi_j) + sum_k eps_k tr Z_k + sum_k min h_k'z_k
    with  h = 2 R'rho - A'(l - u) - sum_k M_k^*(Z_k),   (M_k^* the adjoint of M_k)

*Proof.* ``|y|^2 >= 2 rho'y - |rho|^2`` for ``y = R z - r``. Feasibility gives
``(l - u)'A z >= l'lo - u'hi - sum w_i v_i(z)`` and ``<Z_k, M_k(z)> >= eps_k tr Z_k``. Substitute
``2 rho'R z = (l - u)'A z + sum <Z_k, M_k(z)> + h'z``. []

The bound holds for any rho and multipliers; how tight it is depends on them. Where the signal is many times the noise,
the gradient of a point that is off by rounding is not small: rho is then corrected so that ``2 R'rho`` is what rows and
cones carry, which costs the square of the correction only. The multipliers of the cones are not taken from
the solver: a link's share g of ``2 R'rho - A'(l - u)`` determines its ``Z_k``. The cone gives what ``Z_k`` gains and
what its negative part costs (`ConsistencyCone.dual_share`); the size of a body is limited by the problem's own bounds
(`LinkRegion`), or by a stated search region.

**Points that miss a little.** A point that misses row j by ``d_j`` adds ``-sum_j (l_j + u_j) d_j`` to the right-hand
side; one whose body k misses its margin adds ``h_k'x_k + <Z_k, M_k(x)>`` less what the body was to gain. Where the set
is thin, multipliers are large and these shares are not small: `lower_bound` subtracts what x itself misses. The bound
then never exceeds the value of x, and it holds for every point that misses no more than x does.

**Nonlinear rows** enter through linear rows that hold at every feasible z, or not at all; the bound is then that of a
convex relaxation. A hard row whose side has a quadratic form (`casid.retrieval._region`) is replaced by a cut of it:
the tangent of a cone or of a concave form, the secant over the box of the centre of mass of a convex one::

    2 t l - m t^2 <= l^2/m <= (a + b) l - a b m       (a <= c <= b; tangent at any t; m > 0)

so a bound on ``Ixx = Lxx - (ly^2 + lz^2)/m`` from above relaxes through the secants, one from below through the
tangents at the present c.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import product
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.arrays import Array
from casid.expressions import choose, conditions, enclose
from casid.inertia import Limits, link_slice, mass_index, moment_slice
from casid.retrieval._problem import LinearRows, NonlinearRows, Problem, Row
from casid.retrieval._region import LinkRegion, Quadric, com_quotients
from casid.retrieval.constraints._constraint import FEASIBILITY, MOST_ALTERNATIVES, Constraint, com_box

# ------------------------------------------------------------------ cuts

#: Cells that one refinement may look at; more would take longer than the bound is worth.
_MOST_CELLS = 8_000


@dataclass(frozen=True, eq=False)
class ComSet:
    """Centres of mass of a link within ``box`` at which all functions of one alternative are >= 0, but for rounding.

    Attributes
    ----------
    link : int
    box : ndarray, shape (3, 2)
        Finite [m].
    alternatives : tuple of Function
        Each of all unknowns x, depending on this link's centre of mass only; one a combination of branches.
    axes : tuple of int
        Coordinates on which the functions depend: the others need no halving.
    """

    link: int
    box: Array
    alternatives: tuple[ca.Function, ...]
    axes: tuple[int, ...]

    def cells(self) -> Array:
        """Cells that may hold feasible points, shape (K, 3, 2), after three halvings of every side."""
        cells = self.box[None]
        for _ in range(3):
            if self._is_much(len(cells)):
                break
            cells = self._feasible(_split(cells, self.axes))
        return cells

    def _is_much(self, count: int) -> bool:
        return bool(count * 2 ** len(self.axes) > _MOST_CELLS)

    def hull(self, cells: Array) -> Array:
        """Smallest box that holds the set, shape (3, 2), as exact as `support`; infinite ends where it is empty."""
        box: Array = self.box.copy()
        tolerance = 1e-7 * float(np.ptp(box, axis=1).max())
        for axis in self.axes:
            for end, sign in ((0, -1.0), (1, 1.0)):
                box[axis, end] = sign * self.support(sign * np.eye(3)[axis], cells, tolerance)
        return box

    def support(self, direction: Array, cells: Array, tolerance: float) -> float:
        """Upper bound of ``direction'c`` over the set.

        Refined until it is within the tolerance of a point of it [m].
        """
        reached = -np.inf
        for _ in range(40):
            if not len(cells):
                return -np.inf
            highest = _highest(cells, direction)
            centres = cells.mean(axis=2)
            inside = self._meets(np.stack([centres, centres], axis=2), "low")
            if inside.any():
                reached = max(reached, float((centres[inside] @ direction).max()))
            top = float(highest.max())
            cells, highest = cells[highest >= reached], highest[highest >= reached]
            open_cells = highest > top - max(tolerance, (top - reached) / 2 if np.isfinite(reached) else np.inf)
            if (
                top - reached <= tolerance
                or np.ptp(cells, axis=2).max() <= tolerance / 10
                or self._is_much(int(open_cells.sum()))
            ):
                return top
            cells = np.concatenate([cells[~open_cells], self._feasible(_split(cells[open_cells], self.axes))])
        return float(_highest(cells, direction).max(initial=-np.inf))

    def _feasible(self, cells: Array) -> Array:
        return cells[self._meets(cells, "high")]

    def _meets(self, cells: Array, end: Literal["low", "high"]) -> NDArray[np.bool_]:
        """Which cells lie in the set, by the low ends of the functions' enclosures; by the high ends, which may."""
        keep = np.zeros(len(cells), dtype=bool)
        for function in self.alternatives:
            met = np.ones(len(cells), dtype=bool)
            free = np.full(function.numel_in(0), np.inf)
            for interval in enclose(function, -free, free, com_quotients(self.link, cells)):
                met &= np.broadcast_to(getattr(interval, end) >= -FEASIBILITY, met.shape)
            keep |= met
        return keep


def depends_on_com_only(function: ca.Function, links: int) -> int | None:
    """The one link whose centre of mass is all that a function of x depends on; else None."""
    box = np.tile([-np.inf, np.inf], (3, 1))
    quotients = {pair: ends for k in range(links) for pair, ends in com_quotients(k, box).items()}
    free = np.full(function.numel_in(0), np.inf)
    found = enclose(function, -free, free, quotients)
    touched = {mass // 10 for interval in found for _, mass in interval.quotients}
    return touched.pop() if len(touched) == 1 and not any(interval.entries for interval in found) else None


def _split(cells: Array, axes: Sequence[int]) -> Array:
    """Every cell halved along each of the axes."""
    for axis in axes:
        low, high = cells.copy(), cells.copy()
        low[:, axis, 1] = high[:, axis, 0] = cells[:, axis].mean(axis=1)
        cells = np.concatenate([low, high])
    return cells


def _highest(cells: Array, direction: Array) -> Array:
    return np.asarray(np.maximum(cells[:, :, 0] * direction, cells[:, :, 1] * direction).sum(axis=1))


#: A box that is narrower by a smaller share of its side, or a point nearer to a hull, is not worth a constraint.
_NARROWER = 1e-6


@dataclass(frozen=True, eq=False)
class Cut:
    """``form'x >= low`` with ``form`` of shape (N,), and the bound of a constraint that it stands for."""

    form: Array
    low: float
    constraint: int
    entry: int
    sign: float

    def violated(self, x: Array) -> bool:
        """Whether it cuts off x."""
        return bool(self.form @ x - self.low < -FEASIBILITY * float(np.abs(self.form) @ np.abs(x)))


@dataclass(frozen=True, eq=False)
class Side:
    """One finite bound of one entry of a constraint: ``sign (expression - bound) >= 0``."""

    constraint: int
    entry: int
    sign: float
    bound: float
    quadric: Quadric | None

    def missed(self, constraint: Constraint, values: dict[str, Array]) -> float:
        """By how much a point misses it, in the units of the expression."""
        return max(0.0, self.sign * (self.bound - float(values[constraint.label][self.entry])))


class Relaxation:
    """Cuts of a problem's hard nonlinear constraints; built once a problem.

    Parameters
    ----------
    problem
        With bounds on the centres of mass of the links that nonconvex constraints concern; without, fewer relaxations
        exist.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.regions: tuple[LinkRegion, ...] = problem.regions

    @cached_property
    def sides(self) -> tuple[Side, ...]:
        """Every finite bound of every hard nonlinear constraint that is not implied by another."""
        found: list[Side] = []
        for at, some in self.problem.parts:
            own = some[0].kept("sides", at, some, *self.problem.setting.facts)
            if not own:
                own.append(self._sides(at, some))
            found += own[0]
        return tuple(found)

    def _sides(self, at: tuple[int, ...], some: tuple[Constraint, ...]) -> list[Side]:
        """Those of constraints at some places."""
        found: list[Side] = []
        for index, constraint in zip(at, some, strict=True):
            for entry in self._curved(constraint) if constraint.hard else ():
                found += self._both_sides(index, constraint, entry)
        return found

    def _curved(self, constraint: Constraint) -> list[int]:
        """Entries that the solver gets as nonlinear rows."""
        return sorted({row.entry for row in constraint.solver_rows(self.problem.setting) if not row.linear})

    def _both_sides(self, index: int, constraint: Constraint, entry: int) -> list[Side]:
        form = constraint.quadric(entry, self.problem.setting)
        if form is not None and not self.problem.setting.positive_mass[form.link]:
            form = None
        found = []
        for sign, bound in ((1.0, float(constraint.lower[entry])), (-1.0, float(constraint.upper[entry]))):
            if np.isfinite(bound):
                own = None if form is None else form.minus(bound)
                found.append(Side(index, entry, sign, bound, own.negated() if own is not None and sign < 0 else own))
        return found

    def is_convex(self, side: Side) -> bool:
        """Whether a side is known to describe a convex set."""
        return side.quadric is not None and side.quadric.is_convex_set(self.regions[side.quadric.link].com)

    @cached_property
    def nonconvex(self) -> tuple[str, ...]:
        """Labels of constraints that are not known to be convex, and of soft ones that are not linear."""
        labels = [self.problem.constraints[s.constraint].label for s in self.open_sides]
        soft = [c for c in self.problem.constraints if not (c.hard or c.kept_in_relaxation or c.shared)]
        return tuple(dict.fromkeys([*labels, *(c.label for c in soft if self._curved(c))]))

    @cached_property
    def open_sides(self) -> tuple[Side, ...]:
        """Sides that are not known to be convex, but those that stay in the relaxation's program (inertia bounds)."""
        return tuple(
            s
            for s in self.sides
            if not self.problem.constraints[s.constraint].kept_in_relaxation and not self.is_convex(s)
        )

    def side_cuts(self, side: Side, x: Array) -> Iterator[Cut]:
        """Cuts of one side near x; the first is its tangent where it has one."""
        if side.quadric is not None and x[mass_index(side.quadric.link)] > 0:
            link = side.quadric.link
            for form in side.quadric.cuts(self.regions[link].com, x[link_slice(link)]):
                yield self._embed(form, link, side.quadric.offset, side)

    def row_cut(self, row: Row, multiplier: float, x: Array) -> tuple[Cut, float] | None:
        """The cut that stands for a solver row, and its multiplier >= 0; None if the row has none."""
        if not np.isfinite(multiplier) or multiplier == 0.0:
            return None
        if row.weight is not None:
            slope = self.problem.constraints[row.constraint].tangent(row.entry, self.problem.variables.x, x)
            return None if slope is None else (Cut(-slope, 0.0, row.constraint, row.entry, -1.0), max(multiplier, 0.0))
        sign = -1.0 if multiplier > 0 else 1.0
        side = self._by_row.get((row.constraint, row.entry, sign))
        cut = None if side is None else next(self.side_cuts(side, x), None)
        if side is None or side.quadric is None or cut is None:
            return None
        # the row is the expression, or m times it; its form is m^(power - 1) times it
        mass = float(x[mass_index(side.quadric.link)])
        return cut, abs(multiplier) * row.unit_size(x) * mass ** (1 - side.quadric.power)

    @cached_property
    def _by_row(self) -> dict[tuple[int, int, float], Side]:
        return {(side.constraint, side.entry, side.sign): side for side in self.sides}

    def cuts(self, sides: Sequence[Side], x: Array) -> list[Cut]:
        """Cuts of some sides near x, and those of the sets of centres of mass."""
        return [cut for side in sides for cut in self.side_cuts(side, x)] + self.set_cuts(x)

    def set_cuts(self, x: Array) -> list[Cut]:
        """Supporting planes of the sets of centres of mass, in the directions in which x lies outside."""
        cuts = []
        for com_set in self.com_sets:
            point, cells = x[link_slice(com_set.link)], self._cells[com_set.link]
            direction = _away(cells, point[6:9] / point[9]) if point[9] > 0 else None
            if direction is not None:
                height = com_set.support(direction, cells, 5e-4 * float(np.ptp(com_set.box, axis=1).max()))
                form = np.zeros(10)
                form[6:9], form[9] = -direction, height if np.isfinite(height) else -1e3
                cuts.append(self._embed(form, com_set.link, 0.0, self._set_sides[com_set.link][0]))
        return cuts

    def within(self, link: int, low: Array, high: Array) -> Relaxation:
        """That of the problem with a narrower box of a link's centre of mass; what is known of its sides is kept."""
        box = com_box(self.problem.variables[link], low, high, label=self.problem.free_label("box of the relaxation"))
        narrower = Relaxation(self.problem.add(box))
        kept = ("sides", "_by_row", "_set_sides", "_set_functions")
        narrower.__dict__.update({name: self.__dict__[name] for name in kept if name in self.__dict__})
        return narrower

    def contracted(self) -> Relaxation | None:
        """That of the smallest boxes that hold the sets of centres of mass; None where one of them is empty."""
        found = self
        for com_set in self.com_sets:
            low, high = com_set.hull(self._cells[com_set.link]).T
            if (low > high).any():
                return None
            narrower = np.maximum(low - com_set.box[:, 0], com_set.box[:, 1] - high)
            if (narrower > _NARROWER * np.ptp(com_set.box, axis=1)).any():
                found = found.within(com_set.link, low, high)
        return found

    @cached_property
    def com_sets(self) -> tuple[ComSet, ...]:
        """Sets of centres of mass of the constraints that have no quadratic form."""
        return tuple(
            ComSet(link, self.regions[link].com, functions, axes)
            for link, (functions, axes) in self._set_functions.items()
        )

    @cached_property
    def _set_functions(self) -> dict[int, tuple[tuple[ca.Function, ...], tuple[int, ...]]]:
        """By link, the sides of its set as functions, one an alternative, and the axes on which they depend."""
        x, found = self.problem.variables.x, dict[int, tuple[tuple[ca.Function, ...], tuple[int, ...]]]()
        for link, sides in self._set_sides.items():
            rows = ca.vertcat(*[self._row(side) for side in sides])
            axes = tuple(axis for axis in range(3) if ca.depends_on(rows, x[moment_slice(link)][axis]))
            found[link] = _alternatives(rows, x), axes
        return found

    @cached_property
    def _set_sides(self) -> dict[int, list[Side]]:
        """Sides that depend on one link's centre of mass only, by link."""
        x, positive = self.problem.variables.x, self.problem.setting.positive_mass
        found: dict[int, list[Side]] = {}
        for side in self.sides:
            link = depends_on_com_only(ca.Function("g", [x], [self._row(side)]), len(positive))
            if link is None or not positive[link] or not np.isfinite(self.regions[link].com).all():
                continue
            if not self.is_convex(side) or link in found:
                found.setdefault(link, []).append(side)
        return found

    def _row(self, side: Side) -> ca.SX:
        """The side as ``row >= 0``."""
        return ca.SX(side.sign * (self.problem.constraints[side.constraint].expression[side.entry] - side.bound))

    @cached_property
    def _cells(self) -> dict[int, Array]:
        return {com_set.link: com_set.cells() for com_set in self.com_sets}

    def _embed(self, form: Array, link: int, low: float, side: Side) -> Cut:
        row = np.zeros(self.problem.variables.size)
        row[link_slice(link)] = form
        return Cut(row, low, side.constraint, side.entry, side.sign)


def _alternatives(rows: ca.SX, x: ca.SX) -> tuple[ca.Function, ...]:
    found = [c for c in conditions(rows, x) if not c.equality]
    if 2 ** len(found) > MOST_ALTERNATIVES:
        return (ca.Function("rows", [x], [rows]),)
    functions = []
    for values in product((True, False), repeat=len(found)):
        chosen = choose(rows, x, {c.key: v for c, v in zip(found, values, strict=True)})
        sides = [c.margin if v else -c.margin for c, v in zip(found, values, strict=True)]
        functions.append(ca.Function("rows", [x], [ca.vertcat(chosen, *sides)]))
    return tuple(functions)


def _away(cells: Array, point: Array) -> Array | None:
    """Unit vector from the nearest point of the cells' hull to a point outside it; any where there are no cells.

    None if the point is in the hull (Gilbert's algorithm).
    """
    if not len(cells):
        return np.array([1.0, 0.0, 0.0])
    low, high = cells[:, :, 0], cells[:, :, 1]
    picks = [np.where(np.array(p), high, low) for p in product((False, True), repeat=3)]
    corners = np.unique(np.concatenate(picks).round(12), axis=0)
    nearest = corners[np.argmin(((corners - point) ** 2).sum(axis=1))]
    size = float(np.ptp(corners, axis=0).max())
    for _ in range(200):
        gap = point - nearest
        length = float(np.linalg.norm(gap))
        if length <= _NARROWER * size:
            return None
        best = corners[np.argmax(corners @ gap)]
        progress = float((best - nearest) @ gap)
        if progress <= _NARROWER * length * size:
            return np.asarray(gap / length)
        step = min(1.0, progress / max(float((best - nearest) @ (best - nearest)), 1e-300))
        nearest = nearest + step * (best - nearest)
    separated = float((corners @ gap).max()) < float(point @ gap)
    return np.asarray(gap / length) if separated else None


# ------------------------------------------------------------------ certificate

#: Share of the objective that the products of the cones' multipliers with the bodies may cost.
_PRICE = 1e-8


@dataclass(frozen=True, eq=False)
class Certificate:
    """A proven lower bound and its terms.

    Attributes
    ----------
    lower_bound : float
        No feasible point of the problem (within the search region, if one was needed) has a smaller objective, nor
        has one that misses no row by more than the point of linearisation does.
    search_region : mapping of str to float
        Links (or extras) whose size the problem does not bound -> how many times as large as the nominal body the
        bound lets them be: ``tr Jt <= 4 factor`` in the coordinates in which the nominal J is 1. Usually empty.
    """

    lower_bound: float
    search_region: dict[str, float] = field(default_factory=dict)
    _at: Callable[[Array], float] | None = None

    def at(self, x: Array) -> Certificate:
        """The certificate for points that miss no row, margin or bound by more than x does."""
        return self if self._at is None else replace(self, lower_bound=self._at(x))


@dataclass(frozen=True, eq=False)
class Search:
    """Where links and extras are searched that nothing bounds: up to ``factor`` times the nominal point, shape (N,).

    Without a nominal point the size of such links is not limited, and the bound may be trivial.
    """

    nominal: Array | None = None
    factor: float = 1e3


@dataclass(frozen=True, eq=False)
class DualBound:
    """Lower bound of a linear function over the feasible points.

    Attributes
    ----------
    value : float
    leftover : float
        Cost of inexact multipliers.
    search_region : mapping of str to float
    terms : float
        Size of the rows' terms in it, for rounding.
    left : ndarray, shape (N,)
        Gradient that the rows leave.
    shares : sequence of (slice, float)
        Links and extras, and what each is given of the value.
    """

    value: float
    leftover: float
    search_region: dict[str, float]
    terms: float
    left: Array
    shares: Sequence[tuple[slice, float]]

    def missed(self, x: Array) -> float:
        """What missing margins and bounds as x does can gain: ``sum_k max(share_k - left_k'x_k, 0)``."""
        return sum(max(share - float(self.left[part] @ x[part]), 0.0) for part, share in self.shares)


@dataclass(frozen=True, eq=False)
class Dual:
    """Rows ``lower <= matrix z <= upper`` with numbers that serve as their multipliers, > 0 at an upper bound.

    Attributes
    ----------
    matrix, lower, upper, multipliers : ndarray
    weights : ndarray
        Price of a unit of violation; infinite where the row is hard.
    groups : ndarray of int
        Soft rows of one group share a slack: ``sum of u_i + l_i <= w``; -1 for a row on its own.
    """

    matrix: Array
    lower: Array
    upper: Array
    multipliers: Array
    weights: Array
    groups: Array

    @classmethod
    def of(cls, rows: LinearRows, multipliers: Array) -> Dual:
        """Linear rows, hard and soft, with the solver's multipliers."""
        return cls(rows.matrix, rows.lower, rows.upper, multipliers, *_prices(rows.rows))

    def with_cuts(self, relaxation: Relaxation, nonlinear: NonlinearRows, multipliers: Array, x: Array) -> Dual:
        """And cuts that stand for the nonlinear rows with a multiplier, made near x: hard, or soft and convex."""
        if not nonlinear.size:
            return self
        cuts = [
            (row, *found)
            for row, multiplier in zip(nonlinear.rows, multipliers, strict=True)
            if (found := relaxation.row_cut(row, float(multiplier), x)) is not None
        ]
        rows, count = [row for row, *_ in cuts], len(cuts)
        forms = np.array([cut.form for _, cut, _ in cuts]).reshape(count, len(x))
        low, amounts = np.array([cut.low for _, cut, _ in cuts]), np.array([-amount for *_, amount in cuts])
        extra = Dual(forms, low, np.full(count, np.inf), amounts, *_prices(rows))
        return Dual(*(np.concatenate([getattr(self, f.name), getattr(extra, f.name)]) for f in fields(self)))

    def missed(self, x: Array) -> float:
        """What missing hard rows as x does can gain: ``sum_j (l_j + u_j) d_j``."""
        at_low, at_high = self.sides
        hard, values = np.isinf(self.weights), self.matrix @ x
        below, above = np.maximum(self.lower - values, 0.0), np.maximum(values - self.upper, 0.0)
        return float(at_low[hard] @ below[hard]) + float(at_high[hard] @ above[hard])

    def size_at(self, x: Array) -> float:
        """Size of the rows' terms at x, ``sum_j (l_j + u_j) |a_j|'|x|``: huge multipliers drown in their rounding."""
        at_low, at_high = self.sides
        return float((at_low + at_high) @ (np.abs(self.matrix) @ np.abs(x)))

    @cached_property
    def sides(self) -> tuple[Array, Array]:
        """Multipliers ``l`` and ``u`` >= 0 of lower and upper bounds: admissible, whatever was given."""
        given = np.nan_to_num(self.multipliers, nan=0.0, posinf=0.0, neginf=0.0)
        share = np.ones(len(given))
        for group in {*self.groups[self.groups >= 0].tolist()}:
            of = self.groups == group
            total = float(np.abs(given[of]).sum())
            share[of] = min(1.0, float(self.weights[of][0]) / total) if total else 1.0
        given = given * share
        return (
            np.where(np.isfinite(self.lower), np.clip(-given, 0.0, self.weights), 0.0),
            np.where(np.isfinite(self.upper), np.clip(given, 0.0, self.weights), 0.0),
        )


def _prices(rows: Sequence[Row]) -> tuple[Array, Array]:
    """`Dual.weights` and `Dual.groups`."""
    weights = np.array([np.inf if row.weight is None else row.weight for row in rows])
    return weights, np.array([-1 if row.group is None else row.group for row in rows], dtype=int)


def lower_bound(
    problem: Problem, x: Array, dual: Dual, search: Search | None = None, regions: Sequence[LinkRegion] | None = None
) -> Certificate:
    """Evaluate the bound of the theorem above.

    Parameters
    ----------
    problem
        Gives objective, cones and region.
    x
        Point of linearisation, shape (N,); the nearer to the optimum, the tighter.
    dual
        Linear rows and the solver's multipliers of them, whose signs are not trusted; and cuts near x.
    search
        Of links that the problem does not bound.
    regions
        Where each link's parameters can be, where tighter limits than the problem's bounds are known: any superset of
        the feasible points that are at least as good as x.
    """
    objective, residual = problem.objective, problem.objective.matrix @ x - problem.objective.target
    reach = np.abs(objective.matrix) @ np.abs(x) + np.abs(objective.target)
    others = abs(objective.constant) + dual.size_at(x)

    def bound_of(residual: Array) -> tuple[float, DualBound]:
        """The theorem's bound for any numbers as residual, less its rounding; -inf where a number is not finite."""
        found = dual_bound(problem, 2.0 * objective.matrix.T @ residual, dual, search or Search(), regions)
        square = float(residual @ residual)
        terms = 2.0 * float(np.abs(residual) @ reach) + square + found.terms + others
        value = found.value + objective.constant - square - 2.0 * float(residual @ objective.target)
        value -= 16 * np.finfo(float).eps * terms
        return (value if np.isfinite(value) else -np.inf), found

    found = [bound_of(residual)]
    for _ in range(2):  # the second takes what the first left by rounding
        residual = residual + _correction(problem, x, found[-1][1].left)
        found.append(bound_of(residual))
    value, bound = max(found, key=lambda pair: pair[0])
    # A sum of squares is never smaller than the part of it that no x can change.
    least = objective.constant
    if not np.isfinite(value):
        return Certificate(least, bound.search_region)

    def bound_at(point: Array) -> float:
        return max(value - (dual.missed(point) + bound.missed(point)), least)

    return Certificate(bound_at(x), bound.search_region, bound_at)


def _correction(problem: Problem, x: Array, left: Array) -> Array:
    """Step of the residual that takes what the rows leave of the gradient and no cone can carry at x.

    It minimises ``|R'd + h / 2|``, h the gradient left without the part that each cone carries at almost no price.
    """
    from scipy.linalg import lstsq  # slow to import

    matrix, spare = problem.objective.matrix, left.copy()
    most = _PRICE * problem.objective(x) / (4 * len(problem.cones))
    last, margins = 10 * len(problem.cones), np.array([entry.margin for entry in problem.cones])
    shares, bodies, spares = (v[:last].reshape(-1, 10) for v in (left, x, spare))
    for cone in {entry.cone for entry in problem.cones}:
        own = [k for k, entry in enumerate(problem.cones) if entry.cone == cone]
        spares[own] -= cone.complementary(shares[own], bodies[own], margins[own], abs(most))
    sizes = np.linalg.norm(matrix, axis=0)
    sizes[sizes == 0] = 1.0
    return np.asarray(lstsq((matrix / sizes).T, -spare / sizes / 2, lapack_driver="gelsy", check_finite=False)[0])


def dual_bound(
    problem: Problem, slope: Array, dual: Dual, search: Search, regions: Sequence[LinkRegion] | None = None
) -> DualBound:
    """Lower bound of ``slope'z`` (plus the price of soft rows) over all feasible z; arguments as in `lower_bound`."""
    at_low, at_high = dual.sides
    low, high = (np.where(np.isfinite(b), b, 0.0) for b in (dual.lower, dual.upper))
    left = slope - dual.matrix.T @ (at_low - at_high)
    shares, leftover, searched = [], 0.0, dict[str, float]()
    for part, gain, cost, name in (
        *_links(problem, left, search, regions or problem.regions),
        *_extras(problem, left, search),
    ):
        shares.append((part, gain - cost))
        leftover += cost
        if name is not None:
            searched[name] = search.factor
    value = float(at_low @ low - at_high @ high) + sum(share for _, share in shares)
    terms = float(at_low @ np.abs(low) + at_high @ np.abs(high))
    return DualBound(value, leftover, searched, terms, left, shares)


def _links(
    problem: Problem, left: Array, search: Search, regions: Sequence[LinkRegion]
) -> Iterator[tuple[slice, float, float, str | None]]:
    """What each link makes of the gradient that the rows leave: its gain and cost, its name where it was searched."""
    entries, standard = problem.cones, 10 * len(problem.cones)
    for cone in dict.fromkeys(entry.cone for entry in entries):
        own = [k for k, entry in enumerate(entries) if entry.cone == cone]
        body = None if search.nominal is None else search.nominal[:standard].reshape(-1, 10)[own]
        trace, box = np.array([regions[k].trace for k in own]), np.stack([regions[k].box for k in own])
        margins = np.array([entries[k].margin for k in own])
        share = cone.dual_share(left[:standard].reshape(-1, 10)[own], margins, Limits(trace, box, body, search.factor))
        for k, gain, cost, searched in zip(
            own, share.gain.tolist(), share.cost.tolist(), share.searched.tolist(), strict=True
        ):
            yield link_slice(k), gain, cost, entries[k].name if searched else None


def _extras(problem: Problem, left: Array, search: Search) -> Iterator[tuple[slice, float, float, str | None]]:
    """What each extra makes of it: it lies within its bounds, else within ``factor`` times its nominal size."""
    standard = problem.variables.standard_size
    for position, (name, (lower, upper)) in enumerate(problem.variables.extras.items(), start=standard):
        rest = float(left[position])
        if not rest:
            continue
        end, searched = lower if rest > 0 else upper, None
        if not np.isfinite(end):
            searched = name
            body = 0.0 if search.nominal is None else float(search.nominal[position])
            end = float(np.copysign(search.factor * max(1.0, abs(body)), end))
        yield slice(position, position + 1), max(0.0, rest * end), max(0.0, -rest * end), searched
