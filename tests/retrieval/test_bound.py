"""Relaxations never cut off a feasible point; if-else is read off the graph, enumerated, smoothed, re-checked."""

from __future__ import annotations

import warnings
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import casid
from casid.errors import BoundWarning, ProblemError
from casid.expressions import alternatives, choose, conditions, enclose, smooth
from casid.inertia import from_pseudo_inertia, pseudo_inertia, to_standard
from casid.retrieval import Constraint, Global, Problem, explain, soften, solve
from casid.retrieval._combinations import branches_at, combinations
from casid.retrieval._region import com_quotients, find_quadric
from casid.retrieval._rows import split_rows
from casid.retrieval.bound._certificate import Search, lower_bound
from casid.retrieval.bound._cuts import ComSet, Relaxation, depends_on_com_only
from casid.retrieval.methods._branching import Branches, Smoothed
from casid.retrieval.program._starts import nominal_parameters, random_parameters
from casid.testing import BODY, nearest
from problems import cookbook
from problems.spatial_2r import true_parameters


def feasible_points(problem, count=60):
    """Random points that meet every nonlinear constraint that is not an equality."""
    rng = np.random.default_rng(2)
    points = []
    for _ in range(1200):
        x = random_parameters(problem, rng)
        values = problem.values(x)
        if all(c.violation(values[c.label]) <= 1e-12 for c in problem.constraints if not (c.lower == c.upper).any()):
            points.append(x)
        if len(points) == count:
            break
    return points


def test_cuts_hold_at_every_feasible_point(panda):
    links = panda.variables
    c, inertia = links[3].com, links[3].inertia_com
    extra = (
        Constraint("ball", 0.08**2 - ca.sumsqr(c), lower=0.0),
        Constraint("far", ca.sumsqr(links[2].com), lower=0.03**2),
        Constraint("product", inertia[0, 1], -1e-2, 1e-2),
        Constraint("difference", inertia[0, 0] - inertia[1, 1], -5e-2, 5e-2),
        Constraint("root", 0.1 - ca.sqrt(1e-6 + ca.sumsqr(links[4].com)), lower=0.0),
        Constraint("steps", ca.if_else(links[6].com[2] < 0.09, 0.05, 0.02) ** 2 - links[6].com[0] ** 2, lower=0.0),
    )
    problem = panda.without("total mass").with_constraints(extra)
    relaxation = Relaxation(problem)
    inside = feasible_points(problem)
    assert len(inside) >= 5
    rng = np.random.default_rng(3)
    made = 0
    for _ in range(3):
        near = random_parameters(panda, rng)
        cuts = [cut for side in relaxation.sides for cut in relaxation.side_cuts(side, near)] + relaxation.set_cuts(
            near
        )
        made += len(cuts)
        for cut in cuts:
            for x in inside:
                assert cut.form @ x - cut.low >= -1e-9 * (np.abs(cut.form) @ np.abs(x))
    assert made > 15
    assert set(relaxation.nonconvex) == {"far", "product", "difference", "root", "steps"}


def test_quadratic_forms_reproduce_the_expression(panda):
    x, links = panda.variables.x, panda.variables
    c = links[2].com
    rng = np.random.default_rng(0)
    for expression, power in (
        (0.1 - c[0] ** 2 - 2 * c[1] * c[2], 2),
        (links[2].inertia_com[0, 2], 1),
        (0.3 * links[2].mass ** 2 - ca.sumsqr(links[2].first_moment), 0),
    ):
        form = find_quadric(expression, x, 7)
        assert form is not None and form.link == 2 and form.power == power
        point = rng.uniform(0.5, 1.5, 70)
        ten = point[20:30]
        value = form.inertia @ ten[:6] + form.moment @ ten[6:9] + form.mass * ten[9]
        value += ten[6:9] @ form.square @ ten[6:9] / ten[9]
        expected = float(ca.Function("e", [x], [expression])(point)) * ten[9] ** (power - 1)
        assert value == pytest.approx(expected, rel=1e-9)
    for expression in (c[0] ** 3, ca.fabs(c[0]), c[0] - links[3].com[0], ca.if_else(c[0] < 0, c[1], c[1])):
        assert find_quadric(expression, x, 7) is None


