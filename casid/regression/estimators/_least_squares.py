"""Ordinary, weighted and robust least squares as estimators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from casid.regression._compress import CompressedData
from casid.regression._fit import Fit, irls, ols, wls
from casid.regression.estimators._estimator import Estimator, Observations


@dataclass(frozen=True)
class OLS(Estimator):
    """Ordinary least squares (Gaz et al. 2019, eq. 8)."""

    name = "OLS"

    def fit(self, data: Observations) -> Fit:
        """Base parameters with their covariance."""
        return ols(data.compressed)

    def refit(self, part: CompressedData, whole: Fit, data: Observations) -> Fit:
        """Of the part's factors: no sample is needed."""
        return ols(part)


@dataclass(frozen=True)
class WLS(Estimator):
    """Weighted least squares (Sousa 2014, eq. 4.35).

    Attributes
    ----------
    weights : sequence of float, optional
        Of each joint [1/N.m]; default: 1/RMS of the OLS residual.
    """

    name = "WLS"
    weights: Sequence[float] | None = None

    def fit(self, data: Observations) -> Fit:
        """Base parameters with their covariance."""
        return wls(data.compressed, self.weights)

    def refit(self, part: CompressedData, whole: Fit, data: Observations) -> Fit:
        """Of the part's factors: no sample is needed."""
        return wls(part, self.weights)


@dataclass(frozen=True)
class IRLS(Estimator):
    """Huber's robust estimate by iteratively reweighted least squares.

    Attributes
    ----------
    iterations : int
    tuning : float
        Residuals beyond so many robust standard deviations count less.
    """

    name = "IRLS"
    iterations: int = 10
    tuning: float = 1.345

    def fit(self, data: Observations) -> Fit:
        """Base parameters with their covariance."""
        return irls(data.datasets, wls(data.compressed), self.iterations, self.tuning)

    def refit(self, part: CompressedData, whole: Fit, data: Observations) -> Fit:
        """Of the part's factors, with the weights of samples and joints from the whole."""
        return wls(part, whole.weights)
