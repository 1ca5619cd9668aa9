"""Methods for if-else and either-or: enumeration of the branches, and smoothing with a width that shrinks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import ClassVar

import numpy as np

from casid.errors import ProblemError
from casid.retrieval._combinations import Combination, combinations, smoothed
from casid.retrieval._problem import Problem
from casid.retrieval._result import Conflict
from casid.retrieval._solution import Solution, assess, reassess
from casid.retrieval.methods._branch_and_bound import close_gap
from casid.retrieval.methods._method import Array, Method, Start
from casid.retrieval.program._starts import nominal_parameters
from casid.retrieval.solver._certify import PreparedProblem


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
    progress : callable or None
        Called with the number of combinations done.
    """

    most: int = 64
    gap: float | None = None
    seconds: float = float("inf")
    progress: Callable[[int], object] | None = None
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
        for combination in combinations(problem, self.most):
            left = deadline - perf_counter()
            if found and left <= 0:
                bound = -np.inf
                break
            one = BranchSolution(combination.chosen, self._one(combination, start, left))
            found.append(one)
            if one.solution is not None and not one.empty:
                bound = min(bound, one.solution.lower_bound)
            if self.progress is not None:
                self.progress(len(found))
        return self._best(problem, start, found, bound)

    def _one(self, combination: Combination, start: Start, seconds: float) -> Solution | None:
        if combination.problem is None:
            return None
        prepared = PreparedProblem(combination.problem, start.nominal, start.options)
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
        conflict = _nothing(found)
        if not solutions:
            x = nominal_parameters(problem) if start.nominal is None else start.nominal
            return assess(
                problem, x, converged=False, conflict=conflict, tolerances=start.options.tolerances, trace=trace
            )
        nearest = min(solutions, key=lambda s: s.max_violation)
        least = bound if np.isfinite(bound) else -np.inf
        return reassess(nearest, problem=problem, lower_bound=least, converged=False, conflict=conflict, trace=trace)


def _nothing(found: list[BranchSolution]) -> Conflict:
    """Why no combination has a feasible point: the conflict of the one that misses least."""
    proven = bool(found) and all(b.empty for b in found)
    conflicts = [b.solution.conflict for b in found if b.solution is not None and b.solution.conflict is not None]
    if conflicts:
        least = min(conflicts, key=lambda c: sum(c.relaxation.values()))
        region = {name: limit for conflict in conflicts for name, limit in conflict.region.items()}
        return Conflict(least.conflicting, least.relaxation, least.advice, proven, region)
    words = "; ".join(", ".join(f"{k}: {v}" for k, v in b.chosen.items()) for b in found[:4])
    return Conflict((f"every combination of branches ({words})",), {}, ("none is known",), proven)


@dataclass(frozen=True)
class Smoothed(Method):
    """Solve with every if-else blended over a width that shrinks, each from the solution before, and last exactly.

    For if-else on which the direct solve does not converge: where the branches do not meet, or a start is on the wrong
    side. The solution's ``trace`` holds the smoothed solutions.

    Attributes
    ----------
    widths : sequence of float
        In units of the conditions' margins (``right - left``), decreasing.
    """

    widths: Sequence[float] = (1e-1, 1e-2, 1e-3, 1e-4)
    name: ClassVar[str] = "smoothed"

    def __post_init__(self) -> None:
        widths = tuple(float(w) for w in self.widths)
        if not widths or not all(np.isfinite(w) and w > 0 for w in widths):
            raise ProblemError(f"smoothed: widths must be positive and finite, got {widths}")
        object.__setattr__(self, "widths", widths)

    def solve(self, problem: Problem, start: Start) -> Solution:
        """See `Method.solve`."""
        point, seed = start.point, start.seed
        stages: list[Solution] = []
        for width in self.widths:
            found = PreparedProblem(smoothed(problem, width), start.nominal, start.options).solve(
                point, seed, throw=False
            )
            stages.append(found)
            if found.usable:
                point, seed = found.x, None
        exact = self._exact(problem, start, point, seed)
        if exact.usable or point is None:
            return reassess(exact, trace=tuple(stages))
        # the last smoothed point, if it holds exactly
        candidate = reassess(exact, x=point, converged=True, conflict=None)
        return reassess(candidate if candidate.usable else exact, trace=tuple(stages))

    def _exact(self, problem: Problem, start: Start, point: Array | None, seed: int | None) -> Solution:
        prepared = PreparedProblem(problem, start.nominal, start.options)
        if point is not None and not _defined(problem, point):
            point, seed = start.point, start.seed
        return prepared.solve(point, seed, throw=False)


def _defined(problem: Problem, point: Array) -> bool:
    return all(np.isfinite(value).all() for value in problem.values(point).values())
