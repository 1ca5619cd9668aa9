"""Choice of the most plausible parameter set among those that explain the data, with a proof of its optimality.

Where data leave parameters open, the consistent optimum is a face of the feasible set, and a solver ends somewhere on
it: links as thin as needles, masses at their bounds. The choice made here is lexicographic: first the certified best
fit ``F*``; then, of all sets that obey every hard constraint with a residual norm of at most ``(1 + share) sqrt F*``,
the one of least log-det divergence from plausible bodies (`plausible_bodies`). Both steps are convex and each has its
proof (`DivergenceProgram`): no set is more plausible within that distance of the best fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter

import numpy as np

from casid.arrays import ROUNDING, Array
from casid.errors import ProblemError
from casid.inertia import MET, Full, Parameters
from casid.retrieval._bound import Dual, lower_bound
from casid.retrieval._objectives import chi_square
from casid.retrieval._problem import Problem
from casid.retrieval._solution import ParameterResult, Solution
from casid.retrieval.plausible._bodies import PlausibleBodies, plausible_bodies
from casid.retrieval.plausible._program import DivergenceProgram, MostPlausible

#: Largest relative increase of the residual's norm that the choice may use.
LARGEST_SHARE = 0.005
#: Gap up to which the choice counts as certified, and the largest violation of a constraint on re-check.
CERTIFIED, FEASIBLE = 1e-6, 1e-7


@dataclass(frozen=True, eq=False)
class Believable(ParameterResult):
    """The most plausible parameter set among those that explain the data.

    Attributes
    ----------
    problem : Problem
    best : float
        Objective plus penalty of the best fit, F*.
    limit : float
        Largest allowed objective plus penalty, F.
    bodies : PlausibleBodies
        The plausible bodies before their common scale.
    choice : MostPlausible
        Solution of the program: parameters, scale, divergence and its lower bound.
    max_violation : float
        Of any hard constraint, re-checked in numpy.
    time : float
        [s]
    expected : mapping of str to float
        What joint terms were expected to be (`DivergenceProgram`).
    """

    problem: Problem
    best: float
    limit: float
    bodies: PlausibleBodies
    choice: MostPlausible
    max_violation: float
    time: float
    expected: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""

    @property
    def x(self) -> Array:
        """All unknowns of the problem, shape (N,): standard parameters, then the extras."""
        return self.choice.parameters

    @cached_property
    def parameters(self) -> Parameters:
        """All unknowns by name."""
        variables = self.problem.variables
        return Parameters(variables.names, self.x, tuple(link.name for link in variables))

    @property
    def objective(self) -> float:
        """Sum of squares at the choice."""
        return self.problem.objective(self.x)

    @property
    def share(self) -> float:
        """Allowed relative increase of the residual's norm."""
        return float(np.sqrt(self.limit / self.best) - 1.0) if self.best > 0 else float("inf")

    @property
    def scale(self) -> float:
        """Common factor of the plausible bodies' masses, as found with the parameters."""
        return self.choice.scale

    @property
    def plausible(self) -> Array:
        """The plausible bodies at that scale, shape (10 n,)."""
        factors = np.where(self.bodies.scaled, self.scale, 1.0)
        return np.asarray((self.bodies.parameters.reshape(-1, 10) * factors[:, None]).ravel())

    @property
    def divergence(self) -> float:
        """Log-det divergence from the plausible bodies."""
        return self.choice.divergence

    @cached_property
    def covariance(self) -> Array:
        """Covariance of all unknowns, shape (N, N): the choice is the mode of a posterior (docs/plausible.md, P11)."""
        program = DivergenceProgram(self.problem, self.bodies.parameters, self.bodies.scaled, self.expected)
        return program.covariance(self.choice, np.full(len(self.bodies.origins), self.bodies.boxes.all()))

    @property
    def gap(self) -> float:
        """Proven relative gap of the divergence."""
        return self.choice.gap

    @property
    def certified(self) -> bool:
        """No set that explains the data as well is more plausible, and every hard constraint holds on re-check."""
        return self.gap <= CERTIFIED and self.max_violation <= FEASIBLE

    def __repr__(self) -> str:
        proof = f"gap {self.gap:.0e}" if self.certified else f"not certified, gap {self.gap:.0e}"
        return f"Believable({self.problem.name}: divergence {self.divergence:.4g}, {proof}, scale {self.scale:.3g})"


