"""Constraints, problems of other kinds, conflicts, and bad input."""

from __future__ import annotations

import pickle

import casadi as ca
import numpy as np
import pytest

import casid
from casid.description import Inertial, Joint, Link, LinkBounds, Robot
from casid.errors import DatasetError, ProblemError, SolveError
from casid.inertia import consistency, from_standard, to_standard
from casid.inertia._parameters import spatial_inertia
from casid.retrieval import (
    Constraint,
    InfeasibleError,
    LeastSquares,
    Problem,
    base_parameter_error,
    com_box,
    inertia_bounds,
    least_squares,
    link_variables,
    mass_bounds,
    multistart,
    robot_bounds,
    soften,
    solve,
    total_mass,
)
from casid.retrieval._variables import LinkView
from casid.retrieval.constraints import PhysicalConsistency


def arm(n: int = 2, bounded: bool = True) -> Robot:
    """n links of 2 kg; bounds of a generous kind."""
    bounds = (
        LinkBounds(
            np.array([0.5, 5.0]),
            np.tile([-0.3, 0.3], (3, 1)),
            np.array([[0, 0.5], [-0.5, 0.5], [-0.5, 0.5], [0, 0.5], [-0.5, 0.5], [0, 0.5]]),
        )
        if bounded
        else LinkBounds()
    )
    inertial = Inertial(2.0, np.array([0.02, 0.0, 0.1]), np.diag([0.03, 0.04, 0.02]))
    joints = tuple(Joint(f"joint{k + 1}", "revolute", k - 1, Link(f"link{k + 1}", inertial, bounds)) for k in range(n))
    return Robot("arm", joints, total_mass=(1.0, 8.0) if bounded else (0.0, np.inf))


