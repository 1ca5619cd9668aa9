"""Recordings: frozen, checked data sets, their readers, filtering and differentiation."""

# recordings
from casid.measurement._dataset import Dataset as Dataset
from casid.measurement._readers import read_dataset as read_dataset

# isort: split
# processing
from casid.measurement._processing import Processing as Processing
from casid.measurement._processing import prepare as prepare
