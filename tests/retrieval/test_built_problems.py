"""What a solver is built of a problem: its search region, scales, polishing, restarts, relaxations."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from casid.inertia import to_standard
from casid.retrieval import (
    Constraint,
    PreparedProblem,
    Problem,
    SolveOptions,
    _solver,
    com_box,
    least_squares,
    link_variables,
    mass_bounds,
    solve,
)
from casid.retrieval._solver import _with_cuts, relaxed_bound
from casid.retrieval.bound._cuts import Cut
from casid.retrieval.constraints import PhysicalConsistency, gyration_bound
from casid.testing import BODY, arm, nearest


@pytest.fixture(scope="module")
def built() -> PreparedProblem:
    """A link without bounds, one without consistency, a bounded one; a free extra and a bounded one."""
    v = link_variables(arm(3), {"fv1": (0.0, np.inf), "fo1": (-50.0, 50.0)})
    own = (
        PhysicalConsistency(v[1].index, v[1].name, "none", 0.0),
        mass_bounds(v[2], 0.5, 4.0),
        com_box(v[2], -0.3, 0.3),
        gyration_bound(v[2], 1.0),
    )
    problem = Problem("three", v, least_squares(v, np.eye(32), np.zeros(32)), own)
    return PreparedProblem(
        problem, np.concatenate([BODY, 2.0 * BODY, BODY, [0.5, 3.0]]), SolveOptions(search_factor=1e3)
    )


@pytest.mark.parametrize(
    ("entries", "factor", "size"),
    [
        (slice(0, 0), 1.0, 1.0),
        (slice(0, 10), 7.0, 7.0),  # trace over that of the nominal body
        (slice(10, 20), 5.0, 5.0),  # largest parameter over the largest nominal one
        (slice(19, 20), 30.0, 30.0),
        (slice(10, 19), 1.5, 1.0),
        (slice(20, 30), 9.0, 1.0),  # bounded
        (slice(30, 31), 24.0, 12.0),  # nominally less than one
        (slice(31, 32), 16.0, 1.0),
    ],
)
def test_how_large_a_point_is_where_nothing_bounds_it(built, entries: slice, factor: float, size: float) -> None:
    x = np.array(built.nominal)
    x[entries] *= factor
    assert built.size_of(x) == pytest.approx(size, rel=1e-4)


def test_the_nominal_point_grows_where_a_link_leaves_the_search_region(built) -> None:
    """A tenth of the region is near its end."""
    x = np.array(built.nominal)
    x[10:] *= 500.0
    assert built.grown(built.nominal) is None and built.grown(x) is None
    x[:10] *= 99.0
    assert built.grown(x) is None
    x[:10] *= 1.5
    grown = built.grown(x)
    np.testing.assert_allclose(grown[:10], x[:10], rtol=1e-3)
    np.testing.assert_array_equal(grown[10:], built.nominal[10:])


def test_only_links_that_nothing_bounds_are_kept_near(built) -> None:
    assert built.unbounded == (0, 1) and built.is_regularised
    bounded = nearest(BODY, lambda v: gyration_bound(v[0], 1.0))
    assert not PreparedProblem(bounded).is_regularised
    assert not PreparedProblem(built.problem, built.nominal, SolveOptions(proximal=False)).is_regularised


def test_an_accurate_scale_needs_one_polish() -> None:
    found = solve(nearest(np.append(BODY[:9], 9.0)), options=SolveOptions(direct=False))
    assert found.certified and found.solver_status == "Solve_Succeeded, Solve_Succeeded"


def test_where_a_warm_start_fails_the_same_objective_is_solved_from_its_point() -> None:
    made = PreparedProblem(nearest(np.append(BODY[:9], 9.0)), None, SolveOptions())
    solve_one, scales = made.program.solve, []

    def failing(solver, point, scale, *rest):
        found = solve_one(solver, point, scale, *rest)
        scales.append((scale, isinstance(point, np.ndarray)))
        return found if isinstance(point, np.ndarray) else replace(found, success=False)

    made.program.solve = failing
    outcome, scale = made.minimise(made.nominal)
    assert outcome.success and [cold for _, cold in scales[:3]] == [True, False, True]
    assert scales[1][0] == scales[2][0] and scale == scales[-1][0]


def test_every_restart_is_tried_where_none_succeeds() -> None:
    curved = nearest(BODY, lambda v: Constraint("curved", ca.tanh(v[0].com[0]) + v[0].com[1] ** 2, 0.1, 0.2))
    found = solve(curved, options=SolveOptions(max_iterations=1, restarts=2, direct=False), throw=False)
    assert not found.usable and found.restarts == 2
    assert solve(curved).restarts == 0


def test_bodies_grow_a_few_times_at_most(monkeypatch) -> None:
    made = []
    init = PreparedProblem.__init__
    monkeypatch.setattr(
        PreparedProblem, "__init__", lambda self, *given, **named: made.append(1) or init(self, *given, **named)
    )
    monkeypatch.setattr(PreparedProblem, "grown", lambda self, x: np.array(self.nominal) * (1 + 1e-6))
    monkeypatch.setattr(_solver, "_GROWTHS", 3)
    assert PreparedProblem(nearest(BODY), None, SolveOptions()).solve().usable
    assert len(made) == 1 + 3


def test_a_nearly_perfect_fit_is_made_perfect_where_it_may_be() -> None:
    """Up to a tenth of the violation that is allowed."""
    near = BODY + 1e-7 * np.linspace(-1, 1, 10)
    for beyond, perfect in ((0.0, True), (0.8e-9, True), (1.3e-9, False)):
        problem = nearest(BODY, lambda v, most=BODY[9] - beyond: Constraint("light", v[0].mass, upper=most))
        made = PreparedProblem(problem, None, SolveOptions(feasibility=1e-8))
        moved = made._perfected(near)
        assert np.allclose(moved, BODY, rtol=0, atol=1e-14) == perfect
    far = BODY + 1e-2
    np.testing.assert_array_equal(made._perfected(far), far)


@pytest.mark.parametrize(("restarts", "used"), [(0, 0), (1, 1), (4, 1)])
def test_relaxations_are_restarted_once_at_most(restarts: int, used: int, monkeypatch) -> None:
    seen = []

    class Seen(PreparedProblem):
        def __init__(self, problem, nominal, options, tighten=True):
            seen.append(options.restarts)
            super().__init__(problem, nominal, options, tighten)

    monkeypatch.setattr(_solver, "PreparedProblem", Seen)
    problem = nearest(BODY, lambda v: Constraint("outside", ca.sumsqr(v[0].com), lower=0.15**2))
    found = relaxed_bound(problem, BODY, None, SolveOptions(restarts=restarts))
    assert found.bound <= 1.0 and set(seen) == {used}


def test_cuts_are_rows_in_units_of_their_largest_entry() -> None:
    base = nearest(BODY)
    form = np.zeros(10)
    form[6], form[9] = -40.0, 8.0
    made = _with_cuts(base, [Cut(form, 4.0, 0, 0, 1.0), Cut(form / 1000, -2.0, 0, 0, 1.0)])
    added = made.constraints[-1]
    x = to_standard(3.0, [0.1, 0.0, 0.0], 0.01 * np.eye(3))
    np.testing.assert_allclose(added.value(made.variables.x, x), [form @ x / 40.0] * 2)
    np.testing.assert_allclose(added.lower, [0.1, -50.0])
    assert _with_cuts(base, []) is base
