"""The one type of numerical arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Array of real numbers; docstrings give its shape and units.
Array = NDArray[np.float64]
