"""Deviation of a residual by the state: at rest, in motion, where torques change quickly.

A joint that stands still carries a friction torque anywhere within the band between the two that would move it: a
bounded unknown that lasts as long as the rest, neither noise nor part of the model. An error of timing shows as a
deviation that grows with the torque's rate of change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.arrays import Array

#: Candidates for the speed below which a joint counts as resting, over the root mean square of its speed.
SPEEDS = (0.0, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16)
#: Fewest samples of either regime, resting or moving, that a speed must leave.
FEW = 20
#: Steps of the fixed point of the timing error.
TURNS = 20


@dataclass(frozen=True, eq=False)
class StateNoise:
    """Standard deviation of the residual of each joint, ``s_j`` in motion, at the state of a sample:

        sd_j^2 = s_j^2 + (d_j dtau_j/dt)^2 + [ |dq_j| < v_j ] b_j^2

    b_j is half the band of the joint's dry friction, ``(h_j(v_j) - h_j(-v_j)) / 2`` with the joint terms' torque h_j,
    in whose middle the friction of a resting joint is taken. ``b_j^2`` is the largest variance that a torque within the
    band can have (Popoviciu 1935).

    Attributes
    ----------
    size : ndarray, shape (n,)
        s_j [N.m].
    speed : ndarray, shape (n,)
        v_j, below which a joint counts as resting [rad/s or m/s]; 0: never.
    timing : ndarray, shape (n,)
        d_j, deviation of the time between motion and torque [s].
    """

    size: Array
    speed: Array
    timing: Array


@dataclass(frozen=True, eq=False)
class Resting:
    """Which joints rest at each sample, and their friction: arrays of shape (N, n).

    Attributes
    ----------
    mask : ndarray of bool
    shift : ndarray
        Middle of the friction's band less the friction of the model [N.m]; zero in motion.
    band : ndarray
        Half the band [N.m]; zero in motion.
    """

    mask: NDArray[np.bool_]
    shift: Array
    band: Array

    @classmethod
    def of(cls, friction: Callable[[Array], Array], dq: Array, speed: Array) -> Resting:
        """From the joint terms' torque as a function of the velocities, shapes (N, n)."""
        mask = np.abs(dq) < speed
        if not mask.any():
            return cls(mask, np.zeros(dq.shape), np.zeros(dq.shape))
        up, down = (friction(np.where(mask, sign * speed, dq)) for sign in (1.0, -1.0))
        shift = np.where(mask, (up + down) / 2.0 - friction(dq), 0.0)
        return cls(mask, shift, np.where(mask, np.abs(up - down) / 2.0, 0.0))


def state_noise(
    residuals: Sequence[Array], dq: Sequence[Array], rate: Sequence[Array], friction: Sequence[Callable[[Array], Array]]
) -> StateNoise:
    """Speeds and timing errors of largest likelihood, joint by joint, of normal residuals with the deviations above.

    Parameters
    ----------
    residuals, dq, rate
        Of each recording: residual of the model (NaN where it does not count), velocity, and rate of change of the
        torque, shapes (N, n).
    friction
        Of each recording, as of `Resting.of`.
    """
    n = residuals[0].shape[1]
    velocity, left = np.vstack(dq), np.vstack(residuals)
    changes = np.vstack(rate)
    usual = np.sqrt(np.mean(velocity**2, axis=0))
    best, noise = np.full(n, np.inf), StateNoise(*np.zeros((3, n)))
    for share in SPEEDS:
        rests = [Resting.of(h, v, share * usual) for h, v in zip(friction, dq, strict=True)]
        mask, shift, band = (np.vstack([getattr(r, name) for r in rests]) for name in ("mask", "shift", "band"))
        for j in range(n):
            known = np.isfinite(left[:, j])
            rest = mask[known, j]
            if not len(rest) or (min(rest.sum(), (~rest).sum()) < FEW and share > 0.0):
                continue
            e, r = (left - shift)[known, j], changes[known, j]
            variance, timing = _moving(e[~rest], r[~rest])
            whole = variance + (timing * r) ** 2 + band[known, j] ** 2
            cost = float(np.sum(np.log(np.maximum(whole, 1e-300)) + e**2 / np.maximum(whole, 1e-300)))
            if cost < best[j]:
                best[j], noise.speed[j], noise.timing[j] = cost, share * usual[j], timing
                noise.size[j] = np.sqrt(variance)
    return noise


def _moving(e: Array, rate: Array) -> tuple[float, float]:
    """Variance, and timing error, of moving samples: ``e^2 = s^2 + d^2 rate^2`` by weighted least squares."""
    squares, x = e**2, rate**2
    variance, timing = float(np.mean(squares)), 0.0
    for _ in range(TURNS):
        size = np.maximum(variance + timing * x, 1e-300)
        A = np.column_stack([1.0 / size, x / size])
        found = np.linalg.lstsq(A, squares / size, rcond=None)[0]
        if found[1] <= 0.0 or found[0] <= 0.0:
            return float(np.mean(squares)), 0.0
        variance, timing = float(found[0]), float(found[1])
    return variance, float(np.sqrt(timing))


def torque_rate(tau: Array, t: Array) -> Array:
    """Rate of change of the torques from the sample before, shape (N, n) [N.m/s]; zero at the first one."""
    steps = np.diff(t)
    made = np.zeros(tau.shape)
    made[1:] = np.diff(tau, axis=0) / np.where(steps > 0, steps, np.inf)[:, None]
    return made
