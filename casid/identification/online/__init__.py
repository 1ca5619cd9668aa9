"""On-line identification: samples are added one by one, and physically consistent parameters follow at any instant."""

from typing import TYPE_CHECKING

from casid import _earlier

# The robot's own parameters
from casid.identification.online._estimator import Online as Online
from casid.identification.online._estimator import entropic_fit as entropic_fit

if not TYPE_CHECKING:  # names of earlier versions
    __getattr__ = _earlier.earlier_names(__name__)
