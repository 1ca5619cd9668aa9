"""The most plausible parameters of small problems: their proof is tight and holds; how the program is solved."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from casid.errors import SolveError
from casid.inertia import to_standard
from casid.retrieval import Constraint, Problem, com_box, least_squares, link_variables, mass_bounds, solve, total_mass
from casid.retrieval.plausible import DivergenceProgram
from casid.testing import arm

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


def program(stated: Problem, scaled=NONE, **given) -> DivergenceProgram:
    return DivergenceProgram(stated, BODIES, np.asarray(scaled), **given)


def feasible(stated: Problem, made, limit: float) -> list[np.ndarray]:
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


@pytest.mark.parametrize("ends", [(-1.0, 1.0), (-1.0, 0.0)])
def test_an_offset_costs_half_its_square_in_expected_deviations(ends) -> None:
    """Whatever its bounds: only a term that cannot be negative, as a rotor's inertia, has an expected value."""
    stated = problem()
    stated = replace(stated, variables=replace(stated.variables, extras={**stated.variables.extras, "fo1": ends}))
    own, x, offset = program(stated, expected={"fo1": 0.05}), best(), stated.variables.names.index("fo1")
    moved = x + 0.1 * (np.arange(len(x)) == offset)
    costs = (moved[offset] ** 2 - x[offset] ** 2) / (2 * 0.05**2)
    assert abs(costs) > 1.0 and own.divergence(moved, 1.0) - own.divergence(x, 1.0) == pytest.approx(costs)


@pytest.mark.parametrize("expected", [None, {"fv1": 0.6}, {"fv1": 0.6, "fo1": 0.05}])
def test_the_answer_is_proven_and_the_proof_holds(expected) -> None:
    stated = problem()
    found = program(stated, expected=expected)
    made = found.path([stated.objective.constant + 0.5], best())[0]
    assert abs(made.gap) <= 1e-7 and made.scale == 1.0
    assert stated.hard_violation(stated.violations(made.parameters)) <= 1e-9
    assert stated.objective(made.parameters) == pytest.approx(made.limit)
    acting = {row.label for row, value in zip(found.linear.rows, made.multipliers, strict=True) if abs(value) > 1e-4}
    assert acting >= {"moment", "total mass"}
    values = [found.divergence(x, 1.0) for x in feasible(stated, made, made.limit)]
    assert len(values) > 20 and min(values) >= made.lower_bound
    rng = np.random.default_rng(4)
    for noise in (1e-3, 1.0, 1e2):  # whatever the multipliers and the price
        wrong = made.multipliers * (1 + noise * rng.normal(size=len(made.multipliers))) + noise * rng.normal()
        bound = found.lower_bound(made.parameters, 1.0, made.price * (1 + noise), wrong, made.limit)
        assert bound <= made.lower_bound + 1e-6
    for price in (1e-9, 0.0):
        without = found.lower_bound(made.parameters, 1.0, price, np.zeros(len(made.multipliers)), made.limit)
        assert np.isfinite(without) and without < made.lower_bound


@pytest.mark.parametrize("scaled", [[True, True], [True, False], [False, False]])
def test_the_interior_point_and_ipopt_agree_whether_the_scale_is_known_or_not(scaled) -> None:
    stated = problem()
    limit, made = stated.objective.constant + 0.5, program(stated, scaled)
    found = made._by_ipopt(limit, [best()], None)
    assert found.gap <= 1e-6 and stated.objective(found.parameters) <= limit * (1 + 1e-7)
    again = made.path([limit], best())[0]
    assert again.divergence == pytest.approx(found.divergence, rel=1e-4)
    np.testing.assert_allclose(again.parameters, found.parameters, atol=2e-4)
    if any(scaled):
        assert found.scale != 1.0
        for factor in (0.99, 1.01):
            assert made.divergence(found.parameters, factor * found.scale) > found.divergence


