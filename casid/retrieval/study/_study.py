"""Many random starts of one problem or several: in this process, on several processes, or on a Dask cluster.

The file of a study has one JSON line a result, flushed to disk as soon as it is there. A study that is killed loses
what was in flight; started again with the same file it solves only what is missing. The first line identifies the
problems by a fingerprint of their numbers and expressions, so that results of another problem are never mixed in.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
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
from numpy.typing import NDArray

from casid.display import Displayed
from casid.errors import ProblemError, checked_seed
from casid.files import journal, journal_lines, parse_json
from casid.retrieval._combinations import check_dead_branches
from casid.retrieval._problem import Problem
from casid.retrieval._solution import Conflict, Solution, Tolerances, annotated, assess
from casid.retrieval._solver import SolveOptions
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
    _made: dict[str, Problem] = field(default_factory=dict, init=False)

    @classmethod
    def over(cls, problem: Problem, values: Mapping[str, Iterable[float]]) -> Grid:
        """Every combination of values."""
        settings = [dict(zip(values, map(float, some), strict=True)) for some in product(*values.values())]
        return cls(problem, {", ".join(f"{key}={value!r}" for key, value in own.items()): own for own in settings})

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

    def stretches(self, tasks: Iterable[Task]) -> Iterator[tuple[str, Iterator[Task]]]:
        """The tasks of each stretch, with its middle."""
        return groupby(tasks, lambda task: self.leads[task[0]])


@dataclass(frozen=True, eq=False)
class Work:
    """What a process needs to solve starts: problems by name, method and options.

    Attributes
    ----------
    problems : mapping of str to Problem
        The points of a `Grid` are solved along its stretches, others from the random start of each seed.
    method : Method
    options : SolveOptions
    """

    problems: Mapping[str, Problem]
    method: Method
    options: SolveOptions
    _bound: dict[str, SolveSeed] = field(default_factory=dict, init=False)

    def solve(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Solution]]:
        """In this process, in order."""
        if isinstance(self.problems, Grid):
            for lead, stretch in self.problems.stretches(tasks):
                follow = self.method.follow(self.problems[lead], self.options)
                for task in stretch:
                    yield task, follow(self.problems[task[0]])
            return
        for task in tasks:
            name, _, seed = task
            if name not in self._bound:
                self._bound[name] = self.method.bind(self.problems[name], self.options)
            yield task, self._bound[name](seed)

    def parts(self, tasks: Iterable[Task]) -> list[tuple[bytes, list[Task]]]:
        """What is solved in one piece, with all that another process needs for it."""
        if isinstance(self.problems, Grid):
            blob = pickle.dumps(self)
            return [(blob, [*stretch]) for _, stretch in self.problems.stretches(tasks)]
        blobs = {name: pickle.dumps(replace(self, problems={name: own})) for name, own in self.problems.items()}
        return [(blobs[task[0]], [task]) for task in tasks]

    def solve_elsewhere(self, tasks: Iterable[Task], jobs: int | str) -> Iterator[tuple[Task, Solution]]:
        """On processes of this machine, or on a cluster, which begin with it at once: as they come in."""
        joblib = _joblib()
        here = None if isinstance(jobs, str) else os.getpid()
        calls = [joblib.delayed(_solve_part)(*part, here) for part in self.parts(tasks)]
        with nullcontext() if here else joblib.parallel_config(backend="dask", n_jobs=-1):
            work = {"n_jobs": jobs} if here else {}
            parts = joblib.Parallel(return_as="generator_unordered", batch_size=1, **work)(calls)
        return ((task, annotated(own, problem=self.problems[task[0]])) for part in parts for task, own in part)


def _solve_part(blob: bytes, tasks: list[Task], study: int | None) -> list[tuple[Task, Solution]]:
    """The solutions without their problem, which the study has."""
    _end_with(study)
    return [(task, annotated(solution, problem=None)) for task, solution in _loaded(blob).solve(tasks)]


@lru_cache(maxsize=4)
def _loaded(blob: bytes) -> Work:
    """Kept between the parts that a process solves."""
    found: Work = pickle.loads(blob)
    return found


@lru_cache(maxsize=1)
def _end_with(study: int | None) -> None:
    """End this worker when the process of the study has ended or was killed."""

    def watch() -> None:
        while os.getppid() == study:
            sleep(1.0)
        os._exit(1)

    if study is not None and os.getppid() == study:
        Thread(target=watch, daemon=True, name="end with the study").start()


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
    with client:
        yield


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
        return annotated(min(self.solutions, key=Solution.rank), starts=len(self.results))

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
    options, method
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
    tasks = [(problem.name, number, one) for number, one in enumerate(start_seeds(starts, seed))]
    work = Work({problem.name: problem}, method_of(method), options or SolveOptions())
    results = []
    for (name, number, _), solution in work.solve(tasks):
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
    work = Work(named if starts == 1 else dict(named), method_of(method), options or SolveOptions())
    path = None if file is None else Path(file)
    header = {} if path is None else _header(named, seed, work)
    stored = {} if path is None else _read(path, header)
    tolerances = work.options.tolerances
    solutions = {k: _revived(k, named[k[0]], found, tolerances) for k, found in stored.items() if k[1] < starts}
    seeds = list(enumerate(start_seeds(starts, seed)))
    tasks = [(name, number, one) for name in named for number, one in seeds if (name, number) not in solutions]
    with connected(jobs if isinstance(jobs, str) else None):
        found = work.solve(tasks) if jobs == 1 else work.solve_elsewhere(tasks, jobs)
        for problem in named.values():
            check_dead_branches(problem)
        with nullcontext(len) if path is None else journal(path, header, "study file", ProblemError) as append:
            for (name, number, _), solution in found:
                append(_record(name, number, solution))
                solutions[(name, number)] = solution
                if progress is not None:
                    progress(len(solutions), len(named) * starts)
    results = tuple(StudyResult(name, number, solutions[(name, number)]) for name in named for number in range(starts))
    return Study(results, len(tasks), perf_counter() - began, seed, points)


def _header(named: Mapping[str, Problem], seed: int, work: Work) -> dict[str, Any]:
    """First line of the file: what a run must share with an earlier one to continue it."""
    if isinstance(named, Grid):  # its problems differ in the values that their names state
        problems = dict.fromkeys(named, fingerprint(named[next(iter(named))]))
    else:
        problems = {name: fingerprint(problem) for name, problem in named.items()}
    return {
        "casid_study": FORMAT,
        "problems": problems,
        "seed": seed,
        "method": repr(work.method),
        "options": repr(work.options),
    }


FORMAT = 2
_QUALITY = ("status", "objective", "penalty", "gap", "max_violation", "lower_bound")
#: What of a solution is stored beside its point, as these types; everything else is computed from the problem again.
_WORK: dict[str, Callable[[Any], Any]] = {
    "iterations": index,
    "restarts": index,
    "build_time": float,
    "solve_time": float,
    "seed": lambda seed: None if seed is None else index(seed),
    "solver_status": str,
    "converged": bool,
}


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
        **{key: getattr(solution, key) for key in (*_QUALITY, *_WORK)},
        "search_region": dict(solution.search_region),
        "conflict": None if solution.conflict is None else asdict(solution.conflict),
        "x": solution.x.tolist(),
    }


def _revived(start: tuple[str, int], problem: Problem, stored: Mapping[str, Any], tolerances: Tolerances) -> Solution:
    """The solution of a record; its quality is computed again."""
    size, found = len(problem.variables.names), len(stored["x"])
    if found != size:
        words = f"start {start[1]} of '{start[0]}' has {found} numbers, the problem has {size}"
        raise ProblemError(f"study file: {words}: remove that line")
    return assess(problem, tolerances=tolerances, **stored)


def _read(path: Path, header: Mapping[str, Any]) -> dict[tuple[str, int], dict[str, Any]]:
    """Results of an earlier run; an incomplete last line, left by a kill, does not count."""
    differs = {key: f"another {key}" for key in ("seed", "method")}
    differs |= {"problems": "another problem", "options": "other solver options"}
    lines = journal_lines(path, header, differs, "study file", ProblemError)
    results = {}
    for number, line in enumerate(lines, start=2):
        where = f"study file '{path}', line {number}"
        try:
            stored = parse_json(line, where, ProblemError)
            start = str(stored["problem"]), index(stored["start"])
            results[start] = _checked(stored)
            if start[0] not in header["problems"]:
                raise ProblemError(f"{where}: it is of a problem that the study does not have")
        except (ProblemError, KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise ProblemError(f"{where} is damaged; it is left as it is: remove that line ({error})") from None
    return results


def _checked(content: Any) -> dict[str, Any]:
    """What `assess` takes of a record, each value of the type that `_record` writes, whatever the line holds."""
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
        "x": x,
        "lower_bound": float(content["lower_bound"]),
        "conflict": conflict,
        "search_region": {str(name): float(factor) for name, factor in content["search_region"].items()},
        **{key: kind(content[key]) for key, kind in _WORK.items()},
    }
