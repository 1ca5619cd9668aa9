"""Objectives: least squares, coefficients, priors."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.stats import chi2

import casid
from casid.errors import DatasetError, ProblemError
from casid.inertia import to_standard
from casid.retrieval import Prior, Problem, base_parameter_error, link_variables
from casid.retrieval._objectives import LeastSquares, chi_square
from casid.testing._synthetic import BODY, arm


def test_least_squares_objective_is_its_own_scale() -> None:
    objective = LeastSquares(np.eye(2), np.array([3.0, 4.0]), 1.0)
    assert objective.size == 26.0 and objective.negligible(np.zeros(2)) == pytest.approx(1e-20 * 25, abs=1e-14)


@pytest.mark.claim("a constant that no sum of squares has is refused: -5 ended at 278, NaN in a traceback")
@pytest.mark.parametrize("constant", [-5.0, np.nan, np.inf])
def test_constant_of_a_sum_of_squares(constant: float) -> None:
    with pytest.raises(DatasetError, match="finite and >= 0"):
        LeastSquares(np.eye(2), np.ones(2), constant)


@pytest.mark.parametrize("metric", ["pullback", "entropic", "euclidean"])
def test_rows_of_a_prior_are_its_distance(metric: str) -> None:
    body = to_standard(2.1, [0.06, -0.02, 0.09], np.diag([0.031, 0.041, 0.022]))
    prior = Prior(arm(), BODY, 2.0, metric)  # type: ignore[arg-type]
    assert prior.distance(BODY) == pytest.approx(0.0, abs=1e-12) and prior.distance(body) > 0
    A, b = prior.rows()
    modelled = float(np.sum((A @ body - b) ** 2)) / prior.weight
    assert modelled == pytest.approx(prior.distance(body), rel=1e-9 if prior.quadratic else 0.3)
    assert prior.quadratic == (metric != "entropic")
    with pytest.raises(ProblemError, match="'pullback'"):
        Prior(arm(), BODY, 2.0, "best")  # type: ignore[arg-type]


@pytest.mark.parametrize("freedom", [1, 2.5, 10, 3000])
def test_quantiles_of_chi_square(freedom):
    assert chi_square(freedom, 0.05) == pytest.approx(chi2.ppf(0.95, freedom))


def test_a_casadi_expression_is_an_objective_where_it_is_a_convex_sum_of_squares() -> None:
    links = link_variables(casid.load_robot("spatial_2r"))
    masses = ca.vertcat(links["link1"].mass, links["link2"].mass)
    value = ca.sumsqr(masses - ca.DM([3.0, 2.0])) + 4 * (masses[0] - masses[1]) ** 2 + 0.5
    objective = Problem("squares", links, value).objective
    at = np.random.default_rng(0).normal(size=links.size)
    assert objective(at) == pytest.approx(float(ca.Function("f", [links.x], [value])(at)), rel=1e-12)
    for other in (masses[0], -ca.sumsqr(masses), ca.cos(masses[0]), masses[0] * masses[1]):
        with pytest.raises(ProblemError, match="as a soft constraint"):
            Problem("other", links, other)


@pytest.mark.claim("an objective holds its own numbers: what is done to an array afterwards does not change it")
def test_least_squares_keep_their_own_numbers():
    matrix, target = np.eye(2), np.array([1.0, 2.0])
    objective = LeastSquares(matrix, target)
    matrix[0, 0], target[1] = 5.0, -7.0
    assert objective(np.array([1.0, 2.0])) == 0.0
    with pytest.raises(ValueError, match="read-only"):
        objective.matrix[0, 0] = 5.0
    assert LeastSquares([[1, 0], [0, 1]], [1, 2])(np.array([2.0, 2.0])) == 1.0


def test_values_gradient_and_scale_of_least_squares():
    rng = np.random.default_rng(1)
    A, b, x = rng.normal(size=(7, 4)), rng.normal(size=7), rng.normal(size=4)
    raw, small = LeastSquares(A, b), LeastSquares.compressed(A, b)
    assert raw(x) == pytest.approx(((A @ x - b) ** 2).sum()) and small(x) == pytest.approx(raw(x))
    assert small.matrix.shape == (4, 4) and small.constant == pytest.approx(raw(np.linalg.lstsq(A, b, rcond=None)[0]))
    steps = 1e-6 * np.eye(4)
    np.testing.assert_allclose(raw.gradient(x), [(raw(x + s) - raw(x - s)) / 2e-6 for s in steps], rtol=1e-6)
    np.testing.assert_allclose(small.gradient(x), raw.gradient(x), rtol=1e-10)
    wide = LeastSquares.compressed(A[:3], b[:3])
    np.testing.assert_array_equal(wide.matrix, A[:3])
    square = LeastSquares.compressed(A[:4], b[:4])
    assert square.constant == 0.0 and square(x) == pytest.approx(((A[:4] @ x - b[:4]) ** 2).sum())
    assert small.size == pytest.approx(b @ b) and LeastSquares(np.eye(2), np.zeros(2)).size == 1.0


def test_what_counts_as_zero_is_the_rounding_of_the_terms():
    """Each residual to ten digits of what it is the difference of, however large and of whatever sign that is."""
    objective = LeastSquares(np.array([[3.0, -1.0], [0.0, 2.0]]), np.array([-5.0, 4.0]))
    assert objective.negligible(np.array([-2.0, 1.0])) == pytest.approx(1e-20 * ((6 + 1 + 5) ** 2 + (2 + 4) ** 2))
    assert objective.negligible(np.array([1e6, -1e6])) > 1e10 * objective.negligible(np.array([1.0, 1.0]))
    with_rest = LeastSquares(np.eye(1), np.zeros(1), 100.0)
    assert with_rest.negligible(np.zeros(1)) == pytest.approx(400 * np.finfo(float).eps)
    assert LeastSquares(np.eye(1), np.zeros(1)).negligible(np.zeros(1)) > 0


def test_the_error_of_base_parameters_is_in_standard_deviations():
    variables = link_variables(arm(), extras={"fv1": (0.0, 1.0)})
    rng = np.random.default_rng(2)
    forms, values, sd, x = rng.normal(size=(6, 10)), rng.normal(size=6), rng.uniform(0.1, 2.0, 6), rng.normal(size=11)
    plain = base_parameter_error(variables, forms, values)
    assert plain(x) == pytest.approx(((forms @ x[:10] - values) ** 2).sum())
    scaled = base_parameter_error(variables, forms, values, sd)
    assert scaled(x) == pytest.approx((((forms @ x[:10] - values) / sd) ** 2).sum())
    whole = base_parameter_error(variables, np.column_stack([forms, values]), values)
    assert whole(x) == pytest.approx(((forms @ x[:10] + values * x[10] - values) ** 2).sum())
    for bad, of in ((forms[:, :9], values), (forms[0], values), (forms, values[:5])):
        with pytest.raises(DatasetError, match="expected shape"):
            base_parameter_error(variables, bad, of)
    for wrong in (sd[:5], np.append(sd[:5], 0.0)):
        with pytest.raises(DatasetError, match="6 positive numbers"):
            base_parameter_error(variables, forms, values, wrong)


def test_the_euclidean_distance_counts_each_parameter_in_the_size_of_the_body():
    prior = Prior(arm(), BODY, 3.0, "euclidean")
    spread = float((BODY[0] + BODY[3] + BODY[5]) / 2)
    sizes = [spread] * 6 + [np.sqrt(spread * BODY[9])] * 3 + [BODY[9]]
    for k, size in enumerate(sizes):
        moved = BODY.copy()
        moved[k] += 2 * size
        assert prior.distance(moved) == pytest.approx(4.0)
    A, b = prior.rows()
    np.testing.assert_allclose(A @ BODY, b, atol=1e-12)
    assert np.sum((A @ moved - b) ** 2) == pytest.approx(12.0)


def test_distances_of_close_bodies_agree_and_the_entropic_model_has_its_slope_anywhere():
    """The divergence's Hessian at the prior is the pullback metric: near it, both distances are the same."""
    rng = np.random.default_rng(3)
    way = rng.normal(size=10) * 1e-4 * np.abs(BODY).max()
    pull, entropic = Prior(arm(), BODY, 2.0, "pullback"), Prior(arm(), BODY, 2.0, "entropic")
    small = 1e-3 * way
    assert pull.distance(BODY + small) == pytest.approx(entropic.distance(BODY + small), rel=1e-3)
    assert pull.distance(BODY + 2 * small) == pytest.approx(4 * pull.distance(BODY + small), rel=1e-6)
    at = to_standard(2.1, [0.06, -0.02, 0.09], np.diag([0.031, 0.041, 0.022]))
    A, b = entropic.rows(at)
    steps = 1e-6 * np.eye(10)
    slope = [2.0 * (entropic.distance(at + s) - entropic.distance(at - s)) / 2e-6 for s in steps]
    np.testing.assert_allclose(2 * A.T @ (A @ at - b), slope, rtol=1e-4, atol=1e-5 * np.abs(slope).max())
    two = Prior(arm(2), np.concatenate([BODY, at]), 2.0, "pullback")
    moved = np.concatenate([BODY, at + small])
    assert two.distance(moved) == pytest.approx(Prior(arm(), at, 2.0, "pullback").distance(at + small))
    for weight in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ProblemError, match="weight must be positive"):
            Prior(arm(), BODY, weight)
