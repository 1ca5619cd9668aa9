"""Global methods: a proven gap by branching on boxes of the centres of mass, and on if-else and either-or."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count, islice
from time import perf_counter
from typing import ClassVar

import numpy as np

from casid.arrays import ALIKE, Array
from casid.errors import ProblemError
from casid.inertia import link_slice, mass_index, moment_slice
from casid.retrieval._bound import Relaxation
from casid.retrieval._combinations import Combination, combinations
from casid.retrieval._problem import Problem
from casid.retrieval._solution import Conflict, Solution, annotated, assess, reassess, relative_gap
from casid.retrieval._solver import PreparedProblem, Relaxed, SolveOptions, relaxed_bound
from casid.retrieval.methods._method import Direct, Method, SolveNext, SolveSeed, Start
from casid.retrieval.program._nlp import nominal_parameters

# ------------------------------------------------------------------ boxes and branches


def close_gap(
    solution: Solution,
    gap: float = 0.01,
    nodes: int = 100,
    seconds: float = 60.0,
    options: SolveOptions | None = None,
    patience: float = np.inf,
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
    patience
        Stop after so many relaxations in which the gap has not halved.
    """
    search = _Search(solution, gap, options or SolveOptions())
    deadline = perf_counter() + seconds
    least, halved = search.gap, search.used
    while search.open and search.used < min(nodes, halved + patience) and perf_counter() < deadline:
        if not search.split_lowest(deadline):
            break
        if search.gap <= least / 2:
            least, halved = search.gap, search.used
    return search.result()


class _Search:
    """Best-first branch and bound."""

    def __init__(self, solution: Solution, gap: float, options: SolveOptions) -> None:
        self.best, self._gap, self._options = solution, gap, options
        self._problem, self._given = solution.problem, solution.lower_bound
        self._negligible = self._problem.objective.negligible(solution.x)
        self._order = count()
        root = relaxed_bound(Relaxation(self._problem), solution.x, None, options)
        self._region = root.search_region or dict(solution.search_region)
        self._heap = [(root.bound, next(self._order), root)]  # parts of the problem, by their bounds
        self._closed = np.inf  # smallest bound of the nodes that were left for good
        self.used = 1

    @property
    def bound(self) -> float:
        """Proven bound of the whole problem so far."""
        lowest = self._heap[0][0] if self._heap else np.inf
        # no node whose bound has reached the best value holds a better point
        return max(min(lowest, self._closed, self.best.total), self._given)

    @property
    def open(self) -> bool:
        """Whether the gap still exceeds the requested one."""
        return bool(self._heap) and self.gap > self._gap

    @property
    def gap(self) -> float:
        """Relative gap so far."""
        return relative_gap(self.best.total, self.bound, self._negligible)

    def split_lowest(self, deadline: float) -> bool:
        """Split the node of smallest bound; False if no split is left that could help."""
        bound, _, part = heappop(self._heap)
        split = _where_to_split(self._problem, part)
        if split is None:
            self._closed = min(self._closed, bound)
            return False
        link, axis, at = split
        for low, high in ((-np.inf, at), (at, np.inf)):
            box = np.tile([-np.inf, np.inf], (3, 1))
            box[axis] = low, high
            self._look_at(part, part.relaxation.within(link, *box.T), perf_counter() >= deadline)
        return True

    def _look_at(self, parent: Relaxed, relaxation: Relaxation, late: bool) -> None:
        """Bound a part; after the deadline it keeps its parent's bound."""
        if late:
            heappush(self._heap, (parent.bound, next(self._order), replace(parent, relaxation=relaxation)))
            return
        near = self.best.x if parent.x is None else parent.x
        found = relaxed_bound(relaxation, near, None, self._options, enough=self.best.total)
        self.used += 1
        bound = max(found.bound, parent.bound)
        if not np.isfinite(bound) and bound > 0:
            return  # proven to be empty
        if found.x is not None and relative_gap(self.best.total, bound, self._negligible) > self._gap:
            self._try(found.x)
        heappush(self._heap, (bound, next(self._order), replace(found, bound=bound)))

    def _try(self, x: np.ndarray) -> None:
        """A local solve of the problem from a relaxation's solution."""
        if self._problem.undefined(x) is not None:
            return
        prepared = PreparedProblem(self._problem, None, replace(self._options, restarts=0), tighten=False)
        tried = prepared.solve(start=x, throw=False)
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


