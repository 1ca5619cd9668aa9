"""Proportional-derivative control of the joints."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from casid.simulation.controllers.controller import Array, Controller, gains


@dataclass(frozen=True, eq=False)
class PD(Controller):
    """PD control of the joints: tau = Kp (q_ref - q) + Kd (dq_ref - dq).

    Attributes
    ----------
    kp, kd : ndarray, shape (n,)
        Gains [N.m/rad] and [N.m.s/rad]; ``kd`` may be one number.
    """

    kp: Array
    kd: Array

    def __post_init__(self) -> None:
        n = int(np.size(self.kp))
        object.__setattr__(self, "kp", gains(self.kp, n, "kp"))
        object.__setattr__(self, "kd", gains(self.kd, n, "kd"))

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.kp)

    def law(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX) -> ca.SX:
        """The errors times the gains."""
        return feedback(self.kp, self.kd, signals, q, dq)


def feedback(kp: Array, kd: Array, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX) -> ca.SX:
    """``Kp (q_ref - q) + Kd (dq_ref - dq)`` with diagonal gains."""
    return ca.DM(kp) * (signals[0] - q) + ca.DM(kd) * (signals[1] - dq)
