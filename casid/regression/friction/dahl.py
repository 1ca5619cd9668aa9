"""Dahl's friction: after a reversal it builds up over a small way."""

from __future__ import annotations

import casadi as ca

from casid.dynamics import JointSignals
from casid.regression.friction.law import OFFSET, VISCOUS, Amplitude, FrictionLaw, Shape, Theta

#: Way over which friction builds up; 63 % of it after one reach.
REACH = Shape("reach", "rad", 1e-5, 0.5, 3e-3, (3e-4, 1e-3, 3e-3, 1e-2, 3e-2), power=0)


class Dahl(FrictionLaw):
    """``fv v + fd z + fo`` with ``dz/dt = (v - |v| z) / reach`` (Dahl 1968, exponent 1).

    Between reversals z tends to the sign of the velocity. The equation depends on the way alone, and is integrated
    exactly over each step of the position.
    """

    name = "dahl"
    amplitudes: tuple[Amplitude, ...] = (
        VISCOUS,
        Amplitude("fd", "N.m", "fd z, dz/dt = (dq - |dq| z) / reach", nonnegative=True),
        OFFSET,
    )
    shape = (REACH,)
    memory = 1

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        return [signals.dq, signals.memory[0], ca.SX(1)]

    def evolve(self, z: ca.SX, step: ca.SX, period: ca.SX, theta: Theta) -> ca.SX:
        """The state after a step of the position."""
        end = ca.sign(step)
        return end + (z - end) * ca.exp(-ca.fabs(step) / theta[0])


class LoadedDahl(Dahl):
    """``fv v + (fd + fl |tau_load|) z + fo``: Dahl's friction that grows with the torque of the links."""

    name = "loadeddahl"
    amplitudes = (*Dahl.amplitudes, Amplitude("fl", "-", "fl |load| z"))
    loaded = True

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        return [*super().columns(signals, theta), ca.fabs(signals.load) * signals.memory[0]]
