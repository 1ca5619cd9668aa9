"""Where branch and bound splits boxes that lie far from the origin of the link."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from casid.inertia import to_standard
from casid.retrieval import Constraint, Problem, com_box, mass_bounds
from casid.retrieval._solver import Relaxed
from casid.retrieval.methods._branching import _Node, _where_to_split
from casid.testing import BODY, nearest


def far(low: list[float], high: list[float]) -> Problem:
    """The centre of mass in a box, at least 0.4 m from a point in it."""
    hole = ca.DM([2.0, -3.0, 5.0])
    return nearest(
        BODY,
        lambda v: (mass_bounds(v[0], 1.0, 4.0), com_box(v[0], low, high),
                   Constraint("hole", ca.sumsqr(v[0].com - hole), lower=0.4**2)),
        bounded=False,
    )  # fmt: skip


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_far_box_is_split_between_its_middle_and_the_centre_of_mass(axis: int, share: float) -> None:
    low, high = np.array([1.7, -3.3, 4.7]), np.array([2.3, -2.7, 5.3])
    inner_low, inner_high = low.copy(), high.copy()
    others = [k for k in range(3) if k != axis]
    inner_low[others] += 0.1
    centre = np.array([2.0, -3.0, 5.0])
    centre[axis] = low[axis] + share * 0.6
    x = to_standard(2.0, centre, 0.01 * np.eye(3))
    found = _where_to_split(far(list(low), list(high)),
                            _Node(0.0, 0, far(list(inner_low), list(inner_high)), Relaxed(0.0, x, {})))  # fmt: skip
    assert found == (0, axis, pytest.approx(low[axis] + 0.3 * (0.5 + share)))
