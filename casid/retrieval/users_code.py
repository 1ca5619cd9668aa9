"""Users' Python files: run, and their errors told with file, line and function."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, TracebackType

from casid.errors import CasidError, ProblemError

#: What a user's file is called in messages.
PROBLEM, CONSTRAINTS = "problem file", "constraint file"
#: What CasADi says of ``if``, ``and``, ``or`` and ``not`` of an expression, and what to do.
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
    """Errors within are told with the place in the user's file; other exceptions than casid's as a `ProblemError`."""
    try:
        yield
    except CasidError as error:
        theirs = [s for s in traceback.extract_tb(error.__traceback__) if s.filename == str(path)]
        if theirs:
            error.place(_where(path, what, theirs))
        raise
    except (Exception, SystemExit) as error:
        raise _their_error(path, what, error) from None


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
    hint = _SYMBOLIC if _TRUTH in str(error) else ""
    detail = "".join(summary.format()).rstrip() if theirs else ""
    return ProblemError(f"{where}: {type(error).__name__}: {error}{hint}", detail)
