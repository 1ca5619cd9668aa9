"""The certified optimum of a loss over all parameters of a kind, by convex optimisation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from casid.identification import feasible_regression
from casid.inertia.parametrisations import Parametrisation
from casid.learning._torque import TorqueLoss
from casid.regression import compress, wls

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Limit:
    """Best value of a `TorqueLoss` over all parameters that a parametrisation can reach.

    Attributes
    ----------
    value : float
        Reached by ``parameters``.
    lower_bound : float
        Proven: no parameters of the kind have a smaller loss.
    parameters : ndarray
        In the order of `Chart`.
    seconds : float
        Of compression and solve, together.
    """

    value: float
    lower_bound: float
    parameters: Array
    seconds: float

    def gap(self, value: float, floor: float = 1e-12) -> float:
        """``(value - lower_bound) / value``: how far a training run can be from the best, relative to its loss.

        Losses below ``floor`` (the variance of the torques is 1) count as reached. Below zero by more than rounding,
        the bound would be contradicted: it is returned as it is.
        """
        return (value - self.lower_bound) / max(value, floor)


def certified_limit(loss: TorqueLoss, kind: Parametrisation) -> Limit:
    """The limit of every rung that guarantees as much as ``kind``, by convex optimisation.

    ``triangle``: full consistency; ``definite`` only: m > 0 and I > 0; else unconstrained least squares in all
    columns of the loss, which is a lower bound for any parameters of theirs.

    Raises
    ------
    SolveError
        As `casid.identification.feasible_regression`.
    """
    began = perf_counter()
    model = loss.model
    if not kind.definite:  # all columns of the loss, those of asymmetric inertias too
        residual, slope = loss.residual(np.zeros(loss.columns))
        pi = np.asarray(np.linalg.lstsq(slope, -residual, rcond=None)[0])
        return Limit(loss.value(pi), loss.value(pi), pi, perf_counter() - began)
    weights = 1.0 / (loss.scale * np.sqrt(loss.samples * model.n))
    same = [replace(data, full=None) for data in loss.datasets]  # the loss knows no filtered columns
    fit = wls(compress(model, same), weights=weights)
    found = feasible_regression(
        fit, consistency="full" if kind.triangle else "semi", margin=0.0, constraints=None, throw=True
    )
    value, lower = found.objective, found.objective - found.gap * found.objective
    columns = [*np.ravel(model.link_columns), *sorted(model.term_columns)]
    return Limit(float(value), float(lower), found.values[columns], perf_counter() - began)
