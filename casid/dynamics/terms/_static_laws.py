"""Static friction laws: torques over velocity, load and position."""

from __future__ import annotations

import casadi as ca

from casid.description._joint_parameters import (
    COULOMB,
    COULOMB_NEGATIVE,
    COULOMB_POSITIVE,
    CUBIC_VISCOUS,
    LOAD,
    LOAD_STRIBECK,
    OFFSET,
    SIGMOID,
    SPRING,
    SPRING_COSINE,
    SPRING_SINE,
    SQRT_VISCOUS,
    STRIBECK,
    VISCOUS,
    VISCOUS_NEGATIVE,
    VISCOUS_POSITIVE,
)
from casid.dynamics.terms._joint_terms import JointSignals
from casid.dynamics.terms._law import FrictionLaw, Shape, Theta, catalogued


class Linear(FrictionLaw):
    """``fv v + fc sign(v) + fo``."""

    name = "linear"
    amplitudes = catalogued(VISCOUS, COULOMB, OFFSET)

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        return [signals.dq, signals.sign, ca.SX(1)]


class Deadband(FrictionLaw):
    """``fv v + fc sign(v) [|v| >= w] + fo``: the sign of a velocity that is mostly noise counts as 0."""

    name = "deadband"
    amplitudes = catalogued(VISCOUS, COULOMB, OFFSET)
    shape = (Shape("deadband", "rad/s", 1e-4, 0.3, 0.01, (0.002, 0.005, 0.01, 0.02, 0.04)),)

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        return [signals.dq, signals.sign * (ca.fabs(signals.dq) >= theta[0]), ca.SX(1)]


#: Over which speed friction changes its direction.
WIDTH = Shape("width", "rad/s", 1e-3, 1.0, 0.03, (0.005, 0.02, 0.05, 0.12))


class Smooth(FrictionLaw):
    """``fv v + fc tanh(v / w) + fo``."""

    name = "smooth"
    amplitudes = catalogued(VISCOUS, COULOMB, OFFSET, smooth=[COULOMB])
    shape = (WIDTH,)

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        return [signals.dq, ca.tanh(signals.dq / theta[0]), ca.SX(1)]


#: How fast the additional friction of low speed fades.
SPEED = Shape("speed", "rad/s", 1e-2, 5.0, 0.2, (0.03, 0.06, 0.12, 0.25, 0.5, 1.0))


class Stribeck(FrictionLaw):
    """``fv v + (fc + fs exp(-(v / vs)^2)) tanh(v / w) + fo`` (Armstrong-Helouvry et al. 1994, the jump smoothed)."""

    name = "stribeck"
    amplitudes = catalogued(VISCOUS, COULOMB, STRIBECK, OFFSET, smooth=[COULOMB, STRIBECK])
    shape = (WIDTH, SPEED)

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        width, speed = theta
        edge = ca.tanh(signals.dq / width)
        return [signals.dq, edge, ca.exp(-((signals.dq / speed) ** 2)) * edge, ca.SX(1)]


class Asymmetric(FrictionLaw):
    """``fvp v + fcp`` for v > 0, ``fvn v - fcn`` for v < 0; a constant torque is part of fcp - fcn."""

    name = "asymmetric"
    amplitudes = catalogued(
        VISCOUS_POSITIVE,
        VISCOUS_NEGATIVE,
        COULOMB_POSITIVE,
        COULOMB_NEGATIVE,
        signed=[COULOMB_POSITIVE, COULOMB_NEGATIVE],
    )

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        v, sign = signals.dq, signals.sign
        forward, backward = (sign * sign + sign) / 2, (sign - sign * sign) / 2
        return [ca.fmax(v, 0), ca.fmin(v, 0), forward, backward]


class Polynomial(FrictionLaw):
    """``fv v + fc sign(v) + fq sqrt(|v|) sign(v) + f3 v^3 + fo``."""

    name = "polynomial"
    amplitudes = catalogued(VISCOUS, COULOMB, SQRT_VISCOUS, CUBIC_VISCOUS, OFFSET, signed=[VISCOUS, COULOMB])

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        v, sign = signals.dq, signals.sign
        return [v, sign, ca.sqrt(ca.fabs(v)) * sign, v**3, ca.SX(1)]


class Sigmoid(FrictionLaw):
    """``fp (1 / (1 + exp(-s (v + v0))) - 1 / (1 + exp(-s v0)))`` (Gaz et al. 2019, eq. 25)."""

    name = "sigmoid"
    amplitudes = catalogued(SIGMOID)
    shape = (
        Shape("slope", "s/rad", 0.5, 1e3, 10.0, (3.0, 6.0, 12.0, 25.0, 50.0), power=-1),
        Shape("shift", "rad/s", -1.0, 1.0, 0.0, (-0.1, -0.03, 0.0, 0.03, 0.1)),
    )

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        slope, shift = theta  # 1/(1+exp(-x)) = (1 + tanh(x/2)) / 2 does not overflow
        return [(ca.tanh(slope * (signals.dq + shift) / 2) - ca.tanh(slope * shift / 2)) / 2]


class Offset(FrictionLaw):
    """``fo``, a constant torque beside a law that has none."""

    name = "offset"
    amplitudes = catalogued(OFFSET)

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        return [ca.SX(1)]


class Load(FrictionLaw):
    """``fl |tau_load| sign(v)``, beside another law; the load is the torque of the links (Hamon et al. 2010)."""

    name = "load"
    amplitudes = catalogued(LOAD)
    loaded = True

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        return [ca.fabs(signals.load) * signals.sign]


class LoadStribeck(FrictionLaw):
    """``(fl + fls exp(-(v / vl)^2)) |tau_load| sign(v)``, beside another law: load raises both parts of Stribeck's."""

    name = "loadstribeck"
    amplitudes = catalogued(LOAD, LOAD_STRIBECK)
    shape = (Shape("load speed", "rad/s", 1e-2, 5.0, 0.2, (0.03, 0.12, 0.5)),)
    loaded = True

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        pressed = ca.fabs(signals.load) * signals.sign
        return [pressed, ca.exp(-((signals.dq / theta[0]) ** 2)) * pressed]


class Spring(FrictionLaw):
    """``ks q + kss sin q + ksc cos q``, beside a friction law."""

    name = "spring"
    amplitudes = catalogued(SPRING, SPRING_SINE, SPRING_COSINE)

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        return [signals.q, ca.sin(signals.q), ca.cos(signals.q)]
