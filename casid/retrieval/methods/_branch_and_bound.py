"""Branch and bound on boxes of the centres of mass: smaller gaps of nonconvex problems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count
from time import perf_counter

import numpy as np

from casid.inertia._parameter_vector import link_slice, mass_index, moment_slice
from casid.retrieval._problem import Problem
from casid.retrieval._result import relative_gap
from casid.retrieval._solution import Solution, reassess
from casid.retrieval.bound._cuts import Relaxation
from casid.retrieval.constraints._bounds import com_box
from casid.retrieval.solver._build import SolveOptions
from casid.retrieval.solver._certify import PreparedProblem, Relaxed, relaxed_bound

#: Called with the best solution's total, the proven bound, and the number of relaxations solved so far.
Progress = Callable[[float, float, int], object]


@dataclass(order=True)
class _Node:
    """A part of the problem with its bound; ``boxes`` are the splits that led there, ``label -> (link, low, high)``."""

    bound: float
    number: int
    problem: Problem = field(compare=False)
    relaxed: Relaxed = field(compare=False)


def close_gap(
    solution: Solution,
    gap: float = 0.01,
    nodes: int = 100,
    seconds: float = 60.0,
    options: SolveOptions | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Tighten a solution's lower bound, and improve the solution, by branching on boxes of the centres of mass.

    Each node is the problem with smaller boxes: its relaxation is tighter. The node of smallest bound is split next,
    so that the smallest bound of all open nodes is a bound of the problem at any time.

    Parameters
    ----------
    solution
        A feasible solution of a problem whose constraints are not known to be convex.
    gap
        Stop at this relative gap.
    nodes, seconds
        Stop after so many relaxations, or so long; the best bound so far is returned.
    progress
        Called after every relaxation.
    """
    search = _Search(solution, gap, options or SolveOptions())
    deadline = perf_counter() + seconds
    while search.open and search.used < nodes and perf_counter() < deadline:
        if not search.split_lowest(deadline):
            break
        if progress is not None:
            progress(search.best.total, search.bound, search.used)
    return search.result()


class _Search:
    """Best-first branch and bound."""

    def __init__(self, solution: Solution, gap: float, options: SolveOptions) -> None:
        self.best, self._gap, self._options = solution, gap, options
        self._problem, self._given = solution.problem, solution.lower_bound
        self._negligible = self._problem.objective.negligible(solution.x)
        self._order = count()
        root = relaxed_bound(self._problem, solution.x, None, options)
        self._region = root.search_region or dict(solution.search_region)
        self._heap = [_Node(root.bound, next(self._order), self._problem, root)]
        self._closed = np.inf  # smallest bound of the nodes that were left for good
        self.used = 1

    @property
    def bound(self) -> float:
        """Proven bound of the whole problem so far."""
        lowest = min((node.bound for node in self._heap), default=np.inf)
        # no node whose bound has reached the best value holds a better point
        return max(min(lowest, self._closed, self.best.total), self._given)

    @property
    def open(self) -> bool:
        """Whether the gap still exceeds the requested one."""
        return bool(self._heap) and relative_gap(self.best.total, self.bound, self._negligible) > self._gap

    def split_lowest(self, deadline: float) -> bool:
        """Split the node of smallest bound; False if no split is left that could help."""
        node = heappop(self._heap)
        split = _where_to_split(self._problem, node)
        if split is None:
            self._closed = min(self._closed, node.bound)
            return False
        link, axis, at = split
        for low, high in ((-np.inf, at), (at, np.inf)):
            box = np.tile([-np.inf, np.inf], (3, 1))
            box[axis] = low, high
            label = f"box {self.used}.{0 if np.isinf(low) else 1} of the search"
            part = com_box(self._problem.variables[link], box[:, 0], box[:, 1], label=node.problem.free_label(label))
            self._look_at(node, node.problem.with_constraints(part), perf_counter() >= deadline)
        return True

    def _look_at(self, parent: _Node, problem: Problem, late: bool) -> None:
        """Bound a part; after the deadline it keeps its parent's bound."""
        if late:
            heappush(self._heap, _Node(parent.bound, next(self._order), problem, parent.relaxed))
            return
        near = self.best.x if parent.relaxed.x is None else parent.relaxed.x
        found = relaxed_bound(problem, near, None, self._options, enough=self.best.total)
        self.used += 1
        bound = max(found.bound, parent.bound)
        if not np.isfinite(bound) and bound > 0:
            return  # proven to be empty
        if found.x is not None and relative_gap(self.best.total, bound, self._negligible) > self._gap:
            self._try(found.x)
        heappush(self._heap, _Node(bound, next(self._order), problem, replace(found, bound=bound)))

    def _try(self, x: np.ndarray) -> None:
        """A local solve of the problem from a relaxation's solution."""
        if not np.isfinite(np.concatenate([v for v in self._problem.values(x).values()] or [np.zeros(1)])).all():
            return
        tried = PreparedProblem(self._problem, None, replace(self._options, restarts=0)).solve(start=x, throw=False)
        if tried.rank() < self.best.rank():
            self.best = tried

    def result(self) -> Solution:
        """The best solution with the proven bound."""
        return reassess(
            self.best,
            lower_bound=max(self.bound, self.best.lower_bound),
            search_region=self._region,
            solver_status=f"{self.best.solver_status}; {self.used} relaxations",
        )


def _where_to_split(original: Problem, node: _Node) -> tuple[int, int, float] | None:
    """Link, axis and place of the next split.

    The centre of mass whose constraints the relaxation's solution misses most, along its widest side.
    """
    x = node.relaxed.x
    if x is None:
        return None
    relaxation = Relaxation(node.problem)
    missed = {
        link: amount
        for link, amount in _missed(node.problem, relaxation, x).items()
        if amount > 1e-9 and np.isfinite(relaxation.regions[link].com).all()
    }
    if not missed:
        return None
    link = max(missed, key=missed.__getitem__)
    box, first = relaxation.regions[link].com, original.regions[link].com
    widths = np.ptp(first, axis=1) if np.isfinite(first).all() else np.ones(3)
    axis = int(np.argmax(np.ptp(box, axis=1) / np.maximum(widths, 1e-300)))
    low, high = box[axis]
    centre = float(x[moment_slice(link)][axis] / max(x[mass_index(link)], 1e-9))
    at = 0.5 * float(box[axis].mean()) + 0.5 * float(np.clip(centre, low, high))
    return link, axis, float(np.clip(at, low + 0.2 * (high - low), high - 0.2 * (high - low)))


def _missed(problem: Problem, relaxation: Relaxation, x: np.ndarray) -> dict[int, float]:
    """By how much x misses the constraints that are not convex, for every link they concern, relative to their size."""
    values = problem.values(x)
    worst: dict[int, float] = {}
    for side in relaxation.sides:
        if relaxation.is_convex(side):
            continue
        amount = side.missed(problem.constraints[side.constraint], values)
        links = [side.quadric.link] if side.quadric is not None else [s.link for s in relaxation.com_sets]
        for link in links:
            scale = max(1e-6, abs(side.bound), float(np.abs(x[link_slice(link)][:6]).max()))
            worst[link] = max(worst.get(link, 0.0), amount / scale)
    return worst
