"""Methods: each uses its start and seed, none raises for a failure, and their bounds hold."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np
import pytest
from papers.two_links import force_ratios, outside_shapes, relaxed_retrieval, torques, validation_motion, wrenches

import casid
from casid.errors import ProblemError, SolveError
from casid.inertia import to_standard
from casid.retrieval import Constraint, Global, Problem, SolveOptions, com_box, mass_bounds, multistart, solve
from casid.retrieval.constraints import PhysicalConsistency, gyration_bound
from casid.retrieval.methods import METHODS, Branches, Direct, Method, Penalty, Start
from casid.testing import BODY
from problems.spatial_2r import true_parameters
from tests.helpers import nearest, run

QUICK_METHODS = (Direct(), Penalty(2), Branches(), Global(seconds=5.0))


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
    impossible = problem.add(Constraint("heavy", problem.variables[0].mass, lower=9.0))
    found = solve(impossible, method=method, throw=False)
    assert found.status in ("infeasible", "failed") and found.max_violation > 0.1
    with pytest.raises(SolveError):
        solve(impossible, method=method)


@pytest.mark.claim("a method uses its start and seed")
def test_methods_use_their_start_and_seed() -> None:
    problem = two_valleys()
    right, left = (to_standard(2.0, [x, 0.0, 0.1], np.diag([0.03, 0.04, 0.02])) for x in (0.2, -0.2))
    ends = [solve(problem, start=start, method="direct").value(problem.variables[0].com[0]) for start in (right, left)]
    assert ends[0] > 0 > ends[1]
    assert solve(problem, method=Branches()).certified and solve(problem, method=Branches())["lx1"] > 0
    with pytest.raises(ProblemError, match="not both"):
        solve(problem, start=right, seed=1)


@pytest.mark.claim("failed solves do not exit with 0")
@pytest.mark.parametrize("method", ["direct", "penalty", "branches", "global"])
def test_failure_exits_with_1_and_writes_nothing(method: str, tmp_path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import casid\nfrom casid.retrieval import *\n\n"
        "def build():\n"
        "    p = casid.load_problem('spatial_2r', shapes='box')\n"
        "    c = p.variables[1].com\n"
        "    return p.add(Constraint('far', ca_norm(c), lower=9.0))\n\n"
        "def ca_norm(c):\n    return c[0] ** 2 + c[1] ** 2\n"
    )
    out = tmp_path / "out"
    assert "far" in run("solve", file, "--method", method, "--out", out, code=1)
    assert not (out / "solution.json").exists()


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


@pytest.mark.claim("the global method keeps its time limit")
def test_global_returns_the_best_bound_in_time() -> None:
    import time

    problem = casid.load_problem("cookbook", recipe="round_section")
    began = time.perf_counter()
    method = Global(gap=1e-9, nodes=10_000, seconds=6.0)
    found = solve(problem, method=method, throw=False)
    assert time.perf_counter() - began < 30.0
    assert 3.8e-4 <= found.lower_bound <= found.total


@pytest.mark.claim("a seed that is none is refused in one line by every method: -1 and 1.5 were tracebacks")
@pytest.mark.parametrize("seed", [-1, 1.5, float("nan"), True, "1"])
def test_seeds(seed: object) -> None:
    problem = nearest(BODY, bounded=False)
    for method in METHODS:
        with pytest.raises(ProblemError, match="seed: expected an integer >= 0"):
            solve(problem, seed=seed, method=method)  # type: ignore[arg-type]
    with pytest.raises(ProblemError, match="seed"):
        multistart(problem, 1, seed)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Counted(Method):
    """A user's own method: the direct one, with the starts that it was given."""

    starts: list
    name: ClassVar[str] = "counted"

    def solve(self, problem, start):
        self.starts.append(start)
        return Direct().solve(problem, start)


def test_a_method_of_a_user_is_one_class() -> None:
    problem, method = nearest(BODY), Counted([])
    found = solve(problem, method=method, seed=3)
    assert found.certified and [start.seed for start in method.starts] == [3]
    assert isinstance(method.starts[0], Start)


