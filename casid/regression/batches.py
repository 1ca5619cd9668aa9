"""Covariance of estimates from the scores of batches of samples: whatever the correlation of noise in time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Independent samples of a batch at least, and fewest and most batches.
LEAST, FEWEST, MOST = 25, 20, 300
#: Least share of its own noise that a batch is taken to keep after the fit, in every direction.
LEFT = 0.05


class Batches:
    """Scores ``s_t = Z_t' e_t`` of consecutive samples, gathered in overlapping batches.

    ``sum_b S_b S_b'`` of the batches ``S_b = sum_t h_b(t) s_t`` estimates the covariance of the sum of all scores,
    whatever their correlation in time: noise that was differentiated cancels over a batch. The windows h_b are half
    sines over two batches, so that ``sum_b h_b(t)^2 = 1``: without edges, at which such noise would not cancel.

    Residuals are smaller than noise, most where a batch alone tells a parameter. With white noise of unit variance and
    ``A = sum_t Z_t' Z_t`` a batch's scores have, after the fit, the covariance ``E_b = P_b - Q_b A^-1 Q_b`` in place of
    ``P_b = sum_t h_b^2 Z_t' Z_t``, with ``Q_b = sum_t h_b Z_t' Z_t``. They are put right by the symmetric map T with
    ``T E_b T = P_b``, as in the bias-reduced linearisation of Bell and McCaffrey (2002).

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
        independent = samples / max(correlation, 1.0)
        self._samples, self._count = max(samples, 1), int(np.clip(independent // LEAST, FEWEST, MOST))
        self._scores = np.zeros((self._count + 1, size))
        self._outer = np.zeros((self._count + 1, size, size))  # P
        self._inner = np.zeros((self._count + 1, size, size))  # Q
        self._done = 0

    def add(self, rows: Array, residuals: Array) -> None:
        """Samples that follow: Z, shape (N, joints, size), and e, shape (N, joints); zero where they do not count."""
        place = (self._done + np.arange(len(rows)) + 0.5) * self._count / self._samples
        self._done += len(rows)
        batch = np.minimum(place.astype(int), self._count - 1)
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
        scores = np.einsum("bij,bj->bi", _mended(P, P - Q @ Q), self._scores @ white)
        return np.asarray(back @ (scores.T @ scores) @ back.T)


def _mended(P: Array, E: Array) -> Array:
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
