"""The Panda problem: known optimum, certificate, starts, and a second solver."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import casid
from casid.inertia import PSEUDO_INERTIA_MAP, from_standard, pseudo_inertia
from casid.retrieval import PreparedProblem, Problem, SolveOptions, multistart, solve
from casid.retrieval._rows import split_rows
from casid.retrieval.bound._certificate import lower_bound
from casid.retrieval.program._starts import nominal_parameters
from casid.retrieval.study import Study
from casid.testing import BODY, nearest

#: Certified optimum with J >= 1e-6, found by two solvers of different kind.
OPTIMUM = 3.8606686e-4


@pytest.fixture(scope="module")
def problem(panda):
    return panda


@pytest.fixture(scope="module")
def solution(problem: Problem) -> casid.Solution:
    return solve(problem)


def test_default_solve_reaches_the_optimum_and_proves_it(solution: casid.Solution) -> None:
    assert solution.status == "optimal" and solution.certified and solution.restarts == 0
    assert abs(solution.objective - OPTIMUM) < 1e-10
    assert 0 <= solution.gap < 1e-7
    assert solution.lower_bound <= solution.objective
    assert solution.search_region == {}


def test_constraints_hold_when_recomputed_from_the_parameters_alone(solution: casid.Solution) -> None:
    robot = solution.problem.variables.robot
    total = 0.0
    for k, link in enumerate(robot.links):
        ten = solution.standard_parameters[10 * k : 10 * k + 10]
        mass, com, inertia = from_standard(ten)
        total += mass
        assert link.bounds.mass[0] <= mass <= link.bounds.mass[1]
        assert (link.bounds.com[:, 0] - 1e-8 <= com).all() and (com <= link.bounds.com[:, 1] + 1e-8).all()
        six = inertia[np.triu_indices(3)]
        assert (link.bounds.inertia_com[:, 0] - 1e-8 <= six).all() and (
            six <= link.bounds.inertia_com[:, 1] + 1e-8
        ).all()
        assert np.linalg.eigvalsh(pseudo_inertia(ten))[0] >= 1e-6 - 1e-14
        found = solution.link_parameters[k]
        assert found.name == link.name and found.mass == mass
    assert 16 - 1e-8 <= total <= 20 + 1e-8
    assert solution.max_violation <= 1e-8 and set(solution.violations) >= {
        "total mass",
        "link3 com",
        "link3 pseudo-inertia",
    }


def test_without_margin_the_optimum_is_smaller(problem: Problem) -> None:
    without = solve(casid.load_problem("panda_retrieval", margin=0.0))
    assert without.certified
    assert abs(without.objective - 3.8596e-4) < 1e-8


def test_no_feasible_point_lies_below_the_bound(problem: Problem, solution: casid.Solution) -> None:
    """Feasible points around the optimum and far from it, by shrinking random ones towards the interior."""
    rng = np.random.default_rng(3)
    prepared = PreparedProblem(problem, None, SolveOptions())
    interior = solve(
        problem, nominal=None, options=SolveOptions(target_gap=1e-2, certified_gap=1.0)
    ).standard_parameters
    checked = 0
    for share in np.repeat(np.logspace(-6, -0.5, 12), 6):
        x = interior + share * (solution.standard_parameters - interior) + 1e-3 * share * rng.normal(size=70)
        linear = prepared.linear.matrix @ x
        inside = (linear >= prepared.linear.lower).all() and (linear <= prepared.linear.upper).all()
        if inside and all(np.linalg.eigvalsh(pseudo_inertia(x[k : k + 10]))[0] >= 1e-6 for k in range(0, 70, 10)):
            checked += 1
            assert problem.objective(x) >= solution.lower_bound
    assert checked > 10


def test_wrong_multipliers_never_prove_too_much(problem: Problem, solution: casid.Solution) -> None:
    linear, nonlinear = split_rows(problem)
    rng = np.random.default_rng(5)
    for scale in np.logspace(-9, 3, 25):
        multipliers = scale * rng.normal(size=len(linear.rows))
        curved = scale * rng.normal(size=nonlinear.size)
        x = solution.standard_parameters + scale * rng.normal(size=70)
        found = lower_bound(problem, x, linear, multipliers, (nonlinear, curved))
        assert found.lower_bound <= solution.objective
    multipliers[:] = np.nan
    assert lower_bound(problem, x, linear, multipliers).lower_bound <= solution.objective


def test_a_false_optimum_is_not_certified(problem: Problem, solution: casid.Solution) -> None:
    linear, _ = split_rows(problem)
    x = nominal_parameters(problem)
    found = lower_bound(problem, x, linear, np.zeros(len(linear.rows)))
    assert found.lower_bound <= solution.objective < problem.objective(x)


def test_random_starts_agree_and_are_reproducible(problem: Problem, solution: casid.Solution) -> None:
    seen: list[casid.Solution] = []
    study = multistart(problem, starts=6, seed=11, progress=seen.append)
    assert isinstance(study, Study) and study.certified == 6 and len(seen) == 6
    assert study.best.starts == 6 and study.best.objective <= min(s.objective for s in study.solutions)
    for one in study.solutions:
        assert abs(one.objective - OPTIMUM) < 1e-10 and one.gap <= 1e-6 and one.max_violation <= 1e-8
    # The analytic centre of the optimal set: the parameters themselves do not depend on the start.
    assert study.spread.max() < 1e-2
    again = multistart(problem, starts=6, seed=11)
    for one, two in zip(study.solutions, again.solutions, strict=True):
        assert one.seed == two.seed
        np.testing.assert_array_equal(one.standard_parameters, two.standard_parameters)
    one = solve(problem, seed=study.solutions[4].seed)
    np.testing.assert_array_equal(one.standard_parameters, study.solutions[4].standard_parameters)


def test_solution_survives_pickling(solution: casid.Solution) -> None:
    copy = pickle.loads(pickle.dumps(solution))
    np.testing.assert_array_equal(copy.standard_parameters, solution.standard_parameters)
    assert copy.problem.variables.names == solution.problem.variables.names
    values, before = (
        copy.problem.values(copy.standard_parameters),
        solution.problem.values(solution.standard_parameters),
    )
    for label, value in before.items():
        np.testing.assert_allclose(values[label], value, rtol=1e-14)
    assert solve(copy.problem).objective == pytest.approx(OPTIMUM, rel=1e-6)


def test_a_direct_semidefinite_solver_agrees(problem: Problem, solution: casid.Solution) -> None:
    """Clarabel on the convex problem (upper bounds of the inertia are not active, hence left out)."""
    clarabel = pytest.importorskip("clarabel", reason="needs the extra test")
    sparse = pytest.importorskip("scipy.sparse")
    linear, _ = split_rows(problem)
    rows, sides = [], []
    for row, low, high in zip(linear.matrix, linear.lower, linear.upper, strict=True):
        if np.isfinite(low):
            rows.append(-row), sides.append(-low)
        if np.isfinite(high):
            rows.append(row), sides.append(high)
    blocks, right = [np.array(rows)], [np.array(sides)]
    cones = [clarabel.NonnegativeConeT(len(sides))]
    for k in range(7):
        block, side = [], []
        for j in range(4):
            for i in range(j + 1):
                form = np.zeros(70)
                form[10 * k : 10 * k + 10] = -PSEUDO_INERTIA_MAP[4 * i + j] * (1.0 if i == j else np.sqrt(2.0))
                block.append(form)
                side.append(-1e-6 if i == j else 0.0)
        blocks.append(np.array(block)), right.append(np.array(side))
        cones.append(clarabel.PSDTriangleConeT(4))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs, settings.tol_gap_rel, settings.tol_feas = 1e-13, 1e-11, 1e-12
    matrix, target = problem.objective.matrix, problem.objective.target
    found = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(2 * matrix.T @ matrix)),
        -2 * matrix.T @ target,
        sparse.csc_matrix(np.vstack(blocks)),
        np.concatenate(right),
        cones,
        settings,
    ).solve()
    assert abs(problem.objective(np.array(found.x)) - solution.objective) < 1e-9
    assert problem.objective(np.array(found.x)) >= solution.lower_bound - 1e-12


def test_two_calls_of_ipopt_reach_the_minimum() -> None:
    built = PreparedProblem(nearest(BODY))
    outcome, scale = built.minimise(built.starting_point(None, 1))
    assert outcome.good and scale > 0 and outcome.iterations > 0
    np.testing.assert_allclose(built.program.parameters(outcome.point.w), BODY, atol=1e-4)
