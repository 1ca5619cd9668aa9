"""What data prove: the paired comparison that every choice rests on; noise, and residuals that repeat themselves.

Both accounts (readings of a recording, friction laws, cut-offs, shares) are judged by their losses on the same n
stretches of a motion that neither was fitted to, or on independent samples. The stretches' errors have most of their
causes in common, which say nothing of the two: the differences count, not the losses. With ``d_i = after_i -
before_i`` and their mean m and standard deviation s, *before* is as good as *after* only if m is what chance makes;

    t = -m / (s / sqrt(n))

has Student's distribution with n - 1 degrees of freedom then. *After* is surely better where t exceeds its quantile at
the one confidence level, which is shared out evenly where it is the best of several that were tried (Bonferroni).

References
----------
Student, "The probable error of a mean", Biometrika 6(1), 1908. Q. Vuong, "Likelihood ratio tests for model selection
and non-nested hypotheses", Econometrica 57(2), 1989 (losses that are negative log-likelihoods).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array

# ------------------------------------------------------------------ comparison

#: Confidence of every decision and of every interval.
CONFIDENCE = 0.95
#: So many samples of errors that repeat themselves are worth one where nothing is known about their correlation.
REPEATED = 20.0
#: Parts of a motion that are predicted from the others, where nothing else is asked for.
PARTS = 4
#: Ratio of two errors below which their difference does not count, however sure it is: simplicity and plausibility may
#: cost this much. Without it the AR5's share is 15 % in place of 10, its held-out error 2.41 in place of 2.24 %.
NOTICEABLE = 1.05


@dataclass(frozen=True)
class Comparison:
    """Losses of two accounts of the same stretches.

    Attributes
    ----------
    before, after : float
        Mean loss of either.
    error : float
        Standard error of the difference; 0 where the two never differ, infinite with fewer than two stretches.
    stretches : int
    tried : int
        Accounts of which *after* is the best.
    """

    before: float
    after: float
    error: float
    stretches: int
    tried: int = 1

    @property
    def gain(self) -> float:
        """Mean loss of *before* over that of *after*, in standard errors: t."""
        if self.before == self.after:
            return 0.0
        return float((self.before - self.after) / self.error) if self.error > 0 else float("inf")

    @property
    def least(self) -> float:
        """Gain from which *after* is surely better, in standard errors."""
        from scipy.special import stdtrit  # slow to import

        if self.stretches < 2:
            return float("inf")
        return float(stdtrit(self.stretches - 1, 1.0 - (1.0 - CONFIDENCE) / 2.0 / self.tried))

    @property
    def better(self) -> bool:
        """Whether *after* is surely better: beyond what chance makes at the confidence (two-sided)."""
        return self.before > self.after and self.gain > self.least


def compared(before: ArrayLike, after: ArrayLike, tried: int = 1) -> Comparison:
    """Compare two accounts of the same stretches.

    Parameters
    ----------
    before, after
        Loss of each stretch, shape (stretches,): a mean square, a log-likelihood with the other sign, ...
    tried
        Of how many accounts *after* is the best.
    """
    first, other = np.asarray(before, dtype=float), np.asarray(after, dtype=float)
    n = len(first)
    error = float((other - first).std(ddof=1) / np.sqrt(n)) if n > 1 else float("inf")
    largest = max(np.abs(first).max(initial=0.0), np.abs(other).max(initial=0.0))
    rounding = float(n * np.finfo(float).eps * largest) if np.any(first != other) else 0.0
    return Comparison(float(first.mean()), float(other.mean()), max(error, rounding), n, tried)


def jackknife(left_out: ArrayLike) -> Array:
    """Variance of an estimate by how far it moves where one of m stretches of the data is left out.

    ``(m - 1)/m sum_g (theta_g - mean)^2`` (Shao and Tu 1995, Sec. 2.3), times the square of Student's quantile of m - 1
    degrees of freedom over the normal one, so that normal intervals of it hold. Errors of a model are seldom alike in
    two stretches: this is what they are worth, whatever their distribution.

    Parameters
    ----------
    left_out
        The estimate without each stretch, shape (m,) or (m, parameters).

    Returns
    -------
    ndarray, shape () or (parameters,)
        Zero for fewer than two stretches.
    """
    from scipy.special import ndtri, stdtrit  # slow to import

    values = np.asarray(left_out, dtype=float)
    rest, probability = len(values) - 1, 1.0 - (1.0 - CONFIDENCE) / 2.0
    if rest < 1:
        return np.zeros(values.shape[1:])
    student = float(stdtrit(rest, probability) / ndtri(probability)) ** 2
    return np.asarray(student * rest / len(values) * np.sum((values - values.mean(axis=0)) ** 2, axis=0))


# ------------------------------------------------------------------ noise

#: Differences beyond so many robust standard deviations are jumps of friction, not noise.
OUTLYING = 5.0


def robust_sd(values: ArrayLike) -> Array:
    """Standard deviation of zero-mean values whose outliers do not count: of the median absolute value, by columns."""
    return np.asarray(np.median(np.abs(np.asarray(values, dtype=float)), axis=0) / NormalDist().inv_cdf(0.75))


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


# ------------------------------------------------------------------ correlation

#: Lengths of blocks: 1, 2, 4 ... 1024 samples.
LEVELS = 11
#: Fewest blocks (counted over all joints) of a level that is used.
ENOUGH = 60
#: Equations that the usual variance counts for.
USUAL = 1000.0


class ResidualNoise:
    """Variance of a residual of unit weight, and the variance of its block means against that of independent samples.

    Sums over blocks of 1, 2, 4, ... samples are kept. With independent samples the mean square of a block sum is
    proportional to the block's length; what it is more, ``1 + 2 sum_k rho_k`` for blocks longer than the correlation,
    is how many times larger the variance of an estimate is than independent samples would make it (batch means;
    Flyvbjerg and Petersen 1989). The mean is not taken off: an error that never changes counts as one that never
    averages out. NaN is a residual that does not count, and neither does a block with one.
    """

    def __init__(self, joints: int) -> None:
        self._pending = np.zeros((LEVELS, joints))
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

    @property
    def sure_inflation(self) -> float:
        """`inflation` by the levels whose excess chance does not explain, at the confidence shared among them.

        At least ``(1 + rho) / (1 - rho)`` of an autoregression with the correlation rho of neighbours: what is fitted
        follows errors that are longer than the blocks.
        """
        from scipy.special import chdtri  # slow to import

        sizes = 2.0 ** np.arange(LEVELS)
        known = self._blocks >= ENOUGH
        if not known.any() or self._squares[0] <= 0.0:
            return 1.0
        ratios = self._squares[known] / self._blocks[known] / sizes[known] / self.variance
        chance = chdtri(self._blocks[known], (1.0 - CONFIDENCE) / known.sum()) / self._blocks[known]
        sure = np.where(ratios > chance, ratios, 1.0)
        neighbours = min(sure[1:2].sum(), 2.0 - 1.0 / self._blocks[0]) - 1.0
        return float(max(sure.max(), (1.0 + neighbours) / (1.0 - neighbours)))

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
        sure = values > len(values) * np.finfo(float).eps * values[-1]  # the others are rounding of the largest
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
