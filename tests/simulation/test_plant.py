"""Plants, their friction, the clock and the errors of sensors."""

from __future__ import annotations

import numpy as np
import pytest

import casid
from casid.control import ComputedTorque, Passive
from casid.errors import CasidWarning
from casid.motion import Hold, Sine
from casid.simulation import (
    Plant,
    Sensor,
    SmoothCoulomb,
    simulate,
)
from casid.simulation.integrators import RungeKutta4


def test_steps_too_long_for_the_friction_are_warned_of() -> None:
    robot = casid.load_robot("panda")
    plant = Plant.of(robot, SmoothCoulomb(1e-3), coulomb=[0.5, 0.5, 0.4, 0.4, 0.1, 0.1, 0.05])
    with pytest.warns(CasidWarning, match=r"joint 3 is too steep for steps of 0.001 s"):
        simulate(plant, Passive(7), Hold(np.zeros(7)), 0.01, integrator=RungeKutta4())


def test_sensor_errors_reach_the_controller_and_repeat_with_the_seed(panda: tuple[Plant, ComputedTorque, Sine]) -> None:
    plant, controller, reference = panda
    noisy, again, other = (
        simulate(plant, controller, reference, 0.1, sensor=Sensor(position=1e-3, seed=seed)) for seed in (1, 1, 2)
    )
    clean = simulate(plant, controller, reference, 0.1)
    assert np.array_equal(noisy.tau, again.tau)
    assert np.abs(noisy.tau - other.tau).max() > 0.1
    assert np.abs(noisy.command - clean.command).max() > 0.1
    assert np.array_equal(noisy.dataset().q, noisy.q + noisy.state_errors[:, :7])
