"""Problems stated and solved as CasADi users do: relations, MX, other solvers, Opti, and the certificate by default."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import casid
from casid.errors import ProblemError
from casid.retrieval import (
    Constraint,
    InfeasibleError,
    SolveOptions,
    either,
    link_variables,
    load_problem,
    soften,
    solve,
)

INF = np.inf
TABLE = ca.interpolant("table", "linear", [[0.0, 1.0, 5.0]], [0.0, 2.0, 3.0])


@pytest.fixture(scope="module")
def links(panda):
    return panda.variables


#: Form -> values of the bounded expressions at the nominal body are within these bounds.
READ = {
    "number on the right": (lambda k: k.mass <= 3, [-INF], [3]),
    "number on the left": (lambda k: 0.1 <= k.mass, [0.1], [INF]),
    "strict": (lambda k: k.mass < 3, [-INF], [3]),
    "greater": (lambda k: k.mass > 0.5, [0.5], [INF]),
    "equal": (lambda k: k.mass == 1, [1], [1]),
    "two expressions": (lambda k: k.com[0] <= 2 * k.com[1], [-INF], [0]),
    "vector and number": (lambda k: k.com <= 0.1, [-INF] * 3, [0.1] * 3),
    "numpy vector on the left": (lambda k: np.array([-1.0, -2.0, -3.0]) <= k.com, [-1, -2, -3], [INF] * 3),
    "DM on the right": (lambda k: k.com >= ca.DM([-1, -2, -3]), [-1, -2, -3], [INF] * 3),
    "numpy number": (lambda k: np.float64(0.1) <= k.mass, [0.1], [INF]),
    "and": (lambda k: ca.logic_and(0.1 <= k.mass, k.mass <= 3), [0.1], [3]),
    "and of vectors": (
        lambda k: ca.logic_and(k.com >= -0.1, k.com <= 0.1),
        [-0.1] * 3 + [-INF] * 3,
        [INF] * 3 + [0.1] * 3,
    ),
    "stacked": (lambda k: ca.vertcat(k.mass <= 3, k.com[2] >= 0), [-INF, 0], [3, INF]),
    "row": (lambda k: k.com.T <= 1, [-INF] * 3, [1] * 3),
    "vector equality": (lambda k: ca.vertcat(k.mass, k.com) == ca.DM([1, 0, 0, 0]), [1, 0, 0, 0], [1, 0, 0, 0]),
    "if-else as a bound": (lambda k: k.mass <= ca.if_else(k.com[2] > 0, 1, 2), [-INF], [0]),
    "norm": (lambda k: ca.norm_2(k.com) <= 0.2, [-INF], [0.2]),
    "called table": (lambda k: TABLE(k.mass) <= 1, [-INF], [1]),
    "inverted sign": (lambda k: -k.mass <= -1, [-INF], [-1]),
    "own name": (lambda k: Constraint("own", k.mass >= 1), [1], [INF]),
    "bounds without a name": (lambda k: Constraint(k.mass, lower=1, upper=2), [1], [2]),
}


@pytest.mark.parametrize("symbols", ["SX", "MX"])
@pytest.mark.parametrize("form", READ)
def test_relations_are_read_as_written(links, form, symbols) -> None:
    write, lower, upper = READ[form]
    given = write((links if symbols == "SX" else links.mx)[6])
    found = given if isinstance(given, Constraint) else Constraint(given)
    # the order of stacked relations is free, their pairs of bounds are not
    assert sorted(zip(found.lower, found.upper, strict=True)) == sorted(zip(lower, upper, strict=True))
    assert isinstance(found.label, str) and found.label
    links.check_symbols(found.expression, "form")


def test_matrices_are_bounded_entry_by_entry(links) -> None:
    x = np.random.default_rng(0).normal(size=links.size)
    for own in (links, links.mx):
        found = Constraint(own[2].inertia_com <= np.arange(9.0).reshape(3, 3))
        expected = Constraint("plain", links[2].inertia_com, upper=np.arange(9.0).reshape(3, 3).T.ravel())
        assert found.violation(found.value(links.x, x)) == pytest.approx(expected.violation(expected.value(links.x, x)))


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda k: k.mass != 1, "'!=' leaves out.*either"),
        (lambda k: ca.logic_or(k.mass <= 1, k.mass >= 2), "either"),
        (lambda k: ca.logic_not(k.mass <= 1), "the opposite relation"),
        (lambda k: 2 * (k.mass <= 1), "within arithmetic"),
        (lambda k: ca.if_else(k.com[2] > 0, k.mass <= 1, k.mass <= 2), "if_else"),
        (lambda k: k.mass**2 >= 0, "always True"),
        (lambda k: k.mass, "bounds nothing"),
        (lambda k: ca.logic_and(k.mass <= 1, k.mass >= 2), "bounds cross"),
        (lambda k: ca.SX.sym("z") <= 1, "symbol z"),
        (lambda k: ca.MX.sym("z") <= 1, "symbol z.*mx"),
    ],
)
def test_what_bounds_nothing_is_refused_with_what_to_write(panda, links, write, words) -> None:
    with pytest.raises(ProblemError, match=words):
        panda.add(write(links[6]))


def test_a_relation_means_its_bounds(panda, links) -> None:
    k, m = links[6], links.mx[6]
    expected = solve(panda.add(Constraint("heavy", k.mass, lower=1.0))).objective
    for relation in (k.mass >= 1, m.mass >= 1, ca.logic_and(1 <= m.mass, m.mass <= 30)):
        found = solve(panda.add(relation))
        assert found.certified and found.objective == pytest.approx(expected, rel=1e-7)
    soft = panda.add(soften(k.mass >= 3, 1e-6))
    assert solve(soft).penalty > 0
    with pytest.raises(ProblemError, match="symbol"):
        panda.add(link_variables(panda.variables.robot).mx[0].mass <= 1)


def test_mx_objectives_and_values_are_those_of_sx(panda, links) -> None:
    for other in (links, links.mx):
        heavy = solve(replace(panda, objective=panda.objective - 1e-4 * other[6].mass))
        assert heavy.certified
        assert heavy.value(links.mx[6].mass) == heavy.value(links[6].mass) == heavy["m7"]
        whole = solve(replace(panda, objective=panda.objective.expression(other.x) - 1e-4 * other[6].mass))
        assert whole.objective == pytest.approx(heavy.objective, rel=1e-7)
    np.testing.assert_allclose(heavy.value(links.mx[3].inertia_com), heavy.value(links[3].inertia_com), rtol=1e-12)
    assert solve(pickle.loads(pickle.dumps(panda))).objective == pytest.approx(solve(panda).objective, rel=1e-7)
    with pytest.raises(ProblemError, match="no unknown"):
        heavy.value(ca.MX.sym("y"))


QUIET = {"print_level": 0, "sb": "yes", "tol": 1e-12, "bound_relax_factor": 0.0}


@pytest.mark.parametrize("soft", [False, True])
def test_the_program_and_opti_have_the_same_optimum(panda, links, soft) -> None:
    problem = panda.add(soften(links[6].mass >= 1.5, 1e-4)) if soft else panda
    expected = solve(problem)
    program = problem.nlp()
    solver = ca.nlpsol("own", "ipopt", {key: program[key] for key in "xfg"}, {"print_time": False, "ipopt": QUIET})
    found = solver(**{key: program[key] for key in ("x0", "lbx", "ubx", "lbg", "ubg")})
    x = np.array(program["parameters"](found["x"])).ravel()
    assert len(program["names"]) == program["x"].numel()
    assert float(found["f"]) == pytest.approx(expected.total, rel=1e-7)
    assert problem.value(x) + problem.penalty(x) == pytest.approx(expected.total, rel=1e-7)
    assert problem.met(problem.violations(x), 1e-8)
    stack, own = problem.opti()
    stack.solver("ipopt", {"print_time": False}, QUIET)
    assert stack.solve().value(stack.f) == pytest.approx(expected.total, rel=1e-7)
    stack.subject_to(own[4].mass >= 2.5)
    bounded = solve(problem.add(links[4].mass >= 2.5))
    assert stack.solve().value(stack.f) == pytest.approx(bounded.total, rel=1e-7)


def test_options_of_any_plugin_are_passed_whole(panda) -> None:
    expected = solve(panda).objective
    for solver, options in (
        ("ipopt", {"ipopt": {"mu_strategy": "adaptive"}}),
        ("fatrop", {"fatrop": {"print_level": 0}}),
    ):
        if ca.has_nlpsol(solver):
            assert solve(panda, solver=solver, options=options).objective == pytest.approx(expected, rel=1e-7)
    with pytest.raises(ProblemError, match="max_itr"):
        solve(panda, options={"ipopt": {"max_itr": 3}})
    with pytest.raises(ProblemError, match="no nlpsol plugin 'other'"):
        solve(panda, options=SolveOptions(restarts=0), solver="other")


@pytest.mark.parametrize(
    ("recipe", "way"), [("if_else", "branches, 2"), ("bolted", "branches, 2"), ("aligned", "boxes")]
)
def test_the_way_to_a_certificate_is_chosen(recipe, way) -> None:
    found = solve(load_problem("cookbook", recipe=recipe))
    assert found.certified and "direct" in found.tried and way in found.tried


def test_an_open_gap_is_left_with_what_to_try_next(panda, links) -> None:
    from casid.retrieval.methods import Auto

    parts = [either(f"{k}", links[k].com[0] >= 0.01, links[k].com[0] <= -0.01) for k in range(1, 7)]
    found = solve(panda.add(parts), method=Auto(seconds=2.0), throw=False)
    assert found.certified or "next:" in found.tried


# ---------------------------------------------------------------------- parameters


@pytest.fixture(scope="module")
def lengths(panda):
    """A problem with a datum, a bound and a length as parameters, each of which matters."""
    data = panda.coefficients
    problem = panda.with_parameters(datum=float(data.values[0]), bound=-0.03, length=0.3, mass=18.0)
    links = problem.variables
    values = [links.parameter("datum"), *data.values[1:]]
    misses = ca.DM(data.forms) @ links.x[: data.forms.shape[1]] - ca.vertcat(*values)
    torque = links.parameter("length") * links[3].first_moment[0] + links[4].first_moment[1]
    total = sum(link.mass for link in links)
    return replace(problem, objective=ca.sumsqr(misses) + 0.05 * (torque - 0.02) ** 2).add(
        links[5].com[2] <= links.parameter("bound"), total <= links.parameter("mass")
    )


@pytest.mark.parametrize(("name", "step"), [("datum", 1e-5), ("bound", 1e-4), ("length", 1e-4)])
def test_derivatives_of_the_optimum_are_finite_differences(lengths, name, step) -> None:
    found, value = solve(lengths), lengths.variables.parameters[name]
    assert found.certified
    fine = SolveOptions(target_gap=1e-10)

    def slope(h: float) -> float:
        ends = [solve(lengths.at(**{name: value + s * h}), options=fine).objective for s in (1, -1)]
        return (ends[0] - ends[1]) / (2 * h)

    expected = slope(step)
    assert found.derivative(name) == pytest.approx(expected, rel=2e-5)


def test_derivatives_in_bounds_are_those_of_parameters(lengths) -> None:
    found = solve(lengths)
    (label,) = (label for label in lengths.templates if "lz6" in label)
    assert found.derivative(label, "upper") == pytest.approx(found.derivative("bound"), rel=1e-9)
    assert abs(found.derivative("mass")) < 1e-9  # not active
    links = lengths.variables
    fixed = solve(lengths.without(label).add(Constraint("fixed", links[5].com[2], upper=-0.03)))
    assert fixed.objective == pytest.approx(found.objective, rel=1e-7)
    assert fixed.derivative("fixed", "upper") == pytest.approx(found.derivative("bound"), rel=1e-4)
    for wrong in ("nothing", "m1"):
        with pytest.raises(ProblemError, match="parameter"):
            found.derivative(wrong)
    with pytest.raises(ProblemError, match="no constraint"):
        found.derivative("nothing", "upper")


def test_a_problem_at_other_values_is_the_problem_with_these_numbers(lengths) -> None:
    moved = lengths.at(bound=-0.04, length=0.1)
    assert moved.at(bound=-0.03, length=0.3).value(solve(lengths).x) == pytest.approx(solve(lengths).objective)
    again = pickle.loads(pickle.dumps(moved))
    assert solve(again.at(length=0.2)).objective == pytest.approx(solve(moved.at(length=0.2)).objective, rel=1e-7)
    view = lengths.variables.mx
    other = lengths.add(Constraint("view", view[0].mass >= view.parameter("mass") - 17))
    assert solve(other)["m1"] >= 1 - 1e-8 and solve(other.at(mass=18.5))["m1"] >= 1.5 - 1e-8
    with pytest.raises(ProblemError, match="no parameter 'width'"):
        lengths.at(width=1.0)


def test_a_study_over_parameters_goes_on_where_it_stopped(lengths, tmp_path) -> None:
    file, over = tmp_path / "study.jsonl", {"bound": [-0.05, -0.03], "margin": [1e-6, 1e-5]}
    whole = casid.study(lengths, over=over)
    first = casid.study(lengths, file, over=over)
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:3]))
    rest = casid.study(lengths, file, over=over)
    assert (first.solved, rest.solved, whole.certified) == (4, 2, 4)
    for one, other in zip(whole.results, rest.results, strict=True):
        np.testing.assert_array_equal(one.solution.x, other.solution.x)
    rows = whole.table if isinstance(whole.table, list) else json.loads(whole.table.to_json(orient="records"))
    assert {(row["bound"], row["margin"]) for row in rows} == {(b, m) for b in over["bound"] for m in over["margin"]}
    assert rows[0]["objective"] == pytest.approx(solve(lengths.at(bound=-0.05)).objective, rel=1e-6)
    assert whole.plot_over("margin").get_xlabel() == "margin"
    with pytest.raises(ProblemError, match="not over"):
        whole.plot_over("length")
    with pytest.raises(ProblemError, match="no parameter 'width'"):
        casid.study(lengths, over={"width": [1.0]})


def test_a_relation_without_a_label_is_stated_once_where_it_conflicts(panda, links):
    with pytest.raises(InfeasibleError, match=r"hand >= 0\.5 conflicts with m7 <= 0\.2;"):
        solve(panda.add(links[6].mass <= 0.2, Constraint("hand", links[6].mass >= 0.5)))
