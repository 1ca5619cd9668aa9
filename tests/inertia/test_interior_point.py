"""The interior point: its measure and derivatives, optimality of its answers, the path of prices."""

from __future__ import annotations

import numpy as np
import pytest

from casid.inertia import MET, Climb, InteriorPoint, Measure, lower_triangle, symmetric

ONE = np.asarray(lower_triangle(np.eye(4)))
#: Two links, the second of a body of unknown scale; a joint term, a rotor inertia and an unknown of no price.
MEASURE = Measure(np.array([False, True]), np.array([0.3, 0.0, 0.0]), np.array([0.0, 0.5, 0.0]), 0.2, 0.01)


def point(seed: int) -> np.ndarray:
    """Of that measure, inside the cone."""
    halves = np.random.default_rng(seed).normal(size=(2, 4, 4))
    bodies = halves @ halves.transpose(0, 2, 1) + 0.5 * np.eye(4)
    return np.concatenate([np.asarray(lower_triangle(bodies)).ravel(), [0.7, 0.2, -3.0]])


@pytest.mark.parametrize("sigma", [0.0, 0.8])
@pytest.mark.parametrize("seed", range(3))
def test_the_measure_is_its_equation_with_its_derivatives(sigma: float, seed: int) -> None:
    y, step = point(seed), 1e-5
    first, second = symmetric(y[:20].reshape(2, 10))
    bodies = np.trace(first) - np.log(np.linalg.det(first)) - 4.0
    bodies += np.exp(-sigma) * np.trace(second) - np.log(np.linalg.det(second)) + 4.0 * sigma - 4.0
    share = (y[21] / 0.5 + 0.01) / 1.01
    expected = bodies + 0.3 * y[20] ** 2 + 0.2 * (share - np.log(share) - 1.0)
    assert MEASURE.value(y, sigma) == pytest.approx(expected, rel=1e-12)
    for k, along in enumerate(step * np.eye(len(y))):
        slope = (MEASURE.value(y + along, sigma) - MEASURE.value(y - along, sigma)) / (2 * step)
        assert MEASURE.gradient(y, sigma)[k] == pytest.approx(slope, rel=1e-6, abs=1e-8)
        if k >= 20:
            curve = (MEASURE.gradient(y + along, sigma) - MEASURE.gradient(y - along, sigma))[k] / (2 * step)
            assert MEASURE.curvature(y[20:])[k - 20] == pytest.approx(curve, rel=1e-5, abs=1e-8)
    y[21] = -0.0051  # expected 0.5, of which one hundredth stands for no rotor at all
    assert MEASURE.value(y, 0.0) == np.inf


def test_level_sets_end_where_the_value_is_reached() -> None:
    """Of each part alone: a multiple of 1 a link, a term, a rotor at its largest and least."""
    value, sigma = 0.6, 0.4
    traces, least, most = MEASURE.reach(value, sigma)
    plain = np.concatenate([ONE, np.exp(sigma) * ONE, [0.0, 0.5, 0.0]])
    assert MEASURE.value(plain, sigma) == pytest.approx(0.0, abs=1e-12)
    places = [(slice(0, 10), traces[0] / 4 * ONE), (slice(10, 20), traces[1] / 4 * ONE), (20, least[0]), (20, most[0])]
    for place, end in [*places, (21, most[1] - 0.01 * 0.5)]:  # the rotor's end is off by its offset
        y = plain.copy()
        y[place] = end
        assert MEASURE.value(y, sigma) == pytest.approx(value, rel=1e-6)
    assert least[1] == pytest.approx(-0.005) and least[2] == -np.inf and most[2] == np.inf
    np.testing.assert_allclose(MEASURE.reach(-1.0, sigma)[0], 4.0 * np.array([1.0, np.exp(sigma)]), rtol=1e-4)


LINK = Measure(np.array([False]), np.array([0.3]), np.array([0.0]))


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    return rng.normal(size=(15, 11)), rng.normal(size=15)


