"""Coulomb friction that is silent at rest."""

from __future__ import annotations

import casadi as ca

from casid.dynamics import JointSignals
from casid.regression.friction.law import COULOMB, OFFSET, VISCOUS, FrictionLaw, Shape, Theta


class Deadband(FrictionLaw):
    """``fv v + fc sign(v) [|v| >= w] + fo``: the sign of a velocity that is mostly noise counts as 0."""

    name = "deadband"
    amplitudes = (VISCOUS, COULOMB, OFFSET)
    shape = (Shape("deadband", "rad/s", 1e-4, 0.3, 0.01, (0.002, 0.005, 0.01, 0.02, 0.04)),)

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        return [signals.dq, signals.sign * (ca.fabs(signals.dq) >= theta[0]), ca.SX(1)]
