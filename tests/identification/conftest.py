"""A robot with known parameters and a noisy recording of it."""

import numpy as np
import pytest

import casid
from casid.description import Joint, Link, Robot, transform
from casid.regression import compress, wls
from casid.testing import recording, with_friction
from tests.helpers import first_joints

GRAVITY = np.array([0.0, 0.0, -9.81])
#: Of the heavier arm: viscous, Coulomb, offset.
HEAVY = (4.0, 6.0, -0.5)


def serial(name, offsets, axes, kinds=None, **more):
    """A chain of joints without bodies, each at an offset [m] from the one before; revolute unless kinds are given."""
    kinds = ["revolute"] * len(offsets) if kinds is None else kinds
    joints = [
        Joint(f"j{k}", kind, k - 1, Link(f"l{k}"), transform(translation=offset), np.array(axis, dtype=float))
        for k, (kind, offset, axis) in enumerate(zip(kinds, offsets, axes, strict=True))
    ]
    return Robot(name, tuple(joints), **more)


@pytest.fixture(scope="session")
def robot():
    return casid.load_robot("kuka_iiwa")


@pytest.fixture(scope="session")
def arm():
    """Another arm, of heavier links."""
    return casid.load_robot("ur10e")


@pytest.fixture(scope="session")
def arm_data(arm):
    return recording(*with_friction(arm, HEAVY), noise=0.5)


@pytest.fixture(scope="session")
def four(arm):
    """Its first four joints."""
    return first_joints(arm, 4)


@pytest.fixture(scope="session")
def four_data(four):
    return recording(*with_friction(four, HEAVY), noise=0.5)


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
