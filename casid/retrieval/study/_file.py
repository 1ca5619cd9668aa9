"""The file of a study: one JSON line a result, flushed to disk as soon as it is there.

A study that is killed loses what was in flight; started again with the same file it solves only what is missing. The
first line identifies the problems by a fingerprint of their numbers and expressions, so that results of another problem
are never mixed in.
"""

from __future__ import annotations

import hashlib
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
from casid.files._read import read_bytes
from casid.files._table import Table
from casid.files._texts import finite_number, json_bytes, parse_json
from casid.files._words import reason
from casid.retrieval._problem import Problem
from casid.retrieval._result import Conflict
from casid.retrieval._solution import Solution, Tolerances, assess

FORMAT = 2
#: Largest file [bytes].
LIMIT = 2**30
#: Keys of a record by the type of their value.
_TEXTS, _COUNTS = ("problem", "status", "solver_status"), ("start", "iterations", "restarts", "seed")
_NUMBERS = ("objective", "penalty", "gap", "max_violation", "lower_bound", "build_time", "solve_time")
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
    if len(stored["x"]) != len(problem.variables.names):
        words = f"start {stored['start']} of '{stored['problem']}' has {len(stored['x'])} numbers"
        raise ProblemError(f"study file: {words}, the problem has {len(problem.variables.names)}: remove that line")
    found = stored["conflict"]
    conflict = None
    if found is not None:
        parts = tuple(found["conflicting"]), dict(found["relaxation"]), tuple(found["advice"])
        conflict = Conflict(*parts, proven=bool(found["proven"]), region=dict(found.get("region", {})))
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
    try:
        if path.exists() and not path.is_file():
            raise ProblemError(f"study file '{path}' is not a regular file; choose another name")
        if not path.exists() or not path.stat().st_size:
            return {}
    except (OSError, ValueError) as error:
        raise ProblemError(f"study file '{path}' cannot be read: {reason(error).lower()}") from None
    content = read_bytes(path, "study file", ProblemError, LIMIT)
    *complete, last = content.split(b"\n")
    if not complete and _line(header).startswith(last):
        return {}  # killed while it wrote its first line
    try:
        found = parse_json(complete[0], "the first line", ProblemError) if complete else None
    except ProblemError:
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
        where = f"study file '{path}', line {number}"
        try:
            stored = _checked(parse_json(line, where, ProblemError), where)
            if stored["problem"] not in header["problems"]:
                raise ProblemError(f"{where}: it is of a problem that the study does not have")
        except ProblemError as error:
            raise ProblemError(f"{where} is damaged; it is left as it is: remove that line ({error})") from None
        results[(stored["problem"], stored["start"])] = stored
    return results


class _Table(Table):
    error = ProblemError


def _checked(content: Any, where: str) -> dict[str, Any]:
    """A record with the types that `record` writes; infinite numbers are stored as text."""
    if not isinstance(content, dict):
        raise ProblemError(f"{where}: it is no record")
    table = _Table(content, where, content)
    table.require(*_TEXTS, *_COUNTS, *_NUMBERS, "search_region", "conflict", "converged", "x")
    stored = dict(content)
    for key in _TEXTS:
        table.text(key)
    for key in _COUNTS:
        if stored[key] is not None:
            table.integer(key, upper=2**63)
    for key in _NUMBERS:
        stored[key] = _number(stored[key], f"{where}: {key}")
    table.flag("converged")
    stored["x"] = table.numbers("x").tolist()
    region = table.table("search_region", stored["search_region"] if isinstance(stored["search_region"], dict) else ())
    assert region is not None
    stored["search_region"] = {key: _number(value, f"{where}: {key}") for key, value in region.data.items()}
    if stored["conflict"] is not None:
        conflict = table.table("conflict", ("conflicting", "relaxation", "advice", "proven", "region"))
        assert conflict is not None
        conflict.require("conflicting", "relaxation", "advice", "proven")
    return stored


def _number(value: Any, where: str) -> float:
    """A finite number, or one that is not finite as the text that `appending` writes."""
    texts = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
    return texts[value] if isinstance(value, str) and value in texts else finite_number(value, where, ProblemError)


@contextmanager
def appending(path: Path, header: Mapping[str, Any]) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A function that appends a record to a study's file, which no other process may open meanwhile."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b", buffering=0)
    except (OSError, ValueError) as error:
        raise ProblemError(f"study file '{path}' cannot be written: {reason(error).lower()}") from None
    with file:
        _lock(file, path)
        file.seek(0)
        content = file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            file.truncate(whole)  # an incomplete last line

        def write(stored: Mapping[str, Any]) -> None:
            try:
                rest = memoryview(_line(stored))
                while rest:
                    rest = rest[file.write(rest) :]
                os.fsync(file.fileno())
            except OSError as error:
                words = f"study file '{path}' cannot be written: {reason(error).lower()}"
                raise ProblemError(f"{words}; what is in it is kept: make room and start the study again") from None

        if not whole:
            write(header)
        yield write


def _line(stored: Mapping[str, Any]) -> bytes:
    """One line of the file; JSON has no infinity, it is written as text."""
    plain = {k: str(v) if isinstance(v, float) and not math.isfinite(v) else v for k, v in stored.items()}
    return json_bytes(plain, indent=None)


def _lock(file: Any, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # no such thing on Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise ProblemError(f"study file '{path}' is in use by another process") from None
