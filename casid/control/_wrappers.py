"""Controllers around other controllers: torque limits, and a change of controller at an instant."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from casid.control._controller import Array, Controller, Signal
from casid.errors import DatasetError
from casid.motion import Motion


@dataclass(frozen=True, eq=False)
class Saturated(Controller):
    """Another controller, its torques cut off at limits.

    Attributes
    ----------
    controller : Controller
    limit : ndarray, shape (n,)
        Largest absolute torque of each joint [N.m or N]; infinite: none.
    """

    controller: Controller
    limit: Array

    def __post_init__(self) -> None:
        limit = np.broadcast_to(np.asarray(self.limit, dtype=float), (self.controller.n,)).copy()
        if not (limit > 0).all():
            raise DatasetError(f"torque limit of joint {int(np.argmin(limit > 0)) + 1} must be positive")
        limit.setflags(write=False)
        object.__setattr__(self, "limit", limit)

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.controller.n

    @property
    def signals(self) -> tuple[Signal, ...]:
        """Those of the controller."""
        return self.controller.signals

    def rows(self, motion: Motion) -> Array:
        """Those of the controller."""
        return self.controller.rows(motion)

    @property
    def states(self) -> int:
        """Those of the controller."""
        return self.controller.states

    def initial(self, q: ca.SX) -> ca.SX:
        """That of the controller."""
        return self.controller.initial(q)

    @property
    def words(self) -> str:
        """The controller's sentence, and the limits."""
        return f"{self.controller.words} Torques are cut off at the limits."

    def step(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX, memory: ca.SX) -> tuple[ca.SX, ca.SX]:
        """The controller's torque within the limits, and its memory."""
        given, kept = self.controller.step(t, signals, q, dq, memory)
        tau = ca.SX(given)
        for k in np.flatnonzero(np.isfinite(self.limit)).tolist():
            tau[k] = ca.fmin(ca.fmax(tau[k], -self.limit[k]), self.limit[k])
        return tau, kept


@dataclass(frozen=True, eq=False)
class Switched(Controller):
    """One controller until an instant, another from then on.

    Attributes
    ----------
    before, after : Controller
        With the same signals.
    time : float
        [s]
    """

    before: Controller
    after: Controller
    time: float

    def __post_init__(self) -> None:
        if self.before.n != self.after.n or self.before.signals != self.after.signals:
            raise DatasetError("switched controllers need the same joints and the same reference signals")

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.after.n

    @property
    def signals(self) -> tuple[Signal, ...]:
        """Those of both."""
        return self.after.signals

    def rows(self, motion: Motion) -> Array:
        """Those of both."""
        return self.after.rows(motion)

    @property
    def states(self) -> int:
        """Those of both, side by side."""
        return self.before.states + self.after.states

    def initial(self, q: ca.SX) -> ca.SX:
        """Those of both."""
        return ca.horzcat(self.before.initial(q), self.after.initial(q))

    def step(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX, memory: ca.SX) -> tuple[ca.SX, ca.SX]:
        """The torques of the time; both memories run on."""
        late, own = t >= self.time, self.before.states
        first, kept = self.before.step(t, signals, q, dq, memory[:, :own])
        second, later = self.after.step(t, signals, q, dq, memory[:, own:])
        return ca.if_else(late, 0, first) + ca.if_else(late, second, 0), ca.horzcat(kept, later)