def believable(
    problem: Problem,
    solution: Solution,
    bodies: PlausibleBodies | None = None,
    *,
    share: float | None = None,
    tolerance: float | None = None,
    near: Array | None = None,
    expected: Mapping[str, float] | None = None,
) -> Believable:
    """Choose the most plausible parameter set among those that explain the data.

    Parameters
    ----------
    problem, solution
        A problem with full consistency of every link, and its (certified) best fit.
    bodies
        Plausible bodies; default: `plausible_bodies` of the problem's robot.
    share
        Relative increase of the residual's norm over the best fit that is allowed; default 0.5 %. Of an exact fit,
        whose residual is rounding: a residual of 1e-6 of the size of the data.
    tolerance
        In place of ``share``: allowed increase of the objective, e.g. from standard deviations of the coefficients
        (`casid.retrieval.insight._intervals.indistinguishable`); at least 1e-12 of its size.
    near
        Parameters to start from, shape (N,), such as the choice of a similar problem; default: the plausible bodies.
    expected
        Of joint terms, by the name of their unknown: the value of one that cannot be negative (a rotor inertia), the
        standard deviation of any other (an offset of friction).

    Raises
    ------
    ProblemError
        If a link's consistency is not full, the solution is not feasible, or share or tolerance is not positive.
    SolveError
        If no answer is found.

    References
    ----------
    T. Lee, P. M. Wensing, F. C. Park, "Geometric robot dynamic identification: a convex programming approach", IEEE
    Transactions on Robotics 36(2), 2020, Sec. III.
    """
    _check(problem, solution)
    if share is not None and tolerance is not None:
        raise ProblemError(
            "believable: give either the share of the residual or the tolerance of the objective, not both"
        )
    best = solution.total
    if tolerance is None:
        part = LARGEST_SHARE if share is None else check_share(share)
        limit = _allowed(problem, best, part)
    else:
        if not (np.isfinite(tolerance) and tolerance > 0):
            raise ProblemError(f"tolerance: expected a positive number, got {tolerance}")
        limit = best + max(tolerance, ROUNDING * problem.objective.size)
    return _choices(problem, solution, [limit], bodies, expected, near=near)[0]


def believable_path(
    problem: Problem,
    solution: Solution,
    shares: Sequence[float],
    bodies: PlausibleBodies | None = None,
    expected: Mapping[str, float] | None = None,
    *,
    rough: bool = False,
) -> tuple[Believable, ...]:
    """The choices for several shares, largest first, each from the one before.

    Parameters
    ----------
    problem, solution, bodies, expected
        As of `believable`.
    shares
        Relative increases of the residual's norm, all positive.
    rough
        Meet the shares within 2 % of themselves: faster.

    Raises
    ------
    ProblemError, SolveError
        As `believable`.
    """
    _check(problem, solution)
    ordered = sorted({check_share(share) for share in shares}, reverse=True)
    limits = [_allowed(problem, solution.total, share) for share in ordered]
    return tuple(_choices(problem, solution, limits, bodies, expected, 0.02 if rough else MET))


def _allowed(problem: Problem, best: float, share: float) -> float:
    """F of a share of the residual."""
    return max(best * (1.0 + share) ** 2, best + ROUNDING * problem.objective.size)


def _choices(
    problem: Problem,
    solution: Solution,
    limits: Sequence[float],
    bodies: PlausibleBodies | None,
    expected: Mapping[str, float] | None,
    met: float = MET,
    near: Array | None = None,
) -> list[Believable]:
    """The choices for some limits, see `DivergenceProgram.path`."""
    began, best = perf_counter(), solution.total
    chosen = bodies or plausible_bodies(problem.variables.robot)
    program = DivergenceProgram(problem, chosen.parameters, chosen.scaled, expected)
    made = []
    for found in program.path(limits, np.array(solution.x), met, near):
        worst = problem.hard_violation(problem.violations(found.parameters))
        took = perf_counter() - began
        made.append(Believable(problem, best, found.limit, chosen, found, worst, took, expected or {}))
    return made


