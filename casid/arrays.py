"""The types of arrays, copies that nobody changes, and what counts as rounding."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Array of real numbers; docstrings give its shape and units.
Array = NDArray[np.float64]
#: Truth values, such as one a joint.
Flags = NDArray[np.bool_]
#: Share of the largest singular value of equations (of the longest column) up to which another is rounding: six digits
#: above that of double precision, which factors of long recordings and their scaling cost.
RANK = 1e-10
#: Relative difference of equal numbers after a few thousand operations in double precision, of 1.1e-16 each: rounding.
ROUNDING = 1e-12
#: Relative difference of equal results of iterations that end at 1e-10 or so, or of numbers written with ten digits.
ALIKE = 1e-9


def read_only(values: ArrayLike) -> Array:
    """A copy that cannot be written to."""
    array = np.array(values, dtype=float)
    array.setflags(write=False)
    return array
