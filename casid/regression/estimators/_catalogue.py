"""The estimators by name."""

from __future__ import annotations

from types import MappingProxyType

from casid.errors import DatasetError
from casid.files import near
from casid.regression.estimators._estimator import IRLS, OLS, WLS, Estimator, MaximumLikelihood

#: Estimators that need nothing but the observations, by name.
ESTIMATORS = MappingProxyType({made.name: made for made in (WLS(), OLS(), IRLS(), MaximumLikelihood())})


def estimator(method: str | Estimator) -> Estimator:
    """The estimator of that name; DatasetError lists the known ones."""
    if isinstance(method, Estimator):
        return method
    if method not in ESTIMATORS:
        hint = near(method, ESTIMATORS) or ";"
        raise DatasetError(f"unknown method '{method}'{hint} known: {', '.join(ESTIMATORS)}, or an Estimator")
    return ESTIMATORS[method]
