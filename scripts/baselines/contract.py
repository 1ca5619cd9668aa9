"""What every baseline does: fit torques of a motion, predict those of another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
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


class Baseline(ABC):
    """A learnt inverse dynamics.

    Attributes
    ----------
    name : str
    epochs : int
        Budget: passes over the training data at most.
    """

    name: str
    epochs: int

    @abstractmethod
    def fit(
        self, motion: Motion, seed: int = 0, stop: Callable[[int, Callable[[Motion], Array]], bool] | None = None
    ) -> int:
        """Train; the number of epochs used.

        ``stop(epoch, predict)`` is asked after each epoch and ends the training when it says so.
        """

    @abstractmethod
    def predict(self, motion: Motion) -> Array:
        """Torques (N, n); ``motion.tau`` is not looked at."""


def nmse(measured: Array, predicted: Array) -> Array:
    """Mean squared error over the variance of the signal, per joint."""
    return np.asarray(((measured - predicted) ** 2).mean(axis=0) / measured.var(axis=0))