def identity_problem(
    target: np.ndarray, *constraints: object, robot: Robot | None = None, **options: object
) -> Problem:
    """Nearest consistent parameters to a target."""
    variables = link_variables(robot or arm(len(target) // 10))
    return Problem(
        "nearest", variables, least_squares(variables, np.eye(variables.size), target), tuple(constraints), **options
    )  # type: ignore[arg-type]


BODY = to_standard(2.0, [0.05, -0.02, 0.1], np.diag([0.03, 0.04, 0.02]))


# ---------------------------------------------------------------------- variables


def test_link_quantities_are_those_of_the_body() -> None:
    variables = link_variables(arm(2), {"fv1": (0.0, np.inf)})
    link = variables["link2"]
    assert link is variables[1] and len(variables) == 2 and [k.name for k in variables] == ["link1", "link2"]
    quantities = [link.mass, link.com, link.inertia_com, link.first_moment, link.inertia, link.pseudo_inertia]
    function = ca.Function("quantities", [variables.x], quantities)
    mass, com, inertia, moment, origin, pseudo = (
        np.array(v) for v in function(np.concatenate([np.ones(10), BODY, [0.3]]))
    )
    expected = from_standard(BODY)
    assert mass == expected[0] and variables.names[-1] == "fv1"
    np.testing.assert_allclose(com.ravel(), expected[1], atol=1e-15)
    np.testing.assert_allclose(inertia, expected[2], atol=1e-15)
    np.testing.assert_allclose(moment.ravel(), BODY[6:9])
    np.testing.assert_allclose(spatial_inertia(BODY)[:3, :3], origin)
    np.testing.assert_allclose(casid.inertia.pseudo_inertia(BODY), pseudo, atol=1e-15)
    with pytest.raises(ProblemError, match=r"no link 'link3'.*link"):
        variables["link3"]
    with pytest.raises(ProblemError, match="fv9"):
        variables.extra("fv9")
    with pytest.raises(ProblemError, match=r"'fo1'.*cross"):
        link_variables(arm(1), {"fo1": (1.0, 0.0)})


# ---------------------------------------------------------------------- solving


@pytest.mark.parametrize("kind", ["full", "semi", "none"])
def test_a_consistent_target_is_recovered(kind: str) -> None:
    target = np.concatenate([BODY, to_standard(1.0, [0, 0.1, 0], np.diag([0.02, 0.02, 0.03]))])
    found = solve(identity_problem(target, consistency=kind))
    assert found.certified and found.objective < 1e-12
    np.testing.assert_allclose(found.standard_parameters, target, atol=1e-6)


def test_full_and_semi_differ_by_the_triangle_inequality() -> None:
    """A body that breaks it is kept by ``semi`` and moved by ``full``; the distance is that of the projection."""
    target = to_standard(2.0, [0.0, 0.0, 0.0], np.diag([0.01, 0.01, 0.05]))
    kept = solve(identity_problem(target, consistency="semi"))
    moved = solve(identity_problem(target, consistency="full", margin=0.0))
    assert kept.certified and kept.objective < 1e-12 and not consistency(kept.standard_parameters).full
    assert moved.certified and consistency(moved.standard_parameters).triangle_margin > -1e-9
    # min (a - .01)^2 + (b - .01)^2 + (c - .05)^2 with c <= a + b: a distance of 0.03 / sqrt(3)
    assert moved.objective == pytest.approx(0.03**2 / 3, rel=1e-6)
    mixed = identity_problem(
        np.tile(target, 2), PhysicalConsistency(0, "link1", "semi"), consistency="full", margin=1e-9
    )
    assert solve(mixed).objective == pytest.approx(0.03**2 / 3, rel=1e-4)


def test_semi_consistency_projects_onto_the_cone() -> None:
    target = to_standard(2.0, [0.1, 0.0, 0.0], np.diag([-0.02, 0.05, 0.05]))
    found = solve(identity_problem(target, consistency="semi", margin=1e-6))
    assert found.certified and found.objective > 1e-5
    assert np.linalg.eigvalsh(spatial_inertia(found.standard_parameters))[0] >= 1e-6 - 1e-12


@pytest.mark.parametrize("constraint, value", [
    (lambda v: mass_bounds(v[0], upper=1.5), 0.5**2),
    (lambda v: total_mass(v, 3.0, 4.0), 1.0),
    (lambda v: Constraint("moment", v[0].first_moment[2], upper=0.1), 0.1**2),
    (lambda v: Constraint("inertia", v[0].inertia, lower=-0.001), None),
])  # fmt: skip
def test_linear_bounds_cost_what_they_should(constraint: object, value: float | None) -> None:
    variables = link_variables(arm(1))
    bound = constraint(variables)  # type: ignore[operator]
    problem = Problem("bounded", variables, least_squares(variables, np.eye(10), BODY), (bound,))
    found = solve(problem)
    assert found.certified and found.max_violation <= 1e-8
    assert found.violations[bound.label] <= 1e-8
    if value is not None:
        assert found.objective == pytest.approx(value, rel=1e-5)
        assert np.abs(found.multipliers[bound.label]).max() > 0.1


def test_com_box_and_inertia_bounds_hold_and_relax_tightly() -> None:
    """Upper bounds of the inertia are not convex: the gap is that of their secants, which close in with the box."""
    gaps = []
    for size in (0.01, 0.001, 0.0001):
        variables = link_variables(arm(1))
        link = variables[0]
        box = com_box(link, [-size] * 3, [size] * 3)
        inertia = inertia_bounds(link, [0.035, -0.01, -0.01, 0, -0.01, 0], [0.5, 0.01, 0.01, 0.039, 0.01, 0.5])
        found = solve(
            Problem("box", variables, least_squares(variables, np.eye(10), BODY), (box, inertia, mass_bounds(link)))
        )
        _, com, tensor = from_standard(found.standard_parameters)
        assert found.max_violation <= 1e-8 and (np.abs(com) <= size + 1e-8).all()
        assert tensor[0, 0] >= 0.035 - 1e-8 and tensor[1, 1] <= 0.039 + 1e-8
        assert found.status in ("optimal", "feasible") and found.lower_bound <= found.objective
        gaps.append(found.gap)
    assert gaps[0] < 0.2 and gaps[1] < 0.01 and gaps[2] < 2e-3


def test_soft_constraints_pay_exactly_their_weight() -> None:
    """min (m - 2)^2 + w max(0, m - 1): m = 2 - w/2 while that exceeds 1, else the bound itself (exact penalty)."""
    for weight, mass in ((0.5, 1.75), (1.0, 1.5), (10.0, 1.0)):
        variables = link_variables(arm(1))
        matrix = np.zeros((1, 10))
        matrix[0, 9] = 1.0
        soft = soften(mass_bounds(variables[0], 0.1, 1.0), weight)
        found = solve(
            Problem("soft", variables, LeastSquares(matrix, np.array([2.0])), (soft, *robot_bounds(variables)[1:]))
        )
        assert found.certified and found.standard_parameters[9] == pytest.approx(mass, abs=1e-5)
        assert found.penalty == pytest.approx(weight * max(mass - 1.0, 0.0), abs=1e-5)
        assert found.lower_bound <= found.total and found.max_violation <= 1e-8


def com_radius(link: LinkView) -> Constraint:
    """CoM within 0.10 m of the axis if z > 0.05 m, else 0.04 m."""
    x, y, z = ca.vertsplit(link.com)
    radius = ca.if_else(z > 0.05, 0.10, 0.04)
    return Constraint(f"{link.name} com radius", x**2 + y**2 - radius**2, upper=0.0)


@pytest.mark.parametrize("weight", [None, 0.01, 100.0])
def test_conditional_constraint_from_several_starts(weight: float | None) -> None:
    target = np.concatenate([to_standard(2.0, [0.2, 0, 0.1], np.diag([0.03, 0.04, 0.02]))] * 2)
    variables = link_variables(arm(2))
    constraints = [com_radius(k) if weight is None else soften(com_radius(k), weight) for k in variables]
    problem = Problem(
        "radius", variables, least_squares(variables, np.eye(20), target), (*constraints, *robot_bounds(variables))
    )
    study = multistart(problem, starts=5, seed=1)
    best = study.best
    assert sum(s.status in ("optimal", "feasible") for s in study.solutions) == 5
    assert best.max_violation <= 1e-8 and best.lower_bound <= best.total
    for k in range(2):
        _, com, _ = from_standard(best.standard_parameters[10 * k : 10 * k + 10])
        radius = float(np.hypot(com[0], com[1]))
        assert com[2] > 0.05
        if weight is None:
            assert radius == pytest.approx(0.10, abs=1e-6)
        elif weight < 1:
            assert best.penalty > 0 and radius > 0.101
        else:
            assert radius <= 0.1001
    # What was claimed as violation is what the expression gives.
    for label, value in problem.values(best.standard_parameters).items():
        if "radius" in label:
            assert best.violations[label] == pytest.approx(max(0.0, float(value[0])), abs=1e-12)
    copy = pickle.loads(pickle.dumps(best))
    assert copy.problem.values(best.standard_parameters)["link1 com radius"] == pytest.approx(
        problem.values(best.standard_parameters)["link1 com radius"]
    )


def test_unbounded_links_are_certified_within_a_stated_search_region() -> None:
    """Only the first link is seen by the data: the second stays at its nominal body, every time."""
    variables = link_variables(arm(2, bounded=False))
    matrix = np.zeros((4, 20))
    matrix[:, [0, 5, 6, 9]] = np.diag([1.0, 1.0, 1.0, 1.0])
    problem = Problem("free", variables, LeastSquares(matrix, np.array([-0.1, 0.1, 0.2, 2.0])))
    study = multistart(problem, starts=4, seed=2)
    assert study.certified == 4 and study.best.objective == pytest.approx(0.01, rel=1e-3)
    assert study.best.search_region
    assert all(10 <= times <= 1e6 for times in study.best.search_region.values())


def test_friction_is_estimated_with_the_links() -> None:
    rng = np.random.default_rng(0)
    variables = link_variables(arm(1), {"fv1": (0.0, np.inf), "fc1": (0.0, 1.0), "fo1": (-np.inf, np.inf)})
    truth = np.concatenate([BODY, [0.7, 0.3, -0.2]])
    data = rng.normal(size=(200, 13))
    torque = data @ truth + 0.01 * rng.normal(size=200)
    found = solve(Problem("regression", variables, least_squares(variables, data, torque), robot_bounds(variables)))
    assert found.certified and found.objective == pytest.approx(np.sum((data @ found.x - torque) ** 2))
    np.testing.assert_allclose(found.x, truth, atol=6e-3)
    assert found.extras["fv1"] == pytest.approx(0.7, abs=6e-3)
    wrong = np.concatenate([BODY, [-0.7, 3.0, -0.2]])
    clipped = solve(Problem("clip", variables, least_squares(variables, np.eye(13), wrong), robot_bounds(variables)))
    assert clipped.certified and clipped.objective == pytest.approx(0.7**2 + 2.0**2, rel=1e-6)


def test_many_links_from_dense_data() -> None:
    """Sousa 2014, Sec. 6.3.2: random regressor, noise; the optimum is not above that of the truth."""
    rng = np.random.default_rng(1)
    links = 12
    truth = []
    for _ in range(links):
        half = rng.normal(size=(4, 4))
        truth.append(casid.inertia.from_pseudo_inertia(half @ half.T + 0.01 * np.eye(4)))
    data = rng.normal(size=(400, 10 * links))
    torque = data @ np.concatenate(truth) + 5.0 * rng.normal(size=400)
    variables = link_variables(arm(links, bounded=False))
    problem = Problem("random", variables, least_squares(variables, data, torque))
    found = solve(problem)
    free = solve(Problem("free", variables, problem.objective, consistency="none"))
    assert found.certified and found.gap <= 1e-6 and found.objective <= problem.objective(np.concatenate(truth))
    assert free.objective < found.objective
    ordinary = np.linalg.lstsq(data, torque, rcond=None)[0]
    np.testing.assert_allclose(free.standard_parameters, ordinary, rtol=1e-4, atol=1e-4)


# ---------------------------------------------------------------------- conflicts


def test_conflicting_constraints_are_named_with_the_smallest_relaxation() -> None:
    variables = link_variables(arm(2))
    problem = Problem(
        "conflict",
        variables,
        least_squares(variables, np.eye(20), np.tile(BODY, 2)),
        (total_mass(variables, 12.0), *(mass_bounds(k, 0.0, 4.0) for k in variables)),
    )
    with pytest.raises(InfeasibleError) as caught:
        solve(problem)
    error = caught.value
    assert isinstance(error, SolveError) and error.solution is not None
    assert "total mass >= 12 kg conflicts with link1 mass <= 4 kg, link2 mass <= 4 kg" in str(error)
    assert error.relaxation == pytest.approx({"total mass >= 12 kg": 4.0}, abs=1e-5)
    with pytest.raises(InfeasibleError, match="link2 mass <= 4 kg"):
        multistart(problem, starts=3)
    assert solve(problem, throw=False).status == "infeasible"
    study = multistart(problem, starts=3, throw=False)
    assert study.best.status == "infeasible" and study.certified == 0
    again = pickle.loads(pickle.dumps(error))
    assert again.relaxation == error.relaxation
    amount = error.relaxation["total mass >= 12 kg"]
    relaxed = (total_mass(variables, 12.0 - amount - 1e-6), *problem.constraints[1:])
    assert solve(Problem("relaxed", variables, problem.objective, relaxed)).certified


def test_user_constraints_in_conflict_are_named() -> None:
    variables = link_variables(arm(1))
    link = variables[0]
    problem = Problem(
        "conflict",
        variables,
        least_squares(variables, np.eye(10), BODY),
        (com_box(link), mass_bounds(link), Constraint("reach", ca.sumsqr(link.com), lower=1.0)),
    )
    with pytest.raises(InfeasibleError, match="reach >= 1") as caught:
        solve(problem)
    assert any("com" in text for text in caught.value.conflicting)


# ---------------------------------------------------------------------- bad input


def test_bad_constraints_are_refused_by_name() -> None:
    variables = link_variables(arm(1))
    link = variables[0]
    objective = least_squares(variables, np.eye(10), BODY)
    for wrong in (1.0, ca.MX.sym("x"), ca.DM(1), "m < 3", None):
        with pytest.raises(ProblemError, match=r"constraint 'odd'.*casadi\.SX.*got"):
            Constraint("odd", wrong, upper=0.0)  # type: ignore[arg-type]
    cases = [
        (lambda: Constraint("odd", link.mass, 3.0, 2.0), "'odd': bounds cross.*3 exceeds.*2"),
        (lambda: Constraint("odd", link.com, [0, 0], 1), "expected 1 or 3 lower bounds, got 2"),
        (lambda: Constraint("odd", link.mass, np.nan), "lower bound is NaN"),
        (lambda: Constraint("odd", link.mass, "three"), "must be a number"),
        (lambda: Constraint("odd", link.mass), "bounds nothing"),
        (lambda: Constraint("", link.mass, 1.0), "label"),
        (lambda: soften(mass_bounds(link), -1.0), "weight must be positive"),
        (lambda: mass_bounds(link, 3.0, 2.0), "'link1 mass': bounds cross"),
        (lambda: total_mass(variables, 20.0, 16.0), "'total mass': bounds cross"),
        (lambda: PhysicalConsistency(link.index, link.name, "full", -1.0), "margin"),
        (lambda: Problem("p", variables, objective, (link.mass,)), "must be a Constraint with bounds, got SX"),
        (lambda: Problem("p", variables, objective, (Constraint("odd", ca.SX.sym("q"), 0.0),)), "'odd'.*symbol q"),
        (lambda: Problem("p", variables, objective, (Constraint("odd", ca.SX(1.0), 0.0),)), "'odd' does not depend"),
        (lambda: Problem("p", variables, objective, (mass_bounds(link),) * 2), "two constraints.*link1 mass"),
        (lambda: Problem("p", variables, np.eye(10)), r"must be a casadi\.SX expression, or made by least_squares"),
        (lambda: Problem("p", variables, LeastSquares(np.eye(9), np.ones(9))), "9 columns for 10 variables"),
        (lambda: multistart(identity_problem(BODY), starts=0), "at least 1"),
        (lambda: solve(identity_problem(BODY), start=np.ones(9)), "start: expected 10 numbers"),
        (lambda: solve(identity_problem(BODY), start=np.full(10, np.nan)), "'Lxx1' is NaN"),
        (lambda: identity_problem(BODY).without("nothing"), "no constraint 'nothing'"),
    ]  # fmt: skip
    for build, message in cases:
        with pytest.raises(ProblemError, match=message):
            build()  # type: ignore[no-untyped-call]


def test_bad_data_is_refused() -> None:
    variables = link_variables(arm(1))
    with pytest.raises(DatasetError, match=r"NaN or infinite entry at \[1\]"):
        base_parameter_error(variables, np.eye(10)[:3], [0.0, np.nan, 1.0])
    with pytest.raises(DatasetError, match=r"expected shape \(b, 10\)"):
        base_parameter_error(variables, np.eye(9), np.zeros(9))
    with pytest.raises(DatasetError, match=r"expected shape \(3,\)"):
        base_parameter_error(variables, np.eye(10)[:3], np.zeros(4))
    with pytest.raises(DatasetError, match="positive"):
        base_parameter_error(variables, np.eye(10)[:3], np.zeros(3), sd=[1.0, 0.0, 1.0])
    weighted = base_parameter_error(variables, np.eye(10)[:2], [1.0, 2.0], sd=[0.5, 2.0])
    assert weighted(np.zeros(10)) == pytest.approx(4.0 + 1.0)


def test_expression_that_is_nan_at_the_start() -> None:
    variables = link_variables(arm(1))
    root = Constraint("root", ca.sqrt(variables[0].mass - 3.0), lower=0.1)
    problem = Problem("nan", variables, least_squares(variables, np.eye(10), BODY), (root, *robot_bounds(variables)))
    with pytest.raises(ProblemError, match="'root' is NaN or infinite at the starting point"):
        solve(problem, start=BODY)
    heavy = to_standard(4.0, [0.0, 0.0, 0.0], np.diag([0.1, 0.1, 0.1]))
    found = solve(problem, start=heavy)
    assert found.standard_parameters[9] == pytest.approx(3.01, abs=1e-6)


def test_links_without_consistency() -> None:
    variables = link_variables(arm(1))
    target = -BODY
    problem = Problem(
        "free",
        variables,
        least_squares(variables, np.eye(10), target),
        (PhysicalConsistency(variables[0].index, variables[0].name, "none", 0.0),),
    )
    np.testing.assert_allclose(solve(problem).standard_parameters, target, atol=1e-6)
