"""One controller until an instant, another from then on."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from casid.errors import DatasetError
from casid.excitation import Motion
from casid.simulation.controllers.controller import Array, Controller, Signal


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

    def law(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX) -> ca.SX:
        """The law of the time."""
        late = t >= self.time
        first, second = self.before.law(t, signals, q, dq), self.after.law(t, signals, q, dq)
        return ca.if_else(late, 0, first) + ca.if_else(late, second, 0)
