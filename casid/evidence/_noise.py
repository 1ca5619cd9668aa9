"""Standard deviations of noise: of values with outliers, and of white noise on a smooth signal."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array

#: Standard deviation of a normal distribution over its median absolute value.
NORMAL = 1.4826
#: Differences beyond so many robust standard deviations are jumps of friction, not noise.
OUTLYING = 5.0


def robust_sd(values: ArrayLike) -> Array:
    """Standard deviation of zero-mean values whose outliers do not count: of the median absolute value, by columns."""
    return np.asarray(NORMAL * np.median(np.abs(np.asarray(values, dtype=float)), axis=0))


def white_sd(values: ArrayLike, order: int) -> Array:
    """Standard deviation of white noise on a smooth signal, by columns.

    The variance of differences of this order, which no motion survives at usual rates, over that of white noise's,
    ``binomial(2 order, order)``; differences that are far out, such as friction's jumps, do not count.
    """
    differences = np.diff(np.asarray(values, dtype=float), order, axis=0)
    spread = robust_sd(differences)
    usual = np.abs(differences) <= OUTLYING * np.where(spread > 0, spread, np.inf)
    squares = np.where(usual, differences**2, 0.0).sum(axis=0) / usual.sum(axis=0)
    return np.asarray(np.sqrt(squares / comb(2 * order, order)))
