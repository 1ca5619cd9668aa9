"""The retrieval problem of the Panda; one link, and the nearest body to a given one in a box."""

import numpy as np
import pytest

import casid
from casid.description import Joint, Link, Robot
from casid.inertia import to_standard
from casid.retrieval import Problem, com_box, least_squares, link_variables, mass_bounds


@pytest.fixture(scope="session")
def panda():
    return casid.load_problem("panda_retrieval")


@pytest.fixture
def links():
    return link_variables(Robot("one", (Joint("j1", "revolute", -1, Link("link1")),)))


@pytest.fixture
def body_in_a_box(links):
    body = to_standard(2.0, [0.05, -0.02, 0.1], np.diag([0.03, 0.04, 0.02]))
    bounds = (mass_bounds(links[0], 0.5, 8), com_box(links[0], -0.3, 0.3))
    return lambda *constraints: Problem("kinks", links, least_squares(links, np.eye(10), body), (bounds, constraints))
