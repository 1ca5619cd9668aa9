"""Ends of simulations: conditions, times and reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from casid.errors import DatasetError

Array = NDArray[np.float64]


class Reason(Enum):
    """Why a simulation ended."""

    FINISHED = "finished"
    INDEFINITE = "the mass matrix lost positive definiteness"
    DIVERGED = "the motion diverged"
    NOT_FINITE = "the state is not finite any more"
    STUCK = "the integrator cannot proceed"


@dataclass(frozen=True)
class End:
    """When and why a simulation ended.

    Attributes
    ----------
    time : float
        Last instant that was reached [s].
    reason : Reason
    detail : str
        Observation at the end, for messages.
    """

    time: float
    reason: Reason = Reason.FINISHED
    detail: str = ""

    @property
    def finished(self) -> bool:
        """Whether the simulation reached its time."""
        return self.reason is Reason.FINISHED

    def __str__(self) -> str:
        if self.finished:
            return f"finished at {self.time:g} s"
        return f"stopped at {self.time:.6g} s: {self.reason.value}{f' ({self.detail})' if self.detail else ''}"


class Stopped(Exception):
    """Raised by an integrator that cannot go on; carries the last good state."""

    def __init__(self, time: float, state: Array, reason: Reason, detail: str = "") -> None:
        super().__init__(reason.value)
        self.end, self.state = End(time, reason, detail), state


@dataclass(frozen=True)
class Stops:
    """Conditions that end a simulation early.

    Attributes
    ----------
    speed : float
        Largest speed of a joint [rad/s or m/s].
    definite : bool
        Whether to end where the mass matrix is not positive definite: no physical machine has such a
        mass matrix, and ``M^-1`` does not exist on the way to it.
    """

    speed: float = 1e3
    definite: bool = True

    def __post_init__(self) -> None:
        if not self.speed > 0:
            raise DatasetError(f"stops: the largest speed must be positive, got {self.speed}")

    def check(self, time: float, state: Array, after: Array, pivots: Array, joints: Sequence[str]) -> None:
        """Raise `Stopped` with ``state``, the last good one, if ``after`` or the pivots of M are not acceptable."""
        if self.definite and not (pivots > 0).all():
            joint = int(np.flatnonzero(~(pivots > 0))[-1])
            raise Stopped(time, state, Reason.INDEFINITE, f"pivot of joint '{joints[joint]}': {pivots[joint]:.3g}")
        if not np.isfinite(after).all():
            raise Stopped(time, state, Reason.NOT_FINITE)
        n = len(joints)
        fast = np.abs(after[n : 2 * n])
        if (fast > self.speed).any():
            joint = int(fast.argmax())
            raise Stopped(time, state, Reason.DIVERGED, f"joint '{joints[joint]}' is faster than {self.speed:g} rad/s")