def test_cone_cuts_hold_from_any_point(panda):
    """Also from points outside the cone and from its other nappe."""
    c = panda.variables[2].com
    form = find_quadric((0.1 - 0.5 * c[2]) ** 2 - c[0] ** 2 - c[1] ** 2, panda.variables.x, 7)
    box = np.array([[-0.3, 0.3], [-0.3, 0.3], [-0.1, 0.2]])  # the apex is at z = 0.2
    assert form is not None and form.lorentz(box) is not None
    assert form.lorentz(np.array([[-0.3, 0.3], [-0.3, 0.3], [-0.1, 0.3]])) is None
    rng = np.random.default_rng(4)
    inside = rng.uniform(box[:, 0], box[:, 1], (2000, 3))
    inside = inside[np.hypot(inside[:, 0], inside[:, 1]) <= 0.1 - 0.5 * inside[:, 2]]
    for point in rng.uniform(-1, 1, (50, 3)):
        (cut,) = form.cuts(box, np.concatenate([np.zeros(6), point, [1.0]]))
        assert (inside @ cut[6:9] + cut[9] >= -1e-9 * np.abs(cut).max()).all()


def test_interval_arithmetic_encloses_samples(panda):
    x = panda.variables.x
    c, m = panda.variables[1].com, panda.variables[1].mass
    expressions = ca.vertcat(
        c[0] ** 2 - c[1],
        ca.sqrt(ca.fabs(c[2])),
        ca.fmin(c[0], c[1]) * m,
        ca.if_else(c[0] < 0.01, ca.sin(c[1]), ca.cos(c[2])),
        ca.exp(c[0]) / (2 + c[1]),
        ca.if_else(ca.logic_not(c[1] <= 0), m**3, -m),
        ca.fmax(ca.tanh(c[0]), ca.atan(c[1])),
    )
    function = ca.Function("f", [x], [expressions])
    rng = np.random.default_rng(1)
    low, high = rng.uniform(-1, 0, 70), rng.uniform(0, 1, 70)
    low[9::10], high[9::10] = 0.5, 2.0
    box = np.sort(rng.uniform(-0.3, 0.3, (3, 2)), axis=1)
    ranges = enclose(function, low, high, com_quotients(1, box))
    for _ in range(300):
        point = rng.uniform(low, high)
        point[16:19] = point[19] * rng.uniform(box[:, 0], box[:, 1])
        for value, interval in zip(np.array(function(point)).ravel(), ranges, strict=True):
            assert interval.low - 1e-12 <= value <= interval.high + 1e-12


def test_support_of_a_set_of_centres(panda):
    x = panda.variables.x
    c = panda.variables[1].com
    ball = ca.Function("b", [x], [0.1**2 - ca.sumsqr(c)])
    assert depends_on_com_only(ball, 70, 7) == 1
    assert depends_on_com_only(ca.Function("b", [x], [c[0] * panda.variables[1].mass]), 70, 7) is None
    centres = ComSet(1, np.tile([-0.2, 0.15], (3, 1)), (ball,), 70)
    for direction in np.eye(3):
        height = centres.support(direction, centres.cells(), 1e-3)
        assert 0.1 <= height <= 0.105


def test_branches_are_read_off_the_graph():
    problem = casid.load_problem("spatial_2r")
    x = problem.variables.x
    truth = true_parameters()
    shape = problem.constraints[-1]
    (condition,) = conditions(shape.expression, x)
    at = ca.Function(
        "at",
        [x],
        [
            shape.expression,
            choose(shape.expression, x, {condition.key: False}),
            choose(shape.expression, x, {condition.key: True}),
            smooth(shape.expression, x, 1e-4),
        ],
    )
    whole, cone, cylinder, smoothed = (float(v) for v in at(truth))
    assert whole == pytest.approx(cone) and whole == pytest.approx(0.05**2)
    assert cylinder == pytest.approx(0.08**2)
    assert smoothed == pytest.approx(whole, abs=1e-6)
    (branch,) = branches_at(problem, truth)
    assert not branch.holds and branch.margin == pytest.approx(-0.1)
    parts = [(part.chosen, part.problem) for part in combinations(problem) if part.problem is not None]
    assert len(parts) == 2
    (best,) = {p.solution.status for p in casid.solve(problem, method=Branches()).trace}
    assert best == "optimal"


