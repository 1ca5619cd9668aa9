"""Constraints, links' quantities and cones: what they cost, what they exclude, conflicts, bad input."""

from __future__ import annotations

import pickle
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import casid
from casid.description import Inertial, Joint, Link, LinkBounds, Robot
from casid.errors import ProblemError, SolveError
from casid.expressions import evaluate
from casid.inertia import Free, Semi, consistency, from_standard, pseudo_inertia, to_standard
from casid.retrieval import (
    Constraint,
    InfeasibleError,
    LeastSquares,
    Problem,
    com_box,
    com_in_sphere,
    inertia_bounds,
    least_squares,
    link_variables,
    mass_bounds,
    multistart,
    parameter_intervals,
    robot_bounds,
    sensible_bounds,
    soften,
    solve,
    total_mass,
)
from casid.retrieval.constraints import PhysicalConsistency
from casid.testing import BODY, arm
from tests.helpers import nearest


def test_full_and_semi_differ_by_the_triangle_inequality() -> None:
    """A body that breaks it is kept by ``semi`` and moved by ``full``; the distance is that of the projection."""
    target = to_standard(2.0, [0.0, 0.0, 0.0], np.diag([0.01, 0.01, 0.05]))
    kept = solve(nearest(target, bounded=False, consistency="semi"))
    moved = solve(nearest(target, bounded=False, consistency="full", margin=0.0))
    assert kept.certified and kept.objective < 1e-12 and not consistency(kept.standard_parameters).full
    assert moved.certified and consistency(moved.standard_parameters).triangle_margin > -1e-9
    # min (a - .01)^2 + (b - .01)^2 + (c - .05)^2 with c <= a + b: a distance of 0.03 / sqrt(3)
    assert moved.objective == pytest.approx(0.03**2 / 3, rel=1e-6)
    mixed = nearest(np.tile(target, 2), lambda v: PhysicalConsistency(0, "link1", "semi"), bounded=False, margin=1e-9)
    assert solve(mixed).objective == pytest.approx(0.03**2 / 3, rel=1e-4)


@pytest.mark.parametrize("constraint, value", [
    (lambda v: mass_bounds(v[0], upper=1.5), 0.5**2),
    (lambda v: total_mass(v, 3.0, 4.0), 1.0),
    (lambda v: Constraint("moment", v[0].first_moment[2], upper=0.1), 0.1**2),
    (lambda v: Constraint("inertia", v[0].inertia, lower=-0.001), None),
])  # fmt: skip
def test_linear_bounds_cost_what_they_should(constraint, value: float | None) -> None:
    found = solve(nearest(BODY, constraint, bounded=False))
    assert found.certified and found.max_violation <= 1e-8
    if value is not None:
        assert found.objective == pytest.approx(value, rel=1e-5)
        assert np.abs(found.multipliers[found.problem.constraints[0].label]).max() > 0.1


def test_com_box_and_inertia_bounds_hold_and_relax_tightly() -> None:
    """Upper bounds of the inertia are not convex: the gap is that of their secants, which close in with the box."""
    gaps = []
    for size in (0.01, 0.001, 0.0001):
        found = solve(nearest(BODY, lambda v, size=size: (
            mass_bounds(v[0]), com_box(v[0], [-size] * 3, [size] * 3),
            inertia_bounds(v[0], [0.035, -0.01, -0.01, 0, -0.01, 0], [0.5, 0.01, 0.01, 0.039, 0.01, 0.5]),
        ), bounded=False))  # fmt: skip
        _, com, tensor = from_standard(found.standard_parameters)
        assert found.max_violation <= 1e-8 and (np.abs(com) <= size + 1e-8).all()
        assert tensor[0, 0] >= 0.035 - 1e-8 and tensor[1, 1] <= 0.039 + 1e-8
        assert found.status in ("optimal", "feasible") and found.lower_bound <= found.objective
        gaps.append(found.gap)
    assert gaps[0] < 0.2 and gaps[1] < 0.01 and gaps[2] < 2e-3


