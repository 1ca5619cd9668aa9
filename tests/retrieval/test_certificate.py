"""Bounds hold at every feasible point: the theorem, and the cuts that stand for curved rows."""

from __future__ import annotations

import warnings

import casadi as ca
import numpy as np
import pytest

import casid
from casid.errors import BoundWarning
from casid.inertia import from_pseudo_inertia, from_standard, pseudo_inertia, to_standard
from casid.retrieval import (
    Constraint,
    PreparedProblem,
    Problem,
    SolveOptions,
    com_box,
    explain,
    multistart,
    soften,
    solve,
)
from casid.retrieval._bound import Dual, Relaxation, Search, lower_bound
from casid.retrieval._problem import split_rows
from casid.retrieval.insight._intervals import LevelSet
from casid.retrieval.program._nlp import nominal_parameters, random_parameters
from casid.retrieval.study import Study
from casid.testing import BODY
from tests.helpers import nearest

#: Certified optimum with J >= 1e-6, found by two solvers of different kind.
OPTIMUM = 3.8606686e-4


@pytest.fixture(scope="module")
def solution(panda: Problem) -> casid.Solution:
    return solve(panda)


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


def test_no_feasible_point_lies_below_the_bound(panda: Problem, solution: casid.Solution) -> None:
    """Feasible points around the optimum and far from it, by shrinking random ones towards the interior."""
    rng = np.random.default_rng(3)
    prepared = PreparedProblem(panda, None, SolveOptions())
    interior = solve(panda, options=SolveOptions(target_gap=1e-2, certified_gap=1.0)).standard_parameters
    checked = 0
    for share in np.repeat(np.logspace(-6, -0.5, 12), 6):
        x = interior + share * (solution.standard_parameters - interior) + 1e-3 * share * rng.normal(size=70)
        linear = prepared.linear.matrix @ x
        inside = (linear >= prepared.linear.lower).all() and (linear <= prepared.linear.upper).all()
        if inside and all(np.linalg.eigvalsh(pseudo_inertia(x[k : k + 10]))[0] >= 1e-6 for k in range(0, 70, 10)):
            checked += 1
            assert panda.objective(x) >= solution.lower_bound
    assert checked > 10


def test_random_starts_agree_and_are_reproducible(panda: Problem, solution: casid.Solution) -> None:
    seen: list[casid.Solution] = []
    study = multistart(panda, starts=6, seed=11, progress=seen.append)
    assert isinstance(study, Study) and study.certified == 6 and len(seen) == 6
    assert study.best.starts == 6 and study.best.objective <= min(s.objective for s in study.solutions)
    for one in study.solutions:
        assert abs(one.objective - OPTIMUM) < 1e-10 and one.gap <= 1e-6 and one.max_violation <= 1e-8
    # The analytic centre of the optimal set: the parameters themselves do not depend on the start.
    assert study.spread.max() < 1e-2
    again = multistart(panda, starts=6, seed=11)
    for one, two in zip(study.solutions, again.solutions, strict=True):
        assert one.seed == two.seed
        np.testing.assert_array_equal(one.standard_parameters, two.standard_parameters)
    one = solve(panda, seed=study.solutions[4].seed)
    np.testing.assert_array_equal(one.standard_parameters, study.solutions[4].standard_parameters)


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
    problem = panda.without("total mass").add(extra)
    relaxation = Relaxation(problem)
    inside = feasible_points(problem)
    assert len(inside) >= 5
    rng = np.random.default_rng(3)
    made = 0
    for _ in range(3):
        near = random_parameters(panda, rng)
        cuts = relaxation.cuts(relaxation.sides, near)
        made += len(cuts)
        for cut in cuts:
            for x in inside:
                assert cut.form @ x - cut.low >= -1e-9 * (np.abs(cut.form) @ np.abs(x))
    assert made > 15
    assert set(relaxation.nonconvex) == {"far", "product", "difference", "root", "steps"}


@pytest.mark.slow
def test_relaxed_bound_is_below_every_feasible_solution():
    problem = casid.load_problem("cookbook", recipe="tube")
    solution = casid.solve(problem)
    others = [casid.solve(problem, seed=seed, throw=False) for seed in range(3)]
    assert all(solution.lower_bound <= s.total for s in others if s.max_violation <= 1e-8)
    assert solution.lower_bound > casid.solve(casid.load_problem("panda_retrieval")).objective * (1 + 1e-3)


