"""Starts solved one after another, on several processes, or on a Dask cluster."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from threading import Thread
from time import sleep
from typing import Any

from casid.errors import ProblemError
from casid.retrieval.methods.method import Array, Bound, Method
from casid.retrieval.problem import Problem
from casid.retrieval.solution import Solution
from casid.retrieval.solver.options import SolveOptions
from casid.retrieval.study.file import record

#: Name of the problem, number of the start, its seed.
Task = tuple[str, int, int]
#: How long a Dask scheduler may take to answer [s].
CONNECT_SECONDS = 10.0


def solve_here(
    problems: Mapping[str, Problem], tasks: Sequence[Task], method: Method, nominal: Array | None, options: SolveOptions
) -> Iterator[tuple[Task, Solution]]:
    """In this process, in order."""
    bound: dict[str, Bound] = {}
    for task in tasks:
        name, _, seed = task
        if name not in bound:
            bound[name] = method.bind(problems[name], nominal, options)
        yield task, bound[name].solve(seed)


def solve_elsewhere(
    problems: Mapping[str, Problem],
    tasks: Sequence[Task],
    method: Method,
    nominal: Array | None,
    options: SolveOptions,
    jobs: int,
    cluster: str | None,
) -> Iterator[dict[str, Any]]:
    """On processes of this machine, or on a cluster: records, as they come in."""
    joblib = _joblib()
    here = os.getpid() if cluster is None else None
    blobs = {name: pickle.dumps((problem, method, nominal, options)) for name, problem in problems.items()}
    calls = (joblib.delayed(_solve_one)(blobs[name], name, number, seed, here) for name, number, seed in tasks)
    if cluster is None:
        yield from joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)(calls)
        return
    with joblib.parallel_config(backend="dask", n_jobs=-1):
        yield from joblib.Parallel(return_as="generator_unordered", batch_size=1)(calls)


def _solve_one(blob: bytes, name: str, number: int, seed: int, study: int | None = None) -> dict[str, Any]:
    if study is not None and study != os.getpid():
        _end_with(study)
    return record(name, number, _bound(blob).solve(seed))


@lru_cache(maxsize=1)
def _end_with(study: int) -> None:
    """End this worker when the process of the study is gone, which may have been killed without a word."""

    def watch() -> None:
        while os.getppid() == study:
            sleep(1.0)
        os._exit(1)

    if os.getppid() == study:
        Thread(target=watch, daemon=True, name="end with the study").start()


@lru_cache(maxsize=4)
def _bound(blob: bytes) -> Bound:
    """The method bound to the problem, kept between the starts that a process solves."""
    problem, method, nominal, options = pickle.loads(blob)
    found: Bound = method.bind(problem, nominal, options)
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
