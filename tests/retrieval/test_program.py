"""Units and scales: what a weight prices, margins on small links, links that nothing bounds."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import casid
from casid.description import Joint, Link, Robot
from casid.errors import ProblemError, SolveError
from casid.inertia import consistency, pseudo_inertia, to_standard
from casid.retrieval import (
    Constraint,
    LeastSquares,
    Problem,
    com_box,
    explain,
    link_variables,
    mass_bounds,
    parameter_intervals,
    solve,
)
from casid.retrieval._rows import split_rows
from casid.retrieval._solution import assess
from casid.retrieval.methods._global_search import SimulatedAnnealing
from casid.retrieval.program._nlp import Cone, FeasibleSet, LiftedProgram
from casid.retrieval.program._starts import nominal_parameters
from casid.testing import BODY, nearest


@pytest.fixture
def links():
    return link_variables(Robot("one", (Joint("j1", "revolute", -1, Link("link1")),)))


def target(links, body, weight=1.0):
    return LeastSquares(weight * np.eye(links.size), weight * np.asarray(body))


@pytest.mark.claim("the weight of a soft expression prices the expression, not the expression times a mass")
def test_a_soft_expression_is_priced_in_its_own_unit(links):
    body = to_standard(5.0, [0.02, 0.0, 0.0], 0.01 * np.eye(3))
    wish = Constraint("far out", links[0].com[0], lower=0.5, weight=0.3)
    solution = solve(Problem("soft", links, target(links, body), (mass_bounds(links[0], 1.0, 8.0), wish)))
    x = solution.x
    assert solution.penalty == pytest.approx(0.3 * (0.5 - x[6] / x[9]), rel=1e-9)
    assert solution.lower_bound <= solution.total


@pytest.mark.claim("a problem about a link of grams has a nominal body that keeps the margin")
@pytest.mark.parametrize("mass", [1e-3, 1e-5, 5.0])
def test_nominal_bodies_keep_the_margin(links, mass):
    tiny = (mass_bounds(links[0], 0.0, 2 * mass), com_box(links[0], [-1e-3] * 3, [1e-3] * 3))
    problem = Problem("tiny", links, target(links, np.zeros(10)), tiny)
    nominal = nominal_parameters(problem)
    assert np.linalg.eigvalsh(pseudo_inertia(nominal))[0] > problem.cones[0].margin


@pytest.mark.claim("a link without consistency and without bounds, with a nonlinear constraint, is no traceback")
def test_a_free_link_with_a_curved_constraint_is_solved(links):
    body = -to_standard(2.0, [0.1, 0.0, 0.0], 0.05 * np.eye(3))
    curved = Constraint("curved", links[0].first_moment[0] ** 2 + links[0].mass, lower=-1.0)
    solution = solve(Problem("free", links, target(links, body), (curved,), consistency="none"), throw=False)
    assert solution.status in ("optimal", "feasible")
    assert solution.x[6] ** 2 + solution.x[9] >= -1.0 - 1e-8


@pytest.mark.claim("the proven end of a ratio is not made of a mass that is only assumed to be positive")
def test_the_proven_range_of_a_centre_of_mass_holds_where_the_mass_may_vanish(links):
    scale = np.array([1e-2] * 6 + [1e-1] * 3 + [1.0])
    objective = LeastSquares(np.eye(10) / scale, np.zeros(10))
    problem = Problem("light", links, objective, (mass_bounds(links[0], 0.0, 1.0),), margin=0.0)
    found = parameter_intervals(problem, {"c": links[0].com[0]}, tolerance=0.5, solution=solve(problem, throw=False))
    light = to_standard(1e-7, [3.0, 0.0, 0.0], 1e-9 * np.eye(3))  # explains the data as well as anything
    assert objective(light) <= found.optimum + found.tolerance
    assert found["c"].low <= -3.0
    assert found["c"].high >= 3.0


@pytest.mark.claim("a light link beside a heavy one counts")
def test_a_link_that_nothing_bounds_may_weigh_a_thousand_tonnes(links):
    pair = link_variables(Robot("two", tuple(Joint(f"j{k}", "revolute", k - 1, Link(f"k{k}")) for k in range(2))))
    heavy, light = to_standard(1e6, [0, 0, 0.1], 1e5 * np.eye(3)), to_standard(1.0, [0, 0, 0.1], 0.01 * np.eye(3))
    curved = Constraint("light", pair[1].com[2] ** 2 + pair[1].com[0], 0.02)
    problem = Problem("scales", pair, target(pair, np.concatenate([heavy, light])), (curved,))
    assert problem.violations(np.concatenate([heavy, light]))["light"] == pytest.approx(0.01)
    solution = solve(problem)
    assert solution.status in ("optimal", "feasible") and solution.objective <= 2e-4
    np.testing.assert_allclose(solution.x[:10], heavy, rtol=1e-6, atol=1e-3)


# ---------------------------------------------------------------------- minima, maxima, jumps


def body_in_a_box(links, *constraints):
    body = to_standard(2.0, [0.05, -0.02, 0.1], np.diag([0.03, 0.04, 0.02]))
    return Problem(
        "kinks", links, target(links, body), (mass_bounds(links[0], 0.5, 8), com_box(links[0], -0.3, 0.3), constraints)
    )


@pytest.mark.claim("fmin(e, 1) >= 0 is e >= 0")
def test_a_maximum_below_a_bound_is_all_of_its_parts_below_it(links):
    x, y, _ = ca.vertsplit(links[0].com)
    found = solve(body_in_a_box(links, Constraint("both", ca.fmax(ca.fmin(x, 9.0), y), -0.2, -0.1)))
    parts = solve(body_in_a_box(links, Constraint("x", x, -0.3, -0.1), Constraint("y", y, -0.3, -0.1)))
    assert found.status == parts.status == "optimal"
    assert found.objective == pytest.approx(parts.objective, rel=1e-5)


@pytest.mark.parametrize("bounds", [{"lower": 0.2}, {"upper": -0.1}, {"lower": 0.2, "upper": 0.25}])
def test_minima_and_maxima_of_any_bound_are_enumerated(links, bounds):
    x, y, _ = ca.vertsplit(links[0].com)
    whole = ca.fmin(x, y) if "lower" not in bounds else ca.fmax(x, y)
    found = solve(body_in_a_box(links, Constraint("kink", whole, **bounds)), method="branches")
    either = [solve(body_in_a_box(links, *rest), throw=False) for rest in _by_hand(x, y, **bounds)]
    assert found.status == "optimal"
    assert found.objective == pytest.approx(min(s.objective for s in either if s.usable), rel=1e-5)


def _by_hand(x, y, lower=None, upper=None):
    """Each combination of a bound on a maximum (lower) or minimum (upper), both bounded by what asks for both."""
    for one, other in ((x, y), (y, x)):
        if lower is None:
            yield (Constraint("one", one, upper=upper),)
        elif upper is None:
            yield (Constraint("one", one, lower=lower),)
        else:
            yield Constraint("one", one, lower, upper), Constraint("other", other, upper=upper)


def test_annealing_keeps_a_point_from_which_no_slope_leads_on(links):
    jump = Constraint("far enough", ca.sign(links[0].com[0] - 0.1), lower=0.5)
    found = solve(body_in_a_box(links, jump), method=SimulatedAnnealing(iterations=100))
    assert found.status == "feasible" and found.x[6] / found.x[9] > 0.1


def test_a_solver_that_stops_at_a_feasible_point_does_not_say_that_there_is_none(links):
    either = Constraint("or", ca.logic_or(links[0].com[0] > 0.2, links[0].mass > 3), lower=1)
    stopped = solve(body_in_a_box(links, either), throw=False)
    assert not stopped.feasible or stopped.status in ("optimal", "feasible", "stopped")
    if stopped.status == "stopped":
        with pytest.raises(SolveError, match=r"did not converge.*feasible.*'branches'"):
            stopped.or_raise()
    assert solve(body_in_a_box(links, either), method="branches").status == "optimal"


def test_a_feasible_point_without_convergence_is_stopped_not_failed(links):
    problem = body_in_a_box(links)
    x = nominal_parameters(problem)
    found = assess(problem, x, converged=False)
    assert found.feasible and found.status == "stopped" and not found.usable
    assert "stopped before" in explain(found).summary
    with pytest.raises(SolveError, match="its last point is feasible"):
        found.or_raise()
    assert assess(problem, np.full(len(x), -1.0), converged=False).status == "failed"


def test_a_lifted_point_is_its_parameters():
    problem = nearest(BODY)
    linear, nonlinear = split_rows(problem)
    cones = tuple(Cone.around(entry, BODY) for entry in problem.cones)
    within = FeasibleSet(linear, nonlinear, cones, BODY)
    assert len(within.rows) == len(linear.rows) + nonlinear.size
    program = LiftedProgram(problem.variables.x, problem.objective, within)
    w = program.start(BODY)
    np.testing.assert_allclose(program.parameters(w), BODY, rtol=1e-6, atol=1e-9)
    assert program.objective_value(w) == pytest.approx(problem.objective(BODY), abs=1e-9)
    t = cones[0].factor(BODY)
    np.testing.assert_allclose(cones[0].parameters(t), BODY, rtol=1e-6, atol=1e-9)


@pytest.mark.claim("boxes of 1e8 m leave a nominal body; what double precision cannot hold is refused by name")
def test_nominal_bodies_in_boxes_of_any_size() -> None:
    links = link_variables(casid.load_robot("spatial_2r"))
    objective = LeastSquares(np.zeros((0, links.size)), np.zeros(0))

    def nominal(low: list[float], high: list[float]) -> np.ndarray:
        return nominal_parameters(Problem("box", links, objective, com_box(links["link1"], low, high)))

    for low, high in (([-1e5, -1e8, -0.3], [1e8, 1e8, 0.3]), ([-1.0, 90.0, 50.0], [1.0, 1e6, 1e6])):
        ten = nominal(low, high)[:10]
        assert consistency(ten).pseudo_inertia_margin > 1e-6
        assert (np.array(low) <= ten[6:9] / ten[9]).all() and (ten[6:9] / ten[9] <= high).all()
    with pytest.raises(ProblemError, match="link1: its centre of mass is bounded to about 1e\\+09 m"):
        nominal([1e9, 0.0, 0.0], [1e9 + 0.1, 0.1, 0.1])
