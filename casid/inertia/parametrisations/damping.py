"""Positive scalars: viscous and Coulomb friction, rotor inertia (Sutanto et al. 2020, Sec. 4.2)."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.errors import DatasetError


def non_negative(theta: ca.SX) -> ca.SX:
    """``theta^2``, entry by entry: eq. 11 of the paper without its bias, so that zero is reached."""
    return theta * theta


def non_negative_inverse(values: ArrayLike) -> np.ndarray:
    """The non-negative theta of values.

    Raises
    ------
    DatasetError
        If a value is negative or not finite.
    """
    array = np.array(values, dtype=float)
    bad = np.flatnonzero(~((array >= 0) & np.isfinite(array)).ravel())
    if bad.size:
        raise DatasetError(f"entry {int(bad[0])} is {array.ravel()[bad[0]]:.6g}; it must be finite and >= 0")
    return np.asarray(np.sqrt(array))
