"""Many random starts of one problem: how sure is the optimum, how unique are its parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.errors import ProblemError, SolveError
from casid.retrieval.branching.branches import check_dead_branches
from casid.retrieval.problem import Problem
from casid.retrieval.solution import Solution
from casid.retrieval.solver import Prepared, SolveOptions


@dataclass(frozen=True, eq=False)
class MultiStart:
    """Results of all starts.

    Attributes
    ----------
    best : Solution
        Certified if any is; then of smallest objective.
    solutions : tuple of Solution
        One a start, in order; failed ones included, their status says so.
    time : float
        Wall-clock time of everything, building included [s].
    seed : int
        Of all starts.
    """

    best: Solution
    solutions: tuple[Solution, ...]
    time: float
    seed: int

    @property
    def certified(self) -> int:
        """Number of starts that ended certified."""
        return sum(s.certified for s in self.solutions)

    @property
    def restarts(self) -> int:
        """Number of further attempts, over all starts."""
        return sum(s.restarts for s in self.solutions)

    @property
    def spread(self) -> NDArray[np.float64]:
        """Range of each standard parameter over the certified starts, shape (N,): small where the optimum is unique."""
        good = [s.standard_parameters for s in self.solutions if s.certified]
        if not good:
            return np.full(self.best.standard_parameters.shape, np.inf)
        return np.asarray(np.ptp(np.array(good), axis=0))


def start_seeds(starts: int, seed: int) -> list[int]:
    """Independent seed of every start; the same whatever the order or process in which they run."""
    return [int(s.generate_state(1)[0]) for s in np.random.SeedSequence(seed).spawn(starts)]


def multistart(
    problem: Problem,
    starts: int = 100,
    seed: int = 0,
    nominal: ArrayLike | None = None,
    options: SolveOptions | None = None,
    progress: Callable[[Solution], object] | None = None,
    throw: bool = True,
) -> MultiStart:
    """Solve a problem from random starts, drawn uniformly within its bounds as in Gaz et al. 2019, Algorithm 1.

    Parameters
    ----------
    problem
        What to solve.
    starts
        Number of starts.
    seed
        Of all of them: the same seed gives the same results.
    nominal, options
        As in `solve`.
    progress
        Called with each start's solution as it is done.
    throw
        Raise if no start gave a feasible point.

    Raises
    ------
    ProblemError
        If ``starts`` is not positive.
    SolveError
        If no start gave a feasible point; `InfeasibleError` where none exists.
    """
    if starts < 1:
        raise ProblemError(f"the number of starts must be at least 1, got {starts}")
    check_dead_branches(problem)
    began = perf_counter()
    prepared = Prepared(problem, nominal, options or SolveOptions())
    solutions = []
    for one in start_seeds(starts, seed):
        solution = prepared.solve(seed=one, throw=False)
        solutions.append(solution)
        if progress is not None:
            progress(solution)
        if solution.status == "infeasible":
            if throw:
                raise prepared.infeasible(solution)
            break
    best = replace(min(solutions, key=Solution.rank), starts=len(solutions))
    if throw and best.status == "failed":
        raise SolveError(
            f"problem '{problem.name}': none of {len(solutions)} starts gave a feasible point (smallest violation "
            f"{best.max_violation:.3g}); soften a constraint, or start from a point of your own",
            best,
        )
    return MultiStart(best, tuple(solutions), perf_counter() - began, seed)
