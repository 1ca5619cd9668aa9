"""Recordings: frozen, checked data sets, their readers, filtering, differentiation, and what was done to them."""

from casid.measurement.checks import check_against
from casid.measurement.dataset import Dataset
from casid.measurement.processing import Processing
from casid.measurement.readers import read_dataset

__all__ = ["Dataset", "Processing", "check_against", "read_dataset"]
