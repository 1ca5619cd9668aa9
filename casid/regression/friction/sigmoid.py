"""The sigmoid of the Panda paper."""

from __future__ import annotations

import casadi as ca

from casid.dynamics import JointSignals
from casid.regression.friction.law import Amplitude, FrictionLaw, Shape, Theta


class Sigmoid(FrictionLaw):
    """``fp (1 / (1 + exp(-s (v + v0))) - 1 / (1 + exp(-s v0)))`` (Gaz et al. 2019, eq. 25)."""

    name = "sigmoid"
    amplitudes = (Amplitude("fp", "N.m", "fp (sigmoid(s (dq + v0)) - sigmoid(s v0))"),)
    shape = (
        Shape("slope", "s/rad", 0.5, 1e3, 10.0, (3.0, 6.0, 12.0, 25.0, 50.0), power=-1),
        Shape("shift", "rad/s", -1.0, 1.0, 0.0, (-0.1, -0.03, 0.0, 0.03, 0.1)),
    )

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        slope, shift = theta  # 1/(1+exp(-x)) = (1 + tanh(x/2)) / 2 does not overflow
        return [(ca.tanh(slope * (signals.dq + shift) / 2) - ca.tanh(slope * shift / 2)) / 2]
