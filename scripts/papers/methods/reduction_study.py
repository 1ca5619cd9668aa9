"""Model reduction on the WAM: what Fig. 6.4 of Sousa (2014) plots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from papers.methods.feasibility_test import closest_feasible, feasibility_test
from papers.methods.model_reduction import reductions
from papers.methods.regression import Kind
from papers.methods.wam import WamData


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


def reduction_path(
    data: WamData, kind: Kind = "semi", beyond: int = 4, distances: bool = True, at_zero: bool = False
) -> ReductionPath:
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
    base, allowed = data.base, data.feasible_set(kind)
    R, r, constant = data.triangle[:-1, :-1], data.triangle[:-1, -1], float(data.triangle[-1, -1] ** 2)
    removed, error, distance = [], [], []
    feasible_at = None
    kept = np.ones(base.rank, dtype=bool)
    for step in reductions(R, r, constant, data.rows):
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
