"""Recordings: frozen, checked data sets, their readers, filtering and differentiation."""

from typing import TYPE_CHECKING

from casid import _earlier

# recordings
from casid.measurement._dataset import Dataset as Dataset
from casid.measurement._readers import read_dataset as read_dataset

# isort: split
# processing
from casid.measurement._processing import Processing as Processing
from casid.measurement._processing import prepare as prepare

if not TYPE_CHECKING:  # names of earlier versions
    __getattr__ = _earlier.earlier_names(__name__)
