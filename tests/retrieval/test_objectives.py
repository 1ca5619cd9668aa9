"""Objectives: least squares, expressions, coefficients, priors."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import casadi as ca
import numpy as np
import pytest

import casid
from casid.errors import DatasetError, ProblemError
from casid.inertia import to_standard
from casid.retrieval import (
    Coefficients,
    Constraint,
    LeastSquares,
    LinkVariables,
    Prior,
    Problem,
    base_parameter_error,
    com_box,
    least_squares,
    link_variables,
    load_problem,
    mass_bounds,
    parameter_intervals,
    sensible_bounds,
    soften,
    total_mass,
)
from casid.retrieval.plausible import believable
from casid.testing import BODY, arm


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
    "least absolute": (lambda a, b: ca.fabs(a.mass - 2) + ca.fabs(a.mass - 5) + 0.3 * ca.fabs(b.mass - 1), 3.0, True),
    "greatest mass": (lambda a, b: ca.fmax(a.mass, b.mass) + 0.1 * b.mass, 1.65, True),  # 1.5 kg each
    "norms": (lambda a, b: ca.norm_inf(ca.vertcat(a.mass, b.mass)) + ca.norm_1(b.mass - 0.25), 2.75, True),
    "hinges": (lambda a, b: ca.fmax(0, ca.fmax(a.mass - 2, 1 - a.mass)) + 0.1 * ca.fmax(b.mass, 1), 0.1, True),
    "concave kink": (lambda a, b: 3 - ca.fabs(a.mass - 2) + ca.fmin(b.mass, 1), 1.5, True),  # 4 and 0.5 kg
    "loss": (lambda a, b: ca.sqrt(1 + (a.mass - 2.5) ** 2), 1.0, True),
}


@pytest.mark.claim("any CasADi expression is an objective, with a bound that holds and, where it is known, is tight")
@pytest.mark.parametrize("name", _BY_HAND)
def test_objectives_reach_their_least_value_by_hand(name: str) -> None:
    links, constraints, (one, two) = _arm()
    function, least, tight = _BY_HAND[name]
    expression = function(one, two)
    found = casid.solve(Problem(name, links, expression, constraints))
    assert found.value(expression) == pytest.approx(found.objective, rel=1e-9, abs=1e-9) and found.penalty == 0.0
    assert found.objective == pytest.approx(least, rel=1e-5)
    assert found.lower_bound <= least + 1e-9 and found.certified == tight
    assert found.max_violation <= 1e-8 and "violated" not in str(casid.retrieval.explain(found))


@pytest.mark.claim("an objective that a branch makes constant has the value of that branch")
@pytest.mark.parametrize("method", ["branches", "global"])
@pytest.mark.parametrize(("heavy", "least"), [(0.0, 0.0), (3.0, 1.0)])  # from 2 kg on, or at 1 kg
def test_a_price_in_one_branch_only(method: str, heavy: float, least: float) -> None:
    links, constraints, (one, _) = _arm()
    price = ca.if_else(one.mass >= 2, heavy, one.mass)
    found = casid.solve(Problem("price", links, price, constraints), method=method)
    assert found.certified and found.objective == pytest.approx(least, rel=1e-6, abs=1e-9)


def test_a_sum_of_squares_is_read_off_its_expression() -> None:
    links, constraints, (one, two) = _arm()
    value = ca.sumsqr(ca.vertcat(one.mass - 3, two.mass - 2)) + 4 * (one.mass - two.mass) ** 2 + 0.5
    problem = Problem("squares", links, value, constraints)
    at = np.random.default_rng(0).normal(size=links.size)
    assert problem.objective(at) == pytest.approx(float(ca.Function("f", [links.x], [value])(at)), rel=1e-12)
    assert not problem.objective_labels and problem.constraints == tuple(constraints)
    again = Problem("more", links, value + one.inertia[0, 0], constraints).add(Constraint("more", two.mass, lower=0.6))
    assert again.objective_labels == ("objective",) and [c.label for c in again.constraints].count("objective") == 1


@pytest.mark.claim("a light part of an objective counts beside a heavy one, however light it is")
@pytest.mark.parametrize("weight", [1e-9, -1e-6, *(pytest.param(w, marks=pytest.mark.slow) for w in (1e-4, 1.0))])
def test_a_light_part_is_kept_beside_a_heavy_one(weight: float) -> None:
    links, constraints, (one, two) = _arm()
    light = weight * two.mass  # in no square: at its bounds of 0.5 and 2 kg
    least = weight * (0.5 if weight > 0 else 2.0)
    for heavy in (1e4 * (10 * one.mass - 30) ** 2, 1e6 * one.mass**2 - 6e6 * one.mass + 9e6):
        found = casid.solve(Problem("light", links, heavy + light, constraints), throw=False)
        assert found.lower_bound == pytest.approx(least, rel=1e-4, abs=0.0) and found.lower_bound <= least + 1e-9 * abs(
            least
        )
        assert found.objective - least <= 1e-6 * abs(least) or not found.certified


@pytest.mark.claim("a sum of squares of residuals is not multiplied out: its bound holds at any signal over noise")
@pytest.mark.parametrize("signal", [1e2, 1e6, 1e8])
def test_residuals_far_below_their_signal_are_certified(signal: float) -> None:
    links, constraints, _ = _arm()
    rng, sd = np.random.default_rng(6), 0.01
    body = np.concatenate([to_standard(2.0, [0.2, 0.0, 0.05], 0.02 * np.eye(3)),
                           to_standard(1.5, [-0.2, 0.0, 0.0], 0.01 * np.eye(3))])  # fmt: skip
    W = rng.normal(size=(26, 20)) * sd * signal
    basis = np.linalg.qr(W)[0]
    noise = rng.normal(size=26)
    tau = W @ body - sd * (noise - basis @ (basis.T @ noise))
    exact = sum(
        (sum(Fraction(a) * Fraction(b) for a, b in zip(row, body.tolist(), strict=True)) - Fraction(t)) ** 2
        for row, t in zip(W.tolist(), tau.tolist(), strict=True)
    )
    least = float(exact / Fraction(sd) ** 2)
    own = ca.sumsqr((ca.DM(W) @ links.x - ca.DM(tau)) / sd)
    for objective in (own, least_squares(links, W / sd, tau / sd)):
        found = casid.solve(Problem("far", links, objective, constraints))
        assert found.objective == pytest.approx(least, rel=1e-6)
        assert found.lower_bound <= least * (1 + 1e-9) and found.lower_bound >= 0.99 * least


@pytest.mark.claim("what is certified is compared with the user's own expression")
def test_a_bound_of_parts_that_exceed_the_objective_is_lowered() -> None:
    links, constraints, (one, two) = _arm()
    problem = Problem("own", links, (one.mass - 2) ** 2 + two.mass, constraints)  # 1.25: 2.5 and 0.5 kg, 3 in all
    wrong = replace(problem, objective=replace(problem.objective, constant=problem.objective.constant + 0.5))
    found = casid.solve(wrong, throw=False)
    assert found.objective == pytest.approx(0.75, rel=1e-6) and found.lower_bound <= 0.75 + 1e-9
    assert problem.value(found.x) == pytest.approx(found.value((one.mass - 2) ** 2 + two.mass), rel=1e-12)


@pytest.mark.claim("the objective is no constraint that can be taken away by its label")
def test_the_objective_cannot_be_taken_away() -> None:
    links, constraints, (one, two) = _arm()
    problem = Problem("own", links, -one.mass, constraints)
    with pytest.raises(ProblemError, match="'objective' is its objective"):
        problem.without(*problem.objective_labels)
    with pytest.raises(ProblemError, match=r"no constraint 'weight'; it has .*total mass"):
        problem.without("weight")
    other = replace(problem, objective=two.mass)  # in place of the first
    assert casid.solve(other).objective == pytest.approx(0.5, rel=1e-6)
    assert casid.solve(pickle.loads(pickle.dumps(problem))).objective == pytest.approx(-4.0, rel=1e-6)
    lighter = replace(problem, constraints=(mass_bounds(one, 1.0, 2.5), *constraints[1:]))  # in place of all others
    assert casid.solve(lighter).objective == pytest.approx(-2.5, rel=1e-6)


@pytest.mark.claim("objectives are added, subtracted and scaled, also with CasADi expressions on either side")
def test_arithmetic_of_objectives() -> None:
    links, constraints, (one, two) = _arm()
    fit = least_squares(links, np.eye(20)[[9, 19]], [3.0, 1.0])
    by_hand = (one.mass - 3) ** 2 + (two.mass - 1) ** 2
    light = 1e-3 * two.mass
    at = np.random.default_rng(7).normal(size=20)
    for sum_, same in (
        (fit - light, by_hand - light),
        (light - fit, light - by_hand),
        (-(light + 2 * fit) / 4 + fit * np.float64(3) - 1.5, -(light + 2 * by_hand) / 4 + 3 * by_hand - 1.5),
        (fit + fit - (+fit), by_hand),
    ):
        values = ca.Function("f", [links.x], [sum_.expression(links.x), same])(at)
        assert float(values[0]) == pytest.approx(float(values[1]), rel=1e-12)
    found = casid.solve(Problem("sum", links, fit - light, constraints))
    assert found.certified and found.objective == pytest.approx(-1e-3 - 2.5e-7, rel=1e-6)
    for wrong, words in (
        (lambda: fit * light, "by numbers only, got SX"),
        (lambda: fit + "a", "expected a casadi.SX, a number"),
        (lambda: fit + one.com, "must be one number, got shape"),
        (lambda: fit / 0, "division by zero"),
        (lambda: fit.expression(links.x[:3]), "it has 20 unknowns"),
    ):
        with pytest.raises(ProblemError, match=words):
            wrong()


@pytest.mark.claim("a quadratic that is convex but for the rounding of its coefficients is one; another is not")
def test_normal_equations_are_an_objective() -> None:
    links, constraints, _ = _arm()
    W = np.random.default_rng(8).normal(size=(12, 20))  # of rank 12: rounding makes it indefinite
    target = W @ np.linspace(0.1, 1.0, 20)
    H = W.T @ W
    x = links.x
    expanded = ca.dot(x, ca.DM(H) @ x) - 2 * ca.dot(ca.DM(W.T @ target), x) + float(target @ target)
    bounded = (*constraints, sensible_bounds(links)[-2:])
    found = casid.solve(Problem("normal", links, expanded, bounded), throw=False)
    same = casid.solve(Problem("squares", links, least_squares(links, W, target), bounded))
    assert found.objective == pytest.approx(same.objective, rel=1e-5)
    assert same.objective * (1 - 1e-4) <= found.lower_bound <= same.objective * (1 + 1e-9)
    saddle = Problem("saddle", links, expanded - 1e-3 * ca.sumsqr(x[:3]), bounded)
    assert saddle.objective.matrix.shape[0] == 0


@pytest.mark.claim("the largest of several errors, bounded by an extra unknown, is minimised with a proof")
def test_the_largest_error_is_minimised_through_an_extra() -> None:
    robot = casid.load_robot("spatial_2r")
    links = link_variables(robot, {"t": (0.0, 10.0)})
    mass, worst = links["link1"].mass, links.extra("t")
    errors = ca.vertcat(mass - 2.0, 2 * mass - 7.0, 1.5 - mass)  # 4/3 at 17/6 kg, between the last two
    rows = Constraint("above", errors - worst, upper=0), Constraint("below", -errors - worst, upper=0)
    found = casid.solve(Problem("minimax", links, worst, (mass_bounds(links["link1"], 1.0, 4.0), *rows)))
    assert found.certified and found.objective == pytest.approx(4 / 3, rel=1e-6)
    assert found.value(mass) == pytest.approx(17 / 6, rel=1e-6)


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
    with pytest.raises(DatasetError, match=r"NaN or infinite entry at \[1\]"):
        base_parameter_error(variables, forms[:3], [0.0, np.nan, 1.0])
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


@pytest.mark.claim("an objective holds its own numbers: what is done to an array afterwards does not change it")
def test_least_squares_keep_their_own_numbers():
    matrix, target = np.eye(2), np.array([1.0, 2.0])
    objective = LeastSquares(matrix, target)
    matrix[0, 0], target[1] = 5.0, -7.0
    assert objective(np.array([1.0, 2.0])) == 0.0
    with pytest.raises(ValueError, match="read-only"):
        objective.matrix[0, 0] = 5.0
    assert LeastSquares([[1, 0], [0, 1]], [1, 2])(np.array([2.0, 2.0])) == 1.0
