r"""Is one account of the data surely better than another? The paired comparison that every choice rests on.

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

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.arrays import Array

#: Confidence of every decision and of every interval.
CONFIDENCE = 0.95
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


def as_good(losses: ArrayLike) -> NDArray[np.bool_]:
    """Which accounts are as good as the best: not surely worse, and by at most `NOTICEABLE`.

    Of several such the simplest may be taken: the more plausible links, the filter that deletes less.

    Parameters
    ----------
    losses
        Squared errors of each account on each stretch, shape (stretches, accounts).
    """
    squares = np.asarray(losses, dtype=float)
    totals = squares.sum(axis=0)
    best = squares[:, int(np.argmin(totals))]
    worse = np.array([compared(own, best).better for own in squares.T])
    return np.asarray((totals <= NOTICEABLE**2 * best.sum()) & ~worse)


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
