"""Smooth expressions in place of piecewise ones."""

from __future__ import annotations

import casadi as ca
import numpy as np

from casid.expressions._smoothing import smooth

N = 4


def test_smooth_expressions_approach_the_exact_ones(x):
    rule = ca.if_else(ca.logic_or(x[0] < 0.1, x[1] <= x[2]), x[3] ** 2, ca.fmax(x[1], ca.fabs(x[0]))) + ca.sign(x[3])
    exact = ca.Function("g", [x], [rule])
    for point in np.random.default_rng(6).normal(size=(10, N)):
        errors = [
            abs(float(ca.Function("s", [x], [smooth(rule, x, width)])(point)) - float(exact(point)))
            for width in (1e-2, 1e-4, 1e-6)
        ]
        assert errors[2] <= 1e-6
        assert errors[2] <= errors[0]
    curvature = ca.Function("s", [x], [ca.hessian(smooth(rule, x, 0.1), x)[0]])
    assert np.isfinite(np.array(curvature(np.zeros(N)))).all()