def test_soft_constraints_pay_exactly_their_weight() -> None:
    """min (m - 2)^2 + w max(0, m - 1): m = 2 - w/2 while that exceeds 1, else the bound itself (exact penalty)."""
    for weight, mass in ((0.5, 1.75), (1.0, 1.5), (10.0, 1.0)):
        variables = link_variables(arm())
        matrix = np.zeros((1, 10))
        matrix[0, 9] = 1.0
        soft = soften(mass_bounds(variables[0], 0.1, 1.0), weight)
        found = solve(
            Problem("soft", variables, LeastSquares(matrix, np.array([2.0])), (soft, *robot_bounds(variables)[1:]))
        )
        assert found.certified and found.standard_parameters[9] == pytest.approx(mass, abs=1e-5)
        assert found.penalty == pytest.approx(weight * max(mass - 1.0, 0.0), abs=1e-5)
        assert found.lower_bound <= found.total and found.max_violation <= 1e-8


def com_radius(link) -> Constraint:
    """CoM within 0.10 m of the axis if z > 0.05 m, else 0.04 m."""
    x, y, z = ca.vertsplit(link.com)
    radius = ca.if_else(z > 0.05, 0.10, 0.04)
    return Constraint(f"{link.name} com radius", x**2 + y**2 - radius**2, upper=0.0)


@pytest.mark.parametrize("weight", [None, 0.01, 100.0])
def test_conditional_constraint_from_several_starts(weight: float | None) -> None:
    target = np.concatenate([to_standard(2.0, [0.2, 0, 0.1], np.diag([0.03, 0.04, 0.02]))] * 2)
    problem = nearest(target, lambda v: [com_radius(k) if weight is None else soften(com_radius(k), weight) for k in v])
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


def test_unbounded_links_are_certified_within_a_stated_search_region() -> None:
    """Only the first link is seen by the data: the second stays at its nominal body, every time."""
    variables = link_variables(arm(2))
    matrix = np.zeros((4, 20))
    matrix[:, [0, 5, 6, 9]] = np.diag([1.0, 1.0, 1.0, 1.0])
    problem = Problem("free", variables, LeastSquares(matrix, np.array([-0.1, 0.1, 0.2, 2.0])))
    study = multistart(problem, starts=4, seed=2)
    assert study.certified == 4 and study.best.objective == pytest.approx(0.01, rel=1e-3)
    assert study.best.search_region
    assert all(10 <= times <= 1e6 for times in study.best.search_region.values())


def test_friction_is_estimated_with_the_links() -> None:
    rng = np.random.default_rng(0)
    variables = link_variables(arm(), {"fv1": (0.0, np.inf), "fc1": (0.0, 1.0), "fo1": (-np.inf, np.inf)})
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
    variables = link_variables(arm(links))
    problem = Problem("random", variables, least_squares(variables, data, torque))
    found = solve(problem)
    free = solve(Problem("free", variables, problem.objective, consistency="none"))
    assert found.certified and found.gap <= 1e-6 and found.objective <= problem.objective(np.concatenate(truth))
    assert free.objective < found.objective
    ordinary = np.linalg.lstsq(data, torque, rcond=None)[0]
    np.testing.assert_allclose(free.standard_parameters, ordinary, rtol=1e-4, atol=1e-4)


def test_conflicting_constraints_are_named_with_the_smallest_relaxation() -> None:
    def rows(v):
        return total_mass(v, 12.0), [mass_bounds(k, 0.0, 4.0) for k in v]

    problem = nearest(np.tile(BODY, 2), rows, bounded=False)
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
    less = total_mass(problem.variables, 12.0 - amount - 1e-6)
    assert solve(problem.without("total mass").add(less)).certified


