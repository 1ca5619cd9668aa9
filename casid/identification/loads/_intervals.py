"""Intervals of a load's parameters: exact ends over the ellipsoid of all parameters that explain the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from casid.inertia._parameters import STANDARD_NAMES

Array = NDArray[np.float64]

#: Singular values below this share of the largest count as zero: their directions are not determined.
DETERMINED = 1e-7
#: Quantities with an interval: their place among a load's parameters, and that of the mass which divides it.
PLACES: dict[str, tuple[int, int | None]] = {
    **{name: (k, None) for k, name in enumerate(STANDARD_NAMES[:10]) if k not in (6, 7, 8)},
    "cx": (6, 9), "cy": (7, 9), "cz": (8, 9),
}  # fmt: skip


def inflation(left_out: Sequence[Array], x: Array, variance: float, whole: Array, known: Array) -> dict[str, float]:
    """By how much the variance of each quantity exceeds what noise explains; at least 1.

    With f_g the quantity without stretch g, of G stretches of recordings of one kind, its variance by the jackknife is
    ``(G - 1)/G sum_g (f_g - mean f)^2``, summed over the kinds, times the square of Student's quantile of G - 1 degrees
    of freedom over the normal one.

    Parameters
    ----------
    left_out
        x with each stretch left out, shape (G, N) of each kind (`LoadStack.without_stretches`).
    x
        Load, then drifts, shape (N,).
    variance, whole, known
        Of a residual, and the covariances that belong to a residual of size 1 (`LoadStack.covariances`).
    """
    found = {}
    for name, (k, over) in PLACES.items():
        slope = np.zeros(len(x))
        slope[k] = 1.0
        if over is not None:
            slope[k] = 1.0 / x[over]
            slope[over] = -x[k] / x[over] ** 2
        made = float((slope @ whole) @ slope)
        measured = float((slope @ known) @ slope) * variance
        for part in left_out:
            values = part[:, k] if over is None else part[:, k] / part[:, over]
            rest = len(part) - 1
            student = float(stdtrit(rest, 0.975) / ndtri(0.975)) ** 2
            measured += student * rest / len(part) * float(np.sum((values - values.mean()) ** 2))
        enough = np.isfinite(measured) and made > 0 and variance > 0
        found[name] = max(1.0, measured / (variance * made)) if enough else 1.0
    return found


def load_intervals(
    R: Array, x: Array, tolerance: float, wider: Mapping[str, float] | None = None
) -> dict[str, tuple[float, float]]:
    """Intervals of the ellipsoid ``||R (z - x)||^2 <= tolerance``; ``wider`` multiplies the tolerance by quantity."""
    lengths = np.linalg.norm(R, axis=0)
    scale = np.where(lengths > 0, lengths, 1.0)
    _, s, Vt = np.linalg.svd(R / scale, full_matrices=True)
    values = np.zeros(R.shape[1])
    values[: len(s)] = s
    sure = values > DETERMINED * values[0]
    inverse = (Vt[sure].T / values[sure]) / scale[:, None]
    free = (Vt[~sure].T) / scale[:, None]
    found, units = {}, np.eye(R.shape[1])
    for name, (k, over) in PLACES.items():
        allowed = tolerance * (wider or {}).get(name, 1.0)
        if over is None:
            half = _half(units[k], inverse, free, allowed, scale)
            found[name] = (float(x[k] - half), float(x[k] + half))
        else:
            found[name] = _ratio(units[k], units[over], x, inverse, free, allowed, scale)
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
