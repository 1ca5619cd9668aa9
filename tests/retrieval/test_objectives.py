"""Objectives: least squares, coefficients, priors."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.stats import chi2

import casid
from casid.errors import DatasetError, ProblemError
from casid.inertia import to_standard
from casid.retrieval import Prior, Problem, link_variables
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