def test_bad_constraints_are_refused_by_name() -> None:
    stated = nearest(BODY)
    variables, objective, link = stated.variables, stated.objective, stated.variables[0]
    for wrong in (1.0, ca.DM(1), "m < 3", None):
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
        (lambda: Problem("p", variables, objective, (link.mass,)), "bounds nothing"),
        (lambda: Problem("p", variables, objective, (Constraint("odd", ca.SX.sym("q"), 0.0),)), "'odd'.*symbol q"),
        (lambda: Problem("p", variables, objective, (Constraint("odd", ca.SX(1.0), 0.0),)), "'odd' does not depend"),
        (lambda: Problem("p", variables, objective, (mass_bounds(link),) * 2), "two constraints.*link1 mass"),
        (lambda: Problem("p", variables, np.eye(10)), r"must be a casadi\.SX expression, or made by least_squares"),
        (lambda: Problem("p", variables, LeastSquares(np.eye(9), np.ones(9))), "9 columns for 10 variables"),
        (lambda: multistart(nearest(BODY), starts=0), "at least 1"),
        (lambda: solve(nearest(BODY), start=np.ones(9)), "start: expected 10 numbers"),
        (lambda: solve(nearest(BODY), start=np.full(10, np.nan)), "'Lxx1' is NaN"),
        (lambda: nearest(BODY).without("nothing"), "no constraint 'nothing'"),
    ]  # fmt: skip
    for build, message in cases:
        with pytest.raises(ProblemError, match=message):
            build()  # type: ignore[no-untyped-call]


def test_expression_that_is_nan_at_the_start() -> None:
    variables = link_variables(arm())
    root = Constraint("root", ca.sqrt(variables[0].mass - 3.0), lower=0.1)
    problem = Problem("nan", variables, least_squares(variables, np.eye(10), BODY), (root, *sensible_bounds(variables)))
    with pytest.raises(ProblemError, match="'root' is NaN or infinite at the starting point"):
        solve(problem, start=BODY)
    heavy = to_standard(4.0, [0.0, 0.0, 0.0], np.diag([0.1, 0.1, 0.1]))
    found = solve(problem, start=heavy)
    assert found.standard_parameters[9] == pytest.approx(3.01, abs=1e-6)


def test_expression_that_is_nan_at_the_bodies_of_the_certificate() -> None:
    """Without bounds on the link the certificate solves once more: from the solution where it cannot from a body."""
    variables, rng = link_variables(arm()), np.random.default_rng(0)
    root = Constraint("root", ca.sqrt(variables[0].mass - 1.5), upper=100.0)
    A, heavy = rng.normal(size=(6, 10)), to_standard(2.0, [0.0, 0.0, 0.0], np.diag([0.1, 0.1, 0.1]))
    objective = least_squares(variables, A, A @ heavy + 3.0 * rng.normal(size=6))
    assert solve(Problem("nan", variables, objective, (root,)), start=heavy).certified


def test_quantities_of_a_link_are_those_of_its_body() -> None:
    variables = link_variables(arm(), {"fv1": (0.0, np.inf)})
    x = np.append(BODY, 0.3)
    mass, com, inertia = from_standard(BODY)
    link = variables["link1"]
    for expression, value in (
        (link.mass, [mass]), (link.com, com), (link.inertia_com, inertia), (link.pseudo_inertia, pseudo_inertia(BODY)),
        (variables.extra("fv1"), [0.3]),
    ):  # fmt: skip
        np.testing.assert_allclose(evaluate(expression, variables.x, x), np.ravel(value, order="F"), atol=1e-15)
    assert variables.names[-1] == "fv1" and variables.size == 11 and variables.standard_size == 10


def test_extras_with_crossing_bounds_or_taken_names_are_refused() -> None:
    for extras in ({"m1": (0.0, 1.0)}, {"fv1": (1.0, 0.0)}, {"fv1": (np.nan, 1.0)}):
        with pytest.raises(ProblemError):
            link_variables(arm(), extras)


@pytest.mark.claim("edits of a problem lose no link's consistency")
def test_consistency_survives_every_edit() -> None:
    problem = nearest(
        np.tile(BODY, 2),
        lambda v: (
            PhysicalConsistency(v[0].index, v[0].name, "semi", 1e-5),
            [PhysicalConsistency(v[1].index, v[1].name, "none", 0.0)],
        ),
    )
    kinds = [(Semi(), 1e-5), (Free(), 0.0)]
    more = mass_bounds(problem.variables[0], 1.0, 3.0)
    edits = (
        problem,
        replace(problem, constraints=(*problem.constraints, replace(more, label="more"))),
        problem.add([replace(more, label="a"), (replace(more, label="b"),)]),
        problem.without("link1 mass"),
        replace(problem, constraints=()),
    )
    for edited in edits:
        assert [(entry.cone, entry.margin) for entry in edited.cones] == kinds
    assert [c.weight for c in soften(problem.constraints[:2], 2.0)] == [2.0, 2.0]


