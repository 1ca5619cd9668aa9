"""Proven ranges of links' masses: what the data and every constraint together leave open."""

from __future__ import annotations

from casid.errors import ProblemError
from casid.identification.feasible_fit import FeasibleFit
from casid.inertia._chi_square import chi_square
from casid.retrieval.insight._intervals import Intervals, parameter_intervals


def certified_intervals(fit: FeasibleFit, confidence: float = 0.95) -> Intervals:
    """Smallest and largest mass of each link over all consistent sets that explain the data.

    With the residual variance ``s^2 = F* / (samples - rank)`` of independent samples, a set explains the data if its
    weighted sum of squares is at most ``F* + s^2 chi^2_rank``.

    Parameters
    ----------
    fit
    confidence
        Of the chi-square quantile.

    Raises
    ------
    ProblemError, SolveError
        As `casid.retrieval.parameter_intervals`; if there are fewer independent samples than base parameters.
    """
    solution, rank = fit.solution, fit.fit.rank
    freedom = float(fit.data.independent_samples.sum()) - rank
    if freedom <= 0:
        raise ProblemError(f"{freedom + rank:.0f} independent samples do not tell the noise of {rank} base parameters")
    quantities = {f"{view.name} mass": view.mass for view in solution.problem.variables.links}
    tolerance = solution.objective / freedom * chi_square(rank, 1.0 - confidence)
    return parameter_intervals(solution.problem, quantities, tolerance, solution)
