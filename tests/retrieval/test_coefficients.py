"""Coefficients, priors and observations of wrong shapes, and what of a sum of squares counts as zero."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from casid.errors import ProblemError
from casid.retrieval import Coefficients, LeastSquares, Prior, Problem, least_squares, link_variables
from casid.testing import BODY, arm


def test_coefficients_need_neither_deviations_nor_a_choice() -> None:
    made = Coefficients(np.eye(3, 10), [1.0, 2.0, 3.0])
    assert made.sd is None and made.used.tolist() == [True] * 3 and made.samples is None
    assert Coefficients(np.eye(2, 10), [1.0, 2.0], sd=[0.0, 1.0], samples=1).samples == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"forms": np.ones(3)}, r"expected forms \(r, N\)"),
        ({"forms": np.eye(2, 10)}, r"expected forms \(r, N\)"),
        ({"values": np.ones((3, 1))}, r"expected forms \(r, N\)"),
        ({"forms": np.full((3, 10), np.nan)}, "must be finite"),
        ({"values": [1.0, np.inf, 0.0]}, "must be finite"),
        ({"sd": [1.0, 2.0]}, "3 entries of 'sd'"),
        ({"used": [True]}, "3 entries of 'used'"),
        ({"sd": [1.0, -1e-9, 2.0]}, ">= 0"),
        ({"sd": [1.0, np.nan, 2.0]}, ">= 0"),
        ({"samples": 0}, "samples must be positive"),
    ],
)
def test_coefficients_that_do_not_match_are_refused(given: dict, words: str) -> None:
    with pytest.raises(ProblemError, match=words):
        Coefficients(**{"forms": np.eye(3, 10), "values": [1.0, 2.0, 3.0]} | given)


def test_an_observation_matrix_has_a_column_for_each_unknown() -> None:
    variables = link_variables(arm(), {"fv1": (0.0, 1.0)})
    for wrong in (np.ones((30, 10)), np.ones(11), np.ones((30, 11, 1))):
        with pytest.raises(ProblemError, match="must have 11 columns"):
            least_squares(variables, wrong, np.ones(30))
    assert least_squares(variables, np.ones((30, 11)), np.ones(30)).matrix.shape == (11, 11)


def test_a_prior_of_several_links_names_the_one_without_a_body() -> None:
    with pytest.raises(ProblemError, match="'link2'"):
        Prior(arm(2), np.concatenate([BODY, -BODY]), 1.0)
    with pytest.raises(ProblemError, match="expected 20 standard parameters"):
        Prior(arm(2), BODY, 1.0)
    assert Prior(arm(2), np.tile(BODY, 2), 1.0).distance(np.tile(BODY, 2)) < 1e-20


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_what_counts_as_zero_grows_with_every_term(sign: float) -> None:
    """Whatever the signs of matrix, parameters and target; in units of 1e-20."""
    objective = LeastSquares(np.array([[3.0, -1.0], [0.0, 2.0]]), np.array([-5.0, 4.0]))
    terms = (6 + 1 + 5) ** 2 + (2 + 4) ** 2
    assert 1e20 * objective.negligible(sign * np.array([-2.0, 1.0])) == pytest.approx(terms)
    flipped = LeastSquares(sign * objective.matrix, -sign * objective.target)
    assert 1e20 * flipped.negligible(np.array([2.0, 1.0])) == pytest.approx(terms)


def test_rounding_of_a_sum_of_squares_is_no_constant() -> None:
    """Its constant is the difference of two large numbers, and never negative by rounding."""
    variables = link_variables(arm())
    squares = ca.sumsqr(variables.x[:3] - ca.DM([0.1, 0.2, 0.3]))
    plain, moved = (Problem("squares", variables, value) for value in (1e6 * squares, squares - 0.5))
    assert not plain.objective_label and plain.objective.constant == 0.0
    assert not moved.objective_label and moved.objective.constant == -0.5
