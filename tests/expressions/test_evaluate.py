"""Expressions evaluated by numpy."""

import casadi as ca
import numpy as np
import pytest

from casid.expressions import NumpyFunction, evaluate, interruptible


def test_numpy_evaluates_as_casadi_does(x):
    expression = ca.vertcat(ca.sin(x[0]) * x[1], ca.if_else(x[2] < x[3], ca.exp(x[1]), ca.fmax(x[0], 2)), x[3] ** 3)
    exact = ca.Function("exact", [x], [expression])
    function = NumpyFunction(expression, x)
    for point in np.random.default_rng(3).normal(size=(20, 4)):
        np.testing.assert_allclose(evaluate(expression, x, point), exact(point).full().ravel(), rtol=1e-13)
        np.testing.assert_array_equal(function(point), evaluate(expression, x, point))


def test_an_interruption_passes_through():
    with pytest.raises(KeyboardInterrupt), interruptible():
        raise KeyboardInterrupt
