"""How much worse than the best fit a parameter set may be and still explain the data: the tolerance of `intervals`."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from casid.errors import ProblemError
from casid.inertia._chi_square import chi_square
from casid.retrieval.problem import Problem


def indistinguishable(problem: Problem, optimum: float, sd: ArrayLike | None = None, confidence: float = 0.95) -> float:
    """Increase of the sum of squares that measurement noise alone explains.

    With standard deviations s_i of the residuals (of the identified coefficients), the noise's own sum of squares is
    ``sum s_i^2 chi^2_1``. Its quantile is taken from the chi-square distribution of the same mean and variance
    (Satterthwaite): ``S / f`` times that of ``f = S^2 / sum s_i^4`` degrees of freedom, ``S = sum s_i^2``. Without
    them, the residual variance ``s^2 = optimum / (samples - rank)`` takes their place, and the increase is ``s^2
    chi^2_rank``; ``samples`` from the problem's coefficients, else the number of residuals (then s^2 is ``optimum /
    residuals``).

    Parameters
    ----------
    problem
        Its ``coefficients`` provide the standard deviations if ``sd`` is not given.
    optimum
        Smallest sum of squares.
    sd
        One a residual of the objective, same units.
    confidence
        Of the quantile.

    Raises
    ------
    ProblemError
        If the number of standard deviations is not that of the residuals, one is not positive, or nothing tells the
        noise.
    """
    if not 0 < confidence < 1:
        raise ProblemError(f"the confidence must lie between 0 and 1, got {confidence}")
    residuals = len(problem.objective.target)
    given = problem.coefficients
    if sd is None and given is not None and given.sd is not None:
        sd = given.sd[given.used]
    if sd is not None:
        spread = np.asarray(sd, dtype=float)
        if spread.shape != (residuals,) or not np.isfinite(spread).all() or (spread < 0).any() or not spread.any():
            raise ProblemError(
                f"sd: expected {residuals} non-negative numbers, one a residual of '{problem.name}', got shape "
                f"{spread.shape}"
            )
        total = float((spread**2).sum())
        freedom = total**2 / float((spread**4).sum())
        return total / freedom * chi_square(freedom, 1 - confidence)
    rank = int(np.linalg.matrix_rank(problem.objective.matrix))
    samples = residuals + rank if given is None or given.samples is None else given.samples
    if optimum <= 1e-11 * problem.objective.size or samples <= rank:
        raise ProblemError(
            f"problem '{problem.name}': a perfect fit does not tell the noise; give the tolerance, or the standard "
            f"deviations sd of its residuals"
        )
    return optimum / (samples - rank) * chi_square(rank, 1 - confidence)
