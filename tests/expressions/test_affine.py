"""Affine entries of expressions, recognised by structure."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from casid.expressions import affine_rows, polynomials

N = 4


PIECEWISE = {
    "if_else": lambda a, b: ca.if_else(a > 4, 0.5, 0.1) - b,
    "logic_or": lambda a, b: ca.logic_or(a > 0.2, b > 3),
    "logic_and": lambda a, b: ca.logic_and(a, b),
    "not": lambda a, b: ca.logic_not(a),
    "floor": lambda a, b: ca.floor(4 * a) + b,
    "ceil": lambda a, b: ca.ceil(a),
    "sign": lambda a, b: ca.sign(a) * 2 + b,
    "comparison": lambda a, b: (a < b) + a,
    "equal": lambda a, b: a == b,
    "numeric condition": lambda a, b: ca.if_else(a, 1, 2) + b,
}


@pytest.mark.claim("a piecewise-constant term is not affine")
@pytest.mark.parametrize("name", PIECEWISE)
def test_piecewise_terms_are_neither_affine_nor_polynomial(x, name):
    expression = PIECEWISE[name](x[0], x[1])
    assert affine_rows(expression, x) == (None,)
    assert polynomials(expression, x) == (None,)


def test_affine_rows_are_what_evaluation_says(x):
    rows = ca.vertcat(3 * x[0] - x[1] / 3 + 2, -(x[2] + x[2]) * 0.5, (x[0] - 1) / -4, ca.SX(7), x[0] - ca.sin(2.0))
    at = ca.Function("rows", [x], [rows])
    for row, forms in zip(range(rows.numel()), affine_rows(rows, x), strict=True):
        assert forms is not None
        for point in np.random.default_rng(row).normal(size=(5, N)):
            assert forms.coefficients @ point + forms.offset == pytest.approx(float(at(point)[row]), rel=1e-14)


@pytest.mark.parametrize("make", [lambda a, b: a * b, lambda a, b: a / b, lambda a, b: a**2, lambda a, b: a / 0 + b])
def test_curved_rows_and_infinite_ones_are_not_affine(x, make):
    assert affine_rows(make(x[0], x[1]), x) == (None,)
