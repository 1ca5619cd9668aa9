"""The contract of every solution method, and the direct method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from casid.arrays import Array
from casid.errors import checked_seed
from casid.retrieval._problem import Problem
from casid.retrieval._solution import Solution
from casid.retrieval._solver import PreparedProblem, SolveOptions
from casid.retrieval.program._determined import applies, solve_determined

#: From the seed of a random start to the solution reached from it.
SolveSeed = Callable[[int], Solution]
#: From a problem like the first one of its stretch to its solution.
SolveNext = Callable[[Problem], Solution]


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

    def __post_init__(self) -> None:
        if self.seed is not None:
            object.__setattr__(self, "seed", checked_seed(self.seed))


class Method(ABC):
    """A way to solve a problem; a frozen dataclass of its own settings.

    A method uses everything in `Start`, or refuses it. It never raises because a problem could not be solved: that is
    the solution's status, and the reason, where it is known, its ``conflict``.
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

    def bind(self, problem: Problem, nominal: Array | None, options: SolveOptions) -> SolveSeed:
        """Solve one problem from the random starts of many seeds; overridden where work can be done once for all."""
        return lambda seed: self.solve(problem, Start(None, seed, nominal, options))

    def follow(self, first: Problem, options: SolveOptions) -> SolveNext:
        """Solve problems whose numbers differ little from the first one's; overridden where its solution is a start.

        The solution of each depends on the first problem and itself alone, whatever was solved before it.
        """
        return lambda problem: self.solve(problem, Start(options=options))


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

    def bind(self, problem: Problem, nominal: Array | None, options: SolveOptions) -> SolveSeed:
        """See `Method.bind`: the program is built once."""
        prepared = PreparedProblem(problem, nominal, options)
        return lambda seed: prepared.solve(seed=seed, throw=False)

    def follow(self, first: Problem, options: SolveOptions) -> SolveNext:
        """See `Method.follow`: from the first one's primal-dual point; where that fails, as any problem."""
        alone = super().follow(first, options)
        if options.direct and applies(first):
            return alone
        prepared = PreparedProblem(first, None, options)
        solution = prepared.solve(throw=False)
        return lambda problem: solution if problem is first else prepared.follow(problem) or alone(problem)
