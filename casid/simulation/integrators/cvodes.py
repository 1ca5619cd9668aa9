"""The adaptive multistep method of SUNDIALS, for stiff friction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from casid.simulation.integrators.sundials import Sundials
from casid.simulation.plant import Plant


@dataclass(frozen=True)
class Cvodes(Sundials):
    """CVODES of SUNDIALS with backward differentiation formulas: ``dx/dt = rate(x, u)``."""

    method: ClassVar[str] = "cvodes"

    def equations(self, plant: Plant, x: ca.SX, u: ca.SX, length: ca.SX) -> dict[str, ca.SX]:
        """See `Sundials.equations`."""
        return {"ode": length * plant.rate(x, u)[0]}
