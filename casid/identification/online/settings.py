"""Settings of the estimators, checked before anything is made of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.errors import DatasetError
from casid.files._arrays import numeric_array

Array = NDArray[np.float64]


def numbers(name: str, given: object) -> Array:
    """Real numbers as a new array of floats; DatasetError naming the argument where it holds anything else."""
    return numeric_array(given, name, DatasetError)


def number(name: str, given: object) -> float:
    """One finite number; DatasetError otherwise."""
    value = numbers(name, given)
    if value.ndim or not np.isfinite(value):
        raise DatasetError(f"{name}: expected one finite number, got {_shown(given)}")
    return float(value)


def checked_weights(n: int, weights: ArrayLike) -> Array:
    """Weights of n joints: finite, not negative, not all zero."""
    w = numbers("weights", weights)
    if w.shape != (n,) or not np.isfinite(w).all() or (w < 0).any() or not w.any():
        raise DatasetError(f"weights: expected {n} finite non-negative numbers, not all zero, got {_shown(weights)}")
    return w


def checked_forgetting(forgetting: float) -> float:
    """Share that is kept, in (0, 1]."""
    value = number("forgetting", forgetting)
    if not 0.0 < value <= 1.0:
        raise DatasetError(f"forgetting must lie in (0, 1], got {value}")
    return value


def checked_mu(mu: float) -> float:
    """Weight of the divergence: positive."""
    value = number("mu", mu)
    if value <= 0.0:
        raise DatasetError(f"mu must be positive and finite, got {value}")
    return value


def checked_shares(name: str, n: int, given: ArrayLike, below: float = np.inf) -> Array:
    """One number for all joints, or n of them, in [0, below)."""
    value = numbers(name, given)
    if value.shape not in ((), (1,), (n,)) or not ((value >= 0.0) & (value < below)).all():
        kind = "finite non-negative numbers" if np.isinf(below) else f"numbers in [0, {below:g})"
        raise DatasetError(f"{name}: expected one or {n} {kind}, got {_shown(given)}")
    return np.array(np.broadcast_to(value, (n,)))


def checked_iterations(iterations: int) -> int:
    """Newton steps at most: a whole number, not negative."""
    value = number("iterations", iterations)
    if value < 0 or value != int(value):
        raise DatasetError(f"iterations: expected a whole number that is not negative, got {_shown(iterations)}")
    return int(value)


def _shown(given: object) -> str:
    text = repr(given)
    return text if len(text) <= 80 else f"{text[:77]}..."
