"""Objectives: least squares, coefficients, priors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.stats import chi2

import casid
from casid.errors import DatasetError, ProblemError
from casid.inertia import to_standard
from casid.retrieval import (
    Constraint,
    LinkVariables,
    Prior,
    Problem,
    base_parameter_error,
    com_box,
    link_variables,
    load_problem,
    mass_bounds,
    parameter_intervals,
    soften,
    total_mass,
)
from casid.retrieval._objectives import LeastSquares, chi_square
from casid.retrieval.plausible._choice import believable
from casid.testing._synthetic import BODY, arm


def test_least_squares_objective_is_its_own_scale() -> None:
    objective = LeastSquares(np.eye(2), np.array([3.0, 4.0]), 1.0)
    eps = np.finfo(float).eps
    assert objective.size == 26.0
    assert objective.negligible(np.zeros(2)) == pytest.approx(1e-20 * 25 + 4 * eps, rel=1e-9, abs=0.0)


@pytest.mark.claim(
    "a constant changes neither the answer nor the proof: with -5 a solve had ended at 278; NaN is refused"
)
def test_a_constant_moves_value_and_bound_alike() -> None:
    with pytest.raises(DatasetError, match="must be finite"):
        LeastSquares(np.eye(2), np.ones(2), np.nan)
    problem = load_problem("panda_retrieval")
    plain = casid.solve(problem)
    for constant in (-5.0, 5.0):
        moved = casid.solve(replace(problem, objective=replace(problem.objective, constant=constant)))
        assert moved.certified and moved.objective - constant == pytest.approx(
            plain.objective, abs=1e-6 * abs(constant)
        )
        assert 0 <= moved.objective - moved.lower_bound <= 1e-6 * abs(moved.objective)


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


def _arm() -> tuple[LinkVariables, tuple[Constraint, ...], list[Any]]:
    """Two links of 1 to 4 and 0.5 to 2 kg, together at least 3, with boxes of their centres of mass."""
    links = link_variables(casid.load_robot("spatial_2r"))
    one, two = links["link1"], links["link2"]
    bounds = [mass_bounds(one, 1.0, 4.0), mass_bounds(two, 0.5, 2.0), total_mass(links, 3.0, 6.0)]
    boxes = [com_box(one, [0.1, -0.2, 0.0], [0.3, 0.2, 0.1]), com_box(two, [-0.3, -0.1, -0.1], [-0.1, 0.1, 0.1])]
    return links, (*bounds, *boxes), [one, two]


#: Objective -> its least value by hand, and whether the certificate must be tight.
_BY_HAND: dict[str, tuple[Callable[[Any, Any], ca.SX], float, bool]] = {
    "linear": (lambda a, b: a.mass + b.mass, 3.0, True),
    "weighted": (lambda a, b: 2 * a.mass + b.mass - 7, -3.0, True),  # 1 and 2 kg
    "convex": (lambda a, b: (a.mass - 3) ** 2 + 0.5 * a.mass + 0.25 * b.mass, 1.5625, True),  # 2.75 and 0.5 kg
    "centre": (lambda a, b: a.com[0] - b.com[0], 0.2, True),
    "distance": (lambda a, b: ca.sumsqr(a.com - ca.DM([0.0, 0.0, 0.2])), 0.02, True),
    "concave": (lambda a, b: -ca.sumsqr(a.com), -0.14, True),
    "not convex": (lambda a, b: (a.mass + 1) * (b.mass + 3), 10.0, False),  # 1 and 2 kg; the interval says 7
    "loss": (lambda a, b: ca.sqrt(1 + (a.mass - 2.5) ** 2), 1.0, True),
}


@pytest.mark.claim("any CasADi expression is an objective, with a bound that holds and, where it is known, is tight")
@pytest.mark.parametrize("name", _BY_HAND)
def test_objectives_reach_their_least_value_by_hand(name: str) -> None:
    links, constraints, (one, two) = _arm()
    function, least, tight = _BY_HAND[name]
    expression = function(one, two)
    found = casid.solve(Problem(name, links, expression, constraints))
    assert found(expression) == pytest.approx(found.objective, rel=1e-9, abs=1e-9) and found.penalty == 0.0
    assert found.objective == pytest.approx(least, rel=1e-5)
    assert found.lower_bound <= least + 1e-9 and found.certified == tight
    assert found.max_violation <= 1e-8 and "violated" not in str(casid.retrieval.explain(found))


def test_a_sum_of_squares_is_read_off_its_expression() -> None:
    links, constraints, (one, two) = _arm()
    value = ca.sumsqr(ca.vertcat(one.mass - 3, two.mass - 2)) + 4 * (one.mass - two.mass) ** 2 + 0.5
    problem = Problem("squares", links, value, constraints)
    at = np.random.default_rng(0).normal(size=links.size)
    assert problem.objective(at) == pytest.approx(float(ca.Function("f", [links.x], [value])(at)), rel=1e-12)
    assert not problem.objective_label and problem.constraints == tuple(constraints)
    again = Problem("more", links, value + one.inertia[0, 0], constraints).with_constraints(
        Constraint("more", two.mass, lower=0.6)
    )
    assert again.objective_label == "objective" and [c.label for c in again.constraints].count("objective") == 1


@pytest.mark.claim("the largest of several errors, bounded by an extra unknown, is minimised with a proof")
def test_the_largest_error_is_minimised_through_an_extra() -> None:
    robot = casid.load_robot("spatial_2r")
    links = link_variables(robot, {"t": (0.0, 10.0)})
    mass, worst = links["link1"].mass, links.extra("t")
    errors = ca.vertcat(mass - 2.0, 2 * mass - 7.0, 1.5 - mass)  # 4/3 at 17/6 kg, between the last two
    rows = Constraint("above", errors - worst, upper=0), Constraint("below", -errors - worst, upper=0)
    found = casid.solve(Problem("minimax", links, worst, (mass_bounds(links["link1"], 1.0, 4.0), *rows)))
    assert found.certified and found.objective == pytest.approx(4 / 3, rel=1e-6)
    assert found(mass) == pytest.approx(17 / 6, rel=1e-6)


def test_soft_constraints_and_an_objective_of_ones_own_are_apart() -> None:
    links, constraints, (one, two) = _arm()
    soft = soften(Constraint("light", one.mass, upper=1.5), weight=0.1)
    found = casid.solve(Problem("both", links, -one.mass - two.mass, (*constraints, soft)))
    assert found.objective == pytest.approx(-6.0, rel=1e-6) and found.penalty == pytest.approx(0.25, rel=1e-6)
    assert found.certified and found.total == pytest.approx(-5.75, rel=1e-6)


def test_objectives_that_are_none_are_refused() -> None:
    links, constraints, (one, _) = _arm()
    for expression, words in (
        (one.com, "expected one number"),
        (ca.SX(3.0), "depends on no unknown"),
        (ca.SX.sym("a"), "the objective contains the symbol a"),
        (ca.log(one.inertia[0, 1]), "nothing is known to bound the objective from below"),
        (1 / one.inertia[0, 1], "nothing is known to bound the objective from below"),
    ):
        with pytest.raises(ProblemError, match=words):
            Problem("other", links, expression, constraints)
    with pytest.raises(ProblemError, match="bound what it depends on"):
        Problem("free", links, -one.mass)
    problem = Problem("heavy", links, -one.mass, constraints)
    with pytest.raises(ProblemError, match="intervals need a sum of squares"):
        parameter_intervals(problem)
    with pytest.raises(ProblemError, match="plausible links need a sum of squares"):
        believable(problem, casid.solve(problem), share=0.01)


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
    assert objective.negligible(np.array([-2.0, 1.0])) == pytest.approx(
        1e-20 * ((6 + 1 + 5) ** 2 + (2 + 4) ** 2), abs=0.0
    )
    assert objective.negligible(np.array([1e6, -1e6])) > 1e10 * objective.negligible(np.array([1.0, 1.0]))
    with_rest = LeastSquares(np.eye(1), np.zeros(1), 100.0)
    assert with_rest.negligible(np.zeros(1)) == pytest.approx(400 * np.finfo(float).eps, abs=0.0)
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
