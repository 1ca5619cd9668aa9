"""Noise of measurements after processing, and covariance of estimates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from casid.arrays import Array
from casid.errors import DatasetError
from casid.evidence import white_sd
from casid.measurement import Dataset, Processing
from casid.regression._compress import CompressedData

#: The residuals' own correlation counts when it exceeds the filter's by more standard deviations than this.
SIGNIFICANT = 3.0
#: Share of the scores of independent errors below which what a fit leaves of them says nothing: their errors are then
#: multiplied by twenty or more.
KEPT = 0.05


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

        sum_b s_b' C s_b / sum_b s^2 tr(C A_b - C A_b Q A_b)

    is 1. It is larger the more the residuals of a segment agree (a covariance that allows for heteroscedasticity and
    autocorrelation, its scale averaged over the directions of the estimate). In the metric C a direction counts by what
    the joint says of it: parameters that do not act on the joint, or act on it by rounding alone, have no part, and no
    threshold tells them from others. The larger of the two is taken, the second only where chance does not explain it:
    the numerator is a sum of about ``(tr M)^2 / tr M^2`` squares, M the blocks of the denominator. ``s^2`` is the
    residual's sum of squares over the samples less ``tr(A Q)``.

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
    direction = data.direction(beta)
    variances = data.squared_errors(beta) / np.maximum(data.counts, 1)
    rows = [factor[:, columns] @ inverse for factor in data.factors]
    normals = [one.T @ one for one in rows]  # B' A_j B: their weighted sum is the identity
    blurred = np.einsum("j,jrs->rs", weights**4 * variances, normals)
    for k in range(data.n):
        if data.counts[k] <= 0 or variances[k] <= 0:
            continue
        Q = 2 * weights[k] ** 2 * np.eye(len(blurred)) - blurred / variances[k]  # in the basis B
        freedom = max(float(data.counts[k] - np.sum(normals[k] * Q)), 1.0)
        found, expected = 0.0, []
        for segment in data.segments:
            part = segment.factors[k]
            scaled = part[:, columns] @ inverse
            normal = scaled.T @ scaled
            found += float(((scaled.T @ (part @ direction)) ** 2).sum())
            expected.append(normal - normal @ Q @ normal)
        mean = sum(float(np.trace(one)) for one in expected)
        if mean <= KEPT * float(np.trace(normals[k])):
            continue
        measured = found * freedom / (variances[k] * data.counts[k] * mean)
        if measured > known[k] * _largest_by_chance(mean**2 / sum(float((one * one.T).sum()) for one in expected)):
            factors[k] = measured
    return np.asarray(factors)


def _largest_by_chance(degrees: float) -> float:
    """Chi square over its degrees, `SIGNIFICANT` standard deviations above its mean (Wilson and Hilferty 1931)."""
    variance = 2.0 / (9.0 * degrees)
    return float((1.0 - variance + SIGNIFICANT * np.sqrt(variance)) ** 3)


def covariance_of(data: CompressedData, weights: Array, columns: Sequence[int], beta: Array, inverse: Array) -> Array:
    """Covariance of weighted least squares, ``A^-1 (sum_j c_j w_j^2 W_j' W_j) A^-1 s^2``, ``A = sum_j w_j^2 W_j' W_j``.

    c_j are the `correlation_factors`; with all of them 1 it is the classical ``s^2 A^-1`` (Sousa 2014, eq. 4.27), s^2
    the weighted residual's mean square with one degree of freedom less for each parameter.

    Parameters
    ----------
    inverse
        B with ``B B' = A^-1``.
    """
    factors = correlation_factors(data, weights, columns, beta, inverse)
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


def disagreement(data: CompressedData, weights: Array, columns: Sequence[int], beta: Array, covariance: Array) -> float:
    """Covariance of an estimate from the scores s_b of the segments over its stated one C, averaged over directions.

    With ``A = sum_b A_b``, the normal matrices of the segments (Liang and Zeger 1986)::

        1/rank tr(C^-1 A^-1 (sum_b s_b s_b') A^-1) rank / (rank - sum_b tr (A^-1 A_b)^2)

    The last factor is what the fit takes off the scores of white noise. Segments are too few to measure all directions.

    Parameters
    ----------
    data, columns, beta
        As of `correlation_factors`.
    weights : ndarray, shape (n,)
        Of the joints' equations.
    covariance : ndarray, shape (len(columns), len(columns))
        C.
    """
    direction = data.direction(beta)
    scores, normals = [], []
    for segment in data.segments:
        parts = [w * f for w, f, count in zip(weights, segment.factors, segment.counts, strict=True) if count]
        if parts:
            rows = np.vstack(parts)
            scores.append(rows[:, columns].T @ (rows @ direction))
            normals.append(rows[:, columns].T @ rows[:, columns])
    if len(scores) < 2:
        return 0.0
    inverse = np.linalg.pinv(np.sum(normals, axis=0))
    taken = sum(float(np.sum((inverse @ part) * (inverse @ part).T)) for part in normals)
    moved = np.array(scores) @ inverse
    measured = float(np.trace(np.linalg.solve(covariance, moved.T @ moved)))
    return measured / max(len(columns) - taken, 0.1 * len(columns))


#: Order of the differences that leave noise alone.
DIFFERENCES = 6


@dataclass(frozen=True, eq=False)
class MeasurementNoise:
    """Noise of a recording after processing.

    Attributes
    ----------
    motion : ndarray, shape (n, 3, 3)
        Covariance of the errors of q, dq, ddq of each joint, ``[rad, rad/s, rad/s^2]`` squared.
    torque : ndarray, shape (n,)
        Variance of each torque [(N.m)^2].
    """

    motion: Array
    torque: Array

    @classmethod
    def of(cls, raw: Dataset, processing: Processing) -> MeasurementNoise:
        """White noise of positions and torques as the recording shows it, and what the processing makes of it.

        The variances are those of sixth differences, which no motion survives at usual rates, friction's jumps left
        out; the covariances follow from the impulse response of the processing.

        Parameters
        ----------
        raw
            As recorded, at a constant rate.
        processing
            Of the estimation.

        Raises
        ------
        DatasetError
            If the recording is too short, or a torque has no noise at all.
        """
        if len(raw) < 10 * DIFFERENCES:
            raise DatasetError(
                f"{raw.name}: {len(raw)} samples are too few to estimate the noise; expected {10 * DIFFERENCES} or more"
            )
        positions, torques = (white_sd(values, DIFFERENCES) ** 2 for values in (raw.q, raw.tau))
        if not (torques > 0).all():
            exact = int(np.argmin(torques)) + 1
            raise DatasetError(
                f"{raw.name}: the torque of joint {exact} has no noise; construct MeasurementNoise from known values"
            )
        cutoff = processing.cutoff
        if cutoff == "auto":  # that of the recording, not of the pulse
            same = replace(processing, torque_cutoff="same", filter_columns=True).apply(raw).full
            cutoff = None if same is None else same.low_pass.cutoff
        pulse = np.zeros((len(raw), 1))
        pulse[len(raw) // 2] = 1.0
        settings = replace(
            processing, cutoff=cutoff, every=1, between=None, slowest=0.0, delay=0.0, velocity="differentiate"
        )
        answer = settings.apply(Dataset(raw.t, pulse, pulse))
        assert answer.dq is not None and answer.ddq is not None
        response = np.column_stack([answer.q, answer.dq, answer.ddq])
        if answer.full is not None:  # the columns pass the torques' filter too
            response = answer.full.low_pass(response)
        motion = positions[:, None, None] * (response.T @ response)
        return cls(motion, torques * float((answer.tau**2).sum()))
