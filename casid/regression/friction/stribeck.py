"""Stribeck friction: more at low speed."""

from __future__ import annotations

import casadi as ca

from casid.dynamics import JointSignals
from casid.regression.friction.law import COULOMB, OFFSET, VISCOUS, Amplitude, FrictionLaw, Shape, Theta
from casid.regression.friction.smooth import WIDTH

#: How fast the additional friction of low speed fades.
SPEED = Shape("speed", "rad/s", 1e-2, 5.0, 0.2, (0.03, 0.06, 0.12, 0.25, 0.5, 1.0))


class Stribeck(FrictionLaw):
    """``fv v + (fc + fs exp(-(v / vs)^2)) tanh(v / w) + fo`` (Armstrong-Helouvry et al. 1994, the jump smoothed)."""

    name = "stribeck"
    amplitudes = (VISCOUS, COULOMB, Amplitude("fs", "N.m", "fs exp(-(dq/vs)^2) sign(dq)"), OFFSET)
    shape = (WIDTH, SPEED)

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        width, speed = theta
        edge = ca.tanh(signals.dq / width)
        return [signals.dq, edge, ca.exp(-((signals.dq / speed) ** 2)) * edge, ca.SX(1)]