def test_sensible_bounds_are_four_times_the_nominal_mass_and_twice_the_longest_placement() -> None:
    far = np.eye(4)
    far[:3, 3] = [0.0, 0.0, 1.5]
    near = np.eye(4)
    near[:3, 3] = [0.3, 0.0, 0.0]
    joints = (
        Joint("a", "revolute", -1, Link("one", Inertial(2.0, np.zeros(3), np.eye(3))), placement=far),
        Joint("b", "revolute", 0, Link("two", Inertial(0.1, np.zeros(3), np.eye(3))), placement=near),
        Joint("c", "revolute", 1, Link("three"), placement=near),
        Joint("d", "revolute", 2, Link("four", bounds=LinkBounds(np.array([-1.0, 3.0]))), placement=near),
    )
    made = {c.label: c for c in sensible_bounds(link_variables(Robot("four", joints)))}
    masses = [(made[f"{name} mass"].lower[0], made[f"{name} mass"].upper[0]) for name in ("one", "two", "three")]
    assert masses == [(0.0, 8.0), (0.0, 1.0), (0.0, 100.0)]
    assert (made["four mass"].lower[0], made["four mass"].upper[0]) == (-1.0, 3.0)
    assert made["one extent"].upper[0] == pytest.approx(9.0) and "total mass" not in made
    small = {c.label: c for c in sensible_bounds(link_variables(arm()))}
    assert small["link1 extent"].upper[0] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("lower", "upper", "side", "text"),
    [
        (1.0, np.inf, "both", "x >= 1"),
        (-np.inf, 2.0, "both", "x <= 2"),
        (1.0, 2.0, "both", "1 <= x <= 2"),
        (1.0, 2.0, "lower", "x >= 1"),
        (1.0, 2.0, "upper", "x <= 2"),
    ],
)
def test_a_bound_in_words(lower: float, upper: float, side: str, text: str) -> None:
    assert Constraint("x", ca.SX.sym("x"), lower, upper).bound_text(0, side) == text  # type: ignore[arg-type]


def rows_of(expression: ca.SX, lower: float, upper: float) -> list[tuple[bool, float, float, str]]:
    problem = nearest(BODY)
    made = Constraint("row", ca.substitute(expression, X, problem.variables.x), lower, upper)
    return [(row.linear, row.lower, row.upper, row.side) for row in made.solver_rows(problem.setting)]


X = ca.SX.sym("x", 10)


LINEAR, OTHER, CURVED = X[6] + X[9], X[7] - X[9], ca.tanh(X[8])


@pytest.mark.parametrize(
    ("expression", "lower", "upper", "rows"),
    [
        (LINEAR, 1.0, 2.0, [(True, 1.0, 2.0, "both")]),
        (CURVED, 0.1, 0.2, [(False, 0.1, 0.2, "both")]),
        (ca.fmin(LINEAR, OTHER), 1.0, np.inf, [(True, 1.0, np.inf, "lower")] * 2),
        (ca.fmax(LINEAR, OTHER), -np.inf, 2.0, [(True, -np.inf, 2.0, "upper")] * 2),
        (ca.fmin(LINEAR, OTHER), 1.0, 2.0, [(True, 1.0, np.inf, "lower")] * 2 + [(False, -np.inf, 2.0, "upper")]),
        (ca.fmin(LINEAR, OTHER), -np.inf, 2.0, [(False, -np.inf, 2.0, "both")]),
        (ca.fmin(LINEAR, CURVED), 1.0, np.inf, [(False, 1.0, np.inf, "both")]),
        (ca.fmin(LINEAR, 9.0), -np.inf, 2.0, [(True, -np.inf, 2.0, "upper")]),  # 9 is no way to be below 2
        (ca.fmin(LINEAR, 9.0), 1.0, np.inf, [(True, 1.0, np.inf, "lower")]),
        (ca.fmax(X[6] / X[9], OTHER), -np.inf, 2.0, [(True, 0.0, np.inf, "upper"), (True, -np.inf, 2.0, "upper")]),
    ],
)
def test_minima_and_maxima_are_taken_apart_where_their_parts_are_linear(expression, lower, upper, rows) -> None:
    assert rows_of(expression, lower, upper) == rows


