"""Conditions of an expression: found, distinguished, decided, replaced."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from casid.expressions import alternatives, choose, conditions, decided

N = 4


@pytest.mark.claim("thresholds that print alike are two conditions")
def test_conditions_are_distinguished_by_exact_constants(x):
    rule = ca.vertcat(ca.if_else(x[0] < 0.012345670, x[1], x[2]), ca.if_else(x[0] < 0.012345671, 1.0, x[1]))
    first, second = conditions(rule, x)
    assert first.text != second.text
    point = np.array([0.5, 3.0, 4.0, 1.0])
    chosen = ca.Function("g", [x], [choose(rule, x, {first.key: True, second.key: False})])
    assert np.array(chosen(point)).ravel() == pytest.approx([3.0, 3.0])


def test_one_condition_used_and_built_twice_is_one(x):
    rule = ca.vertcat(ca.if_else(x[0] + x[1] < 1, x[1], x[2]), ca.if_else(x[1] + x[0] < 1, 1.0, x[1]))
    assert len(conditions(rule, x)) == 1


def test_conditions_of_logic_and_of_numbers_are_found_decided_and_kept(x):
    rng = np.random.default_rng(4)
    rule = ca.if_else(ca.logic_and(x[0] < 0.1, ca.logic_not(x[1] <= x[2])), x[3], ca.if_else(x[2], x[1], -x[1]))
    found = conditions(rule, x)
    assert [c.code for c in found] == [ca.OP_LT, ca.OP_LE, ca.OP_NE]
    exact, margins = ca.Function("g", [x], [rule]), ca.Function("m", [x], [ca.vertcat(*[c.margin for c in found])])
    for point in [*rng.normal(size=(30, N)), np.zeros(N)]:
        values = np.array(margins(point)).ravel()
        choices = {c.key: bool(c.holds(v)) for c, v in zip(found, values, strict=True)}
        decided_rule = choose(rule, x, choices)
        assert not conditions(decided_rule, x)
        assert float(ca.Function("d", [x], [decided_rule])(point)) == float(exact(point))
        assert float(ca.Function("k", [x], [choose(rule, x, {})])(point)) == float(exact(point))


def test_a_box_decides_conditions_only_where_all_of_it_agrees(x):
    found = conditions(ca.vertcat(*[ca.if_else(test, x[1], 0) for test in (x[0] < 1, x[0] <= 1, x[0] < 2, x[0])]), x)
    low, high = np.zeros(N), np.ones(N)
    text = {c.key: c.text for c in found}
    one, other = decided(found, x, low, high), decided(found, x, low + 1.5, high + 1.5)
    assert {text[k]: v for k, v in one.items()} == {"(x_0<=1)": True, "(x_0<2)": True}
    assert {text[k]: v for k, v in other.items()} == {"(x_0<1)": False, "(x_0<=1)": False, "x_0!=0": True}
    undefined = conditions(ca.if_else(ca.sqrt(x[0]) < 100, x[1], 0), x)
    assert decided(undefined, x, low - 1, high) == {}


def test_alternatives_cover_nested_minima_and_maxima_with_constants(x):
    expression = ca.fmax(ca.fmin(x[0], 1.0), ca.fmin(x[1], ca.fmax(x[2], x[3])))
    options = alternatives(expression, x)
    assert len(options) == 3
    below = [ca.Function("o", [x], [o]) for o in alternatives(expression, x, upper=True)]
    at = ca.Function("g", [x], [expression])
    each = [ca.Function("o", [x], [o]) for o in options]
    for point in np.random.default_rng(7).normal(size=(40, N)):
        assert (float(at(point)) >= 0) == any((np.array(o(point)) >= 0).all() for o in each)
        assert (float(at(point)) <= 0.3) == any((np.array(o(point)) <= 0.3).all() for o in below)
    assert alternatives(expression, x, most=2)[0].numel() == 1
