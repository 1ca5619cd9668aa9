"""The implicit method of SUNDIALS for the equation of motion as it stands."""

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
class Idas(Integrator):
    """IDAS of SUNDIALS (Hindmarsh et al. 2005): ``M ddq + c + g + terms = tau`` solved with ddq as unknowns.

    The mass matrix is never inverted on the way; accelerations begin each interval as consistent ones.

    Attributes
    ----------
    tolerance : float
        Relative and absolute local error of the state.
    """

    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        if not 0.0 < self.tolerance < 1.0:
            raise ProblemError(f"Idas: the tolerance must lie between 0 and 1, got {self.tolerance}")

    def prepare(self, plant: Plant, stops: Stops) -> Advance:
        """One call of IDAS an interval; the mass matrix is checked at the interval's ends."""
        check_smooth(plant, self)
        n = plant.n
        x, z, u = ca.SX.sym("x", plant.size), ca.SX.sym("ddq", n), ca.SX.sym("u", n)
        length = ca.SX.sym("length")
        rate, rest = plant.residual(x, z, u)
        problem = {"x": x, "z": z, "p": ca.vertcat(u, length), "ode": length * rate, "alg": rest}
        options = {
            "abstol": self.tolerance,
            "reltol": self.tolerance,
            "calc_ic": True,
            "suppress_algebraic": True,
            "print_stats": False,
            "show_eval_warnings": False,
        }
        solver = ca.integrator("interval", "idas", problem, 0.0, 1.0, options)
        at = compiled_call(plant.rate)

        def advance(t0: float, t1: float, x: Array, u: Array) -> Array:
            dx, pivots = at(x, u)
            stops.check(t0, x, x, pivots, plant.joints)
            try:
                solved = solver(x0=x, z0=dx[n : 2 * n], p=np.append(u, t1 - t0))
            except RuntimeError as error:
                raise Stopped(t0, x, Reason.STUCK, "IDAS: " + str(error).strip().splitlines()[-1]) from error
            after = np.array(solved["xf"].full()).ravel()
            stops.check(t1, x, after, at(after, u)[1], plant.joints)
            return after

        return advance
