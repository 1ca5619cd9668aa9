"""Distance between segments: exact in every degenerate case, with the closest points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_TINY = 1e-300


def segment_distance(p0: Array, p1: Array, q0: Array, q1: Array) -> tuple[Array, Array, Array]:
    """Smallest distance between the segments p0 p1 and q0 q1.

    ``min |p0 + s (p1 - p0) - q0 - t (q1 - q0)|^2`` over the unit square is a convex quadratic: its minimum is the
    unconstrained one, if that lies inside, or on one of the four edges, where it is the distance of an end to a
    segment. All five candidates are points of the square, so the smallest is exact whatever is parallel or of length
    zero.

    Parameters
    ----------
    p0, p1, q0, q1 : ndarray, shape (3, ...)
        Ends [m]; they broadcast.

    Returns
    -------
    distance : ndarray, shape (...)
    s, t : ndarray, shape (...)
        Closest points ``p0 + s (p1 - p0)`` and ``q0 + t (q1 - q0)``.
    """
    p0, p1, q0, q1 = np.broadcast_arrays(p0, p1, q0, q1)
    u, v, w = p1 - p0, q1 - q0, p0 - q0
    a, b, c = (u * u).sum(axis=0), (u * v).sum(axis=0), (v * v).sum(axis=0)
    d, e = (u * w).sum(axis=0), (v * w).sum(axis=0)
    determinant = np.maximum(a * c - b * b, _TINY)
    zero, one = np.zeros_like(a), np.ones_like(a)
    inside = _unit((b * e - c * d) / determinant)
    candidates = [
        (inside, _unit((b * inside + e) / np.maximum(c, _TINY))),
        (zero, _unit(e / np.maximum(c, _TINY))),
        (one, _unit((e + b) / np.maximum(c, _TINY))),
        (_unit(-d / np.maximum(a, _TINY)), zero),
        (_unit((b - d) / np.maximum(a, _TINY)), one),
    ]
    s, t = (np.array(values) for values in zip(*candidates, strict=True))
    square = ((w[:, None] + s * u[:, None] - t * v[:, None]) ** 2).sum(axis=0)
    best = np.argmin(square, axis=0)[None]
    picked = (np.take_along_axis(array, best, axis=0)[0] for array in (square, s, t))
    distance, s_best, t_best = picked
    return np.sqrt(distance), s_best, t_best


def _unit(x: Array) -> Array:
    """Clipped to [0, 1]."""
    return np.asarray(np.clip(np.nan_to_num(x, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0))
