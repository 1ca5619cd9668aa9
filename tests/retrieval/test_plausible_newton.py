"""Newton's method along the path of prices: its steps stay inside, and few prices lead to the one that is sought."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from casid.inertia import lower_triangle
from casid.retrieval.plausible._measure import Measure
from casid.retrieval.plausible._newton import CHEAP, FAILURES, MET, Climb, Point, PricedNewton, _inside, _within

PLAUSIBLE = np.asarray(lower_triangle(np.eye(4)))


class Counted(PricedNewton):
    """Counts the prices that are solved for; from the given one on, none is solved."""

    def __init__(self, *values, breaks_at: int = 1000) -> None:
        super().__init__(*values)
        self.count, self._breaks_at = 0, breaks_at

    def solve(self, point: Point, price: float, rough: bool = False) -> Point:
        self.count += 1
        made = super().solve(point, price, rough)
        return made if self.count < self._breaks_at else replace(made, solved=False)


def newton(**options: int) -> Counted:
    """Of data that a body other than the plausible one explains but for noise."""
    rng = np.random.default_rng(4)
    body = np.asarray(lower_triangle(np.diag([2.0, 1.5, 1.8, 1.0])))
    matrix = rng.normal(size=(30, 10))
    target = matrix @ body + 0.05 * rng.normal(size=30)
    measure = Measure(np.array([False]), np.zeros(0), np.zeros(0))
    return Counted(measure, matrix, target, np.zeros((0, 10)), np.zeros(0), **options)


def least_of(made: PricedNewton) -> float:
    return made.residual(np.linalg.lstsq(made._matrix, made._target, rcond=None)[0])


def test_a_step_goes_nine_tenths_of_the_way_to_the_boundary_at_most() -> None:
    one = np.tile(np.eye(4), (2, 1, 1))
    change = np.zeros((2, 4, 4))
    change[1] = np.diag([3.0, -2.0, 0.0, -1.0])
    assert _inside(one, change) == pytest.approx(0.45)
    assert _inside(4.0 * one, change) == 1.0 and _inside(one, -change / 9) == 1.0
    assert _within(np.array([1.0, 2.0]), np.array([5.0, -4.0])) == pytest.approx(0.45)
    assert _within(np.array([1.0, 2.0]), np.array([5.0, -0.1])) == 1.0 and _within(np.zeros(0), np.zeros(0)) == 1.0


def test_few_prices_lead_to_a_sum_of_squares() -> None:
    made = newton()
    least = least_of(made)
    point = Climb(made, least, least, made.start(PLAUSIBLE), MET).to(1.05 * least)
    assert point is not None
    assert made.residual(point.y) == pytest.approx(1.05 * least, rel=1e-5)
    assert made.count <= 14  # 10 decades of the price, 1.5 of them a step at most


def test_the_first_price_is_enough_where_the_plausible_bodies_explain_the_data() -> None:
    made = newton()
    room = 1.01 * made.residual(PLAUSIBLE)
    climb = Climb(made, least_of(made), room, made.start(PLAUSIBLE), MET)
    assert climb.to(room) is not None
    assert climb.price == pytest.approx(CHEAP / room) and made.count <= 3


def test_a_price_beyond_the_least_is_walked_back() -> None:
    """Where rounding puts the sum of squares below what counts as the least."""
    made = newton()
    least = least_of(made)
    climb = Climb(made, 2.0 * least, least, made.start(PLAUSIBLE), MET)
    climb.price = 1e3 / least
    point = climb.to(3.0 * least)
    assert point is not None
    assert made.residual(point.y) == pytest.approx(3.0 * least, rel=1e-4) and climb.price < 1e3 / least


@pytest.mark.parametrize("breaks_at", [1, 3])
def test_a_path_on_which_prices_fail_is_given_up(breaks_at: int) -> None:
    made = newton(breaks_at=breaks_at)
    least = least_of(made)
    assert Climb(made, least, least, made.start(PLAUSIBLE), MET).to(1.05 * least) is None
    assert made.count == breaks_at + FAILURES == breaks_at + 2
