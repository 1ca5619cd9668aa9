"""Viscous friction that flattens or grows with speed."""

from __future__ import annotations

import casadi as ca

from casid.dynamics import JointSignals
from casid.regression.friction.law import COULOMB, OFFSET, VISCOUS, Amplitude, FrictionLaw, Theta


class Polynomial(FrictionLaw):
    """``fv v + fc sign(v) + fq sqrt(|v|) sign(v) + f3 v^3 + fo``."""

    name = "polynomial"
    amplitudes = (
        Amplitude("fv", VISCOUS.unit, VISCOUS.doc),
        Amplitude("fc", COULOMB.unit, COULOMB.doc),
        Amplitude("fq", "N.m.(s/rad)^0.5", "fq sqrt(|dq|) sign(dq)"),
        Amplitude("f3", "N.m.(s/rad)^3", "f3 dq^3"),
        OFFSET,
    )

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        v, sign = signals.dq, signals.sign
        return [v, sign, ca.sqrt(ca.fabs(v)) * sign, v**3, ca.SX(1)]
