"""If-else blended over a width that shrinks, and at last exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from casid.errors import ProblemError
from casid.retrieval.branches import smoothed
from casid.retrieval.methods.direct import prepare
from casid.retrieval.methods.method import Array, Method, Start
from casid.retrieval.problem import Problem
from casid.retrieval.solution import Solution, reassess


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
            found = prepare(smoothed(problem, width), start.nominal, start.options).solve(point, seed, throw=False)
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
        prepared = prepare(problem, start.nominal, start.options)
        if point is not None and not _defined(problem, point):
            point, seed = start.point, start.seed
        return prepared.solve(point, seed, throw=False)


def _defined(problem: Problem, point: Array) -> bool:
    return all(np.isfinite(value).all() for value in problem.values(point).values())
