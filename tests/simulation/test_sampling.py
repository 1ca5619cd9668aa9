"""Clock and sensors."""

from __future__ import annotations

import numpy as np

from casid.control import ComputedTorque
from casid.motion import Sine
from casid.simulation import (
    Plant,
    Sensor,
    simulate,
)


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
