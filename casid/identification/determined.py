"""Which single parameters the data determine, and which are a choice among many that explain the data alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.regression import Fit

Array = NDArray[np.float64]

#: A parameter is determined if no more of it than this lies outside what the torques depend on.
OUTSIDE = 1e-6
#: Half-width of an interval in standard deviations: 95 %.
QUANTILE = 1.96


@dataclass(frozen=True)
class Determined:
    """One parameter.

    Attributes
    ----------
    name : str
    value : float
        As chosen.
    low, high : float
        95 % interval of what the data alone say, infinite where they say nothing.
    by_data : bool
        The data alone say more than its sign: the interval is narrower than the value.
    """

    name: str
    value: float
    low: float
    high: float

    @property
    def by_data(self) -> bool:
        """Whether the data tell the value to better than itself."""
        return bool(np.isfinite(self.high - self.low) and (self.high - self.low) / 2 < max(abs(self.value), 1e-12))


def determined(fit: Fit, parameters: Array) -> tuple[Determined, ...]:
    """95 % intervals of single parameters from the unconstrained fit, before any constraint or plausibility.

    A parameter ``x_j`` is determined where its unit vector is a combination of excited base parameters, ``e_j = K_e'
    c``; it is then ``c' beta +- 1.96 sqrt(c' C c)``. Proven intervals under all constraints: `parameter_intervals`.

    Parameters
    ----------
    fit
    parameters
        Chosen values, in the order of the model.
    """
    model = fit.data.model
    forms = fit.excited.K @ fit.data.base.K  # excited base parameters in all parameters
    beta = fit.beta[list(fit.excited.independent)]
    inverse = np.linalg.pinv(forms)  # columns: parameters that make one base parameter 1
    shares = inverse @ forms
    entries = []
    for j, name in enumerate(model.parameter_names):
        unit = np.zeros(len(model.parameter_names))
        unit[j] = 1.0
        low, high = -np.inf, np.inf
        if np.abs(shares[:, j] - unit).max() <= OUTSIDE:
            combination = inverse[j]
            middle = float(combination @ beta)
            half = QUANTILE * float(np.sqrt(max(combination @ fit.covariance @ combination, 0.0)))
            low, high = middle - half, middle + half
        entries.append(Determined(name, float(parameters[j]), low, high))
    return tuple(entries)
