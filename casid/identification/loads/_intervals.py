"""Intervals of a load's parameters: exact ends over the ellipsoid of all parameters that explain the data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from casid.inertia._parameters import STANDARD_NAMES

Array = NDArray[np.float64]

#: Singular values below this share of the largest count as zero: their directions are not determined.
DETERMINED = 1e-7


def load_intervals(R: Array, x: Array, tolerance: float) -> dict[str, tuple[float, float]]:
    """Intervals of the ellipsoid ``||R (z - x)||^2 <= tolerance``."""
    lengths = np.linalg.norm(R, axis=0)
    scale = np.where(lengths > 0, lengths, 1.0)
    _, s, Vt = np.linalg.svd(R / scale, full_matrices=True)
    values = np.zeros(R.shape[1])
    values[: len(s)] = s
    sure = values > DETERMINED * values[0]
    inverse = (Vt[sure].T / values[sure]) / scale[:, None]
    free = (Vt[~sure].T) / scale[:, None]
    found = {}
    names = dict(zip(STANDARD_NAMES, range(10), strict=True))
    for name, k in names.items():
        if name in ("lx", "ly", "lz"):
            continue
        unit = np.eye(R.shape[1])[k]
        half = _half(unit, inverse, free, tolerance, scale)
        found[name] = (float(x[k] - half), float(x[k] + half))
    mass = np.eye(R.shape[1])[9]
    for axis, k in zip("xyz", (6, 7, 8), strict=True):
        found[f"c{axis}"] = _ratio(np.eye(R.shape[1])[k], mass, x, inverse, free, tolerance, scale)
    return found


def _half(c: Array, inverse: Array, free: Array, tolerance: float, scale: Array) -> float:
    if free.size and np.abs(c @ (free * scale[:, None])).max() > 1e-5:
        return float("inf")
    return float(np.sqrt(tolerance) * np.linalg.norm(c @ inverse))


def _ratio(
    a: Array, b: Array, x: Array, inverse: Array, free: Array, tolerance: float, scale: Array
) -> tuple[float, float]:
    """Fieller's interval of ``a'z / b'z``: all t with ``((a - t b)'x)^2 <= tolerance |(a - t b)'B|^2``."""
    if not np.isfinite(_half(a, inverse, free, tolerance, scale) + _half(b, inverse, free, tolerance, scale)):
        return -np.inf, np.inf
    va, vb = a @ inverse, b @ inverse
    A = float(b @ x) ** 2 - tolerance * float(vb @ vb)
    B = -2.0 * (float(a @ x) * float(b @ x) - tolerance * float(va @ vb))
    C = float(a @ x) ** 2 - tolerance * float(va @ va)
    root = B**2 - 4 * A * C
    if A <= 0 or root < 0:
        return -np.inf, np.inf
    ends = sorted(((-B - np.sqrt(root)) / (2 * A), (-B + np.sqrt(root)) / (2 * A)))
    return float(ends[0]), float(ends[1])
