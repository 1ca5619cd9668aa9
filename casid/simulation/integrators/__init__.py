"""Integrators of the equation of motion under a held torque."""

from casid.simulation.integrators._integrator import DormandPrince as DormandPrince
from casid.simulation.integrators._integrator import RungeKutta4 as RungeKutta4
from casid.simulation.integrators._integrator import SemiImplicitEuler as SemiImplicitEuler
from casid.simulation.integrators._integrator import Cvodes as Cvodes

# between rooms
from casid.simulation.integrators._integrator import integrator_of as integrator_of
from casid.simulation.integrators._integrator import Integrator as Integrator
