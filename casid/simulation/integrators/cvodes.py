"""The adaptive multistep method of SUNDIALS, for stiff friction."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from casid.errors import ProblemError
from casid.simulation.compiled import compiled_call
from casid.simulation.integrators.fixed_step import check_smooth
from casid.simulation.integrators.integrator import Advance, Array, Integrator
from casid.simulation.plant import Plant
from casid.simulation.stops import Reason, Stopped, Stops


@dataclass(frozen=True)
class Cvodes(Integrator):
    """CVODES of SUNDIALS (Hindmarsh et al. 2005) with backward differentiation formulas: implicit, adaptive.

    Attributes
    ----------
    tolerance : float
        Relative and absolute local error of the state.
    """

    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        if not 0.0 < self.tolerance < 1.0:
            raise ProblemError(f"Cvodes: the tolerance must lie between 0 and 1, got {self.tolerance}")

    def prepare(self, plant: Plant, stops: Stops) -> Advance:
        """One call of CVODES an interval; the mass matrix is checked at the interval's ends."""
        check_smooth(plant, self)
        x, u, length = ca.SX.sym("x", plant.size), ca.SX.sym("u", plant.n), ca.SX.sym("length")
        rate = length * plant.rate(x, u)[0]
        options = {
            "abstol": self.tolerance,
            "reltol": self.tolerance,
            "print_stats": False,
            "show_eval_warnings": False,
        }
        solver = ca.integrator(
            "interval", "cvodes", {"x": x, "p": ca.vertcat(u, length), "ode": rate}, 0.0, 1.0, options
        )
        at = compiled_call(plant.rate)

        def advance(t0: float, t1: float, x: Array, u: Array) -> Array:
            stops.check(t0, x, x, at(x, u)[1], plant.joints)
            try:
                after = np.array(solver(x0=x, p=np.append(u, t1 - t0))["xf"].full()).ravel()
            except RuntimeError as error:
                raise Stopped(t0, x, Reason.STUCK, "CVODES: " + str(error).strip().splitlines()[-1]) from error
            stops.check(t1, x, after, at(after, u)[1], plant.joints)
            return after

        return advance