@pytest.mark.slow
def test_algorithm_1_reaches_the_certified_optimum():
    problem = casid.load_problem("panda_retrieval")
    direct = casid.solve(problem)
    solution = casid.solve(problem, method=Penalty(kappa=3), seed=1)
    assert solution.certified
    assert solution.objective == pytest.approx(direct.objective, rel=1e-6)
    first = solution.trace[0]
    assert len(solution.trace) == 3 and first.weight == 0.0
    assert first.violation > 1e-3  # nothing but the bounds acts in the first step
    assert first.objective < direct.objective
    assert solution.max_violation <= 1e-8


def test_algorithm_1_on_if_else():
    solution = casid.solve(casid.load_problem("spatial_2r"), method="penalty")
    assert solution.status == "optimal"
    assert outside_shapes(solution.standard_parameters) <= 1e-8


def test_penalty_refuses_what_it_is_not():
    problem = casid.load_problem("spatial_2r")
    with pytest.raises(ProblemError, match="at least 1"):
        Penalty(kappa=0)
    semi = problem.add(PhysicalConsistency(problem.variables[0].index, problem.variables[0].name, "semi"))
    with pytest.raises(ProblemError, match="triangle inequality"):
        casid.solve(semi, method=Penalty())


def test_spatial_2r_from_random_starts():
    problem = casid.load_problem("spatial_2r")
    robot, motion = problem.variables.robot, validation_motion(samples=100)
    truth = true_parameters()
    true = torques(robot, truth, motion)
    for solution in casid.multistart(problem, starts=10, seed=3).solutions:
        x = solution.standard_parameters
        assert np.abs(torques(robot, x, motion) - true).max() <= 1e-8 * np.abs(true).max()
        assert outside_shapes(x) <= 1e-8
        assert solution.max_violation <= 1e-8
    relaxed = [relaxed_retrieval(problem, seed) for seed in range(3)]
    for bad in relaxed:  # no bodies, and yet the torques are right; the joints' forces are not
        assert np.abs(torques(robot, bad.parameters, motion) - true).max() <= 1e-6 * np.abs(true).max()
        assert bad.eigenvalue < 0
        ratios = force_ratios(robot, bad.parameters, truth, motion)
        assert max(abs(np.log(ratio)) for ratio in ratios) > 0.05
        forces = np.abs(wrenches(robot, bad.parameters, motion)[:, :, :3]).max()
        assert forces < 1e3 * np.abs(wrenches(robot, truth, motion)[:, :, :3]).max()  # starts within bounds stay small
    assert force_ratios(robot, truth, truth, motion) == pytest.approx((1.0, 1.0))
    assert outside_shapes(truth) == 0.0


def outside() -> Problem:
    """The centre of mass in a box, at least 0.1 m from the origin of the link; the body heavier than allowed."""
    low, high = [-0.3, -0.2, -0.2], [0.3, 0.2, 0.2]
    return nearest(
        to_standard(4.5, [0.0, 0.0, 0.0], np.diag([0.03, 0.04, 0.02])),
        lambda v: (mass_bounds(v[0], 1.0, 4.0), com_box(v[0], low, high), gyration_bound(v[0], 1.0),
                   Constraint("outside", ca.sumsqr(v[0].com), lower=0.01)),
        bounded=False,
    )  # fmt: skip


def test_splitting_raises_the_bound() -> None:
    loose = solve(outside(), method="direct")
    bounds = [loose.lower_bound]
    for nodes in (1, 2, 4):
        found = solve(outside(), method=Global(gap=1e-3, nodes=nodes))
        assert int(found.solver_status.split()[-2]) <= nodes + 1
        bounds.append(found.lower_bound)
    assert loose.gap > 0.05 and bounds == sorted(bounds)
    assert loose.lower_bound < found.lower_bound <= found.objective <= loose.objective + 1e-12


def test_branches_that_are_late_prove_nothing() -> None:
    problem = nearest(
        BODY, lambda v: Constraint("rule", ca.if_else(v[0].mass > 3, v[0].com[0] - 0.1, v[0].com[1] - 0.1), 0.0)
    )
    whole = solve(problem, method="branches")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        late = solve(problem, method=Branches(seconds=0.0), throw=False)
    assert len(whole.trace) == 2 and len(late.trace) == 1
    assert whole.certified and late.lower_bound <= 0.0 and not late.certified