def test_soft_nonlinear_constraint_has_a_finite_bound(panda):
    ball = soften(Constraint("ball", 0.05**2 - ca.sumsqr(panda.variables[3].com), lower=0.0), weight=1e-3)
    solution = casid.solve(panda.add(ball))
    assert 3.8e-4 <= solution.lower_bound <= solution.total
    assert explain(solution).open == ("ball",)


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
        search = Search(nominal, 1e3)
        found = lower_bound(problem, x, Dual.of(linear, given[0]).with_cuts(relaxation, curved, given[1], x), search)
        assert found.lower_bound <= problem.objective(x) + problem.penalty(x)
        elsewhere = inside[(k + 7) % 20]  # a feasible point but for the total mass: what it misses is subtracted there
        other = problem.objective(elsewhere) + problem.penalty(elsewhere)
        assert found.at(elsewhere).lower_bound <= other * (1 + 1e-9)
    unknown = lower_bound(problem, x, Dual.of(linear, np.full(len(linear.rows), np.nan)), search)
    assert unknown.lower_bound <= problem.objective(x) + problem.penalty(x)


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
        found = lower_bound(problem, thin, Dual.of(linear, np.zeros(len(linear.rows))), Search(BODY, 10.0))
        assert 0.9 * problem.objective(thin) < found.lower_bound <= problem.objective(thin)


def sphere_problem(lower: float = -np.inf, upper: float = np.inf):
    """A body whose centre of mass must be inside (upper) or outside (lower) a sphere about (0.05, 0, 0.1) [m]."""

    def build(v):
        square = ca.sumsqr(v[0].com - ca.DM([0.05, 0.0, 0.1]))
        return (Constraint("sphere", square, lower=lower, upper=upper),)

    return nearest(BODY, build)


def bodies(rng: np.random.Generator, count: int = 200) -> list[np.ndarray]:
    found = []
    for _ in range(count):
        A = rng.normal(size=(3, 3)) * 0.1
        J = A @ A.T
        found.append(to_standard(rng.uniform(0.5, 5), rng.uniform(-0.25, 0.25, 3), np.trace(J) * np.eye(3) - J))
    return found


@pytest.mark.parametrize(("lower", "upper"), [(-np.inf, 0.15**2), (0.15**2, np.inf)])
def test_cuts_of_a_sphere_hold_inside_and_outside_of_it(lower: float, upper: float) -> None:
    problem = sphere_problem(lower, upper)
    relaxation = Relaxation(problem)
    (side,) = relaxation.sides
    assert side.sign == (1.0 if np.isfinite(lower) else -1.0) and side.bound == 0.15**2
    assert relaxation.is_convex(side) == np.isfinite(upper) == (not relaxation.open_sides)
    assert relaxation.nonconvex == (() if np.isfinite(upper) else ("sphere",))
    rng = np.random.default_rng(3)
    every = bodies(rng)
    box = problem.regions[0].com
    square = [np.sum((x[6:9] / x[9] - [0.05, 0.0, 0.1]) ** 2) for x in every]
    feasible = [x for x, s in zip(every, square, strict=True) if lower <= s <= upper and (
        (box[:, 0] <= x[6:9] / x[9]) & (x[6:9] / x[9] <= box[:, 1])).all()]  # fmt: skip
    assert len(feasible) > 5
    for near in every[:20]:
        for cut in relaxation.side_cuts(side, near):
            assert all(cut.form @ x >= cut.low - 1e-9 for x in feasible)
    if np.isfinite(upper):
        far = next(x for x, s in zip(every, square, strict=True) if s > 2 * upper)
        assert next(relaxation.side_cuts(side, far)).violated(far)
        assert side.missed(problem.constraints[side.constraint], problem.values(far)) == pytest.approx(
            np.sum((far[6:9] / far[9] - [0.05, 0.0, 0.1]) ** 2) - upper
        )
    assert side.missed(problem.constraints[side.constraint], problem.values(feasible[0])) == 0.0
    weightless = BODY.copy()
    weightless[9] = 0.0
    assert not [*relaxation.side_cuts(side, weightless)]


def superball():
    """The centre of mass within ``|c|^4 <= 0.1^4``: convex, but of no quadratic form."""

    return nearest(BODY, lambda v: Constraint("quartic", ca.sumsqr(v[0].com ** 2), upper=0.1**4))


