"""Quadratic forms of one link's parameters: found by structure, exact, with cuts that hold."""

from __future__ import annotations

import casadi as ca
import numpy as np

from casid.retrieval import link_variables
from casid.retrieval._quadrics import find_quadric
from casid.testing._synthetic import BODY, arm


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
