"""Consistent parameters straight from recordings, and the thesis's feasibility methods."""

from casid.identification.check import FileCheck, LinkCheck, check_file, check_links
from casid.identification.feasibility import (
    Feasibility,
    feasibility_test,
    nearest_consistent,
    nearest_correction,
    nearest_feasible,
)
from casid.identification.identify import Identification, Prediction, identify, load_model, predict
from casid.identification.regression import FeasibleFit, RegressionProblem, extra_bounds, feasible_regression

__all__ = [
    "Feasibility",
    "FeasibleFit",
    "FileCheck",
    "Identification",
    "LinkCheck",
    "Prediction",
    "RegressionProblem",
    "check_file",
    "check_links",
    "extra_bounds",
    "feasibility_test",
    "feasible_regression",
    "identify",
    "load_model",
    "nearest_consistent",
    "nearest_correction",
    "nearest_feasible",
    "predict",
]
