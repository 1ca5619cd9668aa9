"""Expression graphs, walked in any arithmetic."""

import casadi as ca
import numpy as np

from casid.expressions._walk import as_function, fold, operations, rebuild, walk


def test_a_graph_walked_with_numbers_is_its_value(x):
    expression = ca.vertcat(ca.sqrt(x[0]) + 2 * x[1], ca.fmin(x[2], x[3]) / 3)
    function = as_function(expression, x)
    point = [4.0, 0.5, 2.0, 7.0]
    found = walk(function, float, lambda k: point[k], fold)
    np.testing.assert_allclose(found, function(point).full().ravel(), rtol=1e-15)
    assert {ca.OP_SQRT, ca.OP_FMIN} <= operations(function)


def test_a_graph_is_rebuilt_from_its_operations(x):
    expression = ca.if_else(x[0] <= x[1], x[2] ** 2, -x[3])
    function = as_function(expression, x)
    (again,) = walk(function, ca.SX, lambda k: x[k], rebuild)
    both = ca.Function("both", [x], [expression, again])
    for point in np.random.default_rng(0).normal(size=(10, 4)):
        first, second = both(point)
        assert float(first) == float(second)
