"""Affine entries of expressions, recognised by structure."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from casid.expressions import affine_rows, polynomials, quadratic_form

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


SATURATING = {
    "tanh": lambda a, m: ca.tanh(50 * (a / m)),
    "logistic": lambda a, m: 1 / (1 + ca.exp(-a)),
    "erf": lambda a, m: ca.erf(a / m),
    "gaussian": lambda a, m: 0.05 + 0.25 * ca.exp(-((2 * (m - 5)) ** 2)) - a / m,
    "smoothed absolute value": lambda a, m: ca.sqrt((a / m) ** 2 + 1e-12),
    "fabs": lambda a, m: ca.fabs(a) * m,
    "tiny exponential": lambda a, m: a * m + 1e-14 * ca.exp(a),
}


@pytest.mark.claim("saturating functions are not quadratic forms")
@pytest.mark.parametrize("name", SATURATING)
def test_saturating_functions_are_not_quadratic_forms(x, name):
    expression = SATURATING[name](x[0], x[3])
    assert quadratic_form(expression, x, range(N), 3) is None
    assert None in affine_rows(expression, x)


def test_polynomials_are_exact_where_terms_cancel(x):
    curved = (x[0] + 0.1 * x[1]) ** 3 - x[0] ** 3 - 3 * x[0] ** 2 * (0.1 * x[1]) - 3 * x[0] * (0.1 * x[1]) ** 2
    (found,) = polynomials(curved - (0.1 * x[1]) ** 3 + x[0] * x[1], x)
    assert found is not None
    assert found.terms == {((0, 1), (1, 1)): 1}


def test_division_is_only_by_the_named_entries(x):
    assert polynomials(x[0] / x[3], x) == (None,)
    (found,) = polynomials(x[0] ** 2 / x[3] - 2 * x[3] ** -1, x, denominators=[3])
    assert found is not None
    assert found.terms == {((0, 2), (3, -1)): 1, ((3, -1),): -2}
    assert polynomials(x[0] / (x[3] + 1), x, denominators=[3]) == (None,)


def test_quadratic_form_is_what_evaluation_says(x):
    m, rng = x[3], np.random.default_rng(2)
    for power, expression in (
        (2, 0.01 - (x[0] / m - 0.1) ** 2 - (x[1] / m) ** 2 * 3),
        (1, x[0] - (x[1] * x[2]) / m),
        (0, x[0] * m - x[1] ** 2),
    ):
        form, at = quadratic_form(expression, x, range(N), 3), ca.Function("g", [x], [expression])
        assert form is not None
        assert form.power == power
        for point in rng.uniform(0.5, 2.0, (5, N)):
            value = point[3] ** power * float(at(point))
            assert point @ form.matrix @ point == pytest.approx(value, rel=1e-12, abs=1e-14)
