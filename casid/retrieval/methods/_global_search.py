"""Global methods: a proven gap by branching, and the way to a certificate that is chosen by itself."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from time import perf_counter
from typing import ClassVar

from casid.errors import ProblemError
from casid.retrieval._combinations import combinations
from casid.retrieval._problem import Problem
from casid.retrieval._solution import Solution, annotated
from casid.retrieval._solver import SolveOptions
from casid.retrieval.methods._branching import Branches, close_gap
from casid.retrieval.methods._method import Direct, Method, SolveNext, SolveSeed, Start


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
