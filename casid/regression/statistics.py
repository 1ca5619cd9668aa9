"""Covariance of estimates whose residuals are correlated from sample to sample."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from casid.regression.compress import CompressedData

Array = NDArray[np.float64]

#: The residuals' own correlation counts when it exceeds the filter's by more standard deviations than this.
SIGNIFICANT = 3.0


def correlation_factors(data: CompressedData, columns: Sequence[int], beta: Array) -> Array:
    """By how much neighbouring residuals repeat each other: variance of an estimate over that with independent ones.

    Known is the correlation that the torques' filter gives to white noise (`CompressedData.correlation`). What a model
    leaves out repeats itself too; it shows in the scores ``s_b = W_b' (tau_b - W_b beta)`` of the segments b. With
    independent residuals of variance s^2 the covariance of s_b is ``s^2 W_b' W_b``, so that, up to a factor (B - 1) / B
    for the fit,

        sum_b s_b' (W' W)^-1 s_b / (s^2 rank)

    is 1, and it is larger the more the residuals of a segment agree (a covariance that allows for heteroscedasticity
    and autocorrelation, its scale averaged over the directions of the joint). The larger of the two is taken, the
    second only where chance does not explain it.

    Parameters
    ----------
    data
    columns
        The base parameters that were fitted.
    beta : ndarray, shape (rank of the model,)

    Returns
    -------
    ndarray, shape (n,)
        At least 1.
    """
    known = np.maximum(data.correlation, 1.0)
    if len(data.segments) < 4:
        return known
    factors = known.copy()
    rank = data.base.rank
    direction = np.zeros(rank + 2)
    direction[:rank], direction[rank] = -beta, 1.0
    errors = data.squared_errors(beta)
    for k in range(data.n):
        used = [c for c in columns if data.factors[k][:, c].any()]
        if not used or data.counts[k] <= len(used):
            continue
        R = data.factors[k][:, used]
        lengths = np.linalg.norm(R, axis=0)
        _, s, Vt = np.linalg.svd(R / lengths, full_matrices=False)
        sure = s > 1e-6 * s[0]
        whitened = (Vt[sure] / s[sure, None]) / lengths
        parts = [segment.factors[k] for segment in data.segments if segment.counts[k]]
        scores = np.array([whitened @ (part[:, used].T @ (part @ direction)) for part in parts])
        degrees = int(sure.sum()) * (len(parts) - 1)
        variance = errors[k] / max(data.counts[k] - sure.sum(), 1)
        if degrees < 1 or variance <= 0:
            continue
        measured = float((scores**2).sum()) / (variance * degrees)
        if measured > known[k] * (1.0 + SIGNIFICANT * np.sqrt(2.0 / degrees)):
            factors[k] = measured
    return np.asarray(factors)


def covariance_of(data: CompressedData, weights: Array, columns: Sequence[int], beta: Array, inverse: Array) -> Array:
    """Covariance of weighted least squares, ``A^-1 (sum_j c_j w_j^2 W_j' W_j) A^-1 s^2``, ``A = sum_j w_j^2 W_j' W_j``.

    c_j are the `correlation_factors`; with all of them 1 it is the classical ``s^2 A^-1`` (Sousa 2014, eq. 4.27), s^2
    the weighted residual's mean square with one degree of freedom less for each parameter.

    Parameters
    ----------
    inverse
        B with ``B B' = A^-1``.
    """
    factors = correlation_factors(data, columns, beta)
    counted = np.asarray(weights) > 0
    samples = float(data.counts[counted].sum())
    independent = float((data.counts / factors)[counted].sum())
    squares = float(weights**2 @ data.squared_errors(beta))
    freedom = max(independent - len(columns), 1.0)
    variance = squares / max(samples, 1.0) * independent / freedom
    middle = np.zeros((len(columns), len(columns)))
    for factor, w, R in zip(factors, weights, data.factors, strict=True):
        middle += (np.sqrt(factor) * w) ** 2 * (R[:, columns].T @ R[:, columns])
    if np.all(factors == 1.0):
        return np.asarray(variance * inverse @ inverse.T)
    half = inverse @ (inverse.T @ middle @ inverse)
    return np.asarray(variance * half @ inverse.T)
