"""Users' Python files: problems by name or path, constraints of a regression, and the place of errors in them."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module, resources
from inspect import signature
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from casid.errors import CasidError, ProblemError
from casid.files import near
from casid.retrieval._problem import Problem
from casid.retrieval._variables import LinkVariables
from casid.retrieval.constraints._constraint import Constraint, Constraints

#: What a user's file is called in messages.
PROBLEM, CONSTRAINTS = "problem file", "constraint file"
#: CasADi's message for ``if``, ``and``, ``or`` and ``not`` of an expression, and the remedy.
_TRUTH = "Cannot compute the truth value"
_SYMBOLIC = (
    " Link quantities are symbols without a value: write casadi.if_else(condition, then, otherwise), logic_and, "
    "logic_or, logic_not in place of Python's if, and, or, not."
)


def executed(path: Path, what: str) -> ModuleType:
    """A user's Python file, run.

    Parameters
    ----------
    path
        The file.
    what
        `PROBLEM` or `CONSTRAINTS`.

    Raises
    ------
    ProblemError
        If it cannot be read or is no Python, and as `users_code`.
    """
    module = ModuleType(f"casid_problem_{path.stem}")
    module.__file__ = str(path)
    try:
        code = compile(path.read_bytes(), str(path), "exec")
    except SyntaxError as error:
        raise ProblemError(f"{what} '{path}', line {error.lineno}: {error.msg}") from None
    except OSError as error:
        raise ProblemError(f"{what} '{path}' cannot be read: {error.strerror or error}") from None
    except Exception as error:  # null bytes, nesting without end
        raise ProblemError(f"{what} '{path}' is no Python source: {error}") from None
    with users_code(path, what):
        exec(code, module.__dict__)  # the user's own file, run at their request
    return module


@contextmanager
def users_code(path: Path, what: str) -> Iterator[None]:
    """Add the place in the user's file to errors raised within; other exceptions become a `ProblemError`."""
    try:
        yield
    except CasidError as error:
        theirs = [s for s in traceback.extract_tb(error.__traceback__) if s.filename == str(path)]
        if theirs:
            error.place(_where(path, what, theirs))
        raise
    except (Exception, SystemExit) as error:
        raise _their_error(path, what, error) from None


def _meant(error: BaseException, frame: TracebackType | None) -> str:
    """The attribute or the keyword argument that a user's file may have meant, as Python's own shell gives it."""
    if isinstance(error, AttributeError) and error.name is not None:
        return near(error.name, (name for name in dir(error.obj) if not name.startswith("_")))
    called = re.match(r"(\w+)(?:\.__init__)?\(\) got an unexpected keyword argument '(\w+)'", str(error))
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    if called is None or frame is None:
        return ""
    function: Any = {**frame.tb_frame.f_globals, **frame.tb_frame.f_locals}.get(called[1])
    try:
        return near(called[2], signature(function).parameters)
    except (TypeError, ValueError):  # what is not called, or built in without a signature (NumPy before 2.4)
        return ""


def _where(path: Path, what: str, theirs: Sequence[traceback.FrameSummary]) -> str:
    return ", ".join([f"{what} '{path}'", *(f"line {s.lineno}, in {s.name}" for s in theirs[-1:])])


def _their_error(path: Path, what: str, error: Exception | SystemExit) -> ProblemError:
    """The error, and the frames of the user's file and of what it calls; casid's own are left out."""
    frame: TracebackType | None = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename != str(path):
        frame = frame.tb_next
    own = Path(__file__).resolve().parents[1]
    summary = traceback.TracebackException(type(error), error, frame)
    theirs = [s for s in summary.stack if own not in Path(s.filename).resolve().parents or Path(s.filename) == path]
    summary.stack = traceback.StackSummary.from_list(theirs)
    where = _where(path, what, [s for s in theirs if s.filename == str(path)])
    hint = _SYMBOLIC if _TRUTH in str(error) else _meant(error, frame)
    detail = "".join(summary.format()).rstrip() if len(theirs) > 1 else ""  # the message has the line itself
    return ProblemError(f"{where}: {type(error).__name__}: {error}{hint}", detail)


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
        path, build = Path(str(module.__file__)), module.build
    else:
        if path.suffix != ".py" and not path.is_file():
            raise ProblemError(
                f"unknown problem '{text}'{near(text, problem_names())}; shipped are {', '.join(problem_names())}; or "
                "give the path of a .py file with a function 'build'"
            )
        build = _function(path, PROBLEM, "build", "'build' that returns a Problem")
    with users_code(path, PROBLEM):
        problem = build(**options)
    if not isinstance(problem, Problem):
        raise ProblemError(
            f"problem file '{path}': build() must return a Problem, it returned {type(problem).__name__}"
        )
    return problem


def _function(path: Path, what: str, name: str, words: str) -> Any:
    """A function of a user's file; what it should be, in words, where the file has none of that name."""
    if not path.is_file():
        raise ProblemError(f"{what} '{path}' does not exist")
    function = getattr(executed(path, what), name, None)
    if not callable(function):
        raise ProblemError(f"{what} '{path}' has no function {words}")
    return function


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
    function = _function(path, CONSTRAINTS, "constraints", "'constraints(variables)'")

    def build(variables: LinkVariables) -> Constraints:
        with users_code(path, CONSTRAINTS):
            found = function(variables)
            made: Constraints = (found,) if isinstance(found, Constraint) else tuple(found or ())
        if found is None:
            raise ProblemError(f"constraint file '{path}': constraints() must return constraints, it returned None")
        return made

    return build
