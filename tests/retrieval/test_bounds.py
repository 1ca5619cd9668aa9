"""Bounds on quantities of links, and new kinds of them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import casadi as ca
import numpy as np
import pytest

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
    solve,
    total_mass,
)
from casid.retrieval._region import Facts
from casid.retrieval.constraints._bounds import LinkConstraint
from casid.retrieval.constraints._constraint import ScalarRow, Setting
from casid.testing import BODY, arm, nearest


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


def test_a_total_mass_of_several_links() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = solve(nearest(np.tile(BODY, 2), lambda v: total_mass(v, 5.0, 6.0)))
    assert found["m1"] + found["m2"] == pytest.approx(5.0, abs=1e-6)
    assert json.dumps(found.extras) == "{}"
