"""Fixtures of the tests of simulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import casid
from casid.control import ComputedTorque, Passive, nominal
from casid.motion import Hold, Sine
from casid.simulation import Plant, Simulation, SmoothCoulomb, simulate
from casid.simulation.integrators import Integrator

VISCOUS, COULOMB = np.array([0.6, 0.6, 0.5, 0.5, 0.2, 0.2, 0.1]), np.array([0.5, 0.5, 0.4, 0.4, 0.1, 0.1, 0.05])


def free(
    plant: Plant, duration: float, integrator: Integrator, q0: float, dq0: float = 0.0, **options: object
) -> Simulation:
    return simulate(
        plant, Passive(plant.n), Hold(np.zeros(plant.n)), duration, integrator=integrator, q0=[q0], dq0=[dq0], **options
    )  # type: ignore[arg-type]


@pytest.fixture(name="free")
def fixture_of_free() -> Callable[..., Any]:
    return free


@pytest.fixture(scope="module")
def panda() -> tuple[Plant, ComputedTorque, Sine]:
    robot = casid.load_robot("panda")
    plant = Plant.of(robot, SmoothCoulomb(0.05), viscous=VISCOUS, coulomb=COULOMB)
    return plant, ComputedTorque(*nominal(robot), 100.0, 20.0), Sine.within(robot)  # type: ignore[arg-type]
