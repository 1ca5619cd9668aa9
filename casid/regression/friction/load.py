"""Friction that grows with the torque that a joint carries."""

from __future__ import annotations

import casadi as ca

from casid.dynamics import JointSignals
from casid.regression.friction.law import Amplitude, FrictionLaw, Shape, Theta


class Load(FrictionLaw):
    """``fl |tau_load| sign(v)``, beside another law; the load is the torque of the links (Hamon et al. 2010)."""

    name = "load"
    amplitudes = (Amplitude("fl", "-", "fl |load| sign(dq)"),)
    loaded = True

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        return [ca.fabs(signals.load) * signals.sign]


class LoadStribeck(FrictionLaw):
    """``(fl + fls exp(-(v / vl)^2)) |tau_load| sign(v)``, beside another law: load raises both parts of Stribeck's."""

    name = "loadstribeck"
    amplitudes = (
        Amplitude("fl", "-", "fl |load| sign(dq)"),
        Amplitude("fls", "-", "fls exp(-(dq/vl)^2) |load| sign(dq)"),
    )
    shape = (Shape("load speed", "rad/s", 1e-2, 5.0, 0.2, (0.03, 0.12, 0.5)),)
    loaded = True

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        pressed = ca.fabs(signals.load) * signals.sign
        return [pressed, ca.exp(-((signals.dq / theta[0]) ** 2)) * pressed]
