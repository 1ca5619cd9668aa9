"""Noise: of measurements, and of residuals that are correlated from sample to sample; covariance of estimates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import comb

import numpy as np
from numpy.typing import NDArray

from casid.errors import DatasetError
from casid.measurement import Dataset, Processing
from casid.regression._compress import CompressedData
from casid.regression._correlation import correlation_factors

Array = NDArray[np.float64]


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
    rank = data.base.rank
    direction = np.zeros(rank + 2)
    direction[:rank], direction[rank] = -beta, 1.0
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


#: Lengths of blocks: 1, 2, 4 ... 1024 samples.
LEVELS = 11
#: Fewest blocks (counted over all joints) of a level that is used.
ENOUGH = 60
#: Equations that the usual variance counts for.
USUAL = 1000.0


@dataclass
class ResidualNoise:
    """Variance of a residual of unit weight, and the variance of its block means against that of independent samples.

    Sums over blocks of 1, 2, 4, ... samples are kept. With independent samples the mean square of a block sum is
    proportional to the block's length; what it is more, ``1 + 2 sum_k rho_k`` for blocks longer than the correlation,
    is how many times larger the variance of an estimate is than independent samples would make it (batch means;
    Flyvbjerg and Petersen 1989). The mean is not taken off: an error that never changes counts as one that never
    averages out. NaN is a residual that does not count, and neither does a block with one.
    """

    joints: int
    _pending: Array = field(init=False, repr=False)
    _waiting: NDArray[np.bool_] = field(init=False, repr=False)
    _squares: Array = field(init=False, repr=False)
    _blocks: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._pending = np.zeros((LEVELS, self.joints))
        self._waiting = np.zeros(LEVELS, dtype=bool)
        self._squares, self._blocks = np.zeros(LEVELS), np.zeros(LEVELS)

    @classmethod
    def of(cls, residuals: Sequence[Array]) -> ResidualNoise:
        """Of whole residuals, weighted, each of shape (N, joints): no block reaches from one into the next."""
        made = cls(residuals[0].shape[1])
        for blocks in residuals:
            for level in range(LEVELS):
                made._squares[level] += float(np.nansum(blocks**2))
                made._blocks[level] += np.isfinite(blocks).sum()
                even = len(blocks) // 2 * 2
                blocks = blocks[:even:2] + blocks[1:even:2]
        return made

    def update(self, residual: Array) -> None:
        """One sample, weighted, shape (joints,)."""
        block = residual
        for level in range(LEVELS):
            counted = block[np.isfinite(block)]
            self._squares[level] += counted @ counted
            self._blocks[level] += len(counted)
            if not self._waiting[level]:
                self._pending[level], self._waiting[level] = block, True
                return
            block = block + self._pending[level]
            self._waiting[level] = False

    @property
    def variance(self) -> float:
        """Mean square; 1 before any sample."""
        return float(self._squares[0] / self._blocks[0]) if self._blocks[0] else 1.0

    def inflation(self, samples: float = np.inf) -> float:
        """Of the variance of a mean over so many samples, against independent ones; at least 1."""
        sizes = 2.0 ** np.arange(LEVELS)
        known = (self._blocks >= ENOUGH) & (sizes <= max(samples, 1.0))
        if not known.any() or self._squares[0] <= 0.0:
            return 1.0
        return float(max((self._squares[known] / self._blocks[known] / sizes[known]).max() / self.variance, 1.0))

    def variance_with(self, squares: float, equations: float) -> float:
        """Mean square of residuals with that sum of squares, the usual variance as `USUAL` further equations."""
        return (squares + USUAL * self.variance) / (equations + USUAL)


#: Independent samples of a batch at least, and fewest and most batches.
LEAST, FEWEST, MOST = 25, 20, 300
#: Least share of its own noise that a batch is taken to keep after the fit, in every direction.
LEFT = 0.05


class Batches:
    """Scores ``s_t = Z_t' e_t`` of consecutive samples, gathered in overlapping batches.

    ``sum_b S_b S_b'`` of the batches ``S_b = sum_t h_b(t) s_t`` estimates the covariance of the sum of all scores,
    whatever their correlation in time: noise that was differentiated cancels over a batch. The windows h_b are half
    sines over two batches, so that ``sum_b h_b(t)^2 = 1``: without edges, at which such noise would not cancel.

    Residuals are smaller than noise, most where a batch alone determines a parameter. With white noise of unit
    variance and ``A = sum_t Z_t' Z_t`` a batch's scores have, after the fit, the covariance ``E_b = P_b - Q_b A^-1
    Q_b`` in place of ``P_b = sum_t h_b^2 Z_t' Z_t``, with ``Q_b = sum_t h_b Z_t' Z_t``. They are corrected by the
    symmetric map T with ``T E_b T = P_b``, as in the bias-reduced linearisation of Bell and McCaffrey (2002).

    Parameters
    ----------
    samples : int
        Number of all samples.
    size : int
        Number of parameters.
    correlation : float
        Samples over those that count as independent.
    """

    def __init__(self, samples: int, size: int, correlation: float = 1.0) -> None:
        independent = samples / correlation
        self._samples, self._count = samples, int(np.clip(independent // LEAST, FEWEST, MOST))
        self._scores = np.zeros((self._count + 1, size))
        self._outer = np.zeros((self._count + 1, size, size))  # P
        self._inner = np.zeros((self._count + 1, size, size))  # Q
        self._done = 0

    def add(self, rows: Array, residuals: Array) -> None:
        """Samples that follow: Z, shape (N, joints, size), and e, shape (N, joints); zero where they do not count."""
        place = (self._done + np.arange(len(rows)) + 0.5) * self._count / self._samples
        self._done += len(rows)
        batch = place.astype(int)
        angle = np.pi / 2 * (place - batch)
        joints, size = rows.shape[1:]
        for b in np.unique(batch):
            at = batch == b
            Z, e = rows[at].reshape(-1, size), residuals[at].ravel()
            for place_of, window in ((b, np.cos(angle[at])), (b + 1, np.sin(angle[at]))):
                h = np.repeat(window, joints)
                weighted = h[:, None] * Z
                self._scores[place_of] += weighted.T @ e
                self._outer[place_of] += weighted.T @ weighted
                self._inner[place_of] += weighted.T @ Z

    def covariance(self) -> Array:
        """Covariance of the sum of all scores, shape (size, size)."""
        total = self._outer.sum(axis=0)  # windows squared sum to one: all of Z'Z
        values, vectors = np.linalg.eigh(total)
        sure = values > 1e-14 * max(float(values[-1]), np.finfo(float).tiny)
        white, back = vectors[:, sure] / np.sqrt(values[sure]), vectors[:, sure] * np.sqrt(values[sure])
        P, Q = white.T @ self._outer @ white, white.T @ self._inner @ white
        scores = np.einsum("bij,bj->bi", _unbiased_maps(P, P - Q @ Q), self._scores @ white)
        return np.asarray(back @ (scores.T @ scores) @ back.T)


def _unbiased_maps(P: Array, E: Array) -> Array:
    """Symmetric T with ``T E T = P``, of stacks of matrices; E not below `LEFT` P."""
    half = _root(P, 0.5)
    inverse = _root(P, -0.5)
    relative = inverse @ E @ inverse  # E in units of P, at most 1
    values, vectors = np.linalg.eigh((relative + relative.transpose(0, 2, 1)) / 2)
    limited = (vectors * np.clip(values, LEFT, 1.0)[:, None, :]) @ vectors.transpose(0, 2, 1)
    middle = half @ (half @ limited @ half) @ half
    return np.asarray(half @ _root(middle, -0.5) @ half)


def _root(M: Array, power: float) -> Array:
    """Power of symmetric positive semidefinite matrices; zero where they are zero."""
    values, vectors = np.linalg.eigh((M + M.transpose(0, 2, 1)) / 2)
    floor = 1e-12 * np.maximum(values[:, -1:], np.finfo(float).tiny)
    powers = np.where(values > floor, np.maximum(values, floor) ** power, 0.0)
    return np.asarray((vectors * powers[:, None, :]) @ vectors.transpose(0, 2, 1))


#: Order of the differences that leave noise alone.
DIFFERENCES = 6
#: Differences beyond so many robust standard deviations are jumps of friction, not noise.
OUTLYING = 5.0


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
        positions, torques = (_white_variance(values) for values in (raw.q, raw.tau))
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


def _white_variance(values: Array) -> Array:
    """Variance of the white part of each column, from differences; the few that are far out do not count."""
    differences = np.diff(values, DIFFERENCES, axis=0)
    spread = 1.4826 * np.median(np.abs(differences), axis=0)
    usual = np.abs(differences) <= OUTLYING * np.where(spread > 0, spread, np.inf)
    squares = np.where(usual, differences**2, 0.0).sum(axis=0) / usual.sum(axis=0)
    return np.asarray(squares / comb(2 * DIFFERENCES, DIFFERENCES))
