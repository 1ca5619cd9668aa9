"""What used to reach a proof unread: called functions, names that read like conditions, points without a value."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from casid.description import Joint, Link, Robot
from casid.expressions import NumpyFunction
from casid.inertia import to_standard
from casid.retrieval import Constraint, LeastSquares, Problem, com_box, link_variables, solve
from casid.retrieval.constraints import mass_bounds

METHODS = ("direct", "branches", "global", "penalty")


def small_problem(make, target, extras=None, box=0.5, name="hidden"):
    """One link with a bounded body; the objective draws ten parameters to those of a body at the target's place."""
    robot = Robot("one", (Joint("j1", "revolute", -1, Link("link1")),))
    variables = link_variables(robot, extras)
    link, x = variables.links[0], to_standard(2.0, target, 0.02 * np.eye(3))
    objective = LeastSquares(np.eye(10, variables.size), x)
    constraints = (mass_bounds(link, 1.0, 3.0), com_box(link, -box, box), *make(variables))
    return Problem(name, variables, objective, constraints), x


def table(kind="linear", name="lut"):
    return ca.interpolant(name, kind, [[-0.5, -0.2, 0.0, 0.2, 0.5]], [0.3, 0.3, 0.1, 0.3, 0.3])


def scalar_function(kind):
    if kind in ("linear", "bspline"):
        return table(kind)
    symbol = (ca.SX if kind.startswith("SX") else ca.MX).sym("c")
    made = ca.Function("own", [symbol], [0.1 + 5 * symbol**2], {"never_inline": True})
    return made


@pytest.mark.claim("a lookup table or a called function in a branch has its own value, not 0")
@pytest.mark.parametrize("kind", ["linear", "bspline", "SX", "MX"])
@pytest.mark.parametrize("method", ["direct", "branches"])
def test_a_called_function_has_its_value_in_a_branch(kind, method):
    called = scalar_function(kind)

    def make(variables):
        com = variables.links[0].com
        return (Constraint("u", ca.if_else(com[1] > 0, called(com[0]), 0), upper=0.15),)

    problem, x = small_problem(make, (0.3, 0.2, 0.0))
    at = float(called(0.3))
    assert at > 0.15
    assert problem.values(x)["u"] == pytest.approx(at, abs=1e-9)
    assert problem.violations(x)["u"] == pytest.approx(at - 0.15, abs=1e-9)
    found = solve(problem, method=method, throw=False)
    c = found.x[6:9] / found.x[9]
    if found.usable:
        assert (float(called(c[0])) if c[1] > 0 else 0.0) <= 0.15 + 1e-7
        assert found.lower_bound <= found.total * (1 + 1e-6)
    assert found.total > 1e-6 or not found.usable


@pytest.mark.claim("a set that a lookup table leaves open is not called infeasible, nor the reverse")
def test_a_table_is_neither_ignored_nor_zero_in_a_proof():
    def make(low):
        return lambda v: (Constraint("u", table()(v.links[0].com[0]), lower=low),)

    open_set, _ = small_problem(make(0.05), (0.0, 0.0, 0.0))
    found = solve(open_set)
    assert found.total == pytest.approx(0.0, abs=1e-9)
    shut, _ = small_problem(make(0.31), (0.0, 0.0, 0.0))
    assert solve(shut, throw=False).status == "infeasible"


@pytest.mark.claim(
    "a label equal to a condition's text, or an extra that reads like a quotient, gives no false optimum"
)
@pytest.mark.parametrize("names", [{"(lx1/m1)": (-1.0, 1.0)}, {"u >= 0": (-1.0, 1.0)}, {"(m1<3) is true": (0.0, 1.0)}])
@pytest.mark.parametrize("method", METHODS)
def test_texts_are_no_identity(names, method):
    (name,) = names

    def make(variables):
        link = variables.links[0]
        com, extra = link.com, variables.extra(name)
        rule = ca.if_else(com[0] < 0.1, com[1], -com[1]) + ca.if_else(extra < 0.1, com[2], -com[2])
        text = "((lx1/m1)<0.1)"
        return (
            Constraint(text, rule, lower=0.05),
            Constraint("u", ca.fmax(com[0], extra), 0.0, 1.0),
            Constraint("u >= 0", ca.if_else(link.mass < 3, com[0], 0), -1.0, 1.0),
        )

    problem, _ = small_problem(make, (0.2, -0.1, 0.1), names)
    attained = np.append(problem.objective.target, 0.0)  # rule: 0.1 + 0.1
    assert problem.met(problem.violations(attained), 1e-9)
    found = solve(problem, method=method, throw=False)
    assert found.lower_bound <= 1e-9
    assert found.status != "infeasible"
    if method == "branches":
        assert found.total <= 1e-9


