"""Derivatives of the programs that IPOPT is given, against CasADi's own; scales, slacks and bounds of their rows."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from casid.inertia import to_standard
from casid.retrieval import Constraint, Problem, com_box, least_squares, link_variables, mass_bounds, soften
from casid.retrieval._rows import split_rows
from casid.retrieval.constraints import PhysicalConsistency
from casid.retrieval.program._nlp import Cone, FeasibleSet, LiftedProgram
from casid.testing._synthetic import BODY, arm

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
    nlp, functions, bounds = program._program
    rng = np.random.default_rng(6)
    w = program.start(NOMINAL) + 0.1 * rng.normal(size=31 + 20 + 2)
    check(nlp, functions, w, np.concatenate([[1.3, 0.2], rng.normal(size=31)]), 0)
    assert len(bounds["lbg"]) == len(bounds["ubg"]) == nlp["g"].shape[0]


def test_the_lifted_objective_is_the_sum_of_squares_the_penalty_and_what_keeps_links_near(problem: Problem) -> None:
    program = lifted(problem)
    nlp = program._program[0]
    w, rng = program.start(NOMINAL), np.random.default_rng(7)
    slope = rng.normal(size=31)
    value = float(ca.Function("f", [nlp["x"], nlp["p"]], [nlp["f"]])(w, np.concatenate([[2.0, 0.5], slope])))
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


def test_rows_are_in_units_of_their_steepest_entry(problem: Problem) -> None:
    program = lifted(problem)
    basis = program.coordinates[0]
    largest = np.abs(program.linear.matrix @ basis).max(axis=1)
    np.testing.assert_allclose(program.linear_scale, largest)
    assert ((program.linear.matrix @ basis).max(axis=1) < 0.9 * largest).any()  # of some it is negative
    jacobian = ca.Function("j", [problem.variables.x], [ca.jacobian(program.nonlinear.expression, problem.variables.x)])
    np.testing.assert_allclose(program.nonlinear_scale, np.abs(np.array(jacobian(NOMINAL)) @ basis).max(axis=1))
    gradient = basis.T @ problem.objective.gradient(NOMINAL)
    assert program.gradient_size() == pytest.approx(np.abs(gradient).max())


def test_unknowns_that_may_not_be_negative(problem: Problem) -> None:
    """The diagonals of the factors with a barrier, and the slacks."""
    for barrier in (True, False):
        lower = lifted(problem, barrier)._program[2]["lbx"]
        assert np.isinf(lower[:31]).all() and (lower[-2:] == 0).all()
        assert (lower[31:51] == 0).sum() == (8 if barrier else 0)
