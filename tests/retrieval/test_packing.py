"""Constraints sent to another process: the same kinds with the same values on new unknowns."""

from __future__ import annotations

import pickle

import casadi as ca
import numpy as np

from casid.retrieval import Constraint, Problem, com_in_sphere, link_variables, mass_bounds, soften
from casid.testing import arm


def test_constraints_keep_their_kinds_and_values():
    links = link_variables(arm(), {"f": (0.0, 1.0)})
    rule = ca.if_else(links[0].mass > 1, links[0].com[0], links.extra("f"))
    ball = com_in_sphere(links[0], [0.0, 0.1, 0.0], 0.2)
    balls = ball if isinstance(ball, tuple) else (ball,)
    before = (mass_bounds(links[0], 0.5, 2.0), soften(Constraint("rule", rule, upper=0.1), 3.0), *balls)
    objective = links[0].mass ** 2 + ca.tanh(links.extra("f")) + 1
    problem = Problem("sent", links, objective, before)
    sent = pickle.loads(pickle.dumps(problem))
    others, after = sent.variables, sent.constraints
    at = np.random.default_rng(0).uniform(0.5, 1.5, links.size)
    for one, other in zip(problem.constraints, after, strict=True):
        assert type(one) is type(other) and (one.label, one.weight) == (other.label, other.weight)
        assert np.array_equal(one.lower, other.lower) and np.array_equal(one.upper, other.upper)
        np.testing.assert_array_equal(one.value(links.x, at), other.value(others.x, at))
    assert sent.value(at) == problem.value(at) and len(after) == len(before) + 1
