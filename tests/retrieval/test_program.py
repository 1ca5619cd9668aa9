"""The program that IPOPT solves: its derivatives, objective and slacks; what is prepared of a problem."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from casid.inertia import to_standard
from casid.retrieval import (
    Constraint,
    Problem,
    SolveOptions,
    com_box,
    least_squares,
    link_variables,
    mass_bounds,
    soften,
    solve,
)
from casid.retrieval._problem import split_rows
from casid.retrieval.constraints import PhysicalConsistency
from casid.retrieval.program._nlp import Cone, FeasibleSet, LiftedProgram
from casid.testing import BODY, arm
from tests.helpers import nearest

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


def lifted(problem: Problem, barrier: bool = True, ceiling: float | None = None) -> LiftedProgram:
    linear, nonlinear = split_rows(problem)
    cones = tuple(Cone.around(e, NOMINAL[10 * e.link : 10 * e.link + 10]) for e in problem.cones if e.constrains)
    within = FeasibleSet(linear, nonlinear, cones, NOMINAL)
    return LiftedProgram(problem.variables.x, problem.objective, within, (1, 2), 7.0, barrier, ceiling)


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


@pytest.mark.parametrize("ceiling", [None, 4.2])
def test_derivatives_of_the_lifted_program_are_those_of_its_functions(problem: Problem, ceiling: float | None) -> None:
    program = lifted(problem, ceiling=ceiling)
    nlp, functions, bounds = program.graph.program, program.graph.functions, program.bounds
    rng = np.random.default_rng(6)
    w = program.start(NOMINAL) + 0.1 * rng.normal(size=31 + 20 + 2)
    check(nlp, functions, w, program.numbers(1.3, 0.2, rng.normal(size=31)), 0)
    assert len(bounds["lbg"]) == len(bounds["ubg"]) == nlp["g"].shape[0]


def test_a_ceiling_bounds_the_sum_of_squares(problem: Problem) -> None:
    problem = replace(problem, objective=replace(problem.objective, constant=0.9))
    program = lifted(problem, ceiling=4.2)
    w = program.start(NOMINAL)
    row = float(program.graph.functions["jac_g"](w, program.numbers(0.0, 0.0))[0][-1])
    assert row - program.bounds["ubg"][-1] == pytest.approx(problem.objective(NOMINAL) / 4.2 - 1, rel=1e-9)
    assert program.bounds["lbg"][-1] == -np.inf


def test_every_restart_is_tried_where_none_succeeds() -> None:
    curved = nearest(BODY, lambda v: Constraint("curved", ca.tanh(v[0].com[0]) + v[0].com[1] ** 2, 0.1, 0.2))
    found = solve(curved, options=SolveOptions(max_iterations=1, restarts=2, direct=False), throw=False)
    assert not found.usable and found.restarts == 2
    assert solve(curved).restarts == 0
