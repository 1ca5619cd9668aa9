"""Dynamic friction laws: torques with a state that follows the motion of the joint."""

from __future__ import annotations

import casadi as ca

from casid.description.joint_parameters import (
    BRISTLE,
    BRISTLE_DAMPING,
    LOAD,
    MAXWELL_A,
    MAXWELL_B,
    MAXWELL_C,
    OFFSET,
    VISCOUS,
    JointParameter,
)
from casid.dynamics.terms._joint_terms import JointSignals
from casid.dynamics.terms._laws import FrictionLaw, Shape, Theta, catalogued, stribeck_fade

#: Distance over which friction builds up; 63 % of it after one reach.
REACH = Shape("reach", "rad", 1e-5, 0.5, 3e-3, (3e-4, 1e-3, 3e-3, 1e-2, 3e-2), power=0)


#: The same, tried at fewer values by laws with further shapes.
COARSE_REACH = Shape("reach", "rad", 1e-5, 0.5, 3e-3, (1e-3, 3e-3, 1e-2), power=0)
#: Shapes r and vs of `_stribeck_level`.
LEVEL = (
    Shape("ratio", "-", 0.0, 10.0, 1.0, (0.6, 2.0), power=0),
    Shape("speed", "rad/s", 1e-2, 5.0, 0.3, (0.1, 0.35, 1.0), power=1),
)


def _stribeck_level(velocity: ca.SX, theta: Theta) -> ca.SX:
    """``g(v) = 1 + r exp(-(v / vs)^2)``, theta = (reach, r, vs)."""
    return 1 + theta[1] * stribeck_fade(velocity, theta[2])


class Dahl(FrictionLaw):
    """``fv v + fd z + fo`` with ``dz/dt = (v - |v| z) / reach`` (Dahl 1968, exponent 1).

    Between reversals z tends to the sign of the velocity. The equation depends on the distance alone, and is integrated
    exactly over each step of the position.
    """

    name = "dahl"
    amplitudes: tuple[JointParameter, ...] = catalogued(VISCOUS, BRISTLE, OFFSET)
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
    amplitudes = (*Dahl.amplitudes, *catalogued(LOAD))
    loaded = True

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        return [*super().columns(signals, theta), ca.fabs(signals.load) * signals.memory[0]]


class LuGre(FrictionLaw):
    """``fv v + fd z + fb dz/dt + fo`` with ``dz/dt = (v - |v| z / g(v)) / reach``, ``g = 1 + r exp(-(v / vs)^2)``.

    Canudas de Wit et al. (1995), with the bristles' deflection in units of what Coulomb friction bends them by. Their
    velocity is that of the sample; over one step the equation is linear in z and integrated exactly.
    """

    name = "lugre"
    amplitudes: tuple[JointParameter, ...] = catalogued(VISCOUS, BRISTLE, BRISTLE_DAMPING, OFFSET)
    shape = (COARSE_REACH, *LEVEL)
    memory = 2

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        return [signals.dq, signals.memory[0], signals.memory[1], ca.SX(1)]

    def evolve(self, z: ca.SX, step: ca.SX, period: ca.SX, theta: Theta) -> ca.SX:
        """Deflection and its rate after a step of the position."""
        most = _stribeck_level(step / period, theta)
        end = ca.sign(step) * most
        new = end + (z[0] - end) * ca.exp(-ca.fabs(step) / (theta[0] * most))
        return ca.vertcat(new, (new - z[0]) / period)

    def settled(self, velocity: ca.SX, sign: ca.SX, theta: Theta) -> ca.SX:
        """Deflection and its rate after a long motion at one velocity."""
        return ca.vertcat(sign * _stribeck_level(velocity, theta), 0)


class LoadedLuGre(LuGre):
    """LuGre's friction with the load: ``fl |tau_load| z`` beside it."""

    name = "loadedlugre"
    amplitudes = (*LuGre.amplitudes, *catalogued(LOAD))
    loaded = True

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        return [*super().columns(signals, theta), ca.fabs(signals.load) * signals.memory[0]]


#: Distances of the elements until they slip, over the reach.
DISTANCES = (0.3, 1.0, 4.0)


class Maxwell(FrictionLaw):
    """``fv v + sum_i fm_i z_i + fo``, ``z_i = min(max(z_i + dq dt / (d_i reach), -1), 1)``: hysteresis over distance.

    The Maxwell-slip model: its hysteresis curve is a polygon, whatever its shape, and does not depend on the velocity.
    """

    name = "maxwell"
    amplitudes = catalogued(VISCOUS, MAXWELL_A, MAXWELL_B, MAXWELL_C, OFFSET)
    shape: tuple[Shape, ...] = (COARSE_REACH,)
    memory = len(DISTANCES)

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        return [signals.dq, *ca.vertsplit(signals.memory), ca.SX(1)]

    def evolve(self, z: ca.SX, step: ca.SX, period: ca.SX, theta: Theta) -> ca.SX:
        """States after a step of the position."""
        most = self.most(step / period, theta)
        bent = [z[i] + step / (distance * theta[0]) for i, distance in enumerate(DISTANCES)]
        return ca.vertcat(*(ca.fmax(ca.fmin(b, most), -most) for b in bent))

    def settled(self, velocity: ca.SX, sign: ca.SX, theta: Theta) -> ca.SX:
        """States after a long motion at one velocity."""
        return ca.repmat(ca.SX(sign * self.most(velocity, theta)), self.memory, 1)

    def most(self, velocity: ca.SX, theta: Theta) -> ca.SX:
        """Largest state at a velocity."""
        return ca.SX(1)


class GeneralisedMaxwell(Maxwell):
    """The generalised Maxwell-slip model: elements slip at ``g(v) = 1 + r exp(-(v / vs)^2)`` (Al-Bender et al. 2005).

    The drag towards g while an element slips is taken as immediate.
    """

    name = "gms"
    shape = (*Maxwell.shape, *LEVEL)

    def most(self, velocity: ca.SX, theta: Theta) -> ca.SX:
        """Largest state at a velocity."""
        return _stribeck_level(velocity, theta)
