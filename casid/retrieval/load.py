"""Problems by name or path: a Python file that exposes ``build(...) -> Problem``."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module, resources
from pathlib import Path
from types import ModuleType
from typing import Any

from casid.errors import ProblemError
from casid.retrieval.constraints import Constraint
from casid.retrieval.problem import Constraints, Problem
from casid.retrieval.users_code import CONSTRAINTS, PROBLEM, executed, users_code
from casid.retrieval.variables import LinkVariables

#: What a constraint file exposes: the links to their constraints.
ConstraintBuilder = Callable[[LinkVariables], Constraints]


def problem_names() -> tuple[str, ...]:
    """Names of the problems that ship with casid."""
    files = resources.files("casid.problems").iterdir()
    return tuple(sorted(f.name[:-3] for f in files if f.name.endswith(".py") and not f.name.startswith("_")))


def load_problem(name_or_path: str | Path, **options: Any) -> Problem:
    """Build a problem.

    Parameters
    ----------
    name_or_path
        A shipped problem's name (see `problem_names`) or the path of a Python file with a function ``build``.
    options
        Passed to ``build``.

    Raises
    ------
    ProblemError
        If there is no such problem (near names are suggested), the file has no ``build``, ``build`` does not return
        a `Problem`, or the file raises: with the traceback of the user's own frames.
    """
    text = str(name_or_path)
    path = Path(text)
    if text in problem_names():
        module = import_module(f"casid.problems.{text}")
        return _built(module, Path(str(module.__file__)), options)
    if path.suffix != ".py" and not path.is_file():
        near = get_close_matches(text, problem_names(), n=3)
        hint = f"did you mean {' or '.join(near)}" if near else f"shipped are {', '.join(problem_names())}"
        raise ProblemError(f"unknown problem '{text}': {hint}; or give the path of a .py file with a function 'build'")
    if not path.is_file():
        raise ProblemError(f"problem file '{path}' does not exist")
    return _built(executed(path, PROBLEM), path, options)


def _built(module: ModuleType, path: Path, options: dict[str, Any]) -> Problem:
    build = getattr(module, "build", None)
    if not callable(build):
        raise ProblemError(f"problem file '{path}' has no function 'build' that returns a Problem")
    with users_code(path, PROBLEM):
        problem = build(**options)
    if not isinstance(problem, Problem):
        raise ProblemError(
            f"problem file '{path}': build() must return a Problem, it returned {type(problem).__name__}"
        )
    return problem


def load_constraints(path: str | Path) -> ConstraintBuilder:
    """Constraints of a regression from a Python file with a function ``constraints(variables)``.

    Parameters
    ----------
    path
        Its function gets the `LinkVariables` (links, and friction as extras) and returns an iterable of `Constraint`.

    Raises
    ------
    ProblemError
        If the file has no such function, or raises: with the traceback of the user's own frames.
    """
    path = Path(path)
    if not path.is_file():
        raise ProblemError(f"constraint file '{path}' does not exist")
    function = getattr(executed(path, CONSTRAINTS), "constraints", None)
    if not callable(function):
        raise ProblemError(f"constraint file '{path}' has no function 'constraints(variables)'")

    def build(variables: LinkVariables) -> Constraints:
        with users_code(path, CONSTRAINTS):
            found = function(variables)
            made: Constraints = (found,) if isinstance(found, Constraint) else tuple(found or ())
        if found is None:
            raise ProblemError(f"constraint file '{path}': constraints() must return constraints, it returned None")
        return made

    return build
