"""A Panda with linear friction, and synthetic recordings of it."""

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.testing._synthetic import recording

FRICTION = ("viscous", "coulomb", "offset")


@pytest.fixture(scope="module")
def robot():
    return casid.load_robot("panda")


@pytest.fixture(scope="module")
def model(robot):
    return Model(robot, FRICTION)


@pytest.fixture(scope="module")
def truth(model):
    return model.parameters(model.robot.standard_parameters(), np.tile([0.4, 0.3, -0.1], 7))


@pytest.fixture(scope="module")
def noisy(model, truth):
    return recording(model, truth, samples=2500, noise=0.05)
