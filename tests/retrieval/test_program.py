"""The program that IPOPT solves: its derivatives, objective and slacks; what is prepared of a problem."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from casid.inertia import to_standard
from casid.retrieval import (
    Constraint,
    PreparedProblem,
    Problem,
    SolveOptions,
    com_box,
    least_squares,
    link_variables,
    mass_bounds,
    soften,
    solve,
)
from casid.retrieval._rows import split_rows
from casid.retrieval.constraints import PhysicalConsistency, gyration_bound
from casid.retrieval.program._nlp import Cone, FeasibleSet, LiftedProgram
from casid.testing import BODY, arm, nearest

OTHER = to_standard(0.7, [-0.1, 0.05, 0.02], np.diag([0.01, 0.012, 0.008]))


NOMINAL = np.concatenate([BODY, OTHER, BODY, [0.3]])


@pytest.fixture(scope="module")
def problem() -> Problem:
    """Three links, the last without consistency; linear and curved rows, hard and soft."""
    v = link_variables(arm(3), {"fv1": (0.0, 5.0)})
    rng = np.random.default_rng(5)
    constraints = (
        mass_bounds(v[0], 0.5, 4.0),
        com_box(v[0], -0.3, 0.3),
        soften(Constraint("light", 3.0 * v[1].mass + v.x[30], 0.2, 1.0), 0.4),
        Constraint("curved", v[0].mass * v[1].first_moment[0] - v.x[30] ** 2, -2.0, 0.7),
        soften(Constraint("bent", v[1].mass ** 2 + 5.0 * v[0].mass, 6.0, 9.0), 2.0),
        PhysicalConsistency(v[2].index, v[2].name, "none", 0.0),
    )
    return Problem("three", v, least_squares(v, rng.normal(size=(60, 31)), rng.normal(size=60)), constraints)


def lifted(problem: Problem, barrier: bool = True) -> LiftedProgram:
    linear, nonlinear = split_rows(problem)
    cones = tuple(Cone.around(e, NOMINAL[10 * e.link : 10 * e.link + 10]) for e in problem.cones if e.constrains)
    within = FeasibleSet(linear, nonlinear, cones, NOMINAL)
    return LiftedProgram(problem.variables.x, problem.objective, within, (1, 2), 7.0, barrier)


def check(nlp: dict, functions: dict, at: np.ndarray, p: np.ndarray, seed: int) -> None:
    """Gradient, Jacobian and Hessian of the Lagrangian are those of ``f`` and ``g``."""
    x, f, g = nlp["x"], nlp["f"], nlp["g"]
    lam = ca.MX.sym("lam", g.shape[0])
    own = ca.Function(
        "own", [x, nlp["p"], lam],
        [ca.gradient(f, x), ca.jacobian(g, x), ca.hessian(0.7 * f + ca.dot(lam, g), x)[0], f, g],
    )  # fmt: skip
    multipliers = np.random.default_rng(seed).normal(size=g.shape[0])
    gradient, jacobian, hessian, value, rows = (np.array(ca.densify(e)) for e in own(at, p, multipliers))
    made = functions["grad_f"](at, p)
    np.testing.assert_allclose(float(made[0]), float(value[0, 0]), rtol=1e-12)
    np.testing.assert_allclose(np.array(ca.densify(made[1])), gradient, rtol=1e-9, atol=1e-9 * np.abs(gradient).max())
    made = functions["jac_g"](at, p)
    np.testing.assert_allclose(np.array(ca.densify(made[0])), rows, atol=1e-12)
    np.testing.assert_allclose(np.array(ca.densify(made[1])), jacobian, rtol=1e-9, atol=1e-9 * np.abs(jacobian).max())
    made = np.array(ca.densify(functions["hess_lag"](at, p, 0.7, multipliers)))
    np.testing.assert_allclose(made, np.triu(hessian), rtol=1e-9, atol=1e-9 * np.abs(hessian).max())


def test_derivatives_of_the_lifted_program_are_those_of_its_functions(problem: Problem) -> None:
    program = lifted(problem)
    nlp, functions, bounds = program.graph.program, program.graph.functions, program.bounds
    rng = np.random.default_rng(6)
    w = program.start(NOMINAL) + 0.1 * rng.normal(size=31 + 20 + 2)
    check(nlp, functions, w, program.numbers(1.3, 0.2, rng.normal(size=31)), 0)
    assert len(bounds["lbg"]) == len(bounds["ubg"]) == nlp["g"].shape[0]


def test_the_lifted_objective_is_the_sum_of_squares_the_penalty_and_what_keeps_links_near(problem: Problem) -> None:
    program = lifted(problem)
    nlp = program.graph.program
    w, rng = program.start(NOMINAL), np.random.default_rng(7)
    slope = rng.normal(size=31)
    value = float(ca.Function("f", [nlp["x"], nlp["p"]], [nlp["f"]])(w, program.numbers(2.0, 0.5, slope)))
    slacks = w[-2:]
    assert slacks == pytest.approx([3 * OTHER[9] + 0.3 - 1.0, 5 * BODY[9] + OTHER[9] ** 2 - 9.0])
    y = np.linalg.solve(program.coordinates[0], program.parameters(w) - program.coordinates[1])
    away = 4.0  # |T|^2 of a link at its nominal body; the one without a cone is at its own
    squares = problem.objective(NOMINAL) - problem.objective.constant
    expected = 2.0 * (squares + 0.4 * slacks[0] + 2.0 * slacks[1]) + 0.5 * away + slope @ y
    assert value == pytest.approx(expected, rel=1e-6)
    assert program.objective_value(w) == pytest.approx(problem.objective(NOMINAL) + problem.penalty(NOMINAL), rel=1e-6)


def test_slacks_are_what_soft_rows_lack(problem: Problem) -> None:
    program = lifted(problem)
    for mass, expected in ((0.01, [0.2 - 0.03, 0.0]), (0.1, [0.0, 0.0]), (0.5, [0.5, 0.0])):
        x = NOMINAL.copy()
        x[30], x[9] = 0.0, 1.7
        x[10:20] *= mass / x[19]
        assert program.start(x)[-2:] == pytest.approx([expected[0], max(0.0, 8.5 + mass**2 - 9.0)])
    x[9] = 0.5
    assert program.start(x)[-1] == pytest.approx(6.0 - 2.5 - 0.25)


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


def test_every_restart_is_tried_where_none_succeeds() -> None:
    curved = nearest(BODY, lambda v: Constraint("curved", ca.tanh(v[0].com[0]) + v[0].com[1] ** 2, 0.1, 0.2))
    found = solve(curved, options=SolveOptions(max_iterations=1, restarts=2, direct=False), throw=False)
    assert not found.usable and found.restarts == 2
    assert solve(curved).restarts == 0
