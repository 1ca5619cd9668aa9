"""The contract of every solution method, and the direct method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from casid.retrieval._problem import Problem
from casid.retrieval._solution import Solution
from casid.retrieval.program._determined import applies, solve_determined
from casid.retrieval.solver._build import SolveOptions
from casid.retrieval.solver._certify import PreparedProblem

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Start:
    """Where and how a method begins.

    Attributes
    ----------
    point : ndarray, shape (N,), or None
        Checked; None: the nominal body of every link.
    seed : int or None
        Start from the random point of this seed instead; source of everything random.
    nominal : ndarray, shape (N,), or None
        Fully consistent parameters that set the scale of the solver's variables.
    options : SolveOptions
        Of every solve.
    """

    point: Array | None = None
    seed: int | None = None
    nominal: Array | None = None
    options: SolveOptions = SolveOptions()  # noqa: RUF009 - frozen


class Method(ABC):
    """A way to solve a problem; a frozen dataclass of its own settings.

    A method heeds everything in `Start`, or refuses it. It never raises because a problem could not be solved: the
    solution's status says so, and its ``conflict`` why, where that is known.
    """

    #: Name on the command line and in files.
    name: ClassVar[str]
    #: Whether it draws random numbers beside its starting point, so that a seed makes sense together with a start.
    draws: ClassVar[bool] = False

    @abstractmethod
    def solve(self, problem: Problem, start: Start) -> Solution:
        """Solve a problem.

        Raises
        ------
        ProblemError
            If the method does not apply to the problem, or cannot use something of ``start``.
        """

    def bind(self, problem: Problem, nominal: Array | None, options: SolveOptions) -> Bound:
        """The method for many starts of one problem; methods that can prepare something once override it."""
        return Bound(self, problem, nominal, options)


class Bound:
    """A method bound to a problem: solves it from one start after another."""

    def __init__(self, method: Method, problem: Problem, nominal: Array | None, options: SolveOptions) -> None:
        self._method, self._problem, self._nominal, self._options = method, problem, nominal, options

    def solve(self, seed: int) -> Solution:
        """From the random start of a seed."""
        return self._method.solve(self._problem, Start(None, seed, self._nominal, self._options))


@dataclass(frozen=True)
class Direct(Method):
    """IPOPT on the lifted program, twice; if-else acts by the branch of the present point."""

    name: ClassVar[str] = "direct"

    def solve(self, problem: Problem, start: Start) -> Solution:
        """See `Method.solve`; where the data determine everything and no start is given, the fast way."""
        options = start.options
        if options.direct and start.point is None and start.seed is None and start.nominal is None and applies(problem):
            found = solve_determined(problem, options.tolerances)
            if found is not None:
                return found
        return PreparedProblem(problem, start.nominal, options).solve(start.point, start.seed, throw=False)

    def bind(self, problem: Problem, nominal: Array | None, options: SolveOptions) -> Bound:
        """The program is built once."""
        return _PreparedBound(self, problem, nominal, options)


class _PreparedBound(Bound):
    def __init__(self, method: Method, problem: Problem, nominal: Array | None, options: SolveOptions) -> None:
        super().__init__(method, problem, nominal, options)
        self._prepared = PreparedProblem(problem, nominal, options)

    def solve(self, seed: int) -> Solution:
        return self._prepared.solve(seed=seed, throw=False)
