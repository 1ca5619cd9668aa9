"""The implicit method of SUNDIALS for the equation of motion as it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from casid.simulation.integrators.sundials import Sundials
from casid.simulation.plant import Plant


@dataclass(frozen=True)
class Idas(Sundials):
    """IDAS of SUNDIALS: ``M ddq + c + g + terms = tau`` solved with ddq as unknowns.

    The mass matrix is never inverted on the way; accelerations begin each interval as consistent ones.
    """

    method: ClassVar[str] = "idas"
    settings: ClassVar[Mapping[str, bool]] = {"calc_ic": True, "suppress_algebraic": True}

    def equations(self, plant: Plant, x: ca.SX, u: ca.SX, length: ca.SX) -> dict[str, ca.SX]:
        """See `Sundials.equations`."""
        z = ca.SX.sym("ddq", plant.n)
        rate, rest = plant.residual(x, z, u)
        return {"z": z, "ode": length * rate, "alg": rest}