def _where_to_split(original: Problem, relaxed: Relaxed) -> tuple[int, int, float] | None:
    """Link, axis and place of the next split.

    The centre of mass whose constraints the relaxation's solution misses most, along the axis that is to blame.
    """
    x = relaxed.x
    if x is None:
        return None
    relaxation = relaxed.relaxation
    link, axis, missed = max(_missed(original, relaxation, x), key=lambda found: found[2], default=(0, 0, 0.0))
    if not missed > ALIKE:
        return None
    low, high = relaxation.regions[link].com[axis]
    centre = float(x[moment_slice(link)][axis] / max(x[mass_index(link)], 1e-9))
    at = 0.25 * (low + high) + 0.5 * float(np.clip(centre, low, high))
    return link, axis, float(np.clip(at, low + 0.2 * (high - low), high - 0.2 * (high - low)))


def _missed(original: Problem, relaxation: Relaxation, x: Array) -> Iterator[tuple[int, int, float]]:
    """Link, axis to blame, and by how much x misses each constraint that is not convex, relative to its size.

    Of a quadratic form to blame is the axis whose secant is farthest from it, else the one whose side was narrowed
    least.
    """
    problem = relaxation.problem
    values = problem.values(x)
    for side in relaxation.sides:
        if relaxation.is_convex(side):
            continue
        amount = side.missed(problem.constraints[side.constraint], values)
        links = [side.quadric.link] if side.quadric is not None else [s.link for s in relaxation.com_sets]
        for link in links:
            box, first, mass = relaxation.regions[link].com, original.regions[link].com, float(x[mass_index(link)])
            if not np.isfinite(box).all():
                continue
            blame = np.ptp(box, axis=1) / np.maximum(np.ptp(first, axis=1), 1e-300)
            if side.quadric is not None and mass > 0:
                secants = side.quadric.secant_errors(box, x[moment_slice(link)] / mass)
                blame = secants if secants.max() > 0 else blame
            scale = max(1e-6, abs(side.bound), float(np.abs(x[link_slice(link)][:6]).max()))
            yield link, int(np.argmax(blame)), amount / scale


@dataclass(frozen=True, eq=False)
class BranchSolution:
    """One combination of branches and its solution; None where a row that the choice makes constant excludes it."""

    chosen: dict[str, str]
    solution: Solution | None

    @property
    def empty(self) -> bool:
        """Proven to hold no feasible point."""
        return self.solution is None or self.solution.status == "infeasible"


@dataclass(frozen=True)
class Branches(Method):
    """Solve every combination of branches.

    The combinations cover the problem, so the smallest of their lower bounds is one of the problem: where each is
    convex, the gap closes although the problem is not convex. A combination that is proven to be empty does not count.
    The solution's ``trace`` holds a `BranchSolution` of each.

    Attributes
    ----------
    most : int
        Largest number of combinations.
    gap : float or None
        Where a combination is not convex itself, tighten its bound to this relative gap.
    seconds : float
        When it is over, the combinations left are given the trivial bound: the best bound so far.
    """

    most: int = 64
    gap: float | None = None
    seconds: float = float("inf")
    name: ClassVar[str] = "branches"

    def solve(self, problem: Problem, start: Start) -> Solution:
        """See `Method.solve`.

        Raises
        ------
        ProblemError
            If there are too many combinations.
        """
        deadline = perf_counter() + self.seconds
        found: list[BranchSolution] = []
        bound = np.inf
        for combination in combinations(problem, self.most, start.options.feasibility):
            left = deadline - perf_counter()
            if found and left <= 0:
                bound = -np.inf
                break
            one = BranchSolution(combination.chosen, self._one(combination, start, left))
            found.append(one)
            if one.solution is not None and not one.empty:
                bound = min(bound, one.solution.lower_bound)
        return self._best(problem, start, found, bound)

    def _one(self, combination: Combination, start: Start, seconds: float) -> Solution | None:
        if combination.problem is None:
            return None
        prepared = PreparedProblem(combination.problem, None, start.options)
        solution = prepared.solve(start.point, start.seed, throw=False)
        if self.gap is not None and solution.status == "feasible" and solution.gap > self.gap:
            return close_gap(solution, self.gap, seconds=min(seconds, 60.0), options=start.options)
        return solution

    def _best(self, problem: Problem, start: Start, found: list[BranchSolution], bound: float) -> Solution:
        trace = tuple(found)
        solutions = [b.solution for b in found if b.solution is not None]
        usable = [s for s in solutions if s.usable]
        if usable:
            best = min(usable, key=lambda s: s.total)
            return reassess(best, problem=problem, lower_bound=bound, trace=trace)
        conflict = _nothing(found, bound)
        if not solutions:
            x = nominal_parameters(problem)
            return assess(
                problem, x, converged=False, conflict=conflict, tolerances=start.options.tolerances, trace=trace
            )
        nearest = min(solutions, key=lambda s: s.max_violation)
        least = bound if np.isfinite(bound) else -np.inf
        return reassess(nearest, problem=problem, lower_bound=least, converged=False, conflict=conflict, trace=trace)


