"""The path of prices ends where the sum of squares has the wanted value."""

from __future__ import annotations

import numpy as np
import pytest

from casid.inertia._divergence import lower_triangle
from casid.retrieval.plausible._climb import MET, Climb
from casid.retrieval.plausible._measure import Measure
from casid.retrieval.plausible._newton import PricedNewton


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
