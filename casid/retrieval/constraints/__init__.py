"""Constraints on link quantities: any CasADi expression, physical bounds, shapes, physical consistency."""

from typing import TYPE_CHECKING

from casid import _earlier

if not TYPE_CHECKING:  # names of earlier versions
    __getattr__ = _earlier.earlier_names(__name__)