def test_rows_that_are_no_linear_inequalities_are_kept() -> None:
    """An equation, a soft row, a nonlinear row that acts, one that does not."""
    stated = problem()
    limit = stated.objective.constant + 0.5
    plain = program(stated).path([limit], best())[0]
    mass = float(plain.parameters[9])
    asleep = program(problem(lambda v: Constraint("asleep", v[0].mass ** 2, upper=4.0 * mass**2))).path(
        [limit], best()
    )[0]
    np.testing.assert_allclose(asleep.parameters, plain.parameters, atol=1e-9)
    assert asleep.gap <= 1e-7
    bound = 0.9 * float(np.sum(plain.parameters[16:18] ** 2))
    for more in (
        lambda v: Constraint("equal", v[0].first_moment[1], 0.01, 0.01),
        lambda v: Constraint("soft", v[0].mass, 0.3, 0.98 * mass, weight=0.5),
        lambda v: Constraint("curved", v[1].first_moment[0] ** 2 + v[1].first_moment[1] ** 2, upper=bound),
    ):
        other = problem(more)
        made = program(other).path([limit], np.array(solve(other).x))[0]
        assert other.hard_violation(other.violations(made.parameters)) <= 1e-7
        assert other.objective(made.parameters) + other.penalty(made.parameters) <= limit + 1e-7
        assert made.divergence > plain.divergence - 1e-7
        priced = program(other).priced(0.7)  # leaves curved rows out
        if other.constraints[-1].label == "curved":
            np.testing.assert_allclose(priced, program(stated).priced(0.7))
        else:
            assert made.gap <= 1e-6 and priced is None


def test_a_path_has_every_limit_in_its_order_and_the_price_of_the_data() -> None:
    """The decrease of D by the limit; nothing where the plausible bodies explain the data."""
    stated = problem()
    constant, made = stated.objective.constant, program(stated)
    path = made.path([constant + room for room in (0.3, 4.0, 1.0, 1.98, 2.0, 2.02, 60.0)], best())
    values = [step.divergence for step in path]
    assert values[0] > values[2] > values[1] and all(step.gap <= 1e-6 for step in path)
    slope = (values[3] - values[5]) / 0.04
    assert path[4].price == pytest.approx(slope, rel=1e-2) and path[6].price < 1e-6
    assert made._by_ipopt(constant + 2.0, [best()], None).price == pytest.approx(slope, rel=1e-2)


@pytest.mark.claim("one share without an answer does not throw away the path of those that have one")
def test_a_rough_path_ends_before_what_has_no_answer_and_an_exact_one_is_refused() -> None:
    stated = problem()
    least = stated.objective(best())
    limits, start = [least + 4.0, least + 2.0, 0.9 * least], best()  # below the least of all there is no point
    found = program(stated).path(limits, start, met=0.02)
    assert len(found) == 2 and found[0].divergence < found[1].divergence
    for refused in (lambda: program(stated).path(limits, start), lambda: program(stated).path(limits[2:], start, 0.02)):
        with pytest.raises(SolveError):
            refused()


@pytest.mark.parametrize("pull", [40.0, -40.0])
def test_the_proof_counts_a_pulled_unknown_at_its_bound(pull: float) -> None:
    """Its bound lies far within what the divergence allows: a wider one lowers the proof by the slope."""
    rng = np.random.default_rng(0)
    matrix = np.column_stack([rng.normal(size=(30, 10)), np.full(30, 3.0)])
    x, price, bounds = np.append(to_standard(20.0, [0.0, 0.0, 0.1], 0.002 * np.eye(3)), 0.5), 1e-3, []
    for low, high in ((-1.0, 5.0), (-2.0, 6.0)):
        v = link_variables(arm(), {"fv1": (low, high)})
        stated = Problem("pulled", v, least_squares(v, matrix, matrix @ x + pull))
        made = DivergenceProgram(stated, BODIES[:10], NONE[:1])
        bounds.append(made.lower_bound(x, 1.0, price, np.zeros(len(made.linear.rows)), 1.0))
    y = np.linalg.solve(made.basis, x - made.origin)
    slope = price * stated.objective.gradient(x)[10] + made.measure.gradient(y)[10] / made.basis[10, 10]
    assert np.sign(slope) == -np.sign(pull) and abs(slope) > 1.0
    assert bounds[0] - bounds[1] == pytest.approx(abs(slope), rel=1e-6)
