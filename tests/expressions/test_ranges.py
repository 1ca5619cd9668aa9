"""Ranges: rounded outward, empty of nothing."""

import numpy as np

from casid.expressions._ranges import Range, absolute, everything, outward, product, truth, widened


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
