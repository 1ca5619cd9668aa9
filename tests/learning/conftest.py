"""Fixtures of the tests of learning."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

import casid
from casid.control import PD
from casid.dynamics import Model
from casid.learning import TorqueLoss, parametrisation
from casid.measurement import Dataset
from casid.motion import Sine
from casid.simulation import Plant, simulate
from casid.simulation.integrators import RungeKutta4

LINK = casid.inertia.to_standard(2.0, [-0.5, 0.02, 0.1], np.diag([0.01, 0.05, 0.05]))


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(casid.load_robot("spatial_2r"), ("viscous",))


@pytest.fixture(scope="module")
def truth(model) -> np.ndarray:
    return model.parameters(np.tile(LINK, 2), [0.3, 0.2])


@pytest.fixture(scope="module")
def run(model, truth):
    reference = Sine(np.zeros(2), np.array([0.8, 0.6]), np.array([0.4, 0.7]), 4.0)
    law = PD(np.array([40.0, 30.0]), np.array([8.0, 5.0]))
    return simulate(Plant(model, truth), law, reference, 4.0, rate=100.0, integrator=RungeKutta4(0.01))


@pytest.fixture(scope="module")
def data(model) -> Dataset:
    rng = np.random.default_rng(0)
    t = np.arange(0, 10, 0.02)
    w, a = np.array([1.3, 2.1]), np.array([0.8, 0.6])
    q, dq, ddq = a * np.sin(np.outer(t, w)), a * w * np.cos(np.outer(t, w)), -a * w**2 * np.sin(np.outer(t, w))
    bodies = [LINK] * 2
    pi = model.parameters(np.concatenate(bodies), [0.3, 0.2])
    tau = model.inverse_dynamics(q, dq, ddq, pi)
    return Dataset(t, q, tau + 0.05 * rng.normal(size=tau.shape), dq, ddq)


def loss_of(model, data, name):
    return TorqueLoss(model, data, symmetric=parametrisation(name).symmetric)


def differences(value: Callable[[np.ndarray], float], x: np.ndarray, places: Sequence[int]) -> np.ndarray:
    """Central differences of a function at some places of its argument."""
    steps = 1e-6 * np.maximum(1.0, np.abs(x)) * np.eye(len(x))
    return np.array([(value(x + steps[i]) - value(x - steps[i])) / (2 * steps[i, i]) for i in places])
