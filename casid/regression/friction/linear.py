"""Viscous and Coulomb friction."""

from __future__ import annotations

import casadi as ca

from casid.dynamics import JointSignals
from casid.regression.friction.law import COULOMB, OFFSET, VISCOUS, FrictionLaw, Theta


class Linear(FrictionLaw):
    """``fv v + fc sign(v) + fo``."""

    name = "linear"
    amplitudes = (VISCOUS, COULOMB, OFFSET)

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        return [signals.dq, signals.sign, ca.SX(1)]
