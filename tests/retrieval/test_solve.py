"""Statements that were once false: each test fails on the code that made them."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from typer.testing import CliRunner

import casid
from casid.cli import app
from casid.description import Joint, Link, Robot
from casid.errors import ProblemError, SolveError
from casid.inertia import to_standard
from casid.retrieval import (
    Constraint,
    Global,
    Problem,
    com_box,
    least_squares,
    link_variables,
    mass_bounds,
    multistart,
    parameter_intervals,
    solve,
)
from casid.retrieval._solution import assess
from casid.retrieval.methods._branching import Branches, Smoothed
from casid.retrieval.methods._global_search import SimulatedAnnealing
from casid.retrieval.methods._method import Direct
from casid.retrieval.methods._penalty import Penalty
from casid.retrieval.methods._solve import METHODS
from casid.testing import BODY, nearest

# ---------------------------------------------------------------------- methods

QUICK_METHODS = (
    Direct(),
    Penalty(2),
    Branches(),
    Smoothed((0.1,)),
    Global(seconds=5.0),
    SimulatedAnnealing(iterations=3, evaluations=50),
)


def two_valleys() -> Problem:
    def build(v):
        c = v[0].com
        return Constraint("either side", ca.if_else(c[0] > 0, c[0] - 0.1, -c[0] - 0.05), lower=0.0)

    return nearest(BODY, build)


@pytest.mark.claim("every method refuses a start of a wrong shape")
@pytest.mark.parametrize("name", METHODS)
def test_a_start_of_a_wrong_shape_is_refused(name: str) -> None:
    for wrong in (np.zeros(3), np.zeros((10, 1)), np.full(10, np.nan), "start"):
        with pytest.raises(ProblemError, match="start"):
            solve(two_valleys(), start=wrong, method=name)


@pytest.mark.claim("throw=False never raises for a solve that failed")
@pytest.mark.parametrize("method", QUICK_METHODS, ids=lambda m: m.name)
def test_failure_is_a_status_or_an_error(method) -> None:
    problem = two_valleys()
    impossible = problem.with_constraints(Constraint("heavy", problem.variables[0].mass, lower=9.0))
    found = solve(impossible, method=method, throw=False)
    assert found.status in ("infeasible", "failed") and found.max_violation > 0.1
    with pytest.raises(SolveError):
        solve(impossible, method=method)


@pytest.mark.claim("a method uses its start and seed")
def test_methods_use_their_start_and_seed() -> None:
    problem = two_valleys()
    right, left = (to_standard(2.0, [x, 0.0, 0.1], np.diag([0.03, 0.04, 0.02])) for x in (0.2, -0.2))
    for method in (Direct(), Smoothed()):
        ends = [solve(problem, start=start, method=method)(problem.variables[0].com[0]) for start in (right, left)]
        assert ends[0] > 0 > ends[1]
    assert solve(problem, method=Branches()).certified and solve(problem, method=Branches())["lx1"] > 0
    with pytest.raises(ProblemError, match="not both"):
        solve(problem, start=right, seed=1)
    annealed = solve(problem, start=left, seed=3, method=SimulatedAnnealing(iterations=30, evaluations=2000))
    assert annealed.usable and annealed.seed == 3 and len(annealed.trace) == 1


@pytest.mark.claim("failed solves do not exit with 0")
@pytest.mark.parametrize("method", ["direct", "penalty", "branches", "smoothed", "global"])
def test_failure_exits_with_1_and_writes_nothing(method: str, tmp_path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import casid\nfrom casid.retrieval import *\n\n"
        "def build():\n"
        "    p = casid.load_problem('spatial_2r', shapes='box')\n"
        "    c = p.variables[1].com\n"
        "    return p.with_constraints(Constraint('far', ca_norm(c), lower=9.0))\n\n"
        "def ca_norm(c):\n    return c[0] ** 2 + c[1] ** 2\n"
    )
    out = tmp_path / "out"
    result = CliRunner().invoke(app, ["solve", str(file), "--method", method, "--out", str(out)])
    assert result.exit_code == 1 and "far" in result.output
    assert not (out / "solution.json").exists()


# ---------------------------------------------------------------------- classification


@pytest.mark.claim("terms that are constant piece by piece are not linear")
def test_jumps_are_not_linear() -> None:
    def build(v):
        link = v[0]
        return Constraint("limit", ca.if_else(link.mass > 4, 0.5, 0.1) - link.first_moment[2], lower=0.0)

    truth = to_standard(5.0, [0.0, 0.0, 0.09], np.diag([0.05, 0.05, 0.05]))
    problem = nearest(truth, build)
    assert problem.objective(truth) < 1e-20 and problem.hard_violation(problem.violations(truth)) == 0.0
    for method in (Direct(), Branches(), Global(seconds=10.0)):
        found = solve(problem, start=to_standard(2.0, [0, 0, 0.01], 0.05 * np.eye(3)), method=method, throw=False)
        assert found.lower_bound <= 1e-12
        assert found.status != "infeasible"


@pytest.mark.claim("an either-or of logic is not proven impossible while the truth meets it")
def test_logic_is_not_linear() -> None:
    def build(v):
        return Constraint("logic", ca.logic_or(v[0].com[0] > 0.2, v[0].mass > 3), lower=1.0)

    truth = to_standard(5.0, [0.0, 0.0, 0.09], np.diag([0.05, 0.05, 0.05]))
    problem = nearest(truth, build)
    found = solve(problem, start=BODY, throw=False)
    assert found.status != "infeasible" and found.lower_bound <= 1e-12
    assert solve(problem, start=truth).objective == pytest.approx(0.0, abs=1e-12)


@pytest.mark.claim("rounding in a constraint is no traceback")
def test_rounding_is_solved_or_refused() -> None:
    problem = nearest(BODY, lambda v: Constraint("rounded", ca.floor(40 * v[0].com[0]), lower=1.0))
    found = solve(problem, throw=False)
    assert found.lower_bound <= problem.objective(BODY) + 1e-12


@pytest.mark.claim("functions that saturate are not quadratic forms")
@pytest.mark.parametrize("shape", [
    lambda m: 0.05 + 0.25 * ca.exp(-((2 * (m - 5)) ** 2)),
    lambda m: 0.05 + 0.25 * ca.tanh(ca.fmax(m - 4.5, 0)),
    lambda m: 0.05 + 0.25 * ca.erf((m - 4.5) ** 2 * 10),
    lambda m: 0.05 + 0.25 / (1 + ca.exp(-100 * (m - 4.8))),
])  # fmt: skip
def test_saturating_functions_prove_nothing(shape) -> None:
    truth = to_standard(5.0, [0.0, 0.0, 0.09], np.diag([0.05, 0.05, 0.05]))
    problem = nearest(truth, lambda v: Constraint("saturated", shape(v[0].mass) - v[0].com[2], lower=0.0))
    light = to_standard(2.0, [0.0, 0.0, 0.04], np.diag([0.05, 0.05, 0.05]))
    feasible = [x for x in (truth, light) if problem.hard_violation(problem.violations(x)) <= 1e-9]
    assert feasible
    for start in (light, truth):
        found = solve(problem, start=start, throw=False)
        assert all(found.lower_bound <= problem.objective(x) * (1 + 1e-9) + 1e-12 for x in feasible)


# ---------------------------------------------------------------------- bounds


@pytest.mark.claim("a body of grams is not feasible because its violation is below an absolute tolerance")
def test_a_violation_as_large_as_a_small_link_is_not_feasible() -> None:
    truth = to_standard(2e-3, [1e-3, 0.0, 2e-3], np.diag([2e-9, 3e-9, 2.5e-9]))
    variables = link_variables(Robot("toy", (Joint("joint1", "revolute", -1, Link("link1")),)))
    own = mass_bounds(variables[0], 0.0, 1e-2), com_box(variables[0], -5e-3, 5e-3)
    problem = Problem("toy", variables, least_squares(variables, np.eye(10), truth), own)
    needle = to_standard(2e-3, [1e-3, 0.0, 2e-3], np.diag([2e-9, 3e-9, 9e-9]))
    found = assess(problem, needle)
    assert 0 < found.max_violation < 1e-8
    assert not found.feasible and not found.usable
    assert assess(problem, truth).feasible


# ---------------------------------------------------------------------- infeasible


@pytest.mark.claim("the global method keeps its time limit")
def test_global_returns_the_best_bound_in_time() -> None:
    import time

    problem = casid.load_problem("cookbook", recipe="round_section")
    seen = []
    began = time.perf_counter()
    method = Global(gap=1e-9, nodes=10_000, seconds=2.0, progress=lambda *state: seen.append(state))
    found = solve(problem, method=method, throw=False)
    assert time.perf_counter() - began < 15.0
    assert found.lower_bound >= 3.8e-4 and seen and seen[-1][1] <= found.total


@pytest.mark.claim("interval ends are not passed by feasible points, saturating functions included")
def test_interval_ends_with_a_saturating_constraint() -> None:
    def build(v):
        return Constraint("soft limit", ca.tanh(40 * (0.12 - v[0].com[2])) + 0.5, lower=0.0)

    target = to_standard(2.0, [0.05, 0.0, 0.15], np.diag([0.03, 0.04, 0.02]))
    problem = nearest(target, build)
    found = parameter_intervals(
        problem, {"m": problem.variables[0].mass, "c": problem.variables[0].com[2]}, tolerance=0.05
    )
    rng = np.random.default_rng(0)
    best = solve(problem).x
    hits = 0
    for scale in np.repeat(np.logspace(-4, -1, 20), 60):
        x = best + scale * rng.normal(size=10)
        if (
            problem.hard_violation(problem.violations(x)) == 0
            and problem.objective(x) <= found.optimum + found.tolerance
        ):
            hits += 1
            assert found["m"].low - 1e-9 <= x[9] <= found["m"].high + 1e-9
            assert found["c"].low - 1e-9 <= x[8] / x[9] <= found["c"].high + 1e-9
    assert hits > 20


# ---------------------------------------------------------------------- seeds and constants


@pytest.mark.claim("a seed that is none is refused in one line by every method: -1 and 1.5 were tracebacks")
@pytest.mark.parametrize("seed", [-1, 1.5, float("nan"), True, "1"])
def test_seeds(problem_of_a_link: Problem, seed: object) -> None:
    for method in METHODS:
        with pytest.raises(ProblemError, match="seed: expected an integer >= 0"):
            solve(problem_of_a_link, seed=seed, method=method)  # type: ignore[arg-type]
    with pytest.raises(ProblemError, match="seed"):
        multistart(problem_of_a_link, 1, seed)  # type: ignore[arg-type]


def test_any_whole_number_is_a_seed(problem_of_a_link: Problem) -> None:
    for seed in (np.int64(3), 2**70):
        assert solve(problem_of_a_link, seed=seed, method=SimulatedAnnealing(5, 50)).certified


@pytest.mark.claim("a constant NaN in a constraint is named, wherever it stands in the expression")
def test_constant_nan_in_an_expression() -> None:
    link = link_variables(Robot("one", (Joint("j", "revolute", -1, Link("link")),)))[0]
    nan = float("nan")
    s = ca.SX.sym("s")
    called = ca.Function("own", [s], [s + nan], {"never_inline": True})
    for expression in (
        link.mass * nan, ca.if_else(link.com[0] > 0, nan, 1), ca.if_else(link.com[0] > nan, 2, 1), called(link.mass)
    ):  # fmt: skip
        with pytest.raises(ProblemError, match="'c': the expression contains the constant NaN"):
            Constraint("c", expression, upper=1.0)


@pytest.fixture
def problem_of_a_link() -> Problem:
    links = link_variables(Robot("one", (Joint("j", "revolute", -1, Link("link")),)))
    return Problem("one", links, least_squares(links, np.eye(10), BODY))


def test_a_problem_may_be_named() -> None:
    assert casid.solve("spatial_2r").objective == casid.solve(casid.load_problem("spatial_2r")).objective
    with pytest.raises(ProblemError, match="did you mean spatial_2r"):
        casid.solve("spatial_2")
