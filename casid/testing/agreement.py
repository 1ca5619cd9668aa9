"""States at which two ways to compute the same are compared, and how."""

from __future__ import annotations

import numpy as np


def states(n: int, seed: int = 0) -> np.ndarray:
    """Random q, dq, ddq, shape (3, n)."""
    return np.random.default_rng(seed).uniform(-1.5, 1.5, (3, n))


def close(value: object, expected: object, tolerance: float = 1e-11) -> None:
    """Assert that both agree, relative to the largest expected number or to 1."""
    expected = np.array(expected, dtype=float)
    value = np.array(value, dtype=float).reshape(expected.shape)
    assert np.abs(value - expected).max() <= tolerance * max(1.0, np.abs(expected).max())
