"""The unknowns of every expression."""

import casadi as ca
import pytest

#: Number of unknowns.
N = 4


@pytest.fixture(scope="module")
def x():
    return ca.SX.sym("x", N)