def test_nested_alternatives(panda):
    x = panda.variables.x
    c = panda.variables[3].com
    nested = ca.fmax(ca.fmin(c[0], c[1]), ca.fmin(c[2], ca.fmax(c[0] - 1, c[1] - 1)))
    options = alternatives(nested, x)
    assert [option.numel() for option in options] == [2, 2, 2]
    rng = np.random.default_rng(0)
    for _ in range(50):
        point = rng.uniform(-2, 2, 70)
        point[39] = 1.0
        whole = float(ca.Function("w", [x], [nested])(point)) >= 0
        split = any((np.array(ca.Function("o", [x], [option])(point)) >= 0).all() for option in options)
        assert whole == split


def test_enumeration_beats_the_wrong_branch():
    problem = casid.load_problem("cookbook", recipe="if_else")
    found = casid.solve(problem, method=Global())
    assert found.certified
    assert explain(found).branches[0].constraint == "link4 com in its housing"
    smoothed = casid.solve(problem, method=Smoothed())
    assert smoothed.max_violation <= 1e-8
    assert smoothed.objective >= found.lower_bound


def test_relaxed_bound_is_below_every_feasible_solution():
    problem = casid.load_problem("cookbook", recipe="tube")
    solution = casid.solve(problem)
    others = [casid.solve(problem, seed=seed, throw=False) for seed in range(3)]
    assert all(solution.lower_bound <= s.total for s in others if s.max_violation <= 1e-8)
    assert solution.lower_bound > casid.solve(casid.load_problem("panda_retrieval")).objective * (1 + 1e-3)


def test_soft_nonlinear_constraint_has_a_finite_bound(panda):
    ball = soften(Constraint("ball", 0.05**2 - ca.sumsqr(panda.variables[3].com), lower=0.0), weight=1e-3)
    solution = casid.solve(panda.with_constraints(ball))
    assert 3.8e-4 <= solution.lower_bound <= solution.total
    assert explain(solution).open == ("ball",)


def test_dead_branch_and_too_many_branches(panda):
    c = panda.variables[3].com
    dead = Constraint("housing", ca.if_else(c[0] < -1.0, 0.1, 0.2) - c[1], lower=0.0)
    with pytest.raises(ProblemError, match=r"housing.*always false.*dead"):
        casid.solve(panda.with_constraints(dead))
    sides = (c[0], c[1], c[2], c[0] + c[1])
    many = [Constraint(f"k{k}", ca.if_else(side < 0.01, 0.3, 0.2) - c[1], lower=0.0) for k, side in enumerate(sides)]
    with pytest.raises(ProblemError, match="more than 8 combinations"):
        list(combinations(panda.with_constraints(many), most=8))
    with pytest.raises(ProblemError, match="method"):
        casid.solve(panda, method="magic")


def test_every_recipe_has_a_line_of_explanation():
    for name, recipe in {**cookbook.CONVEX, **cookbook.NONCONVEX}.items():
        assert recipe.__doc__ and recipe.__name__ == name


def test_one_rule_for_all_links_may_be_decided_on_some():
    problem = casid.load_problem("panda_retrieval")  # the centre of mass of link 7 lies above 0.04 m by its bounds

    def radius(link):
        x, y, z = ca.vertsplit(link.com)
        return Constraint(f"{link.name} radius", x**2 + y**2 - ca.if_else(z > -0.05, 0.08, 0.05) ** 2, upper=0.0)

    rules = tuple(radius(link) for link in problem.variables)
    solution = casid.solve(problem.with_constraints(rules))
    assert solution.status in ("feasible", "optimal") and solution.max_violation <= 1e-8
    alone = next(rule for rule in rules if rule.label == "link7 radius")
    with pytest.raises(ProblemError, match=r"link7 radius.*always true.*dead"):
        casid.solve(problem.with_constraints(alone))


