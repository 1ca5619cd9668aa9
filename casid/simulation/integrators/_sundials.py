"""The implicit methods of SUNDIALS (Hindmarsh et al. 2005)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np

from casid.codegen._evaluate import compiled_call
from casid.errors import ProblemError
from casid.simulation._plant import Plant
from casid.simulation._stops import Reason, Stopped, Stops
from casid.simulation.integrators._integrator import Advance, Array, Integrator, check_smooth


@dataclass(frozen=True)
class Sundials(Integrator):
    """Implicit, adaptive in step and order, one call an interval; the mass matrix is checked at the interval's ends.

    Attributes
    ----------
    tolerance : float
        Relative and absolute local error of the state.
    """

    tolerance: float = 1e-8
    #: Name of the method in CasADi, and what is asked of it beside the tolerance.
    method: ClassVar[str]
    settings: ClassVar[Mapping[str, bool]] = {}

    def __post_init__(self) -> None:
        if not 0.0 < self.tolerance < 1.0:
            words = f"the tolerance must lie between 0 and 1, got {self.tolerance}"
            raise ProblemError(f"{type(self).__name__}: {words}")

    @abstractmethod
    def equations(self, plant: Plant, x: ca.SX, u: ca.SX, length: ca.SX) -> dict[str, ca.SX]:
        """CasADi's ``ode``, and ``alg`` with the accelerations ``z`` where they are unknowns, of time / length."""

    def stepper(self, plant: Plant, stops: Stops) -> Advance:
        """See `Integrator.stepper`."""
        check_smooth(plant, self)
        x, u, length = ca.SX.sym("x", plant.size), ca.SX.sym("u", plant.n), ca.SX.sym("length")
        problem = {"x": x, "p": ca.vertcat(u, length), **self.equations(plant, x, u, length)}
        options = {
            "abstol": self.tolerance,
            "reltol": self.tolerance,
            "print_stats": False,
            "show_eval_warnings": False,
            **self.settings,
        }
        solver = ca.integrator("interval", self.method, problem, 0.0, 1.0, options)
        accelerations = slice(plant.n, plant.n + solver.size1_in("z0"))
        at = compiled_call(plant.rate)

        def advance(t0: float, t1: float, x: Array, u: Array) -> Array:
            rate, pivots = at(x, u)
            stops.check(t0, x, x, pivots, plant.joints)
            try:
                solved = solver(x0=x, z0=rate[accelerations], p=np.append(u, t1 - t0))
            except RuntimeError as error:
                words = str(error).strip().splitlines()[-1]
                raise Stopped(t0, x, Reason.STUCK, f"{self.method.upper()}: {words}") from error
            after = np.array(solved["xf"].full()).ravel()
            stops.check(t1, x, after, at(after, u)[1], plant.joints)
            return after

        return advance


@dataclass(frozen=True)
class Cvodes(Sundials):
    """CVODES of SUNDIALS with backward differentiation formulas: ``dx/dt = rate(x, u)``."""

    method: ClassVar[str] = "cvodes"

    def equations(self, plant: Plant, x: ca.SX, u: ca.SX, length: ca.SX) -> dict[str, ca.SX]:
        """See `Sundials.equations`."""
        return {"ode": length * plant.rate(x, u)[0]}


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
