"""By how much residuals repeat each other from sample to sample."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from casid.arrays import Array
from casid.regression._compress import CompressedData

#: The residuals' own correlation counts when it exceeds the filter's by more standard deviations than this.
SIGNIFICANT = 3.0


def correlation_factors(
    data: CompressedData, weights: Array, columns: Sequence[int], beta: Array, inverse: Array
) -> Array:
    """By how much neighbouring residuals repeat each other: variance of an estimate over that with independent ones.

    Known is the correlation that the torques' filter gives to white noise (`CompressedData.correlation`). What a model
    leaves out repeats itself too; it shows in the scores ``s_b = W_b' (tau_b - W_b beta)`` of a joint's segments b.
    With ``A = W' W = sum_b A_b`` of the joint, errors of all joints that are independent, of variances s_j^2, and what
    the fit with weights w_j takes off them, ``E s_b s_b' = s^2 (A_b - A_b Q A_b)``, where

        Q = 2 w^2 C - C (sum_j w_j^4 s_j^2 A_j) C / s^2,   C = (sum_j w_j^2 A_j)^-1

    and the mean of

        sum_b s_b' A^-1 s_b / sum_b s^2 tr(A^-1 A_b - A^-1 A_b Q A_b)

    is 1. It is larger the more the residuals of a segment agree (a covariance that allows for heteroscedasticity and
    autocorrelation, its scale averaged over the directions of the joint). The larger of the two is taken, the second
    only where chance does not explain it: the numerator is a sum of about ``(tr M)^2 / tr M^2`` squares, M the blocks
    of the denominator. ``s^2`` is the residual's sum of squares over the samples less ``tr(A Q)``.

    Parameters
    ----------
    data
    weights : ndarray, shape (n,)
        Of the joints' equations.
    columns
        The base parameters that were fitted.
    beta : ndarray, shape (rank of the model,)
    inverse : ndarray, shape (len(columns), r)
        B with ``B B' = C``.

    Returns
    -------
    ndarray, shape (n,)
        At least 1.
    """
    known = np.maximum(data.correlation, 1.0)
    if len(data.segments) < 4:
        return known
    factors, columns = known.copy(), list(columns)
    direction = np.zeros(data.base.rank + 2)
    direction[: data.base.rank], direction[data.base.rank] = -beta, 1.0
    variances = data.squared_errors(beta) / np.maximum(data.counts, 1)
    C = inverse @ inverse.T
    blurred = np.zeros_like(C)
    for w, variance, R in zip(weights, variances, data.factors, strict=True):
        blurred += w**4 * variance * (R[:, columns].T @ R[:, columns])
    blurred = C @ blurred @ C
    for k in range(data.n):
        places = [i for i, c in enumerate(columns) if data.factors[k][:, c].any()]
        if not places or data.counts[k] <= len(places) or variances[k] <= 0:
            continue
        Q = (2 * weights[k] ** 2 * C - blurred / variances[k])[np.ix_(places, places)]
        measured, squares = _of_joint(data, k, [columns[i] for i in places], Q, variances[k], direction)
        if squares >= 1 and measured > known[k] * _largest_by_chance(squares):
            factors[k] = measured
    return np.asarray(factors)


def _of_joint(
    data: CompressedData, k: int, columns: list[int], Q: Array, variance: float, direction: Array
) -> tuple[float, float]:
    """Joint k's factor, and of how many squares it is the mean; 0 where the fit leaves nothing of the scores."""
    R = data.factors[k][:, columns]
    lengths = np.linalg.norm(R, axis=0)
    _, s, Vt = np.linalg.svd(R / lengths, full_matrices=False)
    sure = s > 1e-6 * s[0]
    whitened, back = (Vt[sure] / s[sure, None]) / lengths, (Vt[sure].T * s[sure]) * lengths[:, None]
    Q = back.T @ Q @ back
    variance *= data.counts[k] / max(data.counts[k] - float(np.trace(Q)), 1.0)
    found, expected = 0.0, []
    for segment in data.segments:
        if segment.counts[k]:
            part = segment.factors[k]
            rows = part[:, columns] @ whitened.T
            normal = rows.T @ rows
            found += float(((rows.T @ (part @ direction)) ** 2).sum())
            expected.append(normal - normal @ Q @ normal)
    mean = sum(float(np.trace(one)) for one in expected)
    if mean < 0.1:
        return 1.0, 0.0
    return found / (variance * mean), mean**2 / max(sum(float((one * one.T).sum()) for one in expected), 1e-300)


def _largest_by_chance(degrees: float) -> float:
    """Chi square over its degrees, `SIGNIFICANT` standard deviations above its mean (Wilson and Hilferty 1931)."""
    variance = 2.0 / (9.0 * degrees)
    return float((1.0 - variance + SIGNIFICANT * np.sqrt(variance)) ** 3)
