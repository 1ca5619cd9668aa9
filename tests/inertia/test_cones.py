"""Cones of the ten standard parameters."""

import numpy as np
import pytest

from casid.inertia import CONES, Free, Full, Limits, Semi, to_standard

BODY = to_standard(2.0, [0.1, -0.05, 0.2], np.diag([0.02, 0.03, 0.04]))


@pytest.mark.parametrize("cone", [Full(), Semi()], ids=lambda c: c.name)
def test_coordinates_of_a_body_give_it_back(cone):
    basis, offset = cone.coordinates(BODY, 1e-6)
    y = np.linalg.solve(basis, BODY - offset)
    np.testing.assert_allclose(basis @ cone.compose(cone.factor(y)) + offset, BODY, atol=1e-12)
    assert cone.violation(BODY, 1e-6) == 0.0


@pytest.mark.parametrize("cone", CONES.values(), ids=lambda c: c.name)
def test_a_projection_is_in_the_cone_and_the_dual_share_is_a_bound(cone):
    rng = np.random.default_rng(0)
    outside = to_standard(2.0, [0.1, 0.0, 0.0], np.diag([0.01, 0.01, 0.05]))
    inside = cone.project(outside, 1e-4)
    assert cone.violation(inside, 0.0) <= 1e-12
    limits = Limits(trace=5.0, box=np.full(10, 5.0))
    for share in rng.normal(size=(20, 10)):
        bound = cone.dual_share(share, 1e-6, limits)
        assert share @ BODY >= bound.gain - bound.cost - 1e-9


def test_cones_of_one_class_are_equal():
    assert Full() == Full() and Full() != Semi() and not Free().constrains
