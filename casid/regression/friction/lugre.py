"""The LuGre model: bristles that bend, more of them at low speed."""

from __future__ import annotations

import casadi as ca

from casid.dynamics import JointSignals
from casid.regression.friction.law import OFFSET, VISCOUS, Amplitude, FrictionLaw, Shape, Theta


class LuGre(FrictionLaw):
    """``fv v + fd z + fb dz/dt + fo`` with ``dz/dt = (v - |v| z / g(v)) / reach``, ``g = 1 + r exp(-(v / vs)^2)``.

    Canudas de Wit et al. (1995), with the bristles' deflection in units of what Coulomb friction bends them by. Their
    velocity is that of the sample; over one step the equation is linear in z and integrated exactly.
    """

    name = "lugre"
    amplitudes: tuple[Amplitude, ...] = (
        VISCOUS,
        Amplitude("fd", "N.m", "fd z, dz/dt = (dq - |dq| z / g(dq)) / reach", nonnegative=True),
        Amplitude("fb", "N.m.s", "fb dz/dt"),
        OFFSET,
    )
    shape = (
        Shape("reach", "rad", 1e-5, 0.5, 3e-3, (1e-3, 3e-3, 1e-2), power=0),
        Shape("ratio", "-", 0.0, 10.0, 1.0, (0.6, 2.0), power=0),
        Shape("speed", "rad/s", 1e-2, 5.0, 0.3, (0.1, 0.35, 1.0), power=1),
    )
    memory = 2

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        return [signals.dq, signals.memory[0], signals.memory[1], ca.SX(1)]

    def evolve(self, z: ca.SX, step: ca.SX, period: ca.SX, theta: Theta) -> ca.SX:
        """Deflection and its rate after a step of the position."""
        most = self._most(step / period, theta)
        end = ca.sign(step) * most
        new = end + (z[0] - end) * ca.exp(-ca.fabs(step) / (theta[0] * most))
        return ca.vertcat(new, (new - z[0]) / period)

    def settled(self, velocity: ca.SX, sign: ca.SX, theta: Theta) -> ca.SX:
        """Deflection and its rate after a long way at one velocity."""
        return ca.vertcat(sign * self._most(velocity, theta), 0)

    @staticmethod
    def _most(velocity: ca.SX, theta: Theta) -> ca.SX:
        return 1 + theta[1] * ca.exp(-((velocity / theta[2]) ** 2))


class LoadedLuGre(LuGre):
    """LuGre's friction with the load: ``fl |tau_load| z`` beside it."""

    name = "loadedlugre"
    amplitudes = (*LuGre.amplitudes, Amplitude("fl", "-", "fl |load| z"))
    loaded = True

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        return [*super().columns(signals, theta), ca.fabs(signals.load) * signals.memory[0]]
