"""Friction that differs between the two directions."""

from __future__ import annotations

import casadi as ca

from casid.dynamics import JointSignals
from casid.regression.friction.law import Amplitude, FrictionLaw, Theta


class Asymmetric(FrictionLaw):
    """``fvp v + fcp`` for v > 0, ``fvn v - fcn`` for v < 0; a constant torque is part of fcp - fcn."""

    name = "asymmetric"
    amplitudes = (
        Amplitude("fvp", "N.m.s/rad", "fvp dq while dq > 0", nonnegative=True),
        Amplitude("fvn", "N.m.s/rad", "fvn dq while dq < 0", nonnegative=True),
        Amplitude("fcp", "N.m", "fcp while dq > 0"),
        Amplitude("fcn", "N.m", "-fcn while dq < 0"),
    )

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        v, sign = signals.dq, signals.sign
        forward, backward = (sign * sign + sign) / 2, (sign - sign * sign) / 2
        return [ca.fmax(v, 0), ca.fmin(v, 0), forward, backward]
