"""The proven gap brought down: branches enumerated, then boxes of the centres of mass split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from time import perf_counter
from typing import ClassVar

from casid.errors import ProblemError
from casid.retrieval.branches import combinations
from casid.retrieval.methods.branches import Branches
from casid.retrieval.methods.closing import close_gap
from casid.retrieval.methods.direct import Direct
from casid.retrieval.methods.method import Method, Start
from casid.retrieval.problem import Problem
from casid.retrieval.solution import Solution


@dataclass(frozen=True)
class Global(Method):
    """Solve, and bring the proven gap down to ``gap`` where the constraints are not convex.

    Branches of if-else and either-or are enumerated if there are at most ``most`` combinations; what stays open is
    tightened by branching on boxes of the centres of mass (`close_gap`). When the time is over, the best bound so far
    is returned.

    Attributes
    ----------
    gap : float
    nodes : int
        Largest number of relaxations.
    seconds : float
        Time limit, checked between solves.
    most : int
        Largest number of combinations of branches.
    progress : callable or None
        Called with the best total, the proven bound and the number of relaxations so far.
    """

    gap: float = 0.01
    nodes: int = 60
    seconds: float = 30.0
    most: int = 16
    progress: Callable[[float, float, int], object] | None = None
    name: ClassVar[str] = "global"

    def solve(self, problem: Problem, start: Start) -> Solution:
        """See `Method.solve`."""
        began = perf_counter()
        if self._several(problem):
            return Branches(self.most, self.gap, self.seconds).solve(problem, start)
        solution = Direct().solve(problem, start)
        left = self.seconds - (perf_counter() - began)
        if not solution.usable or solution.gap <= max(self.gap, start.options.certified_gap) or left <= 0:
            return solution
        return close_gap(solution, self.gap, self.nodes, left, start.options, self.progress)

    def _several(self, problem: Problem) -> bool:
        """Whether there are combinations of branches, and few enough."""
        try:
            return sum(1 for _ in islice(combinations(problem, self.most), 2)) > 1
        except ProblemError:
            return False
