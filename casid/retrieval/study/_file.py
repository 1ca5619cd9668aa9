"""The file of a study: one JSON line a result, flushed to disk as soon as it is there.

A study that is killed loses what was in flight; started again with the same file it solves only what is missing. The
first line identifies the problems by a fingerprint of their numbers and expressions, so that results of another problem
are never mixed in.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from casid.errors import ProblemError
from casid.files import Table, finite_number, journal, journal_lines, parse_json
from casid.retrieval._problem import Problem
from casid.retrieval._solution import Conflict, Solution, Tolerances, assess

FORMAT = 2
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
    differs = {"problems": "another problem", "seed": "another seed", "method": "another method",
               "options": "other solver options"}  # fmt: skip
    lines = journal_lines(path, header, differs, "study file", ProblemError)
    results = {}
    for number, line in enumerate(lines, start=2):
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


def appending(path: Path, header: Mapping[str, Any]) -> AbstractContextManager[Callable[[Mapping[str, Any]], None]]:
    """A function that appends a record to a study's file, which no other process may open meanwhile."""
    return journal(path, header, "study file", ProblemError)
