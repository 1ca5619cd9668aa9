"""Recordings: frozen, checked data sets, their readers, filtering, differentiation, and what was done to them."""

from casid.measurement._locked import without_locked
from casid.measurement.checks import check_against, check_angles
from casid.measurement.cutoff import choose_cutoff
from casid.measurement.dataset import Dataset
from casid.measurement.full_rate import FullRate
from casid.measurement.low_pass import LowPass
from casid.measurement.processing import Processing, prepare
from casid.measurement.readers import read_dataset

__all__ = [
    "Dataset",
    "FullRate",
    "LowPass",
    "Processing",
    "check_against",
    "check_angles",
    "choose_cutoff",
    "prepare",
    "read_dataset",
    "without_locked",
]
