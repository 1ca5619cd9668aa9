"""Maxwell-slip friction: elastic elements side by side, each with its own way until it slips."""

from __future__ import annotations

import casadi as ca

from casid.dynamics import JointSignals
from casid.regression.friction.law import OFFSET, VISCOUS, Amplitude, FrictionLaw, Shape, Theta

#: Ways of the elements until they slip, over the reach.
WAYS = (0.3, 1.0, 4.0)


class Maxwell(FrictionLaw):
    """``fv v + sum_i fm_i z_i + fo``, ``z_i = min(max(z_i + dq dt / (way_i reach), -1), 1)``: hysteresis of the way.

    The Maxwell-slip model: its hysteresis curve is a polygon, whatever its shape, and does not depend on the velocity.
    """

    name = "maxwell"
    amplitudes = (
        VISCOUS,
        *(
            Amplitude(f"fm{letter}", "N.m", f"element that slips after {way:g} reach", nonnegative=True)
            for letter, way in zip("abc", WAYS, strict=True)
        ),
        OFFSET,
    )
    shape: tuple[Shape, ...] = (Shape("reach", "rad", 1e-5, 0.5, 3e-3, (1e-3, 3e-3, 1e-2), power=0),)
    memory = len(WAYS)

    def columns(self, signals: JointSignals, theta: Theta) -> list[ca.SX]:
        """One expression an amplitude."""
        return [signals.dq, *ca.vertsplit(signals.memory), ca.SX(1)]

    def evolve(self, z: ca.SX, step: ca.SX, period: ca.SX, theta: Theta) -> ca.SX:
        """States after a step of the position."""
        most = self.most(step / period, theta)
        bent = [z[i] + step / (way * theta[0]) for i, way in enumerate(WAYS)]
        return ca.vertcat(*(ca.fmax(ca.fmin(b, most), -most) for b in bent))

    def settled(self, velocity: ca.SX, sign: ca.SX, theta: Theta) -> ca.SX:
        """States after a long way at one velocity."""
        return ca.repmat(ca.SX(sign * self.most(velocity, theta)), self.memory, 1)

    def most(self, velocity: ca.SX, theta: Theta) -> ca.SX:
        """Largest state at a velocity."""
        return ca.SX(1)


class GeneralisedMaxwell(Maxwell):
    """The generalised Maxwell-slip model: elements slip at ``g(v) = 1 + r exp(-(v / vs)^2)`` (Al-Bender et al. 2005).

    The drag towards g while an element slips is taken as immediate.
    """

    name = "gms"
    shape = (
        *Maxwell.shape,
        Shape("ratio", "-", 0.0, 10.0, 1.0, (0.6, 2.0), power=0),
        Shape("speed", "rad/s", 1e-2, 5.0, 0.3, (0.1, 0.35, 1.0), power=1),
    )

    def most(self, velocity: ca.SX, theta: Theta) -> ca.SX:
        """Largest state at a velocity."""
        return 1 + theta[1] * ca.exp(-((velocity / theta[2]) ** 2))
