"""A load from poses at rest, where errors are bounded by dry friction: Pitman's estimate and its intervals.

Friction holds a resting joint with any torque within a band: errors that are bounded, not normal.
With errors uniform in +-b h_j, h_j the dry friction by the robot's parameters, b unknown, and the prior ``1 / b`` of a
scale, load and drifts x have the density ``max_ij |e_ij(x) / h_j|^-N``, N torques in all. (Without dry friction in the
parameters each joint has a bound of its own.) The mean is Pitman's estimate, of least expected square among those that
shift with the data (Pitman 1939); its errors fall as 1/N, those of least squares as 1/sqrt(N). Mean and intervals are
those of draws (Gibbs steps for b, hit and run for x: Smith 1984), and taken where this likelihood exceeds the normal
one, the robot's parameters are given, and poses suffice.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from casid.identification.loads._equations import DETERMINED, LoadStack

Array = NDArray[np.float64]

#: Draws of unknowns under bounded errors, those at the start that are dropped, and steps of x for one of the bounds.
DRAWS, DROPPED, SWEEP = 12_000, 2_000, 4


def bounded_load(
    stack: LoadStack, confidence: float
) -> tuple[Array, Array, float, float, dict[str, tuple[float, float]]] | None:
    """The load's own equations ``R x = r`` of unit variance where errors at poses are bounded, and its intervals.

    ``None`` where joints move, poses are too few, or normal errors explain the torques better; else R, r, what they
    leave, the variance and the intervals of ``m, cx, cy, cz``, together.
    """
    if stack.held is None:
        return None
    joints = [np.vstack(rows) for rows in stack.held if sum(map(len, rows))]
    A, y, band = np.vstack(joints)[:, :-2], np.vstack(joints)[:, -2], np.vstack(joints)[:, -1]
    owner = np.repeat(np.arange(len(joints)), [len(rows) for rows in joints])
    if (band > 0).all():
        A, y, owner = A / band[:, None], y / band, np.zeros(len(y), dtype=np.int64)
    lengths = np.linalg.norm(A, axis=0)
    scale = np.where(lengths > 0, lengths, 1.0)
    U, s, Vt = np.linalg.svd(A / scale, full_matrices=False)
    sure = s > DETERMINED * s[0]
    U, W = U[:, sure], s[sure, None] * Vt[sure] * scale  # A x = U z with z = W x
    if np.bincount(owner).min() <= U.shape[1] + 1 or not (y - U @ (U.T @ y)).any():
        return None
    draws, uniform = _uniform_draws(U, y, owner)
    left = y - U @ (U.T @ y)
    normal = sum(0.5 * len(own) * np.log(2 * np.pi * np.exp(1) * np.mean(own**2)) for own in _by(left, owner))
    if uniform >= normal:
        return None
    x = draws @ np.linalg.pinv(W).T
    if not (x[:, 9] > 0).all():
        return None
    four = np.column_stack([x[:, 9], x[:, 6:9] / x[:, 9:10]])
    middle, deviation = four.mean(axis=0), four.std(axis=0)
    wide = deviation * np.quantile((np.abs(four - middle) / np.maximum(deviation, 1e-300)).max(axis=1), confidence)
    root = np.linalg.inv(np.linalg.cholesky(np.cov(draws.T)))
    known = {n: (float(a - w), float(a + w)) for n, a, w in zip(("m", "cx", "cy", "cz"), middle, wide, strict=True)}
    return root @ W, root @ draws.mean(axis=0), float(len(y) - U.shape[1]), 1.0, known


def _by(e: Array, owner: NDArray[np.int64]) -> list[Array]:
    return [e[owner == k] for k in range(int(owner.max()) + 1)]


def _uniform_draws(U: Array, y: Array, owner: NDArray[np.int64]) -> tuple[Array, float]:
    """Draws of z, ``y = U z + e`` with e uniform within its owner's bound, and the least negative log likelihood."""
    rng, counts = np.random.default_rng(0), np.bincount(owner)
    z = U.T @ y
    e, draws, least = y - U @ z, np.empty((DRAWS, U.shape[1])), np.inf
    bound = np.abs(e)
    for k in range(DRAWS):
        if k % SWEEP == 0:
            largest = np.zeros(len(counts))
            np.maximum.at(largest, owner, np.abs(e))
            least = min(least, float(counts @ np.log(2.0 * largest)))
            bound = (largest * rng.uniform(size=len(counts)) ** (-1.0 / counts))[owner]
        step = rng.normal(size=len(z))
        slope = U @ step
        ends = np.sort(np.stack([e - bound, e + bound]) / np.where(slope == 0.0, 1e-300, slope), axis=0)
        length = rng.uniform(ends[0].max(), ends[1].min())
        z, e = z + length * step, e - length * slope
        draws[k] = z
    return draws[DROPPED:], least
