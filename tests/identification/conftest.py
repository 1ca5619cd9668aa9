"""A robot with known parameters and a noisy recording of it."""

import pytest

import casid
from casid.dynamics import Model
from casid.regression import compress, wls
from casid.testing import recording, with_friction
from tests.helpers import first_joints

FRICTION = ("viscous", "coulomb", "offset")


@pytest.fixture(scope="session")
def robot():
    return casid.load_robot("kuka_iiwa")


@pytest.fixture(scope="session")
def arm():
    """Another arm, of heavier links."""
    return casid.load_robot("ur10e")


@pytest.fixture(scope="session")
def arm_data(arm):
    model = Model(arm, FRICTION)
    return recording(model, model.parameters(arm.standard_parameters(), [4.0, 6.0, -0.5] * 6), noise=0.5)


@pytest.fixture(scope="session")
def four(arm):
    """Its first four joints."""
    return first_joints(arm, 4)


@pytest.fixture(scope="session")
def four_data(four):
    model = Model(four, FRICTION)
    return recording(model, model.parameters(four.standard_parameters(), [4.0, 6.0, -0.5] * 4), noise=0.5)


@pytest.fixture(scope="session")
def known(robot):
    """The model with linear friction, and its parameters."""
    return with_friction(robot)


@pytest.fixture(scope="session")
def model(known):
    return known[0]


@pytest.fixture(scope="session")
def truth(known):
    return known[1]


@pytest.fixture(scope="session")
def noisy(model, truth):
    return recording(model, truth, samples=800, noise=2.0)


@pytest.fixture(scope="session")
def fit(model, noisy):
    return wls(compress(model, noisy))
