"""The retrieval problem of the Panda."""

import pytest

import casid


@pytest.fixture(scope="session")
def panda():
    return casid.load_problem("panda_retrieval")
