"""Many random starts: how sure is the optimum, how unique are its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.display import Displayed
from casid.errors import ProblemError
from casid.retrieval.branches import check_dead_branches
from casid.retrieval.methods.method import Method
from casid.retrieval.methods.registry import method_of
from casid.retrieval.problem import Problem
from casid.retrieval.solution import Solution
from casid.retrieval.solver.options import SolveOptions
from casid.retrieval.solver.prepared import checked_point
from casid.retrieval.study.file import FORMAT, appending, fingerprint, read, record, revived
from casid.retrieval.study.workers import Task, connected, solve_elsewhere, solve_here

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class StudyResult:
    """One start: the problem's name within the study, the number of the start, and where it ended."""

    problem: str
    start: int
    solution: Solution

    @property
    def seed(self) -> int:
        """``casid.solve(problem, seed=seed)`` repeats the start."""
        return int(self.solution.seed or 0)


@dataclass(frozen=True, eq=False, repr=False)
class Study(Displayed):
    """All starts, ordered by problem and number.

    Attributes
    ----------
    results : tuple of StudyResult
        Failed starts included, their status says so.
    solved : int
        How many of them were solved in this run; the others came from the file.
    time : float
        Wall-clock time of this run, building included [s].
    seed : int
        Of all starts.
    """

    results: tuple[StudyResult, ...]
    solved: int
    time: float
    seed: int

    def __repr__(self) -> str:
        return f"<Study: {len(self.results)} starts, {self.certified} certified; best: {self.best!r}>"

    def plot_starts(self) -> tuple[Axes, ...]:
        """Draw where each start ended, and after how many iterations."""
        return self._plot("starts")

    @property
    def solutions(self) -> tuple[Solution, ...]:
        """One a start, in order."""
        return tuple(result.solution for result in self.results)

    @cached_property
    def best(self) -> Solution:
        """Certified if any is; then of smallest objective plus penalty."""
        return replace(min(self.solutions, key=Solution.rank), starts=len(self.results))

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
        """Range of each unknown over the certified starts, shape (N,): small where the optimum is unique."""
        good = [s.x for s in self.solutions if s.certified]
        if not good:
            return np.full(self.best.x.shape, np.inf)
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
    method: Method | str = "direct",
) -> Study:
    """Solve a problem from random starts, drawn uniformly within its bounds as in Gaz et al. 2019, Algorithm 1.

    A study in memory, of one problem, in this process; it ends early where it is proven that no point is feasible.

    Parameters
    ----------
    problem
        What to solve.
    starts
        Number of starts.
    seed
        Of all of them: the same seed gives the same results.
    nominal, options, method
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
        If no start gave a feasible point; `InfeasibleError` where it is proven that none exists.
    """
    began = perf_counter()
    if starts < 1:
        raise ProblemError(f"the number of starts must be at least 1, got {starts}")
    check_dead_branches(problem)
    scale = None if nominal is None else checked_point(problem, nominal, "nominal")
    tasks = [(problem.name, number, one) for number, one in enumerate(start_seeds(starts, seed))]
    results = []
    for (name, number, _), solution in solve_here(
        {problem.name: problem}, tasks, method_of(method), scale, options or SolveOptions()
    ):
        results.append(StudyResult(name, number, solution))
        if progress is not None:
            progress(solution)
        if solution.status == "infeasible":
            break
    study = Study(tuple(results), len(results), perf_counter() - began, seed)
    if throw:
        study.best.or_raise()
    return study


def run_study(
    problems: Problem | Mapping[str, Problem],
    file: str | Path,
    starts: int = 100,
    seed: int = 0,
    method: Method | str = "direct",
    jobs: int = 1,
    cluster: str | None = None,
    options: SolveOptions | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Study:
    """Solve every problem from many random starts; continue where an earlier run of the same study stopped.

    Parameters
    ----------
    problems
        One problem, or several by name (a sweep).
    file
        JSON-lines file of the results; made if it does not exist.
    starts, seed
        Number of starts of each problem, and the seed of all of them.
    method, options
        As in `solve`.
    jobs
        Processes on this machine (joblib); 1 solves in this process.
    cluster
        Address of a Dask scheduler (``tcp://host:8786``) in place of processes.
    progress
        Called with the number of results and the total as each one comes in.

    Raises
    ------
    ProblemError
        If the file belongs to another study or is damaged (it is left untouched), if it is in use, if joblib or Dask
        is missing, or if the cluster does not answer.
    """
    began = perf_counter()
    named = {problems.name: problems} if isinstance(problems, Problem) else dict(problems)
    if not named or starts < 1 or jobs == 0:
        raise ProblemError(f"a study needs at least one problem, start and job; got {len(named)}, {starts}, {jobs}")
    for problem in named.values():
        check_dead_branches(problem)
    chosen, given, path = method_of(method), options or SolveOptions(), Path(file)
    header = {
        "casid_study": FORMAT,
        "problems": {name: fingerprint(p) for name, p in named.items()},
        "seed": seed,
        "method": repr(chosen),
        "options": repr(given),
    }
    done = {key: r for key, r in read(path, header).items() if key[0] in named and key[1] < starts}
    tasks = [
        (name, number, one)
        for name in named
        for number, one in enumerate(start_seeds(starts, seed))
        if (name, number) not in done
    ]
    solutions = {key: revived(named[key[0]], stored, given.tolerances) for key, stored in done.items()}
    with connected(cluster), appending(path, header) as append:
        for stored, solution in _solved(named, tasks, chosen, given, jobs, cluster):
            append(stored)
            solutions[(stored["problem"], stored["start"])] = solution
            if progress is not None:
                progress(len(solutions), len(named) * starts)
    order = {name: k for k, name in enumerate(named)}
    keys = sorted(solutions, key=lambda key: (order[key[0]], key[1]))
    results = tuple(StudyResult(name, number, solutions[(name, number)]) for name, number in keys)
    return Study(results, len(tasks), perf_counter() - began, seed)


def _solved(
    named: Mapping[str, Problem],
    tasks: list[Task],
    method: Method,
    options: SolveOptions,
    jobs: int,
    cluster: str | None,
) -> Any:
    """Pairs of what is stored and the solution, as they come in."""
    if jobs == 1 and cluster is None:
        for (name, number, _), solution in solve_here(named, tasks, method, None, options):
            yield record(name, number, solution), solution
    else:
        for stored in solve_elsewhere(named, tasks, method, None, options, jobs, cluster):
            yield stored, revived(named[stored["problem"]], stored, options.tolerances)
