"""Limits of feasible bodies."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import casid
from casid.description import Joint, Link, Robot
from casid.inertia import from_standard, pseudo_inertia, to_standard
from casid.retrieval import (
    Problem,
    com_box,
    least_squares,
    link_variables,
    mass_bounds,
    solve,
)
from casid.retrieval._region import com_quotients, find_quadric, link_regions
from casid.retrieval.constraints._bounds import no_consistency
from casid.testing._synthetic import BODY, arm, nearest


@pytest.mark.claim("without consistency and with negative masses a box of the centre of mass is not flipped")
def test_negative_mass_keeps_the_box() -> None:
    target = -BODY
    problem = nearest(target, lambda v: (no_consistency(v[0]), com_box(v[0], -0.3, 0.3)), bounded=False)
    inside = from_standard(target)[1]
    assert (np.abs(inside) < 0.3).all()
    found = solve(problem, start=target)
    assert found.max_violation <= 1e-8 and found.objective == pytest.approx(0.0, abs=1e-9)
    assert found.lower_bound <= 1e-9


@pytest.mark.claim("a search region never excludes the solution it belongs to")
def test_enormous_extras() -> None:
    target = np.append(BODY, 1e12)
    problem = nearest(target, lambda v: (), extras={"fv1": (0.0, np.inf)})
    found = solve(problem, throw=False)
    assert found.lower_bound <= problem.objective(target) + 1e-6
    assert all(found.extras[name] <= factor for name, factor in found.search_region.items() if name in found.extras)


@pytest.mark.claim("links of grams and millimetres keep their inertia")
def test_small_links_keep_their_inertia() -> None:
    truth = to_standard(2e-3, [1e-3, 0.0, 2e-3], np.diag([2e-9, 3e-9, 2.5e-9]))
    variables = link_variables(Robot("toy", (Joint("joint1", "revolute", -1, Link("link1")),)))
    own = mass_bounds(variables[0], 0.0, 1e-2), com_box(variables[0], -5e-3, 5e-3)
    problem = Problem("toy", variables, least_squares(variables, np.eye(10), truth), own)
    found = solve(problem)
    assert np.abs(found.x - truth)[:6].max() <= 0.02 * truth[3]
    assert problem.cones[0].margin < 1e-10
    assert casid.load_problem("panda_retrieval").cones[0].margin == 1e-6
    assert np.linalg.eigvalsh(pseudo_inertia(found.x))[0] >= problem.cones[0].margin


def test_regions_follow_from_bounds_and_totals() -> None:
    problem = nearest(BODY, lambda v: (mass_bounds(v[0], 0.5, 4.0), com_box(v[0], -0.3, 0.2)), bounded=False)
    (region,) = link_regions(problem.facts, [entry.cone for entry in problem.cones])
    assert region.mass == (0.5, 4.0)
    np.testing.assert_array_equal(region.com, np.tile([-0.3, 0.2], (3, 1)))
    ranges = com_quotients(0, region.com)
    assert set(ranges) == {(6, 9), (7, 9), (8, 9)} and ranges[6, 9].tolist() == [-0.3, 0.2]


def test_the_form_of_a_sphere_is_its_expression() -> None:
    variables = link_variables(arm())
    link, x = variables[0], variables.x
    form = find_quadric(0.2**2 - ca.sumsqr(link.com - ca.DM([0.1, 0.0, 0.05])), x, len(variables))
    assert form is not None and form.link == 0 and form.power == 2 and not form.linear
    moment, mass = BODY[6:9], BODY[9]
    value = form.moment @ moment + form.mass * mass + moment @ form.square @ moment / mass
    c = moment / mass
    expected = mass * (0.2**2 - np.sum((c - [0.1, 0.0, 0.05]) ** 2))
    np.testing.assert_allclose(value + form.inertia @ BODY[:6], expected, rtol=1e-12)
    box = np.array([[-1.0, 1.0]] * 3)
    assert form.is_convex_set(box)
    for cut in form.cuts(box, BODY):
        assert cut @ BODY >= expected - 1e-12  # a tangent of a concave form lies above it


def test_saturating_and_mixed_expressions_have_no_form() -> None:
    variables = link_variables(arm(2))
    first, second = variables
    assert find_quadric(ca.tanh(first.mass), variables.x, 2) is None
    assert find_quadric(first.mass * second.mass, variables.x, 2) is None
