"""The estimators by name."""

from __future__ import annotations

from types import MappingProxyType

from casid.errors import DatasetError
from casid.regression.estimators._estimator import Estimator
from casid.regression.estimators._least_squares import IRLS, OLS, WLS, MaximumLikelihood

#: Estimators that need nothing but the observations, by name.
ESTIMATORS = MappingProxyType({made.name: made for made in (WLS(), OLS(), IRLS(), MaximumLikelihood())})


def estimator(method: str | Estimator) -> Estimator:
    """The estimator of that name; DatasetError lists the known ones."""
    if isinstance(method, Estimator):
        return method
    if method not in ESTIMATORS:
        raise DatasetError(f"unknown method '{method}'; known: {', '.join(ESTIMATORS)}, or an Estimator")
    return ESTIMATORS[method]
