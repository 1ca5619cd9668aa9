"""A Panda with linear friction, and synthetic recordings of it."""

import pytest

import casid
from casid.dynamics import Model
from casid.testing import recording, with_friction

FRICTION = ("viscous", "coulomb", "offset")


@pytest.fixture(scope="module")
def robot():
    return casid.load_robot("panda")


@pytest.fixture(scope="module")
def model(robot):
    return Model(robot, FRICTION)


@pytest.fixture(scope="module")
def truth(model):
    return with_friction(model.robot)[1]


@pytest.fixture(scope="module")
def noisy(model, truth):
    return recording(model, truth, samples=2500, noise=0.05)


def stacked(model, data):
    """The plain stacked system; entries that are zero up to rounding are those of the library's batches."""
    W = model.base_regressor(data.q, data.dq, data.ddq)
    return W.reshape(-1, W.shape[2]), data.tau.ravel()
