"""A robot's forward dynamics as a Functional Mock-up Unit: FMI 3, model exchange and co-simulation."""

from typing import TYPE_CHECKING

from casid import _earlier

if not TYPE_CHECKING:  # names of earlier versions
    __getattr__ = _earlier.earlier_names(__name__)
