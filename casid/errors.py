"""Exceptions and warnings of casid: one tree, so that ``except CasidError`` catches all of them."""

from numbers import Integral

#: Longest message of an error; names and values of a file may be of any length.
_LONGEST = 2000


class CasidError(Exception):
    """Base of every error that casid raises on purpose.

    Attributes
    ----------
    message : str
        One line without control characters, cut in the middle where it is very long.
    detail : str
        Further lines, where there are any: the traceback of a user's own file, the output of a compiler.
    """

    def __init__(self, message: str, detail: str = "") -> None:
        self.message = _one_line(message)
        self.detail = detail
        super().__init__(self.message)
        if detail:
            self.__notes__ = [detail]  # Python 3.11 and later print it below the message

    def place(self, where: str) -> None:
        """Add the place in a user's file where it was raised."""
        self.message = _one_line(f"{self.message} ({where})")
        self.args = (self.message, *self.args[1:])


def _one_line(message: str) -> str:
    if len(message) > _LONGEST:
        message = f"{message[: _LONGEST // 2]} ... {message[-_LONGEST // 4 :]}"
    return printable(" ".join(message.split()))


def printable(words: str) -> str:
    """Text whose control characters are escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in words)


class UnknownNameError(CasidError, KeyError):
    """A name that is looked up and is not there; also a `KeyError`, as of any mapping."""

    def __str__(self) -> str:
        return self.message


class RobotError(CasidError):
    """A robot description that is missing, malformed or incomplete."""


class DatasetError(CasidError):
    """Numbers handed to casid (samples, poses, parameters) that cannot be used as they are."""


class ProblemError(CasidError):
    """A problem that is not well posed: unknown, malformed, or with bounds that cross."""


def checked_seed(seed: object) -> int:
    """A seed of random numbers; `ProblemError` where it is no integer >= 0."""
    if isinstance(seed, Integral) and not isinstance(seed, bool) and int(seed) >= 0:
        return int(seed)
    raise ProblemError(f"seed: expected an integer >= 0, got {seed!r}")


class SolveError(CasidError):
    """A problem that could not be solved, e.g. because its constraints conflict.

    Attributes
    ----------
    solution
        What the solver reached, where there is something to look at, else ``None``.
    """

    def __init__(self, message: str, solution: object | None = None) -> None:
        super().__init__(message)
        self.solution = solution


class ExportError(CasidError):
    """A result that cannot be written: folder, name or content."""


class CasidWarning(UserWarning):
    """Something that deserves a look but does not stop the work."""


class InertiaWarning(CasidWarning):
    """A link whose given mass and inertia no real body can have."""


class BoundWarning(CasidWarning):
    """A lower bound that exceeded the value of a feasible point: it proves nothing and is discarded. Report it."""


class RobotWarning(CasidWarning):
    """A robot file that can be read, but looks like a slip: of units, or of what a format cannot hold."""
