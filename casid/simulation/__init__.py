"""Simulation: plants, controllers, integrators, rollouts, and the book of energy."""

from casid.simulation.controllers import (
    PD,
    ComputedTorque,
    Controller,
    FeedForward,
    OperationalSpace,
    Passive,
    PDGravity,
    Saturated,
    Switched,
    VelocityOperationalSpace,
    nominal,
)
from casid.simulation.friction import ExactCoulomb, FrictionTreatment, SmoothCoulomb
from casid.simulation.integrators import Cvodes, DormandPrince, FixedStep, Integrator, RungeKutta4, SemiImplicitEuler
from casid.simulation.plant import Plant
from casid.simulation.recording import record
from casid.simulation.references import Follow, Hold, Reference, Samples, Sine
from casid.simulation.result import EnergyBook, Simulation
from casid.simulation.rollouts import Rollouts, simulate_many
from casid.simulation.sampling import Sampling
from casid.simulation.sensor import Sensor
from casid.simulation.simulate import simulate
from casid.simulation.stops import End, Reason, Stops

__all__ = [
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
    "Integrator",
    "OperationalSpace",
    "PDGravity",
    "Passive",
    "Plant",
    "Reason",
    "Reference",
    "Rollouts",
    "RungeKutta4",
    "Samples",
    "Sampling",
    "Saturated",
    "SemiImplicitEuler",
    "Sensor",
    "Simulation",
    "Sine",
    "SmoothCoulomb",
    "Stops",
    "Switched",
    "VelocityOperationalSpace",
    "nominal",
    "record",
    "simulate",
    "simulate_many",
]  # fmt: skip
