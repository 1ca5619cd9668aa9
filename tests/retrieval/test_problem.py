"""Statements about problems and solutions that were once false: each test fails on the code that made them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.errors import CasidError
from casid.inertia import Free, Semi
from casid.retrieval import (
    Problem,
    mass_bounds,
    soften,
)
from casid.retrieval.constraints import PhysicalConsistency
from casid.testing import BODY, nearest


@pytest.mark.claim("edits of a problem lose no link's consistency")
def test_consistency_survives_every_edit() -> None:
    problem = nearest(
        np.tile(BODY, 2),
        lambda v: (
            PhysicalConsistency(v[0].index, v[0].name, "semi", 1e-5),
            [PhysicalConsistency(v[1].index, v[1].name, "none", 0.0)],
        ),
    )
    kinds = [(Semi(), 1e-5), (Free(), 0.0)]
    more = mass_bounds(problem.variables[0], 1.0, 3.0)
    edits = (
        problem,
        replace(problem, constraints=(*problem.constraints, replace(more, label="more"))),
        problem.with_constraints([replace(more, label="a"), (replace(more, label="b"),)]),
        problem.without("link1 mass"),
        replace(problem, constraints=()),
    )
    for edited in edits:
        assert [(entry.cone, entry.margin) for entry in edited.cones] == kinds
    assert [c.weight for c in soften(problem.constraints[:2], 2.0)] == [2.0, 2.0]


@pytest.mark.claim("no problem starts at the simulated robot's true parameters")
def test_the_two_link_robot_does_not_hold_the_truth() -> None:
    problem = casid.load_problem("spatial_2r", shapes="exact")
    robot = problem.variables.robot
    assert all(link.inertial is None for link in robot.links)


def test_a_problem_names_its_constraints_once() -> None:
    problem = nearest(BODY)
    assert isinstance(problem, Problem) and problem.objective(BODY) == pytest.approx(0.0, abs=1e-20)
    assert problem.hard_violation(problem.violations(BODY)) == 0.0
    twice = mass_bounds(problem.variables[0], 1.0, 3.0)
    with pytest.raises(CasidError):
        problem.with_constraints(twice, twice)
