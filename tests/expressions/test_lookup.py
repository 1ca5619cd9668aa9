"""Tables read from CasADi's interpolants: their knots, values and ranges."""

from __future__ import annotations

import casadi as ca
import numpy as np

from casid.expressions._lookup import LinearTable, linear_table
from casid.expressions._ranges import Range

KNOTS, VALUES = [0.0, 1.0, 3.0, 4.0], [1.0, -2.0, 5.0, 0.5]


def test_knots_and_values_are_those_of_the_interpolant():
    callee = ca.interpolant("table", "linear", [KNOTS], VALUES)
    table = linear_table(callee)
    np.testing.assert_array_equal([table.knots, table.values], [KNOTS, VALUES])
    points = np.linspace(-1.0, 5.0, 41)
    np.testing.assert_allclose(table.at(points), np.array(callee(points)).ravel(), atol=1e-14)


def test_a_range_holds_its_inner_knots_and_goes_on_beyond_the_ends():
    table = LinearTable(np.array(KNOTS), np.array(VALUES))
    no = np.array([False])
    found = table.range(Range(np.array([0.5]), np.array([3.5]), no))
    np.testing.assert_allclose([found.low[0], found.high[0]], [-2.0, 5.0], atol=1e-10)
    assert found.low[0] <= -2.0 and found.high[0] >= 5.0
    beyond = table.range(Range(np.array([4.0]), np.array([6.0]), no))
    np.testing.assert_allclose([beyond.low[0], beyond.high[0]], [-8.5, 0.5], atol=1e-10)


def test_other_functions_are_no_table():
    x = ca.SX.sym("x")
    assert linear_table(ca.Function("line", [x], [2 * x])) is None
    assert linear_table(ca.interpolant("smooth", "bspline", [np.arange(6.0)], np.arange(6.0) ** 2)) is None
