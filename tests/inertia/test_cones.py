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
    shares, margins = rng.normal(size=(20, 10)), np.full(20, 1e-6)
    limits = Limits(trace=np.full(20, 5.0), box=np.full((20, 10), 5.0))
    bound = cone.dual_share(shares, margins, limits)
    assert not bound.searched.any() and (shares @ BODY >= bound.gain - bound.cost - 1e-9).all()
    trace, box = np.where(np.arange(20) < 10, 5.0, np.inf), np.full((20, 10), 5.0)
    box[10:] = np.inf  # half of the links are searched within twice a body
    bound = cone.dual_share(shares, margins, Limits(trace, box, np.tile(BODY, (20, 1)), 2.0))
    assert (bound.searched == (np.arange(20) >= 10)).all() and (shares @ BODY >= bound.gain - bound.cost - 1e-9).all()


def test_cones_of_one_class_are_equal():
    assert Full() == Full() and Full() != Semi() and not Free().constrains
