"""A KUKA with linear friction and known parameters."""

import pytest

import casid
from casid.dynamics import Model
from casid.testing import with_friction


@pytest.fixture(scope="session")
def known():
    """The model with linear friction, and its parameters."""
    return with_friction(casid.load_robot("kuka_iiwa"))


@pytest.fixture(scope="session")
def model(known) -> Model:
    return known[0]