def test_planes_of_a_set_cut_off_what_is_outside_and_nothing_else() -> None:
    problem = superball()
    relaxation = Relaxation(problem)
    (com_set,) = relaxation.com_sets
    assert com_set.link == 0 and relaxation.nonconvex == ("quartic",)
    rng = np.random.default_rng(0)
    inside = []
    while len(inside) < 200:
        c = rng.uniform(-0.1, 0.1, 3)
        if np.sum(c**4) <= 0.1**4:
            inside.append(to_standard(rng.uniform(0.5, 8.0), c, 0.01 * np.eye(3)))
    for centre, mass in (([0.2, 0.0, 0.0], 4.0), ([0.0, -0.25, 0.1], 0.6), ([0.2, 0.2, 0.2], 2.0)):
        x = to_standard(mass, centre, 0.01 * np.eye(3))
        (cut,) = relaxation.set_cuts(x)
        assert cut.violated(x) and all(cut.form @ one >= cut.low - 1e-9 for one in inside)
        assert cut.form @ x == pytest.approx(-mass * _beyond(np.array(centre)), rel=0.2)
        assert problem.constraints[cut.constraint].label == "quartic"
    assert relaxation.set_cuts(inside[0]) == []
    assert relaxation.set_cuts(np.append(BODY[:9], 0.0)) == []


@pytest.mark.claim("the smallest box of a set of centres of mass holds the set, touches it, and is empty where it is")
def test_boxes_shrink_to_the_set() -> None:
    def boxed(low: list[float], high: list[float], expression) -> Relaxation:
        def rows(v):
            return (com_box(v[0], low, high, label="box"), Constraint("own", expression(v[0].com), lower=0.0))

        return Relaxation(nearest(BODY, rows))

    def bore(radius: float) -> Relaxation:
        return boxed([-0.05, -0.05, -0.1], [0.15, 0.05, 0.05], lambda c: ca.sumsqr(c[:2]) - radius**2)

    least, smallest = np.sqrt(0.1**2 - 0.05**2), bore(0.1).contracted()
    assert smallest is not None and smallest.problem.regions[0].com[0, 0] <= least
    assert smallest.problem.regions[0].com == pytest.approx(
        np.array([[least, 0.15], [-0.05, 0.05], [-0.1, 0.05]]), abs=1e-6
    )
    assert bore(0.16).contracted() is None  # the farthest corner is 15.8 cm from the axis
    steps = boxed([-0.2] * 3, [0.2] * 3, lambda c: c[0] - ca.if_else(c[2] > 0.1, 0.0, 0.1))
    assert [s.axes for s in steps.com_sets] == [(0, 2)]
    smallest = steps.contracted()
    assert smallest is not None
    assert smallest.regions[0].com == pytest.approx(
        np.array([[0, 0.2], [-0.2, 0.2], [-0.2, 0.2]]), abs=1e-4
    )  # a whole side touches


def _beyond(centre: np.ndarray) -> float:
    """Distance of a point from the set."""
    from scipy.optimize import minimize

    ball = {"type": "ineq", "fun": lambda c: 1.0 - np.sum((c / 0.1) ** 4)}
    found = minimize(lambda c: 100 * np.sum((c - centre) ** 2), 0.3 * centre, constraints=[ball], method="SLSQP")
    return float(np.linalg.norm(found.x - centre))


@pytest.mark.claim("a bound within a search region is not called wrong by a point outside it")
def test_a_point_outside_the_search_region_contradicts_no_bound() -> None:
    stated = nearest(BODY, lambda v: Constraint("light", v[0].mass, upper=40.0))
    search = LevelSet(stated, solve(stated), 1e-3, SolveOptions())
    form = np.eye(10)[9]
    with pytest.warns(BoundWarning, match="an interval's end"):
        assert search._sound(form, 9.0, 5.0, 1.0, BODY) == search.prior(form)[0]
    search.search_region = {stated.variables[0].name: 1e-3}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert search._sound(form, 9.0, 5.0, 1.0, BODY) == search.prior(form)[0]
    search.search_region = {stated.variables[0].name: 1e6}
    with pytest.warns(BoundWarning):
        search._sound(form, 9.0, 5.0, 1.0, BODY)


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
