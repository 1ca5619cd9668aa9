"""A load from poses at rest, where errors are bounded by dry friction: Pitman's estimate and its intervals.

Friction holds a resting joint with any torque within a band: errors that are bounded, not normal.
With errors uniform in +-b h_j, h_j the dry friction by the robot's parameters, b unknown, and the prior ``1 / b`` of a
scale, load and drifts x have the density ``max_ij |e_ij(x) / h_j|^-N``, N torques in all. (Without dry friction in the
parameters each joint has a bound of its own.) The mean is Pitman's estimate, of least expected square among those that
shift with the data (Pitman 1939); its errors fall as 1/N, those of least squares as 1/sqrt(N). Mean and intervals are
those of draws (Gibbs steps for b, hit and run for x: Smith 1984), and taken where the robot's parameters are given,
poses suffice, and bounded errors are the more probable ones: the likelihood of each kind of error is integrated over x
and over its scale, of the same priors (``1 / b``, ``1 / sigma``), in closed form over the scale and by importance
sampling over x. The largest likelihoods would not do: bounded errors follow the extremes of a few normal ones.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from casid.arrays import RANK, Array
from casid.loads._equations import LoadStack
from casid.regression import lengths

#: Draws of unknowns under bounded errors, those at the start that are dropped, and steps of x for one of the bounds.
DRAWS, DROPPED, SWEEP = 12_000, 2_000, 4
#: Draws of importance sampling, degrees of freedom of their Student distribution, and turns of the joints' weights.
SAMPLED, FREEDOM, TURNS = 4_000, 5, 10


def bounded_load(
    stack: LoadStack, confidence: float
) -> tuple[Array, Array, float, dict[str, tuple[float, float]]] | None:
    """The load's own equations ``R x = r`` of unit variance where errors at poses are bounded, and its intervals.

    ``None`` where joints move, poses are too few, or normal errors explain the torques better; else R, r, what they
    leave and the intervals of ``m, cx, cy, cz``, together.
    """
    if stack.held is None:
        return None
    joints = [np.vstack(rows) for rows in stack.held if sum(map(len, rows))]
    A, y, band = np.vstack(joints)[:, :-2], np.vstack(joints)[:, -2], np.vstack(joints)[:, -1]
    owner = np.repeat(np.arange(len(joints)), [len(rows) for rows in joints])
    if (band > 0).all():
        A, y, owner = A / band[:, None], y / band, np.zeros(len(y), dtype=np.int64)
    scale = lengths((A**2).sum(axis=0))
    U, s, Vt = np.linalg.svd(A / scale, full_matrices=False)
    sure = s > RANK * s[0]
    U, W = U[:, sure], s[sure, None] * Vt[sure] * scale  # A x = U z with z = W x
    if np.bincount(owner).min() <= U.shape[1] + 1 or not (y - U @ (U.T @ y)).any():
        return None
    draws = _uniform_draws(U, y, owner)
    if not _bounded_are_likelier(U, y, owner, draws):
        return None
    x = draws @ np.linalg.pinv(W).T
    if not (x[:, 9] > 0).all():
        return None
    four = np.column_stack([x[:, 9], x[:, 6:9] / x[:, 9:10]])
    middle, deviation = four.mean(axis=0), four.std(axis=0)
    wide = deviation * np.quantile((np.abs(four - middle) / np.maximum(deviation, 1e-300)).max(axis=1), confidence)
    root = np.linalg.inv(np.linalg.cholesky(np.cov(draws.T)))
    known = {n: (float(a - w), float(a + w)) for n, a, w in zip(("m", "cx", "cy", "cz"), middle, wide, strict=True)}
    return root @ W, root @ draws.mean(axis=0), float(len(y) - U.shape[1]), known


def _bounded_are_likelier(U: Array, y: Array, owner: NDArray[np.int64], draws: Array) -> bool:
    """Whether bounded errors explain ``y = U z + e`` better than normal ones, whatever z and the scales are.

    With M_j the largest and S_j the sum of squares of the n_j errors of owner j, and the prior ``1 / scale``, the
    scales are integrated out: ``(2 M_j)^-n_j / n_j`` and ``Gamma(n_j / 2) (pi S_j)^(-n_j / 2) / 2``.
    """
    counts = np.bincount(owner)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])

    def bounded(z: Array) -> Array:
        largest = np.maximum.reduceat(np.abs(y[:, None] - U @ z.T), starts, axis=0)
        return np.asarray(-counts @ np.log(2.0 * largest) - np.log(counts).sum())

    def normal(z: Array) -> Array:
        squares = np.add.reduceat((y[:, None] - U @ z.T) ** 2, starts, axis=0)
        constant = (gammaln(counts / 2.0) - np.log(2.0)).sum()
        return np.asarray(constant - (counts / 2.0) @ np.log(np.pi * squares))

    middle, variances = U.T @ y, np.ones(len(counts))
    for _ in range(TURNS):  # least squares weighted by the errors of each owner
        variances = np.add.reduceat((y - U @ middle) ** 2, starts) / counts
        weighted = U / variances[owner, None]
        middle = np.linalg.solve(weighted.T @ U, weighted.T @ y)
    spread = np.linalg.inv((U / variances[owner, None]).T @ U)
    likelier = _integral(bounded, draws.mean(axis=0), np.cov(draws.T)) - _integral(normal, middle, spread)
    return bool(likelier > 0.0)


def _integral(logarithm: Callable[[Array], Array], middle: Array, covariance: Array) -> float:
    """Logarithm of the integral of a density over z, by importance sampling from a Student distribution about it.

    Parameters
    ----------
    logarithm
        Of the density, at points of shape (SAMPLED, d).
    middle, covariance
        Of z, approximately.
    """
    rng, d = np.random.default_rng(0), len(middle)
    root = np.linalg.cholesky(covariance)
    normal, chi = rng.normal(size=(SAMPLED, d)), rng.chisquare(FREEDOM, SAMPLED) / FREEDOM
    t = normal / np.sqrt(chi)[:, None]
    known = gammaln((FREEDOM + d) / 2) - gammaln(FREEDOM / 2) - d / 2 * np.log(FREEDOM * np.pi)
    own = known - (FREEDOM + d) / 2 * np.log1p((t**2).sum(axis=1) / FREEDOM) - np.log(np.diag(root)).sum()
    return float(logsumexp(logarithm(middle + t @ root.T) - own) - np.log(SAMPLED))


def _uniform_draws(U: Array, y: Array, owner: NDArray[np.int64]) -> Array:
    """Draws of z, ``y = U z + e`` with e uniform within its owner's bound."""
    rng, counts = np.random.default_rng(0), np.bincount(owner)
    z = U.T @ y
    e, draws = y - U @ z, np.empty((DRAWS, U.shape[1]))
    bound = np.abs(e)
    for k in range(DRAWS):
        if k % SWEEP == 0:
            largest = np.zeros(len(counts))
            np.maximum.at(largest, owner, np.abs(e))
            bound = (largest * rng.uniform(size=len(counts)) ** (-1.0 / counts))[owner]
        step = rng.normal(size=len(z))
        slope = U @ step
        ends = np.sort(np.stack([e - bound, e + bound]) / np.where(slope == 0.0, 1e-300, slope), axis=0)
        length = rng.uniform(ends[0].max(), ends[1].min())
        z, e = z + length * step, e - length * slope
        draws[k] = z
    return draws[DROPPED:]
