"""Constants with structural zeros."""

from __future__ import annotations

import casadi as ca
import numpy as np


def exact(matrix: np.ndarray) -> ca.DM:
    """Constant as a sparse CasADi matrix: its exact zeros become structural, so that products stay small."""
    return ca.sparsify(ca.DM(matrix))
