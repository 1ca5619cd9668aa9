"""Fixtures that the tests of identification share."""

import pytest

import casid
from casid.dynamics import Model
from casid.testing.synthetic_online import TERMS


@pytest.fixture(scope="module")
def model() -> Model:
    """An arm of seven joints with friction."""
    return Model(casid.load_robot("kuka_iiwa"), TERMS)
