"""What turns a reference and a measured state into joint torques: the contract."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.errors import DatasetError
from casid.motion import Motion

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Signal:
    """An input of a controller besides time and state: its name, its shape, and what it is."""

    name: str
    rows: int
    columns: int = 1
    words: str = ""

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.rows * self.columns


class Controller(ABC):
    """A torque for a state and a reference: ``tau = law(t, signals, q, dq)``.

    A law is one CasADi expression, so every controller simulates, runs in thousands of rollouts, and exports to C
    without allocation.
    """

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of joints."""

    @property
    def signals(self) -> tuple[Signal, ...]:
        """Reference signals of the law; by default of the joints: position, velocity, acceleration."""
        return joint_signals(self.n)

    @abstractmethod
    def law(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX) -> ca.SX:
        """Torques (n), for the time [s], the signals in their order, and the measured state."""

    def rows(self, motion: Motion) -> Array:
        """Values of the signals for a joint motion of N instants, shape (N, sum of sizes), matrices by columns."""
        return np.asarray(np.concatenate([motion.q, motion.dq, motion.ddq], axis=1))

    @property
    def words(self) -> str:
        """One sentence for the header of exported code."""
        return (type(self).__doc__ or type(self).__name__).strip().splitlines()[0]

    @cached_property
    def function(self) -> ca.Function:
        """``(t, <signals>, q, dq) -> tau``."""
        t, q, dq = ca.SX.sym("t"), ca.SX.sym("q", self.n), ca.SX.sym("dq", self.n)
        signals = tuple(ca.SX.sym(signal.name, signal.rows, signal.columns) for signal in self.signals)
        tau = ca.densify(self.law(t, signals, q, dq))
        labels = ["t", *(signal.name for signal in self.signals), "q", "dq"]
        return ca.Function("control", [t, *signals, q, dq], [tau], labels, ["tau"], {"cse": True})

    @cached_property
    def stacked(self) -> ca.Function:
        """``(t, r, q, dq) -> tau`` with all signals in one vector, as `rows` gives them."""
        t, q, dq = ca.SX.sym("t"), ca.SX.sym("q", self.n), ca.SX.sym("dq", self.n)
        r = ca.SX.sym("r", max(1, sum(signal.size for signal in self.signals)))
        parts, start = [], 0
        for signal in self.signals:
            parts.append(ca.reshape(r[start : start + signal.size], signal.rows, signal.columns))
            start += signal.size
        tau = ca.densify(self.law(t, tuple(parts), q, dq))
        return ca.Function("control", [t, r, q, dq], [tau], ["t", "r", "q", "dq"], ["tau"], {"cse": True})


def joint_signals(n: int) -> tuple[Signal, ...]:
    """Position, velocity and acceleration of the joints."""
    return (
        Signal("q_ref", n, words="reference positions [rad, m]"),
        Signal("dq_ref", n, words="reference velocities [rad/s, m/s]"),
        Signal("ddq_ref", n, words="reference accelerations [rad/s^2, m/s^2]"),
    )


def gains(value: ArrayLike, n: int, what: str) -> Array:
    """A gain for each joint, from one for all or n of them; DatasetError unless finite and not negative."""
    given = np.asarray(value, dtype=float)
    if given.shape not in ((), (1,), (n,)):
        raise DatasetError(f"{what}: expected one number or {n}, got shape {given.shape}")
    array: Array = np.array(np.broadcast_to(given, (n,)))
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if len(bad):
        raise DatasetError(f"{what} of joint {bad[0] + 1} must be a finite number >= 0, got {array[bad[0]]}")
    array.setflags(write=False)
    return array
