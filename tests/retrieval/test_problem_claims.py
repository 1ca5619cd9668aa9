"""Statements about problems and solutions that were once false: each test fails on the code that made them."""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import casadi as ca
import numpy as np
import pytest

import casid
from casid.errors import CasidError, ProblemError
from casid.inertia import Parameters
from casid.inertia._cones import Free, Semi
from casid.retrieval import (
    Constraint,
    InfeasibleError,
    Problem,
    com_box,
    explain,
    inertia_bounds,
    least_squares,
    link_variables,
    mass_bounds,
    parameter_intervals,
    soften,
    solve,
    total_mass,
)
from casid.retrieval._objectives import LeastSquares
from casid.retrieval._region import Facts
from casid.retrieval._result import ParameterResult
from casid.retrieval._rows import split_rows
from casid.retrieval.constraints._consistency import no_consistency, spatial_inertia
from casid.retrieval.constraints._constraint import LinkConstraint, ScalarRow, Setting
from casid.testing.synthetic_problems import BODY, arm, nearest


@pytest.mark.claim("a constraint's expression, replaced, is what is solved and re-checked")
@pytest.mark.parametrize("kind", ["com", "mass", "inertia"])
def test_a_replaced_expression_is_never_ignored(kind: str) -> None:
    variables = link_variables(arm())
    link = variables[0]
    given = {
        "com": com_box(link, -0.3, 0.3),
        "mass": mass_bounds(link, 0.5, 8.0),
        "inertia": inertia_bounds(link, 0, 1),
    }
    with pytest.raises(ValueError, match="expression"):  # that of a link quantity follows from the link
        replace(given[kind], expression=given[kind].expression + 0.2)
    moved = given[kind].with_expression(given[kind].expression + 0.2)
    assert type(moved) is Constraint
    hard = [c for name, c in given.items() if name in ("com", "mass") and name != kind]
    problem = Problem("moved", variables, least_squares(variables, np.eye(10), BODY), (*hard, moved))
    values = problem.values(BODY)[moved.label]
    np.testing.assert_allclose(values, given[kind].value(variables.x, BODY) + 0.2)
    found = solve(problem, throw=False)
    if found.usable:
        again = moved.value(variables.x, found.x)
        assert moved.violation(again) <= 1e-8
    assert found.violations[moved.label] == pytest.approx(moved.violation(moved.value(variables.x, found.x)), abs=1e-12)


@pytest.mark.claim("edits of a problem lose no link's consistency")
def test_consistency_survives_every_edit() -> None:
    problem = nearest(np.tile(BODY, 2), lambda v: (spatial_inertia(v[0], 1e-5), [no_consistency(v[1])]))
    kinds = [(Semi(), 1e-5), (Free(), 0.0)]
    more = mass_bounds(problem.variables[0], 1.0, 3.0)
    edits = (
        problem,
        replace(problem, constraints=(*problem.constraints, replace(more, label="more"))),
        problem.with_constraints([replace(more, label="a"), (replace(more, label="b"),)]),
        problem.without("link1 mass"),
        replace(problem, constraints=()),
    )
    for edited in edits:
        assert [(entry.cone, entry.margin) for entry in edited.cones] == kinds
    assert [c.weight for c in soften(problem.constraints[:2], 2.0)] == [2.0, 2.0]


@dataclass(frozen=True, eq=False)
class Spread(LinkConstraint):
    """``m <= most`` of a link, in a form of its own: everything about it is here."""

    unit: ClassVar[str] = "kg"

    def _quantity(self) -> ca.SX:
        return self.links[0].mass

    def rows(self, setting: Setting) -> Iterable[ScalarRow]:
        yield ScalarRow(3 * (self.upper[0] - self.links[0].mass), 0.0, np.inf, True, 0, "upper")

    def add_facts(self, facts: Facts) -> None:
        facts.mass_within(self.links[0], -np.inf, float(self.upper[0]))


@pytest.mark.claim("a new kind of constraint is one new class")
def test_a_new_kind_of_constraint() -> None:
    problem = nearest(BODY, lambda v: Spread("light", upper=1.5, links=(v[0],)), bounded=False)
    found = solve(problem)
    assert found["m1"] == pytest.approx(1.5, abs=1e-7) and found.objective == pytest.approx(0.25, rel=1e-5)
    assert problem.regions[0].mass[1] == 1.5
    assert any("light <= 1.5 kg" in str(bound) for bound in explain(found).bounds)
    with pytest.raises(InfeasibleError, match=r"light <= 0\.4 kg"):
        solve(nearest(BODY, lambda v: Spread("light", upper=0.4, links=(v[0],))))


