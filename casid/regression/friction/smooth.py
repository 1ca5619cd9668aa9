"""Coulomb friction with a slope instead of a jump."""

from __future__ import annotations

import casadi as ca

from casid.dynamics import JointSignals
from casid.regression.friction.law import COULOMB, OFFSET, VISCOUS, FrictionLaw, Shape, Theta

#: Over which speed friction changes its direction.
WIDTH = Shape("width", "rad/s", 1e-3, 1.0, 0.03, (0.005, 0.02, 0.05, 0.12))


class Smooth(FrictionLaw):
    """``fv v + fc tanh(v / w) + fo``."""

    name = "smooth"
    amplitudes = (VISCOUS, COULOMB, OFFSET)
    shape = (WIDTH,)

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        return [signals.dq, ca.tanh(signals.dq / theta[0]), ca.SX(1)]
