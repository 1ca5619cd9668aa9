"""Linear rows that every feasible point obeys, made from a problem's nonlinear constraints near any given point.

The relaxation of a constraint is that of its quadratic form where it has one (`casid.retrieval._region`; exact for
second-order cones and concave forms). A constraint on a single centre of mass is relaxed by planes that support the set
of centres of mass: the box of the centre of mass is halved repeatedly, and interval arithmetic removes the cells in
which no point meets the constraints, each branch of an if-else for itself. The cells that are left cover the set, of
any shape, so ``n'c <= h(n)`` with h the support of the cells in the direction n holds at every feasible point; times
the mass it is linear, ``n'l <= h(n) m``. Other constraints are left out, which only lowers a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.arrays import Array
from casid.expressions import choose, conditions, enclose
from casid.inertia import link_slice, mass_index, moment_slice
from casid.retrieval._problem import Problem
from casid.retrieval._region import LinkRegion, Quadric, com_quotients
from casid.retrieval._rows import Row
from casid.retrieval.constraints._bounds import com_box
from casid.retrieval.constraints._constraint import FEASIBILITY, MOST_ALTERNATIVES, Constraint

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
    size : int
        Number of unknowns.
    axes : tuple of int
        Coordinates on which the functions depend: the others need no halving.
    """

    link: int
    box: Array
    alternatives: tuple[ca.Function, ...]
    size: int
    axes: tuple[int, ...]

    def cells(self, depth: int = 3) -> Array:
        """Cells that may hold feasible points, shape (K, 3, 2), after ``depth`` halvings of every side."""
        cells = self.box[None]
        for _ in range(depth):
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
        free = np.full(self.size, np.inf)
        for function in self.alternatives:
            met = np.ones(len(cells), dtype=bool)
            for interval in enclose(function, -free, free, com_quotients(self.link, cells)):
                met &= np.broadcast_to(getattr(interval, end) >= -FEASIBILITY, met.shape)
            keep |= met
        return keep


def depends_on_com_only(function: ca.Function, size: int, links: int) -> int | None:
    """The one link whose centre of mass is all that a function of x depends on; else None."""
    free = np.full(size, np.inf)
    anywhere = np.tile([-np.inf, np.inf], (3, 1))
    quotients = {pair: box for k in range(links) for pair, box in com_quotients(k, anywhere).items()}
    found: frozenset[int] = frozenset()
    for interval in enclose(function, -free, free, quotients):
        if interval.entries:
            return None
        found = found | {mass // 10 for _, mass in interval.quotients}
    return next(iter(found)) if len(found) == 1 else None


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
    def _curved(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """Constraints and their entries that the solver gets as nonlinear rows, soft ones included."""
        return tuple(entry for entries, _ in self._parts for entry in entries)

    @cached_property
    def sides(self) -> tuple[Side, ...]:
        """Every finite bound of every hard nonlinear constraint that is not implied by another."""
        return tuple(side for _, sides in self._parts for side in sides)

    @cached_property
    def _parts(self) -> list[tuple[list[tuple[int, tuple[int, ...]]], list[Side]]]:
        """Both, of constraints that problems at other parameters share, and of the rest."""
        parts = []
        for at, some in self.problem.parts:
            found = some[0].kept("sides", at, some, *self.problem.setting.facts)
            if not found:
                found.append(self._part(at, some))
            parts += found
        return parts

    def _part(
        self, at: tuple[int, ...], some: tuple[Constraint, ...]
    ) -> tuple[list[tuple[int, tuple[int, ...]]], list[Side]]:
        curved, sides = [], []
        for index, constraint in zip(at, some, strict=True):
            rows = constraint.solver_rows(self.problem.setting)
            entries = tuple(sorted({row.entry for row in rows if not row.linear}))
            if entries:
                curved.append((index, entries))
            if constraint.hard:
                sides += [side for entry in entries for side in self._both_sides(index, constraint, entry)]
        return curved, sides

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
        soft = [c for index, _ in self._curved if not (c := self.problem.constraints[index]).hard]
        return tuple(dict.fromkeys([*labels, *(c.label for c in soft if not (c.kept_in_relaxation or c.shared))]))

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

    def set_cuts(self, x: Array) -> list[Cut]:
        """Supporting planes of the sets of centres of mass, in the directions in which x lies outside."""
        cuts = []
        for com_set in self.com_sets:
            point = x[link_slice(com_set.link)]
            if point[9] > 0:
                for direction in self._directions(com_set, point[6:9] / point[9]):
                    height = com_set.support(
                        direction, self._cells[com_set.link], 5e-4 * float(np.ptp(com_set.box, axis=1).max())
                    )
                    form = np.zeros(10)
                    form[6:9], form[9] = -direction, height if np.isfinite(height) else -1e3
                    cuts.append(self._embed(form, com_set.link, 0.0, self._set_sides[com_set.link][0]))
        return cuts

    def within(self, link: int, low: Array, high: Array) -> Relaxation:
        """That of the problem with a narrower box of a link's centre of mass; what is known of its sides is kept."""
        box = com_box(self.problem.variables[link], low, high, label=self.problem.free_label("box of the relaxation"))
        narrower = Relaxation(self.problem.add(box))
        kept = ("_curved", "sides", "_by_row", "_set_sides", "_set_functions")
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
        size = self.problem.variables.size
        return tuple(
            ComSet(link, self.regions[link].com, functions, size, axes)
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
            link = depends_on_com_only(ca.Function("g", [x], [self._row(side)]), x.numel(), len(positive))
            if link is not None and positive[link] and np.isfinite(self.regions[link].com).all():
                if side.quadric is None or not self.is_convex(side) or link in found:
                    found.setdefault(link, []).append(side)
        return found

    def _row(self, side: Side) -> ca.SX:
        """The side as ``row >= 0``."""
        return ca.SX(side.sign * (self.problem.constraints[side.constraint].expression[side.entry] - side.bound))

    @cached_property
    def _cells(self) -> dict[int, Array]:
        return {com_set.link: com_set.cells() for com_set in self.com_sets}

    def _directions(self, com_set: ComSet, centre: Array) -> list[Array]:
        """From the nearest point of the remaining cells' hull to a centre of mass outside it; empty if it is inside."""
        cells = self._cells[com_set.link]
        away = _away_from_hull(centre, _corners(cells)) if len(cells) else np.array([1.0, 0.0, 0.0])
        return [away] if away is not None else []

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


def _corners(cells: Array) -> Array:
    low, high = cells[:, :, 0], cells[:, :, 1]
    picks = [np.where(np.array(p), high, low) for p in product((False, True), repeat=3)]
    return np.unique(np.concatenate(picks).round(12), axis=0)


def _away_from_hull(point: Array, corners: Array) -> Array | None:
    """Unit vector from the hull's point nearest to ``point``.

    None if the point is in the hull (Gilbert's algorithm).
    """
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