@pytest.mark.claim("a search that is late proves nothing of what it left")
def test_an_empty_branch_is_no_proof_where_another_was_left() -> None:
    problem = nearest(
        BODY, lambda v: Constraint("rule", ca.if_else(v[0].mass > 3, -1 - v[0].mass, v[0].com[1] - 0.1), 0.0)
    )
    late = solve(problem, method=Branches(seconds=0.0), throw=False)
    assert [branch.empty for branch in late.trace] == [True] and late.status == "failed"
    assert solve(problem, method="branches").certified


#: What is left of a bound by the rounding of a sum: 0.1 + 0.2 is above 0.3.
_MOST = 0.1 + 0.2


#: Constraint that BODY meets but for a rounding; its bounds, and whether the direct solve can see that.
_ROUNDED = {
    "if-else": (lambda v: ca.if_else(v.com[0] > 0, _MOST, v.mass + 0.3), -np.inf, 0.3, True),
    "if-else >=": (lambda v: ca.if_else(v.com[0] > 0, 0.3, _MOST - 1 - v.mass), _MOST, np.inf, False),
    "either": (lambda v: ca.fmin(_MOST - 0.3, v.mass - 0.6), -np.inf, 0.0, True),
    "both": (lambda v: ca.fmax(_MOST, v.mass - 100), -np.inf, 0.3, True),
    "of the centre": (lambda v: ca.if_else(v.com[0] > 0, 0.3 - _MOST, -1 - v.com[1] ** 2), 0.0, np.inf, False),
    "large": (lambda v: ca.if_else(v.com[0] > 0, 1e12 * _MOST, 1e14 * v.mass), -np.inf, 0.3e12, True),
}


@pytest.mark.claim("a constant that misses its bound by a rounding excludes nothing")
@pytest.mark.parametrize("method", ["direct", "branches"])
@pytest.mark.parametrize("kind", _ROUNDED)
def test_a_constant_within_rounding_of_its_bound_is_feasible(kind: str, method: str) -> None:
    expression, lower, upper, seen = _ROUNDED[kind]
    problem = nearest(BODY, lambda v: Constraint("own", expression(v[0]), lower, upper))
    found = solve(problem, method=method, throw=False)
    if method == "branches" or seen:
        assert found.certified and found.objective == pytest.approx(0.0, abs=1e-9)
    assert found.status != "infeasible" and found.lower_bound <= 1e-12


def test_a_constant_is_judged_by_the_tolerance_of_feasibility() -> None:
    """A ten-millionth above its bound: feasible to 1e-6, not to 1e-8; a soft one is priced in full."""
    problem = nearest(BODY, lambda v: Constraint("rule", ca.if_else(v[0].com[0] > 0, 1 + 1e-7, 2 + v[0].mass), upper=1))
    assert solve(problem, method="branches", options=SolveOptions(feasibility=1e-6)).status == "optimal"
    assert solve(problem, method="branches", throw=False).status in ("infeasible", "failed")
    soft = nearest(BODY, lambda v: Constraint("rule", ca.if_else(v[0].com[0] > 0, 3.0, 9.0), upper=1, weight=0.1))
    assert solve(soft, method="branches").penalty == pytest.approx(0.2)


@pytest.mark.claim("constant rows of a branch are not dropped")
def test_constant_rows_of_a_branch_decide() -> None:
    def build(v):
        rows = ca.if_else(v[0].mass > 3, v[0].com[0] - 0.1, -1.0)
        return Constraint("heavy or nothing", rows, lower=0.0)

    problem = nearest(BODY, build)
    found = solve(problem, method=Branches())
    assert found["m1"] >= 3 - 1e-8 and found.max_violation <= 1e-8 and found.certified
    empty = [branch for branch in found.trace if branch.empty]
    assert len(empty) == 1 and empty[0].solution is None


@pytest.mark.claim("fmin(e, 1) >= 0 is e >= 0")
def test_a_minimum_with_a_constant() -> None:
    plain = nearest(BODY, lambda v: Constraint("e", v[0].com[0] - 0.1, lower=0.0))
    other = nearest(BODY, lambda v: Constraint("e", ca.fmin(v[0].com[0] - 0.1, 1.0), lower=0.0))
    found = solve(other, method=Branches())
    assert found.certified and found.objective == pytest.approx(solve(plain).objective, rel=1e-6)


