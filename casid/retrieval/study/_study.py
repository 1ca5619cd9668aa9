"""Many random starts of one problem or several: in this process, on several processes, or on a Dask cluster.

The file of a study has one JSON line a result, flushed to disk as soon as it is there. A study that is killed loses
what was in flight; started again with the same file it solves only what is missing. The first line identifies the
problems by a fingerprint of their numbers and expressions, so that results of another problem are never mixed in.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from importlib import import_module
from itertools import groupby, product
from operator import index
from pathlib import Path
from threading import Thread
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.arrays import Array
from casid.display import Displayed
from casid.errors import ProblemError, checked_seed
from casid.files import journal, journal_lines, parse_json
from casid.retrieval._combinations import check_dead_branches
from casid.retrieval._problem import Problem
from casid.retrieval._solution import Conflict, Solution, Tolerances, assess
from casid.retrieval._solver import SolveOptions, checked_point
from casid.retrieval.methods._method import Method, SolveSeed
from casid.retrieval.methods._solve import method_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: Name of the problem, number of the start, its seed.
Task = tuple[str, int, int]
#: Steps from a nominal body to an optimum in units of those from an optimum nearby: 46 and 3 to 5 on the Panda.
COLD = 10
#: How long a Dask scheduler may take to answer [s].
CONNECT_SECONDS = 10.0


def solve_here(
    problems: Mapping[str, Problem], tasks: Sequence[Task], method: Method, nominal: Array | None, options: SolveOptions
) -> Iterator[tuple[Task, Solution]]:
    """In this process, in order."""
    bound: dict[str, SolveSeed] = {}
    for task in tasks:
        name, _, seed = task
        if name not in bound:
            bound[name] = method.bind(problems[name], nominal, options)
        yield task, bound[name](seed)


@dataclass(frozen=True, eq=False)
class Grid(Mapping[str, Problem]):
    """One problem at many values of its parameters, by name.

    The points are solved in stretches, each from the middle of its own: none depends on which others were solved
    before, in which process, or before a kill. A middle one costs as much as `COLD` others, and these the more the
    longer the stretch is: ``COLD n / length + length`` is least.

    Attributes
    ----------
    problem : Problem
    points : mapping
        The values of each, by its name; of the parameter ``margin`` or, where there is none, of the margin.
    """

    problem: Problem
    points: Mapping[str, Mapping[str, float]]

    @classmethod
    def over(cls, problem: Problem, values: Mapping[str, Iterable[float]]) -> Grid:
        """Every combination of values."""
        settings = [dict(zip(values, map(float, some), strict=True)) for some in product(*values.values())]
        return cls(problem, {", ".join(f"{key}={value!r}" for key, value in own.items()): own for own in settings})

    @cached_property
    def _made(self) -> dict[str, Problem]:
        return {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Grid, (self.problem, self.points)

    def __getitem__(self, name: str) -> Problem:
        if name not in self._made:
            values, own = dict(self.points[name]), self.problem
            if "margin" in values and "margin" not in own.variables.parameters:
                own = replace(own, margin=values.pop("margin"))
            self._made[name] = own.at(**values)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self.points)

    @cached_property
    def leads(self) -> dict[str, str]:
        """The middle of each one's stretch."""
        names, length = [*self.points], round((COLD * len(self.points)) ** 0.5)
        return {name: names[min(k - k % length + length // 2, len(names) - 1)] for k, name in enumerate(names)}


def solve_along(
    grid: Grid, method: Method, options: SolveOptions, tasks: Sequence[Task]
) -> Iterator[tuple[Task, Solution]]:
    """Points of a grid in this process, in order."""
    for lead, stretch in groupby(tasks, lambda task: grid.leads[task[0]]):
        follow = method.follow(grid[lead], options)
        for task in stretch:
            yield task, follow(grid[task[0]])


def solve_elsewhere(
    problems: Mapping[str, Problem] | Grid,
    tasks: Sequence[Task],
    method: Method,
    options: SolveOptions,
    jobs: int | str,
) -> Iterator[dict[str, Any]]:
    """On processes of this machine, or on a cluster: records, as they come in."""
    joblib = _joblib()
    here = None if isinstance(jobs, str) else os.getpid()
    if isinstance(problems, Grid):
        blob = pickle.dumps((problems, method, options))
        stretches = groupby(tasks, lambda task: problems.leads[task[0]])
        calls = [joblib.delayed(_solve_stretch)(blob, [*of], here) for _, of in stretches]
    else:
        blobs = {name: pickle.dumps((problem, method, options)) for name, problem in problems.items()}
        calls = [joblib.delayed(_solve_one)(blobs[task[0]], task, here) for task in tasks]
    with nullcontext() if here else joblib.parallel_config(backend="dask", n_jobs=-1):
        work = {"n_jobs": jobs} if here else {}
        for records in joblib.Parallel(return_as="generator_unordered", batch_size=1, **work)(calls):
            yield from records


def _solve_one(blob: bytes, task: Task, study: int | None = None) -> list[dict[str, Any]]:
    _end_with(study)
    name, number, seed = task
    return [_record(name, number, _bound(blob)(seed))]


def _solve_stretch(blob: bytes, tasks: Sequence[Task], study: int | None = None) -> list[dict[str, Any]]:
    _end_with(study)
    return [_record(name, number, solution) for (name, number, _), solution in solve_along(*_loaded(blob), tasks)]


@lru_cache(maxsize=1)
def _end_with(study: int | None) -> None:
    """End this worker when the process of the study has ended or was killed."""

    def watch() -> None:
        while os.getppid() == study:
            sleep(1.0)
        os._exit(1)

    if study is not None and os.getppid() == study:
        Thread(target=watch, daemon=True, name="end with the study").start()


@lru_cache(maxsize=4)
def _bound(blob: bytes) -> SolveSeed:
    """The method bound to the problem, kept between the starts that a process solves."""
    problem, method, options = pickle.loads(blob)
    found: SolveSeed = method.bind(problem, None, options)
    return found


@lru_cache(maxsize=4)
def _loaded(blob: bytes) -> tuple[Grid, Method, SolveOptions]:
    """A grid, kept between its stretches that a process solves."""
    found: tuple[Grid, Method, SolveOptions] = pickle.loads(blob)
    return found


def _joblib() -> Any:
    try:
        import joblib
    except ImportError:
        raise ProblemError(
            "studies on several processes need joblib: pip install casid[study]; or use jobs=1"
        ) from None
    return joblib


@contextmanager
def connected(cluster: str | None) -> Iterator[None]:
    """A client of the Dask scheduler at an address, for as long as the study runs."""
    if cluster is None:
        yield
        return
    _joblib()
    try:
        from distributed import Client
    except ImportError:
        raise ProblemError("a Dask cluster needs the package 'distributed': pip install casid[cluster]") from None
    try:
        client = Client(cluster, timeout=CONNECT_SECONDS)
    except (OSError, TimeoutError, ValueError) as error:
        raise ProblemError(
            f"no Dask scheduler answers at '{cluster}' ({type(error).__name__}); start one, or use jobs=..."
        ) from None
    try:
        yield
    finally:
        client.close()


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
    """The solutions of all starts, ordered by problem and number.

    Attributes
    ----------
    results : tuple of StudyResult
        Failed starts included, with their status.
    solved : int
        How many of them were solved in this run; the others came from the file.
    time : float
        Wall-clock time of this run, building included [s].
    seed : int
        Of all starts.
    points : mapping
        Of a study over parameters: the values of each problem, by its name.
    """

    results: tuple[StudyResult, ...]
    solved: int
    time: float
    seed: int
    points: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def table(self) -> Any:
        """A row each start: values, status, objective, bound, gap; a DataFrame where pandas is, else dicts."""
        names = ("status", "certified", "objective", "penalty", "lower_bound", "gap")
        rows = [
            {**self.points.get(r.problem, {"problem": r.problem}), "start": r.start}
            | {name: getattr(r.solution, name) for name in names}
            for r in self.results
        ]
        try:
            return import_module("pandas").DataFrame(rows)
        except ImportError:
            return rows

    def plot_over(self, parameter: str) -> Axes:
        """Draw the optimum and its lower bound over a parameter; points without a certificate are crossed.

        Raises
        ------
        ProblemError
            If the study is not over that parameter.
        """
        from matplotlib.figure import Figure

        if not all(parameter in self.points.get(r.problem, {}) for r in self.results):
            raise ProblemError(f"the study is not over '{parameter}'")
        own = [(self.points[r.problem][parameter], r.solution) for r in self.results if r.solution.usable]
        axes = Figure(layout="constrained").subplots()
        for words, marker, quantity in (("optimum", "o", "total"), ("lower bound", "_", "lower_bound")):
            axes.plot([at for at, _ in own], [getattr(s, quantity) for _, s in own], marker, label=words)
        rest = [(at, s.total) for at, s in own if not s.certified]
        if rest:
            axes.plot(*zip(*rest, strict=True), "x", label="not certified")
        axes.set_xlabel(parameter)
        axes.set_ylabel("objective plus penalty")
        axes.legend(frameon=False)
        return axes

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
    return [int(s.generate_state(1)[0]) for s in np.random.SeedSequence(checked_seed(seed)).spawn(starts)]


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


def study(
    problems: Problem | Mapping[str, Problem],
    file: str | Path | None = None,
    starts: int | None = None,
    seed: int = 0,
    method: Method | str = "direct",
    jobs: int | str = 1,
    options: SolveOptions | None = None,
    progress: Callable[[int, int], object] | None = None,
    over: Mapping[str, Iterable[float]] | None = None,
) -> Study:
    """Solve every problem from random starts; continue where an earlier run of the same study stopped.

    Parameters
    ----------
    problems
        One problem, or several by name (a sweep).
    file
        JSON-lines file of the results, made if it does not exist; None: nothing is kept.
    starts, seed
        Number of starts of each problem (default: 100), and the seed of all of them. Points of ``over`` have one start
        by default, and no seed: the optimum of a point nearby, and where that leads to no certified one, as in `solve`.
    method, options
        As in `solve`.
    jobs
        Processes on this machine (joblib), where 1 solves in this process; or the address of a Dask scheduler
        (``tcp://host:8786``).
    progress
        Called with the number of results and the total as each one comes in.
    over
        Values of parameters of one problem (`Problem.at`), and of its ``margin``: every combination is a problem, in
        `Study.table`.

    Raises
    ------
    ProblemError
        If the file belongs to another study or is damaged (it is left untouched), if it is in use, if joblib or Dask
        is missing, if the cluster does not answer, or if ``over`` names what is no parameter.
    """
    began = perf_counter()
    named: Mapping[str, Problem] = {problems.name: problems} if isinstance(problems, Problem) else dict(problems)
    points: Mapping[str, Mapping[str, float]] = {}
    if over is not None:
        if not isinstance(problems, Problem):
            raise ProblemError("a study over parameters is of one problem")
        named = grid = Grid.over(problems, over)
        points = grid.points
    starts = starts if starts is not None else 1 if points else 100
    if not named or starts < 1 or jobs == 0:
        raise ProblemError(f"a study needs at least one problem, start and job; got {len(named)}, {starts}, {jobs}")
    for problem in named.values():
        check_dead_branches(problem)
    chosen, given = method_of(method), options or SolveOptions()
    header = _header(named, seed, chosen, given) if file is not None else {}
    stored_before = {} if file is None else _read(Path(file), header)
    done = {key: r for key, r in stored_before.items() if key[0] in named and key[1] < starts}
    seeds = list(enumerate(start_seeds(starts, seed)))
    tasks = [(name, number, one) for name in named for number, one in seeds if (name, number) not in done]
    solutions = {key: _revived(named[key[0]], stored, given.tolerances) for key, stored in done.items()}
    with connected(jobs if isinstance(jobs, str) else None), _appending(file, header) as append:
        for stored, solution in _solved(named, tasks, chosen, given, jobs, starts):
            append(stored)
            solutions[(stored["problem"], stored["start"])] = solution
            if progress is not None:
                progress(len(solutions), len(named) * starts)
    keys = [(name, number) for name in named for number, _ in seeds if (name, number) in solutions]
    results = tuple(StudyResult(name, number, solutions[(name, number)]) for name, number in keys)
    return Study(results, len(tasks), perf_counter() - began, seed, points)


def _header(named: Mapping[str, Problem], seed: int, method: Method, options: SolveOptions) -> dict[str, Any]:
    """First line of the file: what a run must share with an earlier one to continue it."""
    if isinstance(named, Grid):  # its problems differ in the values that their names state
        problems = dict.fromkeys(named, fingerprint(named[next(iter(named))]))
    else:
        problems = {name: fingerprint(problem) for name, problem in named.items()}
    return {
        "casid_study": FORMAT, "problems": problems, "seed": seed, "method": repr(method), "options": repr(options),
    }  # fmt: skip


def _solved(
    named: Mapping[str, Problem], tasks: list[Task], method: Method, options: SolveOptions, jobs: int | str, starts: int
) -> Any:
    """Pairs of what is stored and the solution, as they come in."""
    along = named if isinstance(named, Grid) and starts == 1 else None
    if jobs == 1:
        solved = (
            solve_here(named, tasks, method, None, options)
            if along is None
            else solve_along(along, method, options, tasks)
        )
        for (name, number, _), solution in solved:
            yield _record(name, number, solution), solution
    else:
        for stored in solve_elsewhere(along or dict(named), tasks, method, options, jobs):
            yield stored, _revived(named[stored["problem"]], _checked(stored), options.tolerances)


FORMAT = 2
#: What of a solution is stored beside its point; everything else is computed from the problem again.
_WORK = ("iterations", "restarts", "build_time", "solve_time", "seed", "solver_status", "converged")


def fingerprint(problem: Problem) -> str:
    """Hash of everything that a problem's solution depends on."""
    digest = hashlib.sha256()
    for array in (problem.objective.matrix, problem.objective.target, np.array([problem.objective.constant])):
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(repr((problem.variables.names, dict(problem.variables.extras))).encode())
    for constraint in problem.constraints:
        bounds = constraint.lower.tolist(), constraint.upper.tolist()
        digest.update(repr((type(constraint).__name__, constraint.label, bounds, constraint.weight)).encode())
    for entry in problem.cones:
        digest.update(repr((entry.link, entry.cone.name, entry.margin)).encode())
    expressions = ca.Function("g", [problem.variables.x], [c.expression for c in problem.constraints])
    digest.update(expressions.serialize().encode() if problem.constraints else b"")
    if problem.templates:
        digest.update(repr(dict(problem.variables.parameters)).encode())
        own = ca.Function("t", [problem.variables.x, problem.variables.p], [*problem.templates.values()])
        digest.update(repr([*problem.templates]).encode() + own.serialize().encode())
    for link in problem.variables.robot.links:
        if link.inertial is not None:
            digest.update(link.inertial.standard_parameters().tobytes())
    return digest.hexdigest()[:32]


def _record(name: str, number: int, solution: Solution) -> dict[str, Any]:
    """A result as plain data."""
    return {
        "problem": name,
        "start": number,
        "status": solution.status,
        "objective": solution.objective,
        "penalty": solution.penalty,
        "gap": solution.gap,
        "max_violation": solution.max_violation,
        "lower_bound": solution.lower_bound,
        **{key: getattr(solution, key) for key in _WORK},
        "search_region": dict(solution.search_region),
        "conflict": None if solution.conflict is None else asdict(solution.conflict),
        "x": solution.x.tolist(),
    }


def _revived(problem: Problem, stored: Mapping[str, Any], tolerances: Tolerances) -> Solution:
    """The solution of a record; its quality is computed again."""
    if len(stored["x"]) != len(problem.variables.names):
        words = f"start {stored['start']} of '{stored['problem']}' has {len(stored['x'])} numbers"
        raise ProblemError(f"study file: {words}, the problem has {len(problem.variables.names)}: remove that line")
    return assess(
        problem,
        stored["x"],
        stored["lower_bound"],
        conflict=stored["conflict"],
        search_region=stored["search_region"],
        tolerances=tolerances,
        **{key: stored[key] for key in _WORK},
    )


def _read(path: Path, header: Mapping[str, Any]) -> dict[tuple[str, int], dict[str, Any]]:
    """Results of an earlier run; an incomplete last line, left by a kill, does not count."""
    differs = {key: f"another {key}" for key in ("seed", "method")}
    differs |= {"problems": "another problem", "options": "other solver options"}
    lines = journal_lines(path, header, differs, "study file", ProblemError)
    results = {}
    for number, line in enumerate(lines, start=2):
        where = f"study file '{path}', line {number}"
        try:
            stored = _checked(parse_json(line, where, ProblemError))
            if stored["problem"] not in header["problems"]:
                raise ProblemError(f"{where}: it is of a problem that the study does not have")
        except (ProblemError, KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise ProblemError(f"{where} is damaged; it is left as it is: remove that line ({error})") from None
        results[(stored["problem"], stored["start"])] = stored
    return results


def _checked(content: Any) -> dict[str, Any]:
    """A record as `_revived` takes it, each value of the type that `_record` writes, whatever the line holds."""
    found, x = content["conflict"], np.array(content["x"], dtype=float)
    if x.ndim != 1 or not np.isfinite(x).all() or not isinstance(content["converged"], bool):
        raise ValueError("x must be finite numbers, converged true or false")
    conflict = None
    if found is not None:
        amounts = {str(text): float(amount) for text, amount in found["relaxation"].items()}
        texts, advice = tuple(map(str, found["conflicting"])), tuple(map(str, found["advice"]))
        region = {str(name): str(limit) for name, limit in found.get("region", {}).items()}
        conflict = Conflict(texts, amounts, advice, bool(found["proven"]), region)
    return {
        "problem": str(content["problem"]),
        "start": index(content["start"]),
        "x": x,
        "lower_bound": float(content["lower_bound"]),
        "conflict": conflict,
        "search_region": {str(name): float(factor) for name, factor in content["search_region"].items()},
        "iterations": index(content["iterations"]),
        "restarts": index(content["restarts"]),
        "seed": None if content["seed"] is None else index(content["seed"]),
        "build_time": float(content["build_time"]),
        "solve_time": float(content["solve_time"]),
        "solver_status": str(content["solver_status"]),
        "converged": content["converged"],
    }


def _appending(
    file: str | Path | None, header: Mapping[str, Any]
) -> AbstractContextManager[Callable[[Mapping[str, Any]], object]]:
    """A function that appends a record to a study's file, which no other process may open meanwhile."""
    return nullcontext(len) if file is None else journal(Path(file), header, "study file", ProblemError)
