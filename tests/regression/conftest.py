"""A Panda with linear friction, and synthetic recordings of it."""

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.testing import recording
from casid.testing._synthetic import with_friction

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
    """The plain stacked system, sample by sample."""
    W = np.vstack([model.base_regressor(*row) for row in zip(data.q, data.dq, data.ddq, strict=True)])
    return W, data.tau.ravel()
