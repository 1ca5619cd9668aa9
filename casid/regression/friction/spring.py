"""Torques that depend on the position: springs, counterbalances, cables."""

from __future__ import annotations

import casadi as ca

from casid.dynamics import JointSignals
from casid.regression.friction.law import Amplitude, FrictionLaw, Theta


class Spring(FrictionLaw):
    """``ks q + kss sin q + ksc cos q``, beside a friction law."""

    name = "spring"
    amplitudes = (
        Amplitude("ks", "N.m/rad", "ks q"),
        Amplitude("kss", "N.m", "kss sin(q)"),
        Amplitude("ksc", "N.m", "ksc cos(q)"),
    )

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        return [signals.q, ca.sin(signals.q), ca.cos(signals.q)]
