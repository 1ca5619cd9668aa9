"""Objectives with kinks: absolute values, norms, minima, maxima, tables, against a search in plain numpy."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import linprog, minimize

import casid
from casid.expressions import affine_rows, convex_kinks, evaluate, smoothed
from casid.retrieval import (
    Constraint,
    LeastSquares,
    Problem,
    SolveOptions,
    com_box,
    link_variables,
    mass_bounds,
    sensible_bounds,
    soften,
)
from casid.retrieval.plausible import believable
from casid.testing import arm, blind

KNOTS = np.array([-1.0, -0.1, 0.0, 0.1, 0.3, 1.0])
MASS, REACH = (0.02, 10.0), 0.3


def table(rng: np.random.Generator):
    """A table and a norm, in CasADi and in numpy."""
    values = rng.uniform(0.0, 1.0, len(KNOTS))
    made = ca.interpolant("table", "linear", [KNOTS.tolist()], values.tolist())
    norms = {ca: lambda v: ca.norm_2(ca.vertcat(*v)), np: lambda v: np.sqrt(sum(entry**2 for entry in v))}
    return {ca: made, np: lambda a: np.interp(a, KNOTS, values)}, norms


#: The objective of mass and centre of mass in the words of CasADi or numpy, with numbers, a table and a norm.
FORMS = {
    "fabs": lambda f, m, c, a, table, norm: f.fabs(c[0] - a[0]) + 0.1 * m,
    "hypot": lambda f, m, c, a, table, norm: f.hypot(c[0] - a[0], c[1] - a[1]) + 0.1 * m,
    "norm": lambda f, m, c, a, table, norm: norm[f]([c[k] - a[k] for k in range(3)]) + f.fabs(m - 1.0),
    "largest": lambda f, m, c, a, table, norm: f.fmax(c[0] - a[0], f.fmax(a[1] - c[1], c[1] - a[2])) + 0.1 * m,
    "smallest": lambda f, m, c, a, table, norm: f.fmin(f.fabs(c[0] - a[0]), 0.1 + f.fabs(c[1] - a[1])) + 0.1 * m,
    "table": lambda f, m, c, a, table, norm: table[f](c[0]) + 0.1 * m,
    "product": lambda f, m, c, a, table, norm: f.fabs(c[0] - a[0]) * m + 0.1 * f.fabs(m - 1.0),
}


def least(value) -> float:
    """The objective's least value over masses and centres of mass in their box, by a grid and a simplex search."""
    m, *c = np.meshgrid(np.linspace(*MASS, 12), *[np.linspace(-REACH, REACH, 13)] * 3, indexing="ij")
    values = np.broadcast_to(value(m, c), m.shape)
    best = float(values.min())
    for k in np.argsort(values, axis=None)[:3]:
        start = [g.flat[k] for g in (m, *c)]
        bounds = [MASS, *[(-REACH, REACH)] * 3]
        best = min(best, minimize(lambda p: value(p[0], p[1:]), start, method="Nelder-Mead", bounds=bounds).fun)
    return best


