"""Integrators: one contract, one file each."""

from casid.simulation.integrators.cvodes import Cvodes
from casid.simulation.integrators.dormand_prince import DormandPrince
from casid.simulation.integrators.fixed_step import FixedStep
from casid.simulation.integrators.idas import Idas
from casid.simulation.integrators.integrator import Advance, Integrator
from casid.simulation.integrators.recipes import INTEGRATORS
from casid.simulation.integrators.recipes import integrator as integrator_of
from casid.simulation.integrators.runge_kutta import RungeKutta4
from casid.simulation.integrators.semi_implicit_euler import SemiImplicitEuler

__all__ = [
    "INTEGRATORS",
    "Advance",
    "Cvodes",
    "DormandPrince",
    "FixedStep",
    "Idas",
    "Integrator",
    "RungeKutta4",
    "SemiImplicitEuler",
    "integrator_of",
]
