"""Units and scales: what a weight prices, margins on small links, links that nothing bounds."""

from __future__ import annotations

import numpy as np
import pytest

from casid.description import Joint, Link, Robot
from casid.inertia import pseudo_inertia, to_standard
from casid.retrieval import (
    Constraint,
    LeastSquares,
    Problem,
    com_box,
    link_variables,
    mass_bounds,
    nominal_parameters,
    parameter_intervals,
    solve,
)


@pytest.fixture
def links():
    return link_variables(Robot("one", (Joint("j1", "revolute", -1, Link("link1")),)))


def target(links, body, weight=1.0):
    return LeastSquares(weight * np.eye(links.size), weight * np.asarray(body))


@pytest.mark.claim("the weight of a soft expression prices the expression, not the expression times a mass")
def test_a_soft_expression_is_priced_in_its_own_unit(links):
    body = to_standard(5.0, [0.02, 0.0, 0.0], 0.01 * np.eye(3))
    wish = Constraint("far out", links[0].com[0], lower=0.5, weight=0.3)
    solution = solve(Problem("soft", links, target(links, body), (mass_bounds(links[0], 1.0, 8.0), wish)))
    x = solution.x
    assert solution.penalty == pytest.approx(0.3 * (0.5 - x[6] / x[9]), rel=1e-9)
    assert solution.lower_bound <= solution.total


@pytest.mark.claim("a problem about a link of grams has a nominal body that keeps the margin")
@pytest.mark.parametrize("mass", [1e-3, 1e-5, 5.0])
def test_nominal_bodies_keep_the_margin(links, mass):
    tiny = (mass_bounds(links[0], 0.0, 2 * mass), com_box(links[0], [-1e-3] * 3, [1e-3] * 3))
    problem = Problem("tiny", links, target(links, np.zeros(10)), tiny)
    nominal = nominal_parameters(problem)
    assert np.linalg.eigvalsh(pseudo_inertia(nominal))[0] > problem.cones[0].margin


@pytest.mark.claim("a link without consistency and without bounds, with a nonlinear constraint, is no traceback")
def test_a_free_link_with_a_curved_constraint_is_solved(links):
    body = -to_standard(2.0, [0.1, 0.0, 0.0], 0.05 * np.eye(3))
    curved = Constraint("curved", links[0].first_moment[0] ** 2 + links[0].mass, lower=-1.0)
    solution = solve(Problem("free", links, target(links, body), (curved,), consistency="none"), throw=False)
    assert solution.status in ("optimal", "feasible")
    assert solution.x[6] ** 2 + solution.x[9] >= -1.0 - 1e-8


@pytest.mark.claim("the proven end of a ratio is not made of a mass that is only assumed to be positive")
def test_the_proven_range_of_a_centre_of_mass_holds_where_the_mass_may_vanish(links):
    scale = np.array([1e-2] * 6 + [1e-1] * 3 + [1.0])
    objective = LeastSquares(np.eye(10) / scale, np.zeros(10))
    problem = Problem("light", links, objective, (mass_bounds(links[0], 0.0, 1.0),), margin=0.0)
    found = parameter_intervals(problem, {"c": links[0].com[0]}, tolerance=0.5, solution=solve(problem, throw=False))
    light = to_standard(1e-7, [3.0, 0.0, 0.0], 1e-9 * np.eye(3))  # explains the data as well as anything
    assert objective(light) <= found.optimum + found.tolerance
    assert found["c"].low <= -3.0
    assert found["c"].high >= 3.0
