"""The contract of every solution method, and the direct method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import ClassVar

import casadi as ca

from casid.arrays import Array
from casid.errors import checked_seed
from casid.expressions import smoothed
from casid.retrieval._problem import Problem
from casid.retrieval._solution import Solution, annotated, reassess
from casid.retrieval._solver import PreparedProblem, SolveOptions
from casid.retrieval.constraints._constraint import FEASIBILITY, Constraint
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
    options : SolveOptions
        Of every solve.
    """

    point: Array | None = None
    seed: int | None = None
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

    @abstractmethod
    def solve(self, problem: Problem, start: Start) -> Solution:
        """Solve a problem.

        Raises
        ------
        ProblemError
            If the method does not apply to the problem, or cannot use something of ``start``.
        """

    def bind(self, problem: Problem, options: SolveOptions) -> SolveSeed:
        """Solve one problem from the random starts of many seeds; overridden where work can be done once for all."""
        return lambda seed: self.solve(problem, Start(None, seed, options))

    def follow(self, first: Problem, options: SolveOptions) -> SolveNext:
        """Solve problems whose numbers differ little from the first one's; overridden where its solution is a start.

        The solution of each depends on the first problem and itself alone, whatever was solved before it.
        """
        return lambda problem: self.solve(problem, Start(options=options))


#: Widths over which kinks are rounded off, one after another, in the units of what bends: from the size of a body down
#: to a tenth of what a constraint may be missed by.
_WIDTHS = (1e-1, 1e-3, 1e-5, 1e-7, 0.1 * FEASIBILITY)


@dataclass(frozen=True)
class Direct(Method):
    """IPOPT on the lifted program, twice; if-else acts by the branch of the present point.

    Where that does not converge, or leaves a gap with an objective that has kinks (`fabs`, `fmax`, norms, tables), the
    kinks are rounded off over widths that shrink; the point reached is judged by the problem as it is stated.
    """

    name: ClassVar[str] = "direct"

    def solve(self, problem: Problem, start: Start) -> Solution:
        """See `Method.solve`; where the data determine everything and no start is given, the fast way."""
        options = start.options
        if options.direct and start.point is None and start.seed is None and applies(problem):
            found = solve_determined(problem, options.tolerances)
            if found is not None:
                return found
        return _solved(_prepared(problem, options), options, start.point, start.seed)

    def bind(self, problem: Problem, options: SolveOptions) -> SolveSeed:
        """See `Method.bind`: the program is built once."""
        prepared = _prepared(problem, options)
        return lambda seed: _solved(prepared, options, None, seed)

    def follow(self, first: Problem, options: SolveOptions) -> SolveNext:
        """See `Method.follow`: from the first one's primal-dual point; where that fails, as any problem."""
        alone = super().follow(first, options)
        if options.direct and applies(first):
            return alone
        prepared = _prepared(first, options)
        solution = _solved(prepared, options, None, None)
        return lambda problem: solution if problem is first else prepared.follow(problem) or alone(problem)


def _without_kinks(problem: Problem, width: float, near: Array | None = None) -> Problem:
    """The problem with all kinks rounded off, or settled near a point (`casid.expressions.smoothed`).

    Without what settles to a number: on its kinks it is met, or missed, wherever it is.
    """
    x, constraints, every, gone = problem.variables.x, list[Constraint](), list[ca.SX](), list[str]()
    for constraint in problem.constraints:
        smooth, ties = smoothed(constraint.expression, x, width, near)
        every += [tie for tie in ties if ca.depends_on(tie, x)]
        if not all(ca.depends_on(smooth[k], x) for k in range(constraint.size)):
            gone.append(constraint.label)
        constraints.append(constraint if smooth is constraint.expression else constraint.with_expression(smooth))
    if every:
        constraints.append(Constraint(problem.free_label("kinks"), ca.vertcat(*every), 0.0, 0.0))
    return replace(problem.below(*gone), constraints=tuple(c for c in constraints if c.label not in gone))


def _kinked(problem: Problem, objective: bool) -> bool:
    """Whether the objective has kinks; or any constraint."""
    given = [c for c in problem.constraints if not objective or c.label in problem.objective_labels]
    return any(smoothed(c.expression, problem.variables.x, 1.0)[0] is not c.expression for c in given)


def _prepared(problem: Problem, options: SolveOptions) -> PreparedProblem:
    """The problem as it is stated: kinks of the objective are not met by other starts, but by rounding them off."""
    return PreparedProblem(problem, None, replace(options, restarts=0) if _kinked(problem, True) else options)


def _solved(prepared: PreparedProblem, options: SolveOptions, point: Array | None, seed: int | None) -> Solution:
    """As stated; then from points of problems whose kinks are ever less rounded off, on the kinks that are near.

    There may be several valleys: the kinks near random starts are tried too.
    """
    began, problem, stated = perf_counter(), prepared.problem, prepared.solve(point, seed, throw=False)
    if stated.certified or stated.status == "infeasible" or not _kinked(problem, stated.usable):
        return stated
    best, once, iterations = stated, replace(options, restarts=0), stated.iterations

    def solved(width: float, near: Array, settle: bool = False) -> Solution | None:
        """The solution without kinks; the best takes what it comes to in the problem as it is stated.

        None where the kink hides that an expression has no value at the start (`fmin(sqrt(-1), 1)` is 1).
        """
        nonlocal best, iterations
        plain = _without_kinks(problem, width, near if settle else None)
        if plain.undefined(near) is not None:
            return None
        found = PreparedProblem(plain, prepared.nominal, once, tighten=False).solve(near, throw=False)
        iterations += found.iterations
        judged = reassess(stated, x=found.x, multipliers=found.multipliers, converged=found.converged, conflict=None)
        best = min(best, judged, key=Solution.rank)
        return found

    near = prepared.starting_point(point, seed)
    for width in _WIDTHS:
        found = solved(width, near)
        if found is None:
            break
        near = found.x
        if found.feasible and not best.certified:
            solved(width, near, settle=True)
        if best.certified or not found.usable:
            break
    for attempt in range(1, options.restarts + 1):
        if not best.certified:
            solved(_WIDTHS[0], prepared.random_point(seed, attempt), settle=True)
    conflict = None if best.usable else stated.conflict
    return annotated(best, conflict=conflict, iterations=iterations, solve_time=perf_counter() - began)