def _nothing(found: list[BranchSolution], bound: float) -> Conflict:
    """Why no combination has a feasible point: the conflict of the one that misses least.

    The bound is infinite only where every combination was tried and each is proven to be empty.
    """
    proven = bool(found) and bound == np.inf
    conflicts = [b.solution.conflict for b in found if b.solution is not None and b.solution.conflict is not None]
    if conflicts:
        least = min(conflicts, key=lambda c: sum(c.relaxation.values()))
        region = {name: limit for conflict in conflicts for name, limit in conflict.region.items()}
        return Conflict(least.conflicting, least.relaxation, least.advice, proven, region)
    words = "; ".join(", ".join(f"{k}: {v}" for k, v in b.chosen.items()) for b in found[:4])
    return Conflict((f"every combination of branches ({words})",), {}, ("none is known",), proven)


# ------------------------------------------------------------------ methods


@dataclass(frozen=True)
class Global(Method):
    """Solve, and bring the proven gap down to ``gap`` where the constraints are not convex.

    Where the direct solve leaves a gap, branches of if-else and either-or are enumerated if there are at most ``most``
    combinations; without any, what stays open is tightened by branching on boxes of the centres of mass (`close_gap`).
    When the time is over, the best bound so far is returned.

    Attributes
    ----------
    gap : float
    nodes : int
        Largest number of relaxations.
    seconds : float
        Time limit, checked between solves.
    most : int
        Largest number of combinations of branches.
    patience : float
        Leave the boxes after so many relaxations in which the gap has not halved.
    """

    gap: float = 0.01
    nodes: int = 60
    seconds: float = 30.0
    most: int = 16
    patience: float = float("inf")
    name: ClassVar[str] = "global"

    def solve(self, problem: Problem, start: Start) -> Solution:
        """See `Method.solve`."""
        began = perf_counter()
        solution = Direct().solve(problem, start)
        gap, words = max(self.gap, start.options.certified_gap), [_words("direct", solution, began)]
        left = self.seconds - (perf_counter() - began)
        if solution.status == "infeasible" or (solution.usable and solution.gap <= gap) or left <= 0:
            return annotated(solution, tried="; ".join([*words, *_next(solution)]))
        began = perf_counter()
        if self._several(problem):
            found = Branches(self.most, gap, left).solve(problem, start)
            words.append(_words(f"branches, {len(found.trace)} combinations", found, began))
            solution = solution if found.rank() > solution.rank() and found.status != "infeasible" else found
        elif solution.usable:
            solution = close_gap(solution, gap, self.nodes, left, start.options, self.patience)
            words.append(_words("branching on boxes of the centres of mass", solution, began))
        return annotated(solution, tried="; ".join([*words, *_next(solution)]))

    def _several(self, problem: Problem) -> bool:
        """Whether there are combinations of branches, and few enough."""
        try:
            return sum(1 for _ in islice(combinations(problem, self.most), 2)) > 1
        except ProblemError:
            return False


@dataclass(frozen=True)
class Auto(Global):
    """The way to a certificate, chosen: what `Global` does, to the gap of a certificate, within 10 s.

    Convex problems are certified by the direct solve. Only where it leaves a gap the branches of if-else and either-or,
    if they are few, or boxes of the centres of mass follow. `Solution.tried` names what was done, and what to try next.
    From random starts it is the direct method.
    """

    gap: float = 0.0
    seconds: float = 10.0
    patience: float = 12
    name: ClassVar[str] = "auto"

    def bind(self, problem: Problem, options: SolveOptions) -> SolveSeed:
        """See `Method.bind`."""
        return Direct().bind(problem, options)

    def follow(self, first: Problem, options: SolveOptions) -> SolveNext:
        """See `Method.follow`: what the direct method certifies; else, as any problem."""
        direct = Direct().follow(first, options)

        def solve(problem: Problem) -> Solution:
            found = direct(problem)
            return found if found.certified else self.solve(problem, Start(options=options))

        return solve


def _words(what: str, solution: Solution, began: float) -> str:
    return f"{what} ({perf_counter() - began:.1f} s): {solution.status}, gap {solution.gap:.1e}"


def _next(solution: Solution) -> list[str]:
    """What to try where no certificate was found."""
    if solution.certified or solution.status == "infeasible":
        return []
    if not solution.usable:
        return ["next: give a start, or soften a constraint"]
    if solution.problem.conditions:
        return ["next: method=Branches(most=...), every combination, however long it takes"]
    return ["next: method=Global(gap=1e-6, seconds=120), or narrower boxes of the centres of mass (com_box)"]
