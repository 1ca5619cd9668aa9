"""Consistent, believable parameters straight from recordings, and the thesis's feasibility methods."""

from casid.identification.active import ActiveBound
from casid.identification.believable import Believable, believable, check_share, noise_share
from casid.identification.bounds import default_bounds
from casid.identification.certified import certified_intervals
from casid.identification.check import FileCheck, LinkCheck, check_file, check_links
from casid.identification.delay import without_delay
from casid.identification.determined import Determined, determined
from casid.identification.feasibility import (
    Feasibility,
    feasibility_test,
    nearest_consistent,
    nearest_correction,
    nearest_feasible,
)
from casid.identification.feasible_fit import FeasibleFit
from casid.identification.finding import Finding, Verdict
from casid.identification.gains import Gains, gains
from casid.identification.held_out import Errors, HeldOut, held_out
from casid.identification.identification import Identification
from casid.identification.identify import identify
from casid.identification.online import Online, OnlineLoad
from casid.identification.payload import Payload, payload
from casid.identification.plausible import PlausibleBodies, plausible_bodies
from casid.identification.prediction import Prediction, predict
from casid.identification.record import load_model, load_processing, read_record
from casid.identification.refit import Refitted, refit_friction
from casid.identification.regression import RegressionProblem, extra_bounds, feasible_regression
from casid.identification.repair import Repair, repair
from casid.identification.reverse import ReverseEngineering, reverse_engineered
from casid.identification.verdict import judge

__all__ = [
    "ActiveBound",
    "Believable",
    "Determined",
    "Errors",
    "Feasibility",
    "FeasibleFit",
    "FileCheck",
    "Finding",
    "Gains",
    "HeldOut",
    "Identification",
    "LinkCheck",
    "Online",
    "OnlineLoad",
    "Payload",
    "PlausibleBodies",
    "Prediction",
    "Refitted",
    "RegressionProblem",
    "Repair",
    "ReverseEngineering",
    "Verdict",
    "believable",
    "certified_intervals",
    "check_file",
    "check_links",
    "check_share",
    "default_bounds",
    "determined",
    "extra_bounds",
    "feasibility_test",
    "feasible_regression",
    "gains",
    "held_out",
    "identify",
    "judge",
    "load_model",
    "load_processing",
    "nearest_consistent",
    "nearest_correction",
    "nearest_feasible",
    "noise_share",
    "payload",
    "plausible_bodies",
    "predict",
    "read_record",
    "refit_friction",
    "repair",
    "reverse_engineered",
    "without_delay",
]