def test_the_gradient_is_balanced_by_the_rows() -> None:
    (matrix, target), price = data(), 0.2
    rows, least = np.eye(11)[[9, 10]], np.array([1.2, 0.5])  # the last diagonal entry and the joint term
    program = InteriorPoint(LINK, matrix, target, 3.0 * rows, 3.0 * least)
    made = program.solve(program.start(np.append(1.7 * ONE, 0.4)), price)
    assert made.solved and (rows @ made.y >= least - 1e-9).all()
    gradient = LINK.gradient(made.y) + 2 * price * matrix.T @ (matrix @ made.y - target)
    multipliers = program.row_multipliers(made)
    np.testing.assert_allclose(gradient, 3.0 * rows.T @ multipliers, atol=1e-5)
    np.testing.assert_allclose(multipliers * (rows @ made.y - least), 0.0, atol=1e-6)
    assert program.residual(made.y) == pytest.approx(float(np.sum((matrix @ made.y - target) ** 2)))
    free = program.solve(program.start(), 0.0)
    np.testing.assert_allclose(free.y, np.concatenate([ONE[:9], [1.2, 0.5]]), atol=1e-5)


@pytest.mark.parametrize("price", [0.0, 0.3, 10.0])
def test_both_forms_of_newtons_system_have_one_answer(price: float) -> None:
    by_unknowns = InteriorPoint(LINK, *data(), np.zeros((0, 11)), np.zeros(0))
    by_equations = InteriorPoint(LINK, *data())
    found = [program.solve(program.start(np.append(1.7 * ONE, 0.4)), price) for program in (by_unknowns, by_equations)]
    assert found[0].solved and found[1].solved
    np.testing.assert_allclose(found[0].y, found[1].y, atol=1e-7)
    assert abs(found[0].steps - found[1].steps) <= 1  # Newton's: the same curvature


def test_an_infinite_price_makes_equations_of_squares() -> None:
    matrix, target = np.eye(11)[[9, 0, 10]], np.array([2.0, 0.5, -0.3])
    program = InteriorPoint(LINK, matrix, target)
    found = program.solve(program.start(), np.inf)
    assert found.solved
    np.testing.assert_allclose(matrix @ found.y, target, atol=1e-12)
    np.testing.assert_allclose(np.delete(LINK.gradient(found.y), [0, 9, 10]), 0.0, atol=1e-7)
    impossible = InteriorPoint(LINK, matrix, -target)
    assert not impossible.solve(impossible.start(), np.inf).solved


def test_a_higher_price_lowers_the_residual_as_its_slope_says() -> None:
    program = InteriorPoint(LINK, *data(), np.zeros((0, 11)), np.zeros(0))
    here = program.solve(program.start(), 0.5)
    change = program.residual(program.solve(here, 0.5 * 1.001).y) - program.residual(here.y)
    assert change < 0 and change / np.log(1.001) == pytest.approx(here.slope, rel=1e-2)


class Counted(InteriorPoint):
    """Counts the prices that are solved for."""

    count = 0

    def solve(self, *given):
        self.count += 1
        return super().solve(*given)


@pytest.fixture
def noisy() -> tuple[Counted, float]:
    """Of data that a body other than the reference explains but for noise; their least sum of squares."""
    rng = np.random.default_rng(4)
    matrix = rng.normal(size=(30, 10))
    target = matrix @ lower_triangle(np.diag([2.0, 1.5, 1.8, 1.0])) + 0.05 * rng.normal(size=30)
    program = Counted(Measure(np.array([False])), matrix, target, np.zeros((0, 10)), np.zeros(0))
    return program, program.residual(np.linalg.lstsq(matrix, target, rcond=None)[0])


def test_smaller_and_smaller_sums_are_met_at_growing_prices(noisy) -> None:
    program, least = noisy
    climb, prices = Climb(program, program.start(), least, 1.05 * least), []
    for factor in (3.0, 1.5, 1.05):
        found = climb.to(factor * least)
        assert found is not None and found.solved
        increase = program.residual(found.y) - least
        assert (factor - 1.0) * least * (1 - 4 * MET) <= increase <= (factor - 1.0) * least
        prices.append(climb.price)
    assert prices == sorted(prices) and prices[0] > 0
    assert program.count <= 24  # 10 decades of the price, 1.5 of them a step at most


def test_what_the_references_explain_themselves_costs_no_price(noisy) -> None:
    program, least = noisy
    found = Climb(program, program.start(), least, 0.0).to(1.01 * program.residual(ONE))
    assert found is not None and program.count <= 3
    np.testing.assert_allclose(found.y, ONE, atol=1e-4)
