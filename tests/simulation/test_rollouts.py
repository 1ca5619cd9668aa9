"""Rollouts of expressions and of laws in Python."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.control import ComputedTorque
from casid.dynamics import Model
from casid.motion import Sine
from casid.simulation import Plant, Stops, simulate, simulate_many
from casid.simulation._result import Reason


@pytest.mark.slow
def test_rollouts_are_single_simulations(panda: tuple[Plant, ComputedTorque, Sine]) -> None:
    plant, controller, reference = panda
    rng = np.random.default_rng(1)
    q0 = reference.at(0).q + 0.1 * rng.standard_normal((11, 7))  # neither one block nor two
    parameters = plant.parameters * rng.uniform(0.9, 1.1, (11, 1))
    many = simulate_many(
        plant, controller, reference, 0.1, q0=q0, parameters=parameters, every=10, threads=2, rate=1000.0
    )
    assert len(many) == 11
    assert many.finished.all()
    for i in (0, 7, 10):
        alone = simulate(replace(plant, parameters=parameters[i]), controller, reference, 0.1, q0=q0[i])
        assert np.abs(many.q[i] - alone.q[::10]).max() < 1e-12
        assert np.abs(many.tau[i] - alone.tau[::10]).max() < 1e-9


def test_rollouts_that_end_early_do_so_alone(panda: tuple[Plant, ComputedTorque, Sine]) -> None:
    plant, controller, reference = panda
    dq0 = np.zeros((9, 7))
    dq0[4, 3] = 50.0
    many = simulate_many(plant, controller, reference, 0.1, dq0=dq0, stops=Stops(speed=40.0))
    assert many.finished.tolist() == [True] * 4 + [False] + [True] * 4
    assert many.ends[4].reason is Reason.DIVERGED
    assert np.isfinite(many.q[:4]).all()
    assert np.isnan(many.q[4, -1]).all()


LINK = casid.inertia.to_standard(2.0, [-0.5, 0.02, 0.1], np.diag([0.01, 0.05, 0.05]))


@pytest.fixture(scope="module")
def arm() -> Plant:
    model = Model(casid.load_robot("spatial_2r"), ("viscous",))
    body = casid.inertia.to_standard(2.0, [-0.5, 0.02, 0.1], np.diag([0.01, 0.05, 0.05]))
    return Plant(model, model.parameters(np.tile(body, 2), [0.3, 0.2]))
