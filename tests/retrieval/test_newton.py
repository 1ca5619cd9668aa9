"""Newton's method at a price of the residual: its answer meets the optimality conditions of the program."""

from __future__ import annotations

import numpy as np
import pytest

from casid.inertia._divergence import lower_triangle
from casid.retrieval.plausible._measure import Measure
from casid.retrieval.plausible._newton import PricedNewton

PLAUSIBLE = np.asarray(lower_triangle(np.eye(4)))


@pytest.fixture(scope="module")
def measure():
    return Measure(np.array([False]), np.array([0.3]), np.array([0.0]))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    return rng.normal(size=(15, 11)), rng.normal(size=15)


def test_without_a_price_the_plausible_body_is_the_answer(measure, data):
    newton = PricedNewton(measure, *data, np.zeros((0, 11)), np.zeros(0))
    made = newton.solve(newton.start(np.append(1.7 * PLAUSIBLE, 0.4)), 0.0)
    assert made.solved
    np.testing.assert_allclose(made.y, np.append(PLAUSIBLE, 0.0), atol=1e-6)


def test_the_gradient_is_balanced_by_the_rows(measure, data):
    matrix, target = data
    rows, least = np.eye(11)[[9, 10]], np.array([1.2, 0.5])  # the last diagonal entry and the joint term
    newton, price = PricedNewton(measure, matrix, target, 3.0 * rows, 3.0 * least), 0.2
    made = newton.solve(newton.start(np.append(PLAUSIBLE, 0.0)), price)
    assert made.solved and (rows @ made.y >= least - 1e-9).all()
    gradient = measure.gradient(made.y, 0.0)[0] + 2 * price * matrix.T @ (matrix @ made.y - target)
    multipliers = newton.row_multipliers(made)
    np.testing.assert_allclose(gradient, 3.0 * rows.T @ multipliers, atol=1e-5)
    np.testing.assert_allclose(multipliers * (rows @ made.y - least), 0.0, atol=1e-6)
    assert newton.residual(made.y) == pytest.approx(float(np.sum((matrix @ made.y - target) ** 2)))


def test_a_higher_price_lowers_the_residual_as_its_slope_says(measure, data):
    newton = PricedNewton(measure, *data, np.zeros((0, 11)), np.zeros(0))
    here = newton.solve(newton.start(np.append(PLAUSIBLE, 0.0)), 0.5)
    there = newton.solve(here, 0.5 * 1.001)
    change = newton.residual(there.y) - newton.residual(here.y)
    assert change < 0
    assert change / np.log(1.001) == pytest.approx(here.slope, rel=1e-2)
