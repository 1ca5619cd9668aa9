"""Studies at scale: many starts of one or of many problems, on processes or a cluster.

Streamed to a file and resumable.

Every result is a line of a JSON-lines file, appended and flushed to disk as soon as it is there. A study that is
killed loses what was in flight; started again with the same file it solves only what is missing. The file's first
line identifies the problems by a fingerprint of their numbers and expressions, so that results of another problem are
never mixed in.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import pickle
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.errors import ProblemError
from casid.retrieval.branching.branches import check_dead_branches
from casid.retrieval.branching.penalty import solve_by_penalty
from casid.retrieval.multistart import start_seeds
from casid.retrieval.problem import Problem
from casid.retrieval.solution import Solution
from casid.retrieval.solver import Prepared, SolveOptions

Method = Literal["direct", "penalty"]
Array = NDArray[np.float64]
_FORMAT = 1
#: How long a Dask scheduler may take to answer [s].
CONNECT_SECONDS = 10.0


@dataclass(frozen=True, eq=False)
class StudyResult:
    """One solve of a study.

    Attributes
    ----------
    problem : str
        Name of the problem within the study.
    start : int
        Number of the start.
    seed : int
        ``casid.solve(problem, seed=seed)`` repeats it.
    status, objective, penalty, lower_bound, gap, certified, max_violation, iterations, time
        As in `Solution`; time in seconds.
    standard_parameters : ndarray, shape (N,)
    """

    problem: str
    start: int
    seed: int
    status: str
    objective: float
    penalty: float
    lower_bound: float
    gap: float
    certified: bool
    max_violation: float
    iterations: int
    time: float
    standard_parameters: Array


@dataclass(frozen=True, eq=False)
class Study:
    """All results, ordered by problem and start.

    Attributes
    ----------
    results : tuple of StudyResult
    solved : int
        How many of them were solved in this run; the others came from the file.
    time : float
        Of this run [s].
    """

    results: tuple[StudyResult, ...]
    solved: int
    time: float

    @property
    def certified(self) -> int:
        """Number of certified results."""
        return sum(r.certified for r in self.results)

    @property
    def best(self) -> StudyResult:
        """Feasible result of smallest objective plus penalty."""
        usable = [r for r in self.results if r.status in ("optimal", "feasible")]
        return min(usable or self.results, key=lambda r: r.objective + r.penalty)


def fingerprint(problem: Problem) -> str:
    """Hash of everything that a problem's solution depends on."""
    digest = hashlib.sha256()
    for array in (problem.objective.matrix, problem.objective.target, np.array([problem.objective.constant])):
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(repr((problem.variables.names, dict(problem.variables.extras))).encode())
    for constraint in problem.constraints:
        digest.update(
            repr(
                (
                    constraint.label,
                    constraint.lower.tolist(),
                    constraint.upper.tolist(),
                    constraint.weight,
                    constraint.quantity,
                    constraint.links,
                )
            ).encode()
        )
    for cone in problem.cones:
        digest.update(repr((cone.link, cone.kind, cone.margin)).encode())
    expressions = ca.Function("g", [problem.variables.x], [c.expression for c in problem.constraints])
    digest.update(expressions.serialize().encode() if problem.constraints else b"")
    for link in problem.variables.robot.links:
        if link.inertial is not None:
            digest.update(link.inertial.standard_parameters().tobytes())
    return digest.hexdigest()[:32]


