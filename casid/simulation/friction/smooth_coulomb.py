"""Dry friction as a steep, smooth function of velocity."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from casid.errors import DatasetError
from casid.simulation.friction.treatment import FrictionTreatment


@dataclass(frozen=True)
class SmoothCoulomb(FrictionTreatment):
    """``tanh(v / speed)`` for ``sign(v)``, the tight sigmoid of Sousa (2014, Sec. 5.1.2).

    There is no sticking: a joint at rest creeps. Near rest the velocity decays at the rate ``fc / (m speed)`` for an
    inertia m and friction fc, which fixed steps must resolve.

    Attributes
    ----------
    speed : float
        Velocity at which 76 % of the friction is reached [rad/s or m/s].
    """

    speed: float = 1e-3

    def __post_init__(self) -> None:
        if not 0.0 < self.speed < float("inf"):
            raise DatasetError(f"smooth Coulomb friction: speed must be positive, got {self.speed}")

    def signs(self, velocity: ca.SX) -> ca.SX:
        """``tanh(v / speed)``."""
        return ca.tanh(velocity / self.speed)

    @property
    def slope(self) -> float:
        """``1 / speed``."""
        return 1.0 / self.speed
