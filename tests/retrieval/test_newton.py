"""Newton's method at a price of the residual: its answer meets the optimality conditions of the program."""

from __future__ import annotations

import numpy as np
import pytest

from casid.inertia import lower_triangle
from casid.retrieval.plausible._measure import Measure
from casid.retrieval.plausible._newton import MET, Climb, PricedNewton

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


@pytest.fixture(scope="module")
def climbed():
    rng = np.random.default_rng(4)
    body = np.asarray(lower_triangle(np.diag([2.0, 1.5, 1.8, 1.0])))
    matrix = rng.normal(size=(30, 10))
    target = matrix @ body + 0.05 * rng.normal(size=30)
    best = np.linalg.lstsq(matrix, target, rcond=None)[0]
    newton = PricedNewton(
        Measure(np.array([False]), np.zeros(0), np.zeros(0)), matrix, target, np.zeros((0, 10)), np.zeros(0)
    )
    least = newton.residual(best)
    start = newton.start(np.asarray(lower_triangle(np.eye(4))))
    return newton, least, Climb(newton, least, 1.05 * least, start, MET)


def test_smaller_and_smaller_sums_are_met_at_growing_prices(climbed):
    newton, least, climb = climbed
    prices = []
    for factor in (3.0, 1.5, 1.05):
        point = climb.to(factor * least)
        assert point is not None and point.solved
        increase = newton.residual(point.y) - least
        assert (factor - 1.0) * least * (1 - 4 * MET) <= increase <= (factor - 1.0) * least
        prices.append(climb.price)
    assert prices == sorted(prices) and prices[0] > 0


def test_what_plausible_bodies_explain_themselves_costs_no_price(climbed):
    newton, least, _ = climbed
    plausible = np.asarray(lower_triangle(np.eye(4)))
    climb = Climb(newton, least, 0.0, newton.start(plausible), MET)
    point = climb.to(1.01 * newton.residual(plausible))
    assert point is not None
    np.testing.assert_allclose(point.y, plausible, atol=1e-4)