@pytest.mark.claim("a bound counts what its own point gains by missing the rows a little")
@pytest.mark.parametrize("width", [-2e-11, 0.0, 1e-12])
def test_a_sliver_does_not_contradict_its_bound(width: float) -> None:
    def slivers(v):
        m, x = v[0].mass, v[0].first_moment[0]
        return Constraint("above", x - 0.1 * m, lower=0.0), Constraint("below", x - (0.1 + width) * m, upper=0.0)

    target = to_standard(BODY[9], [0.3, 0.0, 0.1], np.diag([0.02, 0.02, 0.03]))
    problem = nearest(target, slivers, bounded=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", BoundWarning)
        found = solve(problem, throw=False)
    assert found.lower_bound <= found.total * (1 + 1e-9)


@pytest.mark.claim("no bound exceeds the value of the point it was made at, whatever that point misses")
@pytest.mark.parametrize("consistency", ["full", "semi"])
def test_no_bound_exceeds_its_own_point(consistency: str) -> None:
    def build(v):
        both = v[0].mass + v[1].mass
        return (
            Constraint("total", both, lower=4.0, upper=4.0),
            soften(Constraint("light", v[1].mass, upper=1.5), weight=3.0),
            Constraint("above", v[0].inertia_com[0, 0], lower=0.03),
        )

    target = np.concatenate([BODY, BODY, [0.2]])
    problem = nearest(target, build, {"fv1": (0.0, 1.0)}, consistency=consistency)
    linear, curved = split_rows(problem)
    rng, nominal = np.random.default_rng(0), nominal_parameters(problem)
    relaxation = Relaxation(problem)
    inside = [random_parameters(problem, rng) for _ in range(20)]
    for k in range(400):
        x = inside[k % 20] + 10.0 ** rng.uniform(-14, 0) * rng.normal(size=len(target))
        # multipliers of slivers: enormous, and on both sides
        given = [10.0 ** rng.uniform(-3, 15) * rng.normal(size=len(rows.rows)) for rows in (linear, curved)]
        curves, search = (curved, given[1]), Search(nominal, 1e3)
        found = lower_bound(problem, x, linear, given[0], curves, search, relaxation=relaxation)
        assert found.lower_bound <= problem.objective(x) + problem.penalty(x)
        elsewhere = inside[(k + 7) % 20]  # a feasible point but for the total mass: what it misses is subtracted there
        other = problem.objective(elsewhere) + problem.penalty(elsewhere)
        assert found.at(elsewhere).lower_bound <= other * (1 + 1e-9)


@pytest.mark.claim("no bound exceeds the value of a body that keeps less than its margin")
@pytest.mark.parametrize("kept", [0.5, 0.0, -1.0])
def test_no_bound_exceeds_the_value_of_a_body_at_half_its_margin(kept: float) -> None:
    margin = nearest(BODY).cones[0].margin
    values, vectors = np.linalg.eigh(pseudo_inertia(BODY))
    values[0] = kept * margin
    thin = from_pseudo_inertia(vectors @ np.diag(values) @ vectors.T)
    price = np.array([vectors[:, 0] @ pseudo_inertia(unit) @ vectors[:, 0] for unit in np.eye(10)])
    for size in (1.0, 1e6):  # towards less of what the body has too little of
        problem = nearest(thin - size * price)
        linear, _ = split_rows(problem)
        found = lower_bound(problem, thin, linear, np.zeros(len(linear.rows)), search=Search(BODY, 10.0))
        assert 0.9 * problem.objective(thin) < found.lower_bound <= problem.objective(thin)


@pytest.mark.claim("a trivial bound is the constant of the objective, to the last bit")
def test_a_trivial_bound_is_the_constant() -> None:
    problem = nearest(np.append(BODY, 0.5), extras={"fv1": (0.0, np.inf)})
    objective = replace(problem.objective, constant=0.12494365600571089)
    problem = Problem("far", problem.variables, objective, problem.constraints)
    linear, _ = split_rows(problem)
    rng, search = np.random.default_rng(0), Search(nominal_parameters(problem), 1e12)
    attained = problem.objective(np.append(BODY, 0.5))
    for _ in range(300):
        x = np.append(BODY, 0.5) + 10.0 ** rng.uniform(-6, 3) * rng.normal(size=11)
        given = 10.0 ** rng.uniform(-3, 6) * rng.normal(size=len(linear.rows))
        assert lower_bound(problem, x, linear, given, search=search).lower_bound <= attained
