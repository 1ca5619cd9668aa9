"""Rows that hold wherever an expression has a value, where CasADi's own value does not show it."""

from __future__ import annotations

import casadi as ca
import numpy as np

from casid.expressions._domains import may_hide, required_domains
from casid.expressions._walk import as_function


def rows_at(expression: ca.SX, x: ca.SX, point: list[float]) -> np.ndarray:
    rows = required_domains(expression, x)
    return np.array(ca.Function("rows", [x], [ca.vertcat(*rows)])(point)).ravel()


def test_a_root_inside_a_comparison_demands_its_argument(x):
    expression = ca.if_else(ca.sqrt(x[0]) < 2.0, x[1], x[2])
    np.testing.assert_allclose(rows_at(expression, x, [-3.0, 0.0, 0.0, 0.0]), [-3.0])


def test_both_sides_of_an_arc_sine_inside_a_maximum(x):
    expression = ca.fmax(ca.asin(x[0]), x[1])
    np.testing.assert_allclose(sorted(rows_at(expression, x, [1.5, 0.0, 0.0, 0.0])), [-0.5, 2.5])


def test_a_branch_demands_nothing_where_it_is_not_taken(x):
    expression = ca.if_else(x[1] > 0, ca.fmin(ca.log(x[0]), 1.0), 0.0)
    assert rows_at(expression, x, [-4.0, 1.0, 0.0, 0.0]).min() == -4.0
    assert rows_at(expression, x, [-4.0, -1.0, 0.0, 0.0]).min() == 0.0


def test_what_shows_itself_or_holds_everywhere_gives_no_row(x):
    assert required_domains(ca.sqrt(x[0]), x) == ()  # NaN is its own sign
    assert required_domains(ca.fmax(ca.sqrt(1 + x[0] ** 2), x[1]), x) == ()
    assert not may_hide(as_function(ca.sqrt(x[0]), x)) and may_hide(as_function(ca.fmax(ca.log(x[0]), 0), x))
