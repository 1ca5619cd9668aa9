"""Exceptions and warnings of casid: one tree, so that ``except CasidError`` catches all of them."""


class CasidError(Exception):
    """Base of every error that casid raises on purpose."""


class RobotError(CasidError):
    """A robot description that is missing, malformed or incomplete."""


class DatasetError(CasidError):
    """Numbers handed to casid (samples, poses, parameters) that cannot be used as they are."""


class ProblemError(CasidError):
    """A problem that is not well posed: unknown, malformed, or with bounds that cross."""


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


class RobotWarning(CasidWarning):
    """A robot file that can be read, but looks like a slip: of units, or of what a format cannot say."""
