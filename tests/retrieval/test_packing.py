"""Constraints sent to another process: the same kinds with the same values on new unknowns."""

from __future__ import annotations

import pickle

import casadi as ca
import numpy as np

from casid.retrieval import Constraint, com_in_sphere, link_variables, mass_bounds, soften
from casid.retrieval.constraints._packing import packed, unpacked
from casid.testing._synthetic import arm


def test_constraints_keep_their_kinds_and_values():
    links = link_variables(arm(), {"f": (0.0, 1.0)})
    rule = ca.if_else(links[0].mass > 1, links[0].com[0], links.extra("f"))
    ball = com_in_sphere(links[0], [0.0, 0.1, 0.0], 0.2)
    balls = ball if isinstance(ball, tuple) else (ball,)
    before = (mass_bounds(links[0], 0.5, 2.0), soften(Constraint("rule", rule, upper=0.1), 3.0), *balls)
    others = link_variables(links.robot, dict(links.extras))
    after = unpacked(*pickle.loads(pickle.dumps(packed(before, links))), others)
    at = np.random.default_rng(0).uniform(0.5, 1.5, links.size)
    for one, other in zip(before, after, strict=True):
        assert type(one) is type(other) and (one.label, one.weight) == (other.label, other.weight)
        assert np.array_equal(one.lower, other.lower) and np.array_equal(one.upper, other.upper)
        np.testing.assert_array_equal(one.value(links.x, at), other.value(others.x, at))