def test_bounds_of_an_extra_are_checked_although_a_constraint_has_its_name():
    problem, x = small_problem(
        lambda v: (Constraint("e", v.links[0].com[0] + v.extra("e"), upper=-10.0),), (0.0, 0.0, 0.0), {"e": (0.0, 1.0)}
    )
    amounts = problem.violations(np.append(x, -10.0))
    assert problem.hard_violation(amounts) == pytest.approx(10.0)
    assert amounts["e"] == 0.0
    soft = problem.without("e").add(problem.constraints[-1].soften(1.0))
    assert soft.hard_violation(soft.violations(np.append(x, -10.0))) == pytest.approx(10.0)


HIDDEN = {
    "condition": (lambda c: ca.if_else(c[0] < ca.sqrt(0.09 - c[1] ** 2), -1, 1), -1.0),
    "minimum": (lambda c: ca.fmin(ca.sqrt(0.09 - c[1] ** 2), 1.0), -1.0),
    "alternative": (lambda c: ca.fmax(ca.log(0.3 - c[1]), 0.5), -9.0),
    "logic": (lambda c: ca.logic_or(ca.asin(c[1] / 0.3) < 0, c[0] > 0.4), -1.0),
    "guarded": (lambda c: ca.if_else(c[0] > 0.4, 1, ca.fmin(ca.acos(c[1] / 0.3), 0.5)), -1.0),
}


@pytest.mark.claim("a point where an expression is undefined is infeasible, whatever hides it; bounds follow the same")
@pytest.mark.parametrize("kind", HIDDEN)
@pytest.mark.parametrize("method", METHODS)
def test_points_without_a_value_are_infeasible_by_one_rule(method, kind):
    formula, low = HIDDEN[kind]
    problem, x = small_problem(lambda v: (Constraint("u", formula(v.links[0].com), lower=low),), (0.0, 0.45, 0.0))
    assert problem.violations(x)["u"] == np.inf
    within, good = small_problem(lambda v: (Constraint("u", formula(v.links[0].com), lower=low),), (0.0, 0.2, 0.0))
    assert within.violations(good)["u"] == 0.0
    found = solve(problem, method=method, throw=False)
    assert found.status != "infeasible"
    # the best feasible point has its centre of mass at y = 0.3: a sample of it bounds the bound
    trial = x.copy()
    samples = []
    for y in (0.1, 0.25, 0.29, 0.2999999):
        for mass in np.linspace(1.5, 2.5, 9):
            trial[9], trial[7] = mass, mass * y
            if problem.met(problem.violations(trial), 1e-9):
                samples.append(problem.objective(trial))
    assert found.lower_bound <= min(samples) * (1 + 1e-9)
    if method == "branches":
        assert found.usable
        assert found.total <= min(samples) * 1.02


@pytest.mark.claim("an operation in a branch that is not taken needs no value")
def test_a_guard_keeps_its_meaning():
    problem, x = small_problem(
        lambda v: (
            Constraint("u", ca.if_else(v.links[0].com[1] <= 0.3, ca.sqrt(0.3 - v.links[0].com[1]), 0), upper=9),
        ),
        (0.0, 0.45, 0.0),
    )
    assert problem.violations(x)["u"] == 0.0
    found = solve(problem, method="branches")
    assert found.total <= 1e-9 and len(found.trace) == 2


@pytest.mark.claim("the re-check's two evaluations are compared: a value that interval arithmetic excludes is no value")
def test_a_value_that_the_interval_excludes_is_none():
    x = ca.SX.sym("x", 2)
    checked = NumpyFunction(ca.exp(x[0]), x)
    assert checked(np.array([0.1, 0.0])) == pytest.approx(np.exp(0.1))
    checked.by_numpy = lambda point: np.array([0.9])  # another evaluation disagrees: the interval decides
    assert checked(np.array([0.1, 0.0])) == pytest.approx(np.exp(0.1))
    true = checked.function

    class Wrong:
        def __call__(self, point):
            return float(true(point)) + 1e-3

        def __getattr__(self, name):
            return getattr(true, name)

    checked.function = Wrong()
    assert np.isnan(checked(np.array([0.1, 0.0]))).all()