def chosen(problem: Problem) -> list[dict[str, str]]:
    """The combinations of branches that are solved, in words."""
    return [branch.chosen for branch in solve(problem, method=Branches(), throw=False).trace]


@pytest.mark.claim("conditions that contradict each other make no combination")
def test_contradicting_thresholds_make_no_combination() -> None:
    def steps(limits, quantity):
        total = 0.0
        for limit in limits:
            total = total + ca.if_else(quantity < limit, 0.1, 0.0)
        return total

    limits = np.linspace(0.5, 4.0, 8)
    for quantity in (lambda v: v[0].mass, lambda v: 20 * v[0].com[1], lambda v: 3 * v[0].first_moment[0] - v[0].mass):
        problem = nearest(BODY, lambda v, of=quantity: Constraint("table", steps(limits, of(v)), upper=0.75))
        rows = [{text: word == "true" for text, word in c.items()} for c in chosen(problem)]
        assert sorted(sum(row.values()) for row in rows) == list(range(9))
        for row in rows:
            ordered = [row[text] for text in sorted(row, key=lambda text: float(text.split("<")[1].strip(" )")))]
            assert ordered == sorted(ordered)


@pytest.mark.parametrize("quantity", ["mass", "com"])
def test_thresholds_of_either_direction_keep_what_is_possible(quantity) -> None:
    def build(v, low, high):
        size = v[0].mass if quantity == "mass" else 20 * v[0].com[2]
        return ca.if_else(size < low, 1.0, 0.0) + ca.if_else(size > high, 2.0, 0.0) + v[0].com[0]

    def found(low, high):
        problem = nearest(BODY, lambda v: Constraint("window", build(v, low, high), upper=1.0))
        return {tuple(words.values()) for words in chosen(problem)}

    true, false = "true", "false"
    assert found(1.0, 2.0) == {(true, false), (false, true), (false, false)}
    assert found(1.0, 1.0) == {(true, true), (true, false), (false, true), (false, false)}
    both_false = {(false, false)} if quantity == "com" else set()
    assert found(2.0, 1.0) == {(true, true), (true, false), (false, true)} | both_false


def test_a_table_of_many_thresholds_is_solved() -> None:
    limits = np.linspace(0.2, 6.0, 12)

    def build(v):
        allowed = 0.12 - 0.01 * sum(ca.if_else(v[0].mass > limit, 1.0, 0.0) for limit in limits)
        return Constraint("reach by mass", v[0].com[0] - allowed, upper=0.0)

    found = solve(nearest(BODY, build), method=Branches())
    allowed = 0.12 - 0.01 * np.sum(found["m1"] > limits)
    assert found.certified and found["lx1"] / found["m1"] <= allowed + 1e-8


@pytest.mark.parametrize("bounds", [{"lower": 0.2}, {"upper": -0.1}, {"lower": 0.2, "upper": 0.25}])
def test_minima_and_maxima_of_any_bound_are_enumerated(links, body_in_a_box, bounds):
    x, y, _ = ca.vertsplit(links[0].com)
    whole = ca.fmin(x, y) if "lower" not in bounds else ca.fmax(x, y)
    found = solve(body_in_a_box(Constraint("kink", whole, **bounds)), method="branches")
    either = [solve(body_in_a_box(*rest), throw=False) for rest in _by_hand(x, y, **bounds)]
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


def test_a_solver_that_stops_at_a_feasible_point_does_not_say_that_there_is_none(links, body_in_a_box):
    either = Constraint("or", ca.logic_or(links[0].com[0] > 0.2, links[0].mass > 3), lower=1)
    stopped = solve(body_in_a_box(either), throw=False)
    assert not stopped.feasible or stopped.status in ("optimal", "feasible", "stopped")
    if stopped.status == "stopped":
        with pytest.raises(SolveError, match=r"did not converge.*feasible.*'branches'"):
            stopped.or_raise()
    assert solve(body_in_a_box(either), method="branches").status == "optimal"


@pytest.mark.claim("rounding in a constraint is no traceback")
def test_rounding_is_solved_or_refused() -> None:
    problem = nearest(BODY, lambda v: Constraint("rounded", ca.floor(40 * v[0].com[0]), lower=1.0))
    found = solve(problem, throw=False)
    assert found.lower_bound <= problem.objective(BODY) + 1e-12
