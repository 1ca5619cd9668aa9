"""The methods by name: for the command line and for files."""

from __future__ import annotations

from casid.errors import ProblemError
from casid.retrieval.methods.annealing import SimulatedAnnealing
from casid.retrieval.methods.branches import Branches
from casid.retrieval.methods.direct import Direct
from casid.retrieval.methods.globally import Global
from casid.retrieval.methods.method import Method
from casid.retrieval.methods.penalty import Penalty
from casid.retrieval.methods.smoothed import Smoothed

#: Name -> the method with its default settings.
METHODS: dict[str, type[Method]] = {
    kind.name: kind for kind in (Direct, Penalty, Branches, Smoothed, Global, SimulatedAnnealing)
}


def method_of(method: Method | str) -> Method:
    """A method, also by its name.

    Raises
    ------
    ProblemError
        If there is no method of that name.
    """
    if isinstance(method, Method):
        return method
    if method not in METHODS:
        raise ProblemError(f"method: expected one of {', '.join(METHODS)}, or a Method, got {method!r}")
    return METHODS[method]()
