"""The most plausible parameters of small problems: their proof is tight and holds; how the program is solved."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from casid.inertia import lower_triangle, symmetric, to_standard
from casid.retrieval import Constraint, Problem, com_box, least_squares, link_variables, mass_bounds, solve, total_mass
from casid.retrieval.plausible import DivergenceProgram, _most_plausible
from casid.retrieval.plausible._measure import MostPlausible
from casid.retrieval.plausible._most_plausible import ENOUGH
from casid.retrieval.plausible._newton import Climb
from casid.retrieval.plausible._program import BallOutcome
from casid.testing._synthetic import arm

TRUE = np.concatenate(
    [to_standard(3.0, [0.1, 0.0, 0.1], np.diag([0.03, 0.04, 0.02])),
     to_standard(1.0, [0.0, -0.1, 0.05], np.diag([0.01, 0.012, 0.008])), [0.4, -0.6]]
)  # fmt: skip
BODIES = np.concatenate([to_standard(2.0, [0.0, 0.0, 0.1], 0.02 * np.eye(3)),
                         to_standard(1.5, [0.0, 0.0, 0.0], 0.01 * np.eye(3))])  # fmt: skip
NONE = np.zeros(2, dtype=bool)


def problem(*more) -> Problem:
    """Data that leave parameters open; a lower and an upper bound act on the most plausible ones."""
    v = link_variables(arm(2), {"fv1": (0.45, 5.0), "fo1": (-1.0, 1.0)})
    rng = np.random.default_rng(2)
    matrix = rng.normal(size=(12, 22)) * np.append(np.tile([5.0] * 6 + [2.0] * 3 + [1.0], 2), [1.0, 1.0])
    target = matrix @ TRUE + 0.05 * rng.normal(size=12)
    own = (
        mass_bounds(v[0], 2.9, 8.0), com_box(v[0], -0.3, 0.3), total_mass(v, 0.0, 4.2),
        Constraint("moment", v[0].first_moment[0], 0.32, 5.0), *(make(v) for make in more),
    )  # fmt: skip
    return Problem("small", v, least_squares(v, matrix, target), own)


def program(stated: Problem, scaled=NONE, limit: float = 0.5, **given) -> DivergenceProgram:
    return DivergenceProgram(stated, BODIES, scaled, stated.objective.constant + limit, **given)


def feasible(stated: Problem, made: MostPlausible, limit: float) -> list[np.ndarray]:
    """Points near the answer that obey everything."""
    rng, found, centre = np.random.default_rng(3), [], best()
    for _ in range(600):
        x = made.parameters + rng.uniform() ** 2 * (centre - made.parameters)
        x = x + 10 ** rng.uniform(-6, -3) * rng.normal(size=22) * np.abs(made.parameters)
        if stated.objective(x) <= limit and stated.hard_violation(stated.violations(x)) == 0.0:
            found.append(x)
    return found


@cache
def best() -> np.ndarray:
    """The best fit of the problem."""
    return np.array(solve(problem()).x)


@pytest.mark.parametrize("rotors", [None, {"fv1": 0.6}])
def test_the_answer_is_proven_and_the_proof_holds(rotors) -> None:
    stated = problem()
    made = program(stated, rotors=rotors).path([stated.objective.constant + 0.5], best())[0]
    assert made is not None and abs(made.gap) <= 1e-7 and made.scale == 1.0
    assert stated.hard_violation(stated.violations(made.parameters)) <= 1e-9
    assert stated.objective(made.parameters) == pytest.approx(made.limit)
    acting = {row.label for row, value in zip(program(stated).linear.rows, made.multipliers, strict=True)
              if abs(value) > 1e-4}  # fmt: skip
    assert acting >= {"moment", "total mass"}
    found = program(stated, rotors=rotors)
    values = [found.divergence(x, 1.0) for x in feasible(stated, made, made.limit)]
    assert len(values) > 20 and min(values) >= made.lower_bound
    rng = np.random.default_rng(4)
    for noise in (1e-3, 1.0, 1e2):  # whatever the multipliers and the price
        wrong = made.multipliers * (1 + noise * rng.normal(size=len(made.multipliers))) + noise * rng.normal()
        bound = found.lower_bound(made.parameters, 1.0, made.price * (1 + noise), wrong, made.limit)
        assert bound <= made.lower_bound + 1e-6
        assert bound <= found.lower_bound(made.parameters, 1.0, made.price, made.multipliers, made.limit) + 1e-6
    without = found.lower_bound(made.parameters, 1.0, 1e-9, np.zeros(len(made.multipliers)), made.limit)
    assert without < made.lower_bound


@pytest.mark.parametrize("scaled", [[True, True], [True, False], [False, False]])
def test_newton_and_ipopt_agree_whether_the_scale_is_known_or_not(scaled) -> None:
    stated = problem()
    limit = stated.objective.constant + 0.5
    found = program(stated, np.array(scaled))._by_ipopt(best(), None)
    assert found.gap <= 10 * ENOUGH and stated.objective(found.parameters) <= limit * (1 + 1e-7)
    if not any(scaled):
        made = program(stated).path([limit], best())[0]
        assert made is not None and made.divergence == pytest.approx(found.divergence, rel=1e-4)
        np.testing.assert_allclose(made.parameters, found.parameters, atol=2e-4)
        assert program(stated).path([limit * 2], best())[0].divergence < made.divergence
    else:
        assert found.scale != 1.0 and program(stated, np.array(scaled)).path([limit], best()) == [None]
        for factor in (0.99, 1.01):
            assert program(stated, np.array(scaled)).divergence(found.parameters, factor * found.scale) > (
                found.divergence
            )


def test_a_row_about_zero_is_no_equation() -> None:
    stated = problem()
    assert program(stated)._newton() is not None
    equal = stated.with_constraints(Constraint("equal", stated.variables[0].first_moment[0], 0.3, 0.3))
    assert program(equal)._newton() is None
    soft = stated.with_constraints(Constraint("soft", stated.variables[0].mass, 0.3, 0.9, weight=1.0))
    assert program(soft)._newton() is None


def test_unknowns_that_are_left_out_are_zero() -> None:
    """As if the problem had none of them."""
    stated = problem().without("moment")
    found = program(stated).priced(0.7, left_out=("fo1",))
    assert found is not None and found[21] == 0.0 and found[20] != 0.0
    v = link_variables(arm(2), {"fv1": (0.45, 5.0)})
    own = (mass_bounds(v[0], 2.9, 8.0), com_box(v[0], -0.3, 0.3), total_mass(v, 0.0, 4.2))
    smaller = Problem("small", v, replace(stated.objective, matrix=stated.objective.matrix[:, :21]), own)
    expected = DivergenceProgram(smaller, BODIES, NONE, 1.0).priced(0.7)
    np.testing.assert_allclose(found[:21], expected, atol=1e-6)
    again = program(stated).priced(0.7, near=program(stated).priced(0.5))
    np.testing.assert_allclose(again, program(stated).priced(0.7), atol=1e-6)


def test_prices_begin_with_the_least_sum_of_squares_that_is_asked_for(monkeypatch) -> None:
    stated, rooms = problem(), []

    class Seen(Climb):
        def __init__(self, newton, least, room, first, met) -> None:
            rooms.append(room)
            super().__init__(newton, least, room, first, met)

    monkeypatch.setattr(_most_plausible, "Climb", Seen)
    constant = stated.objective.constant
    path = program(stated).path([constant + 0.3, constant + 4.0, constant + 1.0], best())
    assert rooms == [pytest.approx(0.3)]
    values = [step.divergence for step in path]
    assert values[0] > values[2] > values[1]


def canned(gap: float) -> MostPlausible:
    return MostPlausible(np.zeros(22), 1.0, 1.0, 1.0 - gap, 1.0, 1.0, np.zeros(0), 1, "")


@pytest.mark.parametrize(
    ("gaps", "calls"),
    [
        ([1e-8], 1),  # enough at once
        ([1e-4, 1e-8], 2),  # a second solve from the end of the first
        ([5e-7, 5e-7], 2),  # a second solve gains nothing, but ten times the gap ends the search
        ([None, 1e-8], 2),  # no point of the set: the next start
        ([1e-4, 1e-4, 1e-8], 3),
    ],
)
def test_ipopt_is_started_until_the_gap_is_closed(gaps, calls: int, monkeypatch) -> None:
    made, left, starts = program(problem()), list(gaps), []

    class Stub:
        def start(self, y):
            return y

        def within(self, w):
            starts.append(w)
            return BallOutcome(np.zeros(23), 1.0, 1.0, np.zeros(0), 1, "")

    made.__dict__["_program"] = Stub()
    monkeypatch.setattr(made, "_explained", lambda: np.ones(22))
    monkeypatch.setattr(made, "_judged", lambda outcome, iterations: (
        lambda gap: None if gap is None else canned(gap))(left.pop(0)))  # fmt: skip
    found = made._by_ipopt(np.concatenate([BODIES, [1.0, 0.0]]), None)
    assert len(starts) == calls and found.gap == pytest.approx(min(gap for gap in gaps if gap is not None), rel=1e-3)


def test_bodies_are_lifted_off_the_boundary_by_a_share_of_their_largest_eigenvalue() -> None:
    made = program(problem())
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    flat = np.asarray(lower_triangle(turn @ np.diag([-1.0, 0.0, 3.0, 40.0]) @ turn.T))
    none = np.zeros(10)
    lifted = made._inside(np.concatenate([flat, none, [0.3, -0.2]]), 1e-2)
    np.testing.assert_allclose(np.linalg.eigvalsh(symmetric(lifted[:10])), [0.4, 0.4, 3.0, 40.0])
    np.testing.assert_allclose(np.linalg.eigvalsh(symmetric(lifted[10:20])), np.full(4, 1e-8))
    np.testing.assert_array_equal(lifted[20:], [0.3, -0.2])


def test_the_multiplier_of_the_ball_is_the_price_of_the_data() -> None:
    """The decrease of D by the limit; nothing where the plausible bodies explain the data."""
    stated, limit = problem(), 2.0
    found = [program(stated, limit=limit * factor)._by_ipopt(best(), None) for factor in (0.99, 1.0, 1.01)]
    slope = (found[0].divergence - found[2].divergence) / (0.02 * limit)
    assert found[1].price == pytest.approx(slope, rel=1e-2)
    free = program(stated, limit=60.0)._by_ipopt(best(), None)
    assert free.price < 1e-6 and free.gap <= 10 * ENOUGH
