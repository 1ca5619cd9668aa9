"""The measure of what is least plausible: its value, derivatives and level sets, and the coordinates that it is in."""

from __future__ import annotations

import numpy as np
import pytest

from casid.inertia import lower_triangle, pseudo_inertia, symmetric, to_standard
from casid.retrieval import Problem, least_squares, link_variables
from casid.retrieval.plausible._measure import TERMS, Measure, MostPlausible, coordinates, largest
from casid.testing._synthetic import arm

#: Two links, the second of a body of unknown scale; a joint term, a rotor inertia and an unknown of no price.
MEASURE = Measure(np.array([False, True]), np.array([0.3, 0.0, 0.0]), np.array([0.0, 0.5, 0.0]))


def point(seed: int = 0) -> np.ndarray:
    """Of that measure, inside the cone."""
    rng = np.random.default_rng(seed)
    halves = rng.normal(size=(2, 4, 4))
    bodies = halves @ halves.transpose(0, 2, 1) + 0.5 * np.eye(4)
    return np.concatenate([np.asarray(lower_triangle(bodies)).ravel(), [0.7, 0.2, -3.0]])


def by_definition(y: np.ndarray, sigma: float) -> float:
    """The module's equation."""
    first, second = symmetric(y[:20].reshape(2, 10))
    bodies = np.trace(first) - np.log(np.linalg.det(first)) - 4.0
    bodies += np.exp(-sigma) * np.trace(second) - np.log(np.linalg.det(second)) + 4.0 * sigma - 4.0
    share = (y[21] / 0.5 + 0.01) / 1.01
    return float(bodies + 0.3 * y[20] ** 2 + 0.2 * (share - np.log(share) - 1.0))


@pytest.mark.parametrize("sigma", [0.0, 0.8])
def test_the_measure_is_the_modules_equation(sigma: float) -> None:
    for seed in range(3):
        assert MEASURE.value(point(seed), sigma) == pytest.approx(by_definition(point(seed), sigma), rel=1e-12)


def test_derivatives_are_those_of_the_value() -> None:
    y, sigma, step = point(), 0.6, 1e-5
    gradient, by_sigma = MEASURE.gradient(y, sigma)
    hessian, mixed, twice = MEASURE.hessian(y, sigma, MEASURE.matrices(y))
    # -log det of M over a scale has the curvature of -log det M
    for k, along in enumerate(step * np.eye(len(y))):
        slope = (MEASURE.value(y + along, sigma) - MEASURE.value(y - along, sigma)) / (2 * step)
        assert gradient[k] == pytest.approx(slope, rel=1e-6, abs=1e-8)
        up, down = MEASURE.gradient(y + along, sigma), MEASURE.gradient(y - along, sigma)
        np.testing.assert_allclose(hessian[k], (up[0] - down[0]) / (2 * step), rtol=1e-5, atol=1e-6)
        assert mixed[k] == pytest.approx((up[1] - down[1]) / (2 * step), rel=1e-6, abs=1e-8)
    slope = (MEASURE.value(y, sigma + step) - MEASURE.value(y, sigma - step)) / (2 * step)
    assert by_sigma == pytest.approx(slope, rel=1e-6)
    curve = (MEASURE.gradient(y, sigma + step)[1] - MEASURE.gradient(y, sigma - step)[1]) / (2 * step)
    assert twice == pytest.approx(curve, rel=1e-6)


def test_a_rotor_below_what_a_drive_without_one_has_is_infinitely_implausible() -> None:
    y = point()
    y[21] = -0.0051  # expected 0.5, of which one hundredth stands for no rotor at all
    assert MEASURE.value(y, 0.0) == np.inf
    none = np.concatenate([np.tile(lower_triangle(np.eye(4)), 2), np.zeros(3)])
    share = 0.01 / 1.01
    assert MEASURE.value(none, 0.0) == pytest.approx(0.2 * (share - np.log(share) - 1.0), abs=1e-12)