def test_a_conflict_blames_no_soft_constraint() -> None:
    v = link_variables(arm())
    hard = (mass_bounds(v[0], 1.0, 2.0), Constraint("heavy", v[0].mass, lower=3.0))
    wish = soften(Constraint("wish", v[0].mass, lower=5.0), 1.0)
    found = solve(Problem("no", v, least_squares(v, np.eye(10), BODY), (*hard, wish)), throw=False)
    assert found.conflict is not None and set(found.conflict.conflicting) == {"heavy >= 3", "link1 mass <= 2 kg"}


def test_a_conflict_of_curved_constraints_is_proven_by_their_cuts() -> None:
    """The centre of mass within 5 cm of the origin and 20 cm away from it along x."""
    stated = nearest(
        BODY, lambda v: (Constraint("near", ca.sumsqr(v[0].com), upper=0.05**2),
                         Constraint("far", v[0].com[0], lower=0.2)),
    )  # fmt: skip
    with pytest.raises(InfeasibleError, match=r"far >= 0\.2") as caught:
        solve(stated)
    assert caught.value.solution.conflict.proven
    body = to_standard(2.0, [0.2, 0.0, 0.0], 0.01 * np.eye(3))
    assert stated.violations(body)["near"] > 0


@pytest.mark.claim("without consistency and with negative masses a box of the centre of mass is not flipped")
def test_negative_mass_keeps_the_box() -> None:
    target = -BODY
    problem = nearest(
        target,
        lambda v: (PhysicalConsistency(v[0].index, v[0].name, "none", 0.0), com_box(v[0], -0.3, 0.3)),
        bounded=False,
    )
    inside = from_standard(target)[1]
    assert (np.abs(inside) < 0.3).all()
    found = solve(problem, start=target)
    assert found.max_violation <= 1e-8 and found.objective == pytest.approx(0.0, abs=1e-9)
    assert found.lower_bound <= 1e-9


@pytest.mark.claim("a search region never excludes the solution it belongs to")
def test_enormous_extras() -> None:
    target = np.append(BODY, 1e12)
    problem = nearest(target, lambda v: (), extras={"fv1": (0.0, np.inf)})
    found = solve(problem, throw=False)
    assert found.lower_bound <= problem.objective(target) + 1e-6
    assert all(found.extras[name] <= factor for name, factor in found.search_region.items() if name in found.extras)


@pytest.mark.claim("links of grams and millimetres keep their inertia")
def test_small_links_keep_their_inertia() -> None:
    truth = to_standard(2e-3, [1e-3, 0.0, 2e-3], np.diag([2e-9, 3e-9, 2.5e-9]))
    problem = nearest(truth, lambda v: (mass_bounds(v[0], 0.0, 1e-2), com_box(v[0], -5e-3, 5e-3)), bounded=False)
    found = solve(problem)
    assert np.abs(found.x - truth)[:6].max() <= 0.02 * truth[3]
    assert problem.cones[0].margin < 1e-10
    assert casid.load_problem("panda_retrieval").cones[0].margin == 1e-6
    assert np.linalg.eigvalsh(pseudo_inertia(found.x))[0] >= problem.cones[0].margin