@pytest.mark.claim("an objective with kinks ends at what is attained, or states an honest gap: never 'stopped' far off")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_kinks_are_met(form: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    variables = link_variables(blind(arm()))
    link = variables[0]
    given = (rng.uniform(-0.25, 0.25, 3), *table(rng))
    box = mass_bounds(link, *MASS), com_box(link, -REACH, REACH)
    objective = FORMS[form](ca, link.mass, link.com, *given)
    found = casid.solve(Problem("kinks", variables, objective, box), throw=False)

    def mine(m, c):
        return FORMS[form](np, m, c, *given)

    body, reached = found.link_parameters[0], least(mine)
    assert found.usable
    assert found.objective == pytest.approx(float(mine(body.mass, body.com)), rel=1e-9, abs=1e-12)
    assert found.lower_bound <= reached * (1 + 1e-9) + 1e-12
    assert found.objective <= reached + 1e-3 * max(abs(reached), 0.01)


@pytest.mark.claim("the largest and the summed absolute errors of coefficients have a proven least value")
@pytest.mark.parametrize("norm", [ca.norm_inf, ca.norm_1])
def test_robust_losses_equal_the_epigraph_that_a_user_writes(norm) -> None:
    fit = casid.load_problem("panda_retrieval").objective
    count = 1 if norm is ca.norm_inf else len(fit.target)
    links = link_variables(casid.load_robot("panda"), {f"t{k}": (0.0, 10.0) for k in range(count)})
    errors = ca.DM(fit.matrix) @ links.x[: links.standard_size] - ca.DM(fit.target)
    t = ca.vertcat(*[links.extra(f"t{k}") for k in range(count)])
    sides = Constraint("above", errors - t, upper=0), Constraint("below", -errors - t, upper=0)
    epigraph = casid.solve(Problem("epigraph", links, ca.sum1(t), (sensible_bounds(links), *sides)))
    own = casid.solve(Problem("norm", links, norm(errors), (sensible_bounds(links),)))
    assert own.certified and epigraph.certified
    assert own.objective == pytest.approx(epigraph.objective, rel=1e-6)
    residual = fit.matrix @ own.x[: links.standard_size] - fit.target
    order = np.inf if norm is ca.norm_inf else 1
    assert own.objective == pytest.approx(np.linalg.norm(residual, order), rel=1e-12)


@pytest.mark.claim("bounds on sums of absolute values and on spreads, hard or soft, are certified as by hand")
@pytest.mark.parametrize("hard", [True, False])
@pytest.mark.parametrize("form", ["sum", "spread"])
def test_bounds_on_kinks_equal_the_epigraph_that_a_user_writes(hard: bool, form: str) -> None:
    fit, robot = casid.load_problem("panda_retrieval").objective, casid.load_robot("panda")
    own, links = link_variables(robot), link_variables(robot, {f"t{k}": (0.0, 50.0) for k in range(9)})
    masses, mine = (ca.vertcat(*[link.mass for link in v]) for v in (own, links))
    t = ca.vertcat(*[links.extra(f"t{k}") for k in range(9)])
    if form == "sum":
        bound = Constraint("kinks", ca.norm_1(masses - 2.0) <= 4.0)
        rows = [Constraint("a", mine - 2.0 - t[:7], upper=0), Constraint("b", 2.0 - mine - t[:7], upper=0)]
        amount = ca.sum1(t[:7]) - 4.0
    else:
        bound = Constraint("kinks", ca.mmax(masses) - ca.mmin(masses) <= 2.0)
        rows = [Constraint("a", mine - t[7], upper=0), Constraint("b", t[8] - mine, upper=0)]
        amount = t[7] - t[8] - 2.0
    last = Constraint("last", amount, upper=0)
    weight = 1e-5
    problem = Problem("own", own, fit, (sensible_bounds(own), bound if hard else bound.soften(weight)))
    matrix = np.hstack([fit.matrix, np.zeros((len(fit.target), 9))])
    by_hand = Problem(
        "by hand",
        links,
        LeastSquares(matrix, fit.target, fit.constant),
        (sensible_bounds(links), *rows, last if hard else last.soften(weight)),
    )
    found, expected = casid.solve(problem), casid.solve(by_hand)
    assert found.certified and expected.certified
    assert found.total == pytest.approx(expected.total, rel=1e-6)
    m = found.standard_parameters[9::10]
    missed = max((np.abs(m - 2).sum() - 4.0) if form == "sum" else np.ptp(m) - 2.0, 0.0)
    assert found.penalty == pytest.approx(0.0 if hard else weight * missed, rel=1e-9, abs=1e-12)
    assert missed <= 1e-8 if hard else missed > 0.1
    chosen = believable(problem, found)
    total = problem.value(chosen.x) + problem.penalty(chosen.x)
    assert chosen.max_violation <= 1e-8 and found.lower_bound <= total <= chosen.limit * (1 + 1e-7)
    assert total == pytest.approx(chosen.limit, rel=1e-3)  # all that is allowed, also of what a shared slack costs


@pytest.mark.claim(
    "random sums of maxima, with hard and soft bounds on sums and spreads, end at a linear program's optimum"
)
@pytest.mark.parametrize("seed", [*range(8), *[pytest.param(k, marks=pytest.mark.slow) for k in range(8, 60)]])
def test_sums_of_maxima_equal_a_linear_program(seed: int) -> None:
    rng, n, (low, high) = np.random.default_rng(seed), 6, (0.2, 5.0)
    links = link_variables(casid.load_robot("puma560"))
    m = ca.vertcat(*[link.mass for link in links])
    groups = [(10.0 ** rng.uniform(-4, 2), rng.normal(size=(3, n)), rng.normal(size=3)) for _ in range(3)]
    groups.append((1.0, np.stack([groups[0][1][0], -groups[0][1][0]]), np.zeros(2)))  # an absolute value
    objective = sum((w * ca.mmax(ca.DM(A) @ m + ca.DM(b)) for w, A, b in groups[:3]), ca.SX(0))
    objective += ca.fabs(ca.dot(ca.DM(groups[0][1][0]), m))
    centre, room, spread, price = (
        rng.uniform(1, 4, n),
        rng.uniform(4, 10),
        rng.uniform(0.2, 2),
        10.0 ** rng.uniform(-3, 1),
    )
    rows = [Constraint("sum", ca.norm_1(m - ca.DM(centre)) <= room)]
    rows.append(soften(Constraint("spread", ca.mmax(m) - ca.mmin(m) <= spread), price))
    box = [part for link in links for part in (mass_bounds(link, low, high), com_box(link, -REACH, REACH))]
    found = casid.solve(Problem("random", links, objective, (*box, *rows)))
    # the same by unknowns m, t (one a maximum), d >= |m - centre|, largest, smallest, v
    size, at = n + 4 + n + 3, n + 4
    cost, above, right = np.zeros(size), list[np.ndarray](), list[float]()

    def row(bound: float, *parts: tuple[int, float]) -> np.ndarray:
        above.append(np.zeros(size))
        right.append(bound)
        for place, value in parts:
            above[-1][place] = value
        return above[-1]

    for g, (w, A, b) in enumerate(groups):
        cost[n + g] = w
        for slope, offset in zip(A, b, strict=True):
            row(-offset, (n + g, -1.0))[:n] = slope
    for k in range(n):
        row(centre[k], (k, 1.0), (at + k, -1.0))
        row(-centre[k], (k, -1.0), (at + k, -1.0))
        row(0.0, (k, 1.0), (size - 3, -1.0))
        row(0.0, (k, -1.0), (size - 2, 1.0))
    row(room)[at : at + n] = 1.0
    row(spread, (size - 3, 1.0), (size - 2, -1.0), (size - 1, -1.0))
    cost[-1] = price
    bounds = [(low, high)] * n + [(None, None)] * 4 + [(0, None)] * n + [(None, None)] * 2 + [(0, None)]
    program = linprog(cost, np.array(above), np.array(right), bounds=bounds, method="highs")
    assert program.status == 0 and found.certified
    assert found.total == pytest.approx(program.fun, rel=2e-6, abs=1e-8)
    assert found.lower_bound <= program.fun + 1e-9 * max(abs(program.fun), 1.0)


@pytest.mark.claim("what is taken for maxima of linear terms is the expression, whatever it is made of")
@pytest.mark.parametrize("seed", range(20))
def test_convex_kinks_and_the_rest_are_the_expression(seed: int) -> None:
    rng, x = np.random.default_rng(seed), ca.SX.sym("x", 3)
    terms = [x[0], 2 * x[1] - 0.3, x[2] - x[0], ca.SX(0.2), x[0] * x[1]]
    for _ in range(6):
        a, b = (terms[k] for k in rng.integers(len(terms), size=2))
        w = float(rng.normal())
        made = (ca.fabs(a), ca.fmax(a, b), ca.fmin(a, b), a + w * b, a - b / 3, -2 * a, ca.sin(a) + b)
        terms.append(made[rng.integers(len(made))])
    whole = terms[-1] + ca.fmax(terms[5], ca.fabs(x[0]))
    left, kinks = convex_kinks(whole, x)
    parts = left + sum(kink.weight * ca.mmax(ca.vertcat(*kink.pieces)) for kink in kinks)
    assert all(kink.weight > 0 and None not in affine_rows(ca.vertcat(*kink.pieces), x) for kink in kinks)
    for point in rng.normal(size=(50, 3)):
        assert evaluate(parts, x, point) == pytest.approx(evaluate(whole, x, point), rel=1e-12, abs=1e-12)


@pytest.mark.claim("what the search for a kink took is counted; starts at which a constraint has no value are no error")
def test_restarts_are_counted_and_may_be_missing() -> None:
    variables = link_variables(blind(arm()))
    link = variables[0]
    box = mass_bounds(link, *MASS), com_box(link, -REACH, REACH)
    valleys = ca.fabs(link.com[0] - 0.1) + ca.fabs(link.com[0] + 0.1) / 2 + 0.1 * link.mass
    problem = Problem("kinks", variables, valleys, box)
    once, more = (casid.solve(problem, method="direct", options=SolveOptions(restarts=k)) for k in (0, 1))
    assert not more.certified and more.iterations > once.iterations
    narrow = Constraint("domain", ca.log(1e-4 - (link.mass - 1.0) ** 2), -40.0, -9.3)  # the nominal body has 1 kg
    assert casid.solve(problem.add(narrow), method="direct", throw=False).status in ("feasible", "failed")


@pytest.mark.claim(
    "what is rounded off is right on its kink and off by at most its width; settled, it is the same there"
)
def test_rounding_off_is_within_its_width() -> None:
    x, rng = ca.SX.sym("x", 3), np.random.default_rng(0)
    tables, _ = table(rng)
    own, values = tables[ca], tables[np]
    whole = ca.vertcat(ca.fabs(x[0]), ca.hypot(x[0], x[1]), ca.fmax(x[0], x[1]), ca.fmin(x[1], 0.3), own(x[2]))
    slope = np.abs(np.diff(np.diff(values(KNOTS)) / np.diff(KNOTS))).sum()
    for point in rng.uniform(-0.5, 0.5, (20, 3)):
        exact = evaluate(whole, x, point)
        for width in (1e-2, 1e-5):
            smooth, ties = smoothed(whole, x, width)
            assert not ties and np.abs(evaluate(smooth, x, point) - exact).max() <= width * max(1.0, slope)
        settled, ties = smoothed(whole, x, 1e-6, point)
        assert not ties and evaluate(settled, x, point) == pytest.approx(exact, rel=1e-9, abs=1e-9)
    near = np.array([1e-4, -1e-4, 0.1001])
    _, ties = smoothed(whole, x, 1e-2, near)
    assert [float(evaluate(tie, x, near)[0]) for tie in ties] == pytest.approx(
        [1e-4, 1e-4, -1e-4, 2e-4, 1e-4], abs=1e-9
    )
    plain = x[0] * ca.sin(x[1])
    assert smoothed(plain, x, 0.1)[0] is plain
