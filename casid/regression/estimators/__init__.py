"""Estimators of base parameters on one interface: ``Estimator.fit(Observations(model, recordings)) -> Fit``."""

from casid.regression.estimators.closed_loop import ClosedLoop
from casid.regression.estimators.didim import DirectInverse
from casid.regression.estimators.estimator import Estimator, Observations
from casid.regression.estimators.instrumental import InstrumentalVariables
from casid.regression.estimators.least_squares import IRLS, OLS, WLS
from casid.regression.estimators.maximum_likelihood import MaximumLikelihood, MeasurementNoise
from casid.regression.estimators.output_error import OutputError

__all__ = [
    "IRLS",
    "OLS",
    "WLS",
    "ClosedLoop",
    "DirectInverse",
    "Estimator",
    "InstrumentalVariables",
    "MaximumLikelihood",
    "MeasurementNoise",
    "Observations",
    "OutputError",
]
