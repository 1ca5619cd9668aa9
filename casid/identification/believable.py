"""Believable, not only consistent: of all parameter sets that explain the data as well, the most plausible one.

Where data leave parameters open, the consistent optimum is a face of the feasible set, and a solver ends somewhere on
it: links as thin as needles, masses at their bounds. The choice made here is lexicographic: first the certified best
fit ``F*``; then, of all sets that obey every hard constraint with a residual norm of at most ``(1 + share) sqrt F*``,
the one of least log-det divergence from plausible bodies (`plausible_bodies`). Both steps are convex and each has its
proof (`casid.identification.divergence`): no set is more plausible within that distance of the best fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from casid.errors import ProblemError
from casid.identification.divergence import DivergenceProgram, MostPlausible
from casid.identification.plausible import PlausibleBodies, plausible_bodies
from casid.inertia import LinkParameters
from casid.inertia._cones import Full
from casid.inertia._parameter_vector import link_slice
from casid.retrieval.insight.chi_square import chi_square
from casid.retrieval.problem import Problem
from casid.retrieval.solution import Solution

Array = NDArray[np.float64]

#: Largest share by which the norm of the residual may grow for the sake of plausibility.
LARGEST_SHARE = 0.005
#: Gap up to which the choice counts as certified, and the largest violation of a constraint on re-check.
CERTIFIED, FEASIBLE = 1e-6, 1e-7


@dataclass(frozen=True, eq=False)
class Believable:
    """The most plausible set of those that explain the data as well as the best.

    Attributes
    ----------
    problem : Problem
    best : float
        Objective plus penalty of the best fit, F*.
    limit : float
        What was allowed, F.
    bodies : PlausibleBodies
        As given, before their common scale.
    choice : MostPlausible
        Of the program: parameters, scale, divergence and its lower bound.
    max_violation : float
        Of any hard constraint, re-checked in numpy.
    time : float
        [s]
    """

    problem: Problem
    best: float
    limit: float
    bodies: PlausibleBodies
    choice: MostPlausible
    max_violation: float
    time: float

    @property
    def parameters(self) -> Array:
        """Standard parameters, then the extras, shape (N,)."""
        return self.choice.parameters

    @property
    def standard_parameters(self) -> Array:
        """``Lxx1 ... m<n>``, shape (10 n,)."""
        return self.parameters[: self.problem.variables.standard_size]

    @property
    def extras(self) -> dict[str, float]:
        """Values of the unknowns beyond the standard parameters."""
        rest = self.parameters[self.problem.variables.standard_size :]
        return {name: float(value) for name, value in zip(self.problem.variables.extras, rest, strict=True)}

    @property
    def objective(self) -> float:
        """Sum of squares at the choice."""
        return self.problem.objective(self.parameters)

    @property
    def share(self) -> float:
        """How much larger the residual's norm was allowed to be."""
        return float(np.sqrt(self.limit / self.best) - 1.0) if self.best > 0 else float("inf")

    @property
    def scale(self) -> float:
        """Factor of the plausible bodies' masses that the data chose."""
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

    @property
    def gap(self) -> float:
        """Proven relative gap of the divergence."""
        return self.choice.gap

    @property
    def certified(self) -> bool:
        """No set that explains the data as well is more plausible, and every hard constraint holds on re-check."""
        return self.gap <= CERTIFIED and self.max_violation <= FEASIBLE

    @property
    def link_parameters(self) -> tuple[LinkParameters, ...]:
        """Mass, centre of mass and inertia about it of every link."""
        x = self.parameters
        return tuple(LinkParameters(link.name, x[link_slice(link.index)]) for link in self.problem.variables)

    def __repr__(self) -> str:
        """Short: what a user at a prompt wants to know."""
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
) -> Believable:
    """Choose the most plausible of all parameter sets that explain the data.

    Parameters
    ----------
    problem, solution
        A problem with full consistency of every link, and its (certified) best fit.
    bodies
        Plausible bodies; default: `plausible_bodies` of the problem's robot.
    share
        How much larger the norm of the residual may be than at the best fit; default 0.5 %.
    tolerance
        In place of ``share``: allowed increase of the objective, e.g. from standard deviations of the coefficients
        (`casid.retrieval.insight.tolerance.indistinguishable`).
    near
        Parameters to begin from, shape (N,): the choice of a similar problem, which spares the way from the bodies.

    Raises
    ------
    ProblemError
        If a link's consistency is not full, the solution is not feasible, or share or tolerance is not positive.
    SolveError
        If IPOPT finds no answer.

    References
    ----------
    T. Lee, P. M. Wensing, F. C. Park, "Geometric robot dynamic identification: a convex programming approach", IEEE
    Transactions on Robotics 36(2), 2020, Sec. III.
    """
    began = perf_counter()
    if any(entry.cone != Full() for entry in problem.cones):
        raise ProblemError("believable links need full physical consistency of every link")
    if solution.status not in ("optimal", "feasible"):
        raise ProblemError(f"problem '{problem.name}': a {solution.status} solution gives no best fit to start from")
    if share is not None and tolerance is not None:
        raise ProblemError("give either the share of the residual or the tolerance of the objective, not both")
    best = solution.total
    if tolerance is None:
        part = LARGEST_SHARE if share is None else check_share(share)
        limit = best * (1.0 + part) ** 2
    else:
        if not (np.isfinite(tolerance) and tolerance > 0):
            raise ProblemError(f"tolerance: expected a positive number, got {tolerance}")
        limit = best + tolerance
    chosen = bodies or plausible_bodies(problem.variables.robot)
    found = DivergenceProgram(problem, chosen.parameters, chosen.scaled, limit).solve(np.array(solution.x), near)
    worst = problem.hard_violation(problem.violations(found.parameters))
    return Believable(problem, best, limit, chosen, found, worst, perf_counter() - began)


def check_share(share: float) -> float:
    """The share by which the residual's norm may grow; `ProblemError` if it is not positive and finite."""
    if not (np.isfinite(share) and share > 0):
        raise ProblemError(f"share: expected a positive number, got {share}")
    return share


def noise_share(samples: int, rank: int, confidence: float = 0.95) -> float:
    """How much the residual's norm may grow before noise no longer explains it, at most 0.5 %.

    With the residual variance ``s^2 = F* / (samples - rank)``, the true parameters lie within ``F* + s^2 chi^2_rank``.
    """
    if samples <= rank:
        return LARGEST_SHARE
    growth = chi_square(rank, 1.0 - confidence) / (samples - rank)
    return min(LARGEST_SHARE, float(np.sqrt(1.0 + growth)) - 1.0)
