"""Simulation: plants, controllers, integrators, rollouts, and the book of energy."""

from casid.simulation.black_box import simulate_law
from casid.simulation.controllers import (
    CONTROLLERS,
    PD,
    ComputedTorque,
    Controller,
    FeedForward,
    OperationalSpace,
    Passive,
    PDGravity,
    Saturated,
    Settings,
    Switched,
    VelocityOperationalSpace,
    controller_of,
    nominal,
)
from casid.simulation.friction import ExactCoulomb, FrictionTreatment, SmoothCoulomb
from casid.simulation.integrators import (
    INTEGRATORS,
    Cvodes,
    DormandPrince,
    FixedStep,
    Idas,
    Integrator,
    RungeKutta4,
    SemiImplicitEuler,
    integrator_of,
)
from casid.simulation.plant import Plant, with_terms
from casid.simulation.recording import record
from casid.simulation.references import Follow, Hold, Positions, Reference, Samples, Sine
from casid.simulation.result import EnergyBook, Simulation
from casid.simulation.rollouts import Rollouts, simulate_many
from casid.simulation.sampling import Sampling
from casid.simulation.sensor import Sensor
from casid.simulation.simulate import simulate
from casid.simulation.stops import End, Reason, Stops

__all__ = [
    "CONTROLLERS",
    "INTEGRATORS",
    "PD",
    "ComputedTorque",
    "Controller",
    "Cvodes",
    "DormandPrince",
    "End",
    "EnergyBook",
    "ExactCoulomb",
    "FeedForward",
    "FixedStep",
    "Follow",
    "FrictionTreatment",
    "Hold",
    "Idas",
    "Integrator",
    "OperationalSpace",
    "PDGravity",
    "Passive",
    "Plant",
    "Positions",
    "Reason",
    "Reference",
    "Rollouts",
    "RungeKutta4",
    "Samples",
    "Sampling",
    "Saturated",
    "SemiImplicitEuler",
    "Sensor",
    "Settings",
    "Simulation",
    "Sine",
    "SmoothCoulomb",
    "Stops",
    "Switched",
    "VelocityOperationalSpace",
    "controller_of",
    "integrator_of",
    "nominal",
    "record",
    "simulate",
    "simulate_law",
    "simulate_many",
    "with_terms",
]