@pytest.mark.claim("standard parameters are 10 n numbers, extras are apart")
def test_solution_answers_questions() -> None:
    problem = nearest(np.append(np.tile(BODY, 2), 0.3), lambda v: (), extras={"fv1": (0.0, 1.0)})
    found = solve(problem)
    assert found.standard_parameters.shape == (20,) and found.x.shape == (21,)
    assert found.extras == {"fv1": found["fv1"]} and found["fv1"] == pytest.approx(0.3, abs=1e-6)
    assert found.links["link2"].mass == found["m2"] and list(found.links) == ["link1", "link2"]
    link = problem.variables["link2"]
    np.testing.assert_allclose(found(link.inertia_com), found.links["link2"].inertia_com, atol=1e-15)
    assert found(link.mass) == found["m2"]
    with pytest.raises(ProblemError):
        found(ca.SX.sym("m2"))
    assert "nearest" in repr(found) and "optimal" in repr(found) and len(repr(found)) < 200
    assert "2 links" in repr(problem) and len(repr(problem)) < 200


@pytest.mark.claim("no problem starts at the simulated robot's true parameters")
def test_the_two_link_robot_does_not_hold_the_truth() -> None:
    problem = casid.load_problem("spatial_2r", shapes="exact")
    robot = problem.variables.robot
    assert all(link.inertial is None for link in robot.links)


def test_least_squares_objective_is_its_own_scale() -> None:
    objective = LeastSquares(np.eye(2), np.array([3.0, 4.0]), 1.0)
    assert objective.size == 26.0 and objective.negligible(np.zeros(2)) == pytest.approx(1e-20 * 25, abs=1e-14)


def test_a_total_mass_of_several_links() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = solve(nearest(np.tile(BODY, 2), lambda v: total_mass(v, 5.0, 6.0)))
    assert found["m1"] + found["m2"] == pytest.approx(5.0, abs=1e-6)
    assert json.dumps(found.extras) == "{}"


@pytest.mark.claim("a lookup by name that fails is a CasidError and a KeyError; `in` never raises")
def test_lookups_by_name_follow_one_rule() -> None:
    problem = nearest(np.append(np.tile(BODY, 2), 0.3), lambda v: (), extras={"fv1": (0.0, 1.0)})
    found = solve(problem)
    intervals = parameter_intervals(problem, {"m1": problem.variables.x[9]}, tolerance=0.1, solution=found)
    lookups = (
        (found, "m1"), (found, "fv1"), (found.links, "link2"), (found.parameters, "m2"), (found.parameters.links, "link1"),
        (problem.variables, "link1"), (intervals, "m1"),
    )  # fmt: skip
    for owner, name in lookups:
        assert name in owner and owner[name] is not None
        for wrong in ("hand", "", 0.5, None):
            assert wrong not in owner
        with pytest.raises(CasidError, match="'hand'") as caught:
            owner["hand"]
        assert isinstance(caught.value, KeyError) and str(caught.value) == caught.value.message
    with pytest.raises(KeyError):
        problem.variables.extra("fv9")
    assert problem.variables[0] in problem.variables and found.links.get("hand") is None
    assert pickle.loads(pickle.dumps(found)).parameters["m1"] == found["m1"]


@pytest.mark.claim("a result's parameters are Parameters; links, extras and standard parameters follow from them")
def test_a_solution_is_its_parameters() -> None:
    found = solve(nearest(np.append(np.tile(BODY, 2), 0.3), lambda v: (), extras={"fv1": (0.0, 1.0)}))
    assert isinstance(found, ParameterResult) and isinstance(found.parameters, Parameters)
    np.testing.assert_array_equal(found.parameters.values, found.x)
    np.testing.assert_array_equal(found.standard_parameters, found.parameters.standard)
    assert found.extras == dict(found.parameters.terms)
    assert [link.name for link in found.link_parameters] == list(found.links) == ["link1", "link2"]


@pytest.mark.claim("solver rows know the label and the quantity that they bound")
def test_rows_know_what_they_bound() -> None:
    problem = nearest(
        np.append(np.tile(BODY, 2), 0.3),
        lambda v: (total_mass(v, 1.0, 9.0), com_box(v[0], -0.3, 0.3), Constraint("mine", v[1].mass, upper=7.0)),
        extras={"fv1": (0.0, 1.0)},
        bounded=False,
    )
    rows = split_rows(problem)[0].rows
    assert [(row.label, row.quantity) for row in rows if row.label != "link1 com"] == [
        ("total mass", "total mass"), ("mine", ""), ("fv1", ""),
    ]  # fmt: skip
    assert {row.quantity for row in rows if row.label == "link1 com"} == {"centre of mass"}