def test_level_sets_end_where_the_value_is_reached() -> None:
    """Of each part alone: a multiple of 1 a link, a term, a rotor at its largest and least."""
    value, sigma = 0.6, 0.4
    traces, least, most = MEASURE.reach(value, sigma)
    one = np.tile(lower_triangle(np.eye(4)), 2)
    plain = np.concatenate([one, [0.0, 0.5, 0.0]])
    plain[10:20] *= np.exp(sigma)
    assert MEASURE.value(plain, sigma) == pytest.approx(0.0, abs=1e-12)
    for k in range(2):
        y = plain.copy()
        y[10 * k : 10 * k + 10] = lower_triangle(traces[k] / 4 * np.eye(4))
        assert MEASURE.value(y, sigma) == pytest.approx(value, rel=1e-6)
    for k, ends in ((20, (least[0], most[0])), (21, (most[1] - 0.01 * 0.5,))):  # the rotor's end is off by its delta
        for end in ends:
            y = plain.copy()
            y[k] = end
            assert MEASURE.value(y, sigma) == pytest.approx(value, rel=1e-6)
    assert least[1] == pytest.approx(-0.005)  # the value is finite above it, however implausible
    assert least[2] == -np.inf and most[2] == np.inf
    np.testing.assert_allclose(MEASURE.reach(-1.0, sigma)[0], 4.0 * np.array([1.0, np.exp(sigma)]), rtol=1e-4)


@pytest.mark.parametrize("divergence", [0.0, 1e-3, 0.5, 30.0, 1e6])
def test_the_largest_eigenvalue_of_a_divergence(divergence: float) -> None:
    found = largest(divergence)
    assert found >= 1.0
    assert found - np.log(found) - 1.0 == pytest.approx(divergence, rel=1e-6, abs=1e-9)
    assert found - np.log(found) - 1.0 >= divergence


def problem(matrix: np.ndarray, extras: int) -> Problem:
    variables = link_variables(arm(2), {f"fv{k + 1}": (-9.0, 9.0) for k in range(extras)})
    return Problem("two", variables, least_squares(variables, matrix, np.ones(len(matrix))))


def test_plausible_bodies_are_one_in_their_coordinates() -> None:
    rng = np.random.default_rng(3)
    bodies = np.concatenate(
        [to_standard(2.0, [0.1, 0.0, 0.2], np.diag([0.02, 0.03, 0.04])),
         to_standard(1e-3, [0.0, 0.01, 0.0], 1e-8 * np.diag([2.0, 3.0, 4.0]))]
    )  # fmt: skip
    matrix = rng.normal(size=(30, 22))
    matrix[:, 21] = 0.0  # an unknown that the data do not see
    margins = np.array([1e-6, 1e-8])
    basis, origin = coordinates(problem(matrix, 2), bodies, margins)
    one = np.asarray(lower_triangle(np.eye(4)))
    made = basis @ np.concatenate([one, one, np.zeros(2)]) + origin
    np.testing.assert_allclose(made[:10], bodies[:10], rtol=1e-9, atol=1e-15)
    # A body whose smallest eigenvalue is hardly above the margin counts as one beyond it.
    np.testing.assert_allclose(
        pseudo_inertia(made[10:20]), pseudo_inertia(bodies[10:20]) + 1e-8 * np.eye(4), rtol=1e-6, atol=1e-14
    )
    # A unit of an unknown beyond the links moves the torque as much as an entry of a link's does in the median.
    lengths = np.linalg.norm(matrix @ basis, axis=0)
    assert lengths[20] == pytest.approx(np.median(lengths[:20]))
    assert basis[21, 21] == pytest.approx(np.median(lengths[:20])) and not basis[20:, :20].any()


def test_extras_of_data_that_see_no_link_keep_their_unit() -> None:
    matrix = np.zeros((25, 21))
    matrix[:, 20] = 2.0
    basis, _ = coordinates(problem(matrix, 1), np.tile(to_standard(1.0, [0, 0, 0], np.eye(3)), 2), np.zeros(2))
    assert basis[20, 20] == pytest.approx(1.0 / (2.0 * 5.0))


def test_a_term_that_makes_all_of_the_torque_costs_a_tenth() -> None:
    assert pytest.approx(0.1) == TERMS


def test_the_gap_is_relative_to_values_above_one() -> None:
    def made(value: float, bound: float) -> float:
        return MostPlausible(np.zeros(10), 1.0, value, bound, 1.0, 1.0, np.zeros(0), 0, "").gap

    assert made(0.5, 0.4) == pytest.approx(0.1) and made(5.0, 4.0) == pytest.approx(0.2)
