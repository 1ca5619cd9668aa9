"""The file of a study: one JSON line a result, flushed to disk as soon as it is there.

A study that is killed loses what was in flight; started again with the same file it solves only what is missing. The
first line identifies the problems by a fingerprint of their numbers and expressions, so that results of another problem
are never mixed in.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from casid.errors import ProblemError
from casid.retrieval.conflict import Conflict
from casid.retrieval.problem import Problem
from casid.retrieval.solution import Solution, Tolerances, assess

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
    for link in problem.variables.robot.links:
        if link.inertial is not None:
            digest.update(link.inertial.standard_parameters().tobytes())
    return digest.hexdigest()[:32]


def record(name: str, number: int, solution: Solution) -> dict[str, Any]:
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


def revived(problem: Problem, stored: Mapping[str, Any], tolerances: Tolerances) -> Solution:
    """The solution of a record; its quality is computed again."""
    found = stored["conflict"]
    conflict = None
    if found is not None:
        words = tuple(found["conflicting"]), dict(found["relaxation"]), tuple(found["advice"])
        conflict = Conflict(*words, proven=bool(found["proven"]))
    return assess(
        problem,
        np.array(stored["x"], dtype=float),
        float(stored["lower_bound"]),
        conflict=conflict,
        search_region=stored["search_region"],
        tolerances=tolerances,
        **{key: stored[key] for key in _WORK},
    )


def read(path: Path, header: Mapping[str, Any]) -> dict[tuple[str, int], dict[str, Any]]:
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
    if not isinstance(found, dict) or found.get("casid_study") != FORMAT:
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
            stored = _numbers(json.loads(line))
            results[(stored["problem"], stored["start"])] = stored
        except (ValueError, KeyError, TypeError):
            raise ProblemError(
                f"study file '{path}', line {number} is damaged; it is left as it is: remove that line"
            ) from None
    return results


def _numbers(stored: dict[str, Any]) -> dict[str, Any]:
    """Infinite numbers are stored as text."""
    texts = ("problem", "status", "solver_status")
    return {k: float(v) if isinstance(v, str) and k not in texts else v for k, v in stored.items()}


@contextmanager
def appending(path: Path, header: Mapping[str, Any]) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A function that appends a record to a study's file, which no other process may open meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        _lock(file, path)
        file.seek(0)
        content = file.read()
        file.truncate(content.rfind(b"\n") + 1)  # an incomplete last line

        def write(stored: Mapping[str, Any]) -> None:
            # JSON has no infinity: written as text
            plain = {k: str(v) if isinstance(v, float) and not math.isfinite(v) else v for k, v in stored.items()}
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
