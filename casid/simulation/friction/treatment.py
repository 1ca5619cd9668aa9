"""How a simulation treats the jump of dry friction at zero velocity: the contract."""

from __future__ import annotations

from abc import ABC, abstractmethod

import casadi as ca


class FrictionTreatment(ABC):
    """What stands for ``sign(v)`` in the equation of motion.

    Friction proper (its coefficients and laws) belongs to the model's joint terms; a treatment only says what happens
    where ``sign(v)`` jumps.
    """

    @abstractmethod
    def signs(self, velocity: ca.SX) -> ca.SX | None:
        """What stands for the signs of the velocities ``D' dq`` (m); None: signs are modes of motion, located in time.

        Only integrators that locate events take the latter, see `casid.simulation.integrators.DormandPrince`.
        """

    @property
    def slope(self) -> float:
        """Slope of the signs at zero velocity [s/rad or s/m]; 0: not smooth."""
        return 0.0
