"""Motions that baselines learn from, and their measure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from casid.arrays import Array


@dataclass(frozen=True, eq=False)
class Motion:
    """Samples of a motion, each array of shape (N, n): q [rad], dq [rad/s], ddq [rad/s^2], tau [N.m]."""

    q: Array
    dq: Array
    ddq: Array
    tau: Array

    def rows(self, which: Array | slice) -> Motion:
        """Some of the samples."""
        return Motion(self.q[which], self.dq[which], self.ddq[which], self.tau[which])

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.q)


def nmse(measured: Array, predicted: Array) -> Array:
    """Mean squared error over the variance of the signal, per joint."""
    return np.asarray(((measured - predicted) ** 2).mean(axis=0) / measured.var(axis=0))
