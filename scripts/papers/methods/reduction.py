"""Smaller models: essential parameters (Pham and Gautier), and parameters removed until the estimate is feasible."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from papers.methods.feasible_set import FeasibleSet, closest_feasible, feasibility_test
from papers.methods.regression import Answer, Regression, Stopwatch
from papers.methods.wam import WamData

from casid.arrays import Array
from casid.regression import essential


def essential_fit(data: WamData) -> tuple[int, float, float]:
    """Standard parameters near CAD values that have the essential base parameters; of these how many, their error.

    Of the simulated arm; CAD values of links from its robot file, none of friction and rotors.

    Returns
    -------
    int
        Essential base parameters.
    float
        Relative error of the weighted data [%].
    float
        Smallest eigenvalue of all links' spatial inertias, and of parameters that must not be negative: these very
        parameters are feasible where it is not negative; others with the same base parameters may be.
    """
    model, base = data.model, data.base
    fit, removed = essential(data.weighted)
    kept = [k for k, name in enumerate(base.names) if name not in removed]
    cad = np.zeros(len(model.parameter_names))
    cad[np.ravel(model.link_columns)] = model.robot.standard_parameters()
    K = base.K[kept]
    parameters = cad + np.linalg.pinv(K) @ (fit.beta[kept] - K @ cad)
    allowed = FeasibleSet.of(model)
    beta = np.zeros(base.rank)
    beta[kept] = fit.beta[kept]
    return len(kept), data.relative_error(beta, weighted=True), allowed.margin(parameters)


@dataclass(frozen=True, eq=False)
class Reduction:
    """One step of the reduction.

    Attributes
    ----------
    removed : int
        Base parameters taken out so far.
    values : ndarray, shape (b,)
        Estimate, zero where taken out.
    residual : float
        Sum of squares ``||W beta - tau||^2`` beyond the part that no parameters can explain.
    last_removed : int or None
        Index of the base parameter that this step took out.
    """

    removed: int
    values: Array
    residual: float
    last_removed: int | None


def reductions(R: Array, r: Array, constant: float, rows: int) -> Iterator[Reduction]:
    """Estimates of ever smaller models, from all base parameters to none.

    Parameters
    ----------
    R, r, constant
        ``||W beta - tau||^2 = ||R beta - r||^2 + constant``, R of shape (b, b).
    rows
        Rows of W: the degrees of freedom of the residual variance.

    Notes
    -----
    With ``G`` the inverse Gram matrix of the kept columns, least squares without parameter j has
    ``beta - G[:, j] beta_j / G_jj`` and inverse Gram matrix ``G - G[:, j] G[j, :] / G_jj``; its residual grows by
    ``beta_j^2 / G_jj``. A step thus costs ``O(b^2)``; relative standard deviations follow from the diagonal of G.
    """
    inverse = np.linalg.inv(R)
    gram_inverse = inverse @ inverse.T
    beta = inverse @ r
    kept = np.ones(len(r), dtype=bool)
    residual, last = 0.0, None
    for removed in range(len(r) + 1):
        yield Reduction(removed, beta.copy(), residual, last)
        if removed == len(r):
            return
        variance = (residual + constant) / (rows - (len(r) - removed))
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = np.where(kept, np.sqrt(variance * np.maximum(gram_inverse.diagonal(), 0.0)) / np.abs(beta), -1.0)
        last = int(np.argmax(relative))
        pivot, column = gram_inverse[last, last], gram_inverse[:, last].copy()
        residual += float(beta[last] ** 2 / pivot)
        beta = beta - column * (beta[last] / pivot)
        gram_inverse = gram_inverse - np.outer(column, column) / pivot
        kept[last] = False
        beta[~kept] = 0.0


def model_reduction(data: Regression) -> Answer:
    """Reduce until feasible; the answer is unsolved if no level of reduction is, but for the empty model.

    An estimate is feasible where all eigenvalues are >= 0: an absent parameter is exactly zero, so the boundary belongs
    to the feasible set of this method, and the empty model ends it.

    Parameters
    ----------
    data
        Its columns must be independent (random regressors are): standard parameters are then base parameters.
    """
    watch = Stopwatch()
    steps = reductions(data.R, data.r, data.constant, len(data.tau))
    chosen = next(step for step in steps if data.eigenvalue(step.values) >= 0.0)
    solved = bool(chosen.values.any())
    ended = f"feasible with {chosen.removed} of {len(data.r)} parameters removed"
    status = ended if solved else "no reduced model is feasible"
    return watch.answer("Model reduction", data, chosen.values, solved, status, chosen.removed)


@dataclass(frozen=True)
class ReductionPath:
    """Along the reduction: removed parameters, relative error of the weighted data [%], distance to the feasible set.

    ``feasible_at`` is the number of removed parameters at which the estimate becomes feasible; the path stops a few
    steps later. ``weighted`` and ``feasible`` are the errors of the full model's infeasible and feasible estimates.
    """

    removed: list[int]
    error: list[float]
    distance: list[float]
    feasible_at: int | None
    weighted: float
    feasible: float

    @property
    def reduced(self) -> float | None:
        """Error of the first reduced model that is feasible."""
        return None if self.feasible_at is None else self.error[self.removed.index(self.feasible_at)]


def reduction_path(data: WamData, beyond: int, distances: bool, at_zero: bool = False) -> ReductionPath:
    """Remove base parameters until the estimate is feasible, and ``beyond`` more.

    What left the model says nothing any more: an estimate is feasible if bodies exist that have the remaining base
    parameters, whatever the removed ones are. Distances are between the remaining ones. Read literally, "excluded"
    parameters are zero (``at_zero``): an inertia that left beside a first moment that stayed then forbids every body.

    Parameters
    ----------
    distances
        Whether to compute the distance of every estimate; else it is NaN where that is infeasible.
    at_zero
        Whether removed parameters are zero in the test of feasibility; else they are open.
    """
    base, allowed = data.base, FeasibleSet.of(data.model)
    R, r, constant = data.triangle[:-1, :-1], data.triangle[:-1, -1], float(data.triangle[-1, -1] ** 2)
    removed, error, distance = [], [], []
    feasible_at = None
    kept = np.ones(base.rank, dtype=bool)
    for step in reductions(R, r, constant, int(data.regression.counts.sum())):
        if step.last_removed is not None:
            kept[step.last_removed] = False
        if not kept.any():
            break
        asked = np.ones_like(kept) if at_zero else kept
        K, values = base.K[asked], step.values[asked]
        possible = feasibility_test(K, values, allowed, tolerance=1e-7).feasible
        removed.append(step.removed)
        error.append(data.relative_error(step.values, weighted=True))
        away = closest_feasible(K, values, allowed)[1] if distances and not possible else float("nan")
        distance.append(0.0 if possible else away)
        if possible and feasible_at is None:
            feasible_at = step.removed
        if feasible_at is not None and step.removed >= feasible_at + beyond:
            break
    best = data.relative_error(data.feasible.beta, weighted=True)
    return ReductionPath(removed, error, distance, feasible_at, error[0], best)
