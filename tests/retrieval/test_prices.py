"""Contradictions of linear constraints, tiny bodies, soft shapes, and what relaxing a bound is worth."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import casid
from casid.description import Joint, Link, Robot
from casid.inertia import to_standard
from casid.retrieval import (
    Constraint,
    InfeasibleError,
    Problem,
    com_box,
    least_squares,
    link_variables,
    sensible_bounds,
)

TOY = Robot("toy", (Joint("joint1", "revolute", -1, Link("link1")),))


@pytest.mark.claim("a plain linear contradiction is proven, whatever its size")
@pytest.mark.parametrize("amount", [1e-3, 0.01, 0.35])
def test_linear_contradictions_are_proven(panda, amount) -> None:
    """The description bounds the centre of mass of link 4 by y <= 0.15 m."""
    far = com_box(panda.variables[3], [-1, 0.15 + amount, -1], [1, 2, 1], label="far")
    with pytest.raises(InfeasibleError) as caught:
        casid.solve(replace(panda, constraints=(*panda.constraints, far)))
    assert caught.value.relaxation == pytest.approx({f"far y >= {0.15 + amount:.6g} m": amount}, rel=1e-3)


def test_a_contradiction_of_what_nothing_bounds_is_proven() -> None:
    variables = link_variables(TOY)
    x, y, _ = ca.vertsplit(variables[0].com)
    objective = least_squares(variables, np.eye(variables.size), np.zeros(variables.size))
    near = Constraint("sum", x + y, upper=0.1), Constraint("x", x, lower=0.06), Constraint("y", y, lower=0.06)
    with pytest.raises(InfeasibleError) as caught:
        casid.solve(Problem("open", variables, objective, near))
    assert {text.split(" ")[0] for text in caught.value.conflicting} == {"sum", "x", "y"}
    assert casid.solve(Problem("met", variables, objective, (near[0], near[1]))).feasible


@pytest.mark.claim("a body of 0.1 g and 1 mm is never proven to be infeasible")
@pytest.mark.parametrize("seed", range(4))
def test_tiny_bodies_of_known_extent_are_feasible(seed) -> None:
    rng = np.random.default_rng(seed)
    variables = link_variables(TOY)
    mass, size = 10 ** rng.uniform(-5, -3), 10 ** rng.uniform(-3.5, -2.5)
    ten = to_standard(mass, size * rng.normal(size=3), mass * size**2 * np.diag(rng.uniform(0.5, 0.7, 3)))
    truth, plane = np.tile(ten, len(variables)), rng.normal(size=3)
    known = sensible_bounds(variables, heaviest=2 * mass, radius=5 * size)
    known = (*known, Constraint("plane", ca.dot(ca.DM(plane), variables[0].com), lower=plane @ truth[6:9] / mass))
    scale = np.maximum(np.abs(truth), 1e-3 * np.abs(truth).max())
    problem = Problem("tiny", variables, least_squares(variables, np.diag(1 / scale), truth / scale), known)
    found = casid.solve(problem)
    assert problem.met(problem.violations(truth), 1e-8) and found.objective <= 1e-6