def run_study(
    problems: Problem | Mapping[str, Problem],
    file: str | Path,
    starts: int = 100,
    seed: int = 0,
    method: Method = "direct",
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
    method
        ``direct`` or ``penalty`` (Algorithm 1 of Gaz et al. 2019, kappa = 10).
    jobs
        Processes on this machine (joblib); 1 solves in this process.
    cluster
        Address of a Dask scheduler (``tcp://host:8786``) in place of processes.
    options
        Of every solve.
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
    options = options or SolveOptions()
    path = Path(file)
    header = {
        "casid_study": _FORMAT,
        "problems": {name: fingerprint(p) for name, p in named.items()},
        "seed": seed,
        "method": method,
        "options": repr(options),
    }
    done = _read(path, header)
    tasks = [
        (name, number, one)
        for name in named
        for number, one in enumerate(start_seeds(starts, seed))
        if (name, number) not in done
    ]
    total = len(named) * starts
    results = {key: r for key, r in done.items() if key[0] in named and key[1] < starts}
    with _connected(cluster), _appending(path, header) as append:
        for result in _solve_all(named, tasks, method, options, jobs, cluster):
            append(result)
            results[(result["problem"], result["start"])] = result
            if progress is not None:
                progress(len(results), total)
    order = {name: k for k, name in enumerate(named)}
    ordered = sorted(results.values(), key=lambda r: (order[r["problem"]], r["start"]))
    return Study(tuple(_result(r) for r in ordered), len(tasks), perf_counter() - began)


# ---------------------------------------------------------------------- solving


def _solve_all(
    named: Mapping[str, Problem],
    tasks: list[tuple[str, int, int]],
    method: Method,
    options: SolveOptions,
    jobs: int,
    cluster: str | None,
) -> Iterator[dict[str, Any]]:
    blobs = {name: pickle.dumps((problem, options)) for name, problem in named.items()}
    if jobs == 1 and cluster is None:
        for name, number, seed in tasks:
            yield _solve_one(blobs[name], name, number, seed, method)
        return
    joblib = _joblib()
    calls = (joblib.delayed(_solve_one)(blobs[name], name, number, seed, method) for name, number, seed in tasks)
    if cluster is None:
        yield from joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)(calls)
        return
    with joblib.parallel_config(backend="dask", n_jobs=-1):
        yield from joblib.Parallel(return_as="generator_unordered", batch_size=1)(calls)


def _solve_one(blob: bytes, name: str, number: int, seed: int, method: Method) -> dict[str, Any]:
    prepared = _prepared(blob)
    if method == "penalty":
        bound = _direct_bound(blob)
        solution = solve_by_penalty(prepared.problem, seed=seed, options=prepared.options, lower_bound=bound).solution
    else:
        solution = prepared.solve(seed=seed, throw=False)
    return _record(name, number, seed, solution)


@lru_cache(maxsize=4)
def _prepared(blob: bytes) -> Prepared:
    """The problem with its program built, kept between the starts that a process solves."""
    problem, options = pickle.loads(blob)
    return Prepared(problem, None, options)


@lru_cache(maxsize=4)
def _direct_bound(blob: bytes) -> float:
    return _prepared(blob).solve(throw=False).lower_bound


def _record(name: str, number: int, seed: int, solution: Solution) -> dict[str, Any]:
    return {
        "problem": name,
        "start": number,
        "seed": seed,
        "status": solution.status,
        "objective": solution.objective,
        "penalty": solution.penalty,
        "lower_bound": solution.lower_bound,
        "gap": solution.gap,
        "certified": bool(solution.certified),
        "max_violation": solution.max_violation,
        "iterations": solution.iterations,
        "time": solution.solve_time,
        "x": solution.standard_parameters.tolist(),
    }


def _result(record: Mapping[str, Any]) -> StudyResult:
    values = {k: v for k, v in record.items() if k != "x"}
    return StudyResult(**values, standard_parameters=np.array(record["x"], dtype=float))


def _joblib() -> Any:
    try:
        import joblib
    except ImportError:
        raise ProblemError(
            "studies on several processes need joblib: pip install casid[study]; or use jobs=1"
        ) from None
    return joblib


@contextmanager
def _connected(cluster: str | None) -> Iterator[None]:
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


# ---------------------------------------------------------------------- file


def _read(path: Path, header: Mapping[str, Any]) -> dict[tuple[str, int], dict[str, Any]]:
    """Results of an earlier run; an incomplete last line, left by a kill, does not count."""
    if not path.exists():
        return {}
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise ProblemError(f"study file '{path}' cannot be read: {error.strerror or error}") from None
    complete = lines[:-1]
    try:
        found = json.loads(complete[0]) if complete else None
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("casid_study") != _FORMAT:
        raise ProblemError(
            f"'{path}' is not a study file of this version of casid; it is left as it is: choose another name"
        )
    for key, what in (
        ("problems", "another problem"),
        ("seed", "another seed"),
        ("method", "another method"),
        ("options", "other solver options"),
    ):
        if found.get(key) != header[key]:
            raise ProblemError(f"study file '{path}' belongs to {what}; it is left as it is: choose another name")
    results = {}
    for number, line in enumerate(complete[1:], start=2):
        try:
            record = json.loads(line)
            results[(record["problem"], record["start"])] = _revived(record)
        except (ValueError, KeyError, TypeError):
            raise ProblemError(
                f"study file '{path}', line {number} is damaged; it is left as it is: remove that line"
            ) from None
    return results


def _revived(record: dict[str, Any]) -> dict[str, Any]:
    return {k: float(v) if isinstance(v, str) and k not in ("problem", "status") else v for k, v in record.items()}


@contextmanager
def _appending(path: Path, header: Mapping[str, Any]) -> Iterator[Callable[[dict[str, Any]], None]]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        _lock(file, path)
        file.seek(0)
        content = file.read()
        file.truncate(content.rfind(b"\n") + 1)  # an incomplete last line

        def write(record: Mapping[str, Any]) -> None:
            # JSON has no infinity: written as text
            plain = {k: str(v) if isinstance(v, float) and not math.isfinite(v) else v for k, v in record.items()}
            file.write(json.dumps(plain, allow_nan=False).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

        if file.tell() == 0 and path.stat().st_size == 0:
            write(header)
        yield write


def _lock(file: Any, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # no such thing on Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise ProblemError(f"study file '{path}' is in use by another process") from None