def _check(problem: Problem, solution: Solution) -> None:
    """ProblemError where a problem or its best fit does not allow a choice."""
    problem.require_squares("plausible links")
    if any(entry.cone != Full() for entry in problem.cones):
        raise ProblemError("believable: expected full physical consistency of every link; set consistency to 'full'")
    if solution.status not in ("optimal", "feasible"):
        raise ProblemError(
            f"problem '{problem.name}': expected a feasible solution as the best fit, got {solution.status}"
        )


def check_share(share: float) -> float:
    """The share by which the residual's norm may grow; `ProblemError` if it is not above 0 and at most 1."""
    if not 0 < share <= 1:
        raise ProblemError(f"share: expected a positive number of at most 1, e.g. 0.005, got {share}")
    return share


def noise_share(samples: int, rank: int, confidence: float = 0.95) -> float:
    """Relative increase of the residual's norm that noise explains, at most 0.5 %.

    With the residual variance ``s^2 = F* / (samples - rank)``, the true parameters lie within ``F* + s^2 chi^2_rank``.
    """
    if samples <= rank:
        return LARGEST_SHARE
    growth = chi_square(rank, 1.0 - confidence) / (samples - rank)
    return min(LARGEST_SHARE, float(np.sqrt(1.0 + growth)) - 1.0)


#: Relative gaps that are aimed at in turn, down to rounding; they end where the solution is certified.
GAPS = tuple(10.0 ** np.arange(3.0, -12.0, -0.5))
#: How much heavier than plausible the bodies are from which D is measured, in turn.
HEAVY = (1e3, 1.0)


def polished(solution: Solution, bodies: PlausibleBodies | None = None) -> Solution:
    """The solution with the better of two points and the higher of two proven bounds; itself where nothing is gained.

    The answer y at a price lambda minimises ``D + lambda q`` with a dual matrix of each link, ``Z_k = M_k^-1 - 1`` up
    to the price: with growing price these become the multipliers of the cones at the least q, and the lower bound
    that they give (`casid.retrieval._bound`) its proof, with a gap of about the number of inequalities
    over ``lambda q``. It is free of the cancellation that multipliers of a lifted program suffer where data are
    nearly without noise. D is measured from very heavy bodies first: its linear term, which costs the bound ``tr M_k
    / lambda``, is then small. Where every link is as thin as the margin allows, M_k of heavy bodies is lost in
    rounding; plausible bodies and a higher price end the proof there.

    Nonlinear rows are left out of the search: a point that violates them is not taken, and a bound without them holds.

    Parameters
    ----------
    solution
        Feasible, not certified.
    bodies
        Default: `plausible_bodies` of the robot.
    """
    problem = solution.problem
    if solution.certified or not solution.usable or any(cone.cone != Full() for cone in problem.cones):
        return solution
    given = bodies or plausible_bodies(problem.variables.robot)
    for heavy in HEAVY:
        if not solution.certified:
            solution = _sharper(solution, heavy * given.parameters)
    return solution


def _sharper(solution: Solution, bodies: Array) -> Solution:
    """The solution along the path of prices from these bodies, standard parameters of shape (10 n,)."""
    problem = solution.problem
    program = DivergenceProgram(problem, bodies, np.zeros(len(problem.cones), dtype=bool))
    linear = program.linear
    inequalities = 4 * len(problem.cones) + 2 * len(linear.rows) + 1
    prices = [inequalities / (gap * max(solution.total, 1e-300)) for gap in GAPS]
    for x, multipliers in program.duals(prices):
        bound = lower_bound(problem, x, Dual.of(linear, multipliers)).lower_bound
        better = problem.objective(x) + problem.penalty(x) < solution.total
        feasible = problem.met(problem.violations(x), solution.tolerances.feasibility)
        point = x if better and feasible else solution.x
        solution = replace(solution, x=point, lower_bound=max(bound, solution.lower_bound))
        if solution.certified:
            break
    return solution
