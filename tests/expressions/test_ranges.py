"""Ranges: rounded outward, empty of nothing."""

from __future__ import annotations

import casadi as ca
import numpy as np

from casid.expressions._ranges import (
    LinearTable,
    Range,
    absolute,
    everything,
    linear_table,
    outward,
    product,
    truth,
    widened,
)


def ranged(low, high):
    return Range(np.array([low]), np.array([high]), np.array([False]))


def test_bounds_move_outward():
    for enlarge in (outward, widened):
        low, high = enlarge([1.0, -2.0], [1.0, 3.0])
        assert (low < [1.0, -2.0]).all() and (high > [1.0, 3.0]).all()
        np.testing.assert_allclose(low, [1.0, -2.0], rtol=1e-14)


def test_products_hold_all_corners_and_zero_times_infinity_is_zero():
    low, high = product(np.array([-2.0]), np.array([3.0]), np.array([-5.0]), np.array([1.0]))
    assert (low[0], high[0]) == (-15.0, 10.0)
    with np.errstate(invalid="ignore"):
        low, high = product(np.array([0.0]), np.array([0.0]), np.array([-np.inf]), np.array([np.inf]))
    assert (low[0], high[0]) == (0.0, 0.0)


def test_absolute_values_and_truths():
    found = absolute(ranged(-2.0, 1.0))
    assert (found.low[0], found.high[0]) == (0.0, 2.0)
    maybe = truth([False, True, False], [True, True, False])
    assert maybe.low.tolist() == [0, 1, 0] and maybe.high.tolist() == [1, 1, 0]
    nothing = everything(ranged(0.0, 1.0))
    assert np.isinf(nothing.low).all() and np.isinf(nothing.high).all()


def test_zero_decides_what_may_hold():
    assert ranged(-1.0, 1.0).has_zero.all() and not ranged(0.5, 1.0).has_zero.any()
    assert ranged(0.5, 1.0).may_hold.all() and not ranged(0.0, 0.0).may_hold.any()


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