@pytest.mark.claim("the weight of a soft expression prices the expression, not the expression times a mass")
def test_a_soft_expression_is_priced_in_its_own_unit():
    body = to_standard(5.0, [0.02, 0.0, 0.0], 0.01 * np.eye(3))
    solution = solve(nearest(body, lambda v: (
        mass_bounds(v[0], 1.0, 8.0), Constraint("far out", v[0].com[0], lower=0.5, weight=0.3)), bounded=False,
    ))  # fmt: skip
    x = solution.x
    assert solution.penalty == pytest.approx(0.3 * (0.5 - x[6] / x[9]), rel=1e-9)
    assert solution.lower_bound <= solution.total


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
def test_a_link_that_nothing_bounds_may_weigh_a_thousand_tonnes():
    heavy, light = to_standard(1e6, [0, 0, 0.1], 1e5 * np.eye(3)), to_standard(1.0, [0, 0, 0.1], 0.01 * np.eye(3))
    problem = nearest(
        np.concatenate([heavy, light]), lambda v: Constraint("light", v[1].com[2] ** 2 + v[1].com[0], 0.02),
        bounded=False,
    )  # fmt: skip
    assert problem.violations(np.concatenate([heavy, light]))["light"] == pytest.approx(0.01)
    solution = solve(problem)
    assert solution.status in ("optimal", "feasible") and solution.objective <= 2e-4
    np.testing.assert_allclose(solution.x[:10], heavy, rtol=1e-6, atol=1e-3)


def test_constraints_keep_their_kinds_and_values():
    links = link_variables(arm(), {"f": (0.0, 1.0)})
    rule = ca.if_else(links[0].mass > 1, links[0].com[0], links.extra("f"))
    ball = com_in_sphere(links[0], [0.0, 0.1, 0.0], 0.2)
    before = (mass_bounds(links[0], 0.5, 2.0), soften(Constraint("rule", rule, upper=0.1), 3.0), *ball)
    objective = links[0].mass ** 2 + ca.tanh(links.extra("f")) + 1
    problem = Problem("sent", links, objective, before)
    sent = pickle.loads(pickle.dumps(problem))
    others, after = sent.variables, sent.constraints
    at = np.random.default_rng(0).uniform(0.5, 1.5, links.size)
    for one, other in zip(problem.constraints, after, strict=True):
        assert type(one) is type(other) and (one.label, one.weight) == (other.label, other.weight)
        assert np.array_equal(one.lower, other.lower) and np.array_equal(one.upper, other.upper)
        np.testing.assert_array_equal(one.value(links.x, at), other.value(others.x, at))
    assert sent.value(at) == problem.value(at) and len(after) == len(before) + 1


@pytest.mark.claim("a constraint's expression, replaced, is what is solved and re-checked")
@pytest.mark.parametrize("kind", ["com", "mass", "inertia"])
def test_a_replaced_expression_is_never_ignored(kind: str) -> None:
    stated = nearest(BODY, lambda v: inertia_bounds(v[0], 0, 1))
    given = dict(zip(("mass", "com", "inertia"), stated.constraints, strict=True))
    with pytest.raises(ValueError, match="expression"):  # that of a link quantity follows from the link
        replace(given[kind], expression=given[kind].expression + 0.2)
    moved = given[kind].with_expression(given[kind].expression + 0.2)
    assert type(moved) is Constraint
    problem, x = stated.without(given[kind].label, "link1 inertia").add(moved), stated.variables.x
    np.testing.assert_allclose(problem.values(BODY)[moved.label], given[kind].value(x, BODY) + 0.2)
    found = solve(problem, throw=False)
    violation = moved.violation(moved.value(x, found.x))
    assert violation <= 1e-8 or not found.usable
    assert found.violations[moved.label] == pytest.approx(violation, abs=1e-12)


@pytest.mark.claim("a constant NaN in a constraint is named, wherever it stands in the expression")
def test_constant_nan_in_an_expression() -> None:
    link = link_variables(arm())[0]
    nan = float("nan")
    s = ca.SX.sym("s")
    called = ca.Function("own", [s], [s + nan], {"never_inline": True})
    for expression in (
        link.mass * nan, ca.if_else(link.com[0] > 0, nan, 1), ca.if_else(link.com[0] > nan, 2, 1), called(link.mass)
    ):  # fmt: skip
        with pytest.raises(ProblemError, match="'c': the expression contains the constant NaN"):
            Constraint("c", expression, upper=1.0)


@pytest.mark.claim("no problem starts at the simulated robot's true parameters")
def test_the_two_link_robot_does_not_hold_the_truth() -> None:
    problem = casid.load_problem("spatial_2r", shapes="exact")
    robot = problem.variables.robot
    assert all(link.inertial is None for link in robot.links)
