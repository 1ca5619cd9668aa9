"""What a conflict's rows say: which side, by how much, in which unit; cuts among them under their bound's name."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from casid.inertia import to_standard
from casid.retrieval import Constraint, InfeasibleError, LinearRows, Problem, com_box, mass_bounds, solve
from casid.retrieval._rows import NonlinearRows, split_rows
from casid.retrieval.bound._cuts import Cut
from casid.retrieval.program._elastic import _elastic, _read, _with_cuts
from casid.retrieval.program._nlp import Cone, FeasibleSet
from casid.testing import BODY, nearest


def problem() -> Problem:
    return nearest(
        BODY,
        lambda v: (Constraint("mass", v[0].mass, 1.0, 3.0),
                   com_box(v[0], -0.4, 0.4), Constraint("large", 1000.0 * v[0].first_moment[1], upper=500.0),
                   Constraint("curved", v[0].first_moment[0] * v[0].mass, 0.05, 5.0)),
        bounded=False,
    )  # fmt: skip


def read(multipliers: dict[str, float], **changes: float):
    """The conflict at a body with changed first moments and mass, every other multiplier zero."""
    stated = problem()
    linear, nonlinear = split_rows(stated)
    cones = tuple(Cone.around(entry, BODY) for entry in stated.cones)
    elastic = _elastic(FeasibleSet(linear, nonlinear, cones, BODY))
    x = BODY.copy()
    x[9], x[6], x[7] = changes.get("m", 2.0), changes.get("lx", 0.1), changes.get("ly", 0.0)
    given = np.zeros(len(elastic.rows))
    for k, row in enumerate(elastic.rows):
        given[k] = multipliers.get(row.label, 0.0)
    return _read(stated, elastic, given, x, proven=True)


def test_the_side_that_is_missed_is_named_whatever_the_multiplier() -> None:
    low = read({}, m=0.75)
    assert low is not None and low.relaxation == {"mass >= 1": pytest.approx(0.25)} and low.proven
    assert low.advice == ("lower the bound of mass >= 1 by 0.25",) and low.conflicting == ()
    high = read({}, m=3.5)
    assert high is not None and high.relaxation == {"mass <= 3": pytest.approx(0.5)}
    assert high.advice == ("raise the bound of mass <= 3 by 0.5",)
    assert read({}) is None


def test_rows_that_conflict_are_those_of_a_multiplier_above_rounding() -> None:
    """Relative to the row's price, which is one over the size of its bound."""
    found = read({"mass": -1.0, "large": 1e-7}, m=0.75)
    assert found is not None and found.conflicting == ("mass >= 1", "large <= 500")
    found = read({"mass": 1e-6, "large": 1e-9}, m=0.75)
    assert found is not None and found.conflicting == ()
    at_its_end = read({"mass": -1.0}, m=3.0, ly=0.6)
    assert at_its_end is not None and at_its_end.conflicting == ("mass >= 1",)
    assert at_its_end.relaxation["large <= 500"] == pytest.approx(100.0)


def test_a_bound_that_is_multiplied_by_the_mass_is_missed_in_its_own_unit() -> None:
    found = read({}, lx=0.9)
    assert found is not None and found.relaxation == {"link1 com x <= 0.4 m": pytest.approx(0.9 / 2.0 - 0.4)}
    assert found.advice == ("raise the bound of link1 com x <= 0.4 m by 0.05 m",)
    curved = read({}, lx=0.02)
    assert curved is not None and curved.relaxation == {"curved >= 0.05": pytest.approx(0.05 - 0.04)}


def test_cuts_stand_under_the_name_of_their_bound_and_in_units_of_their_largest_entry() -> None:
    stated = problem()
    form = np.zeros(10)
    form[6], form[9] = -40.0, 8.0
    cuts = [Cut(form, 4.0, 3, 0, 1.0), Cut(0.5 * form, 2.0, 3, 0, -1.0)]
    made = _with_cuts(stated, LinearRows.none(10), cuts)
    np.testing.assert_allclose(made.matrix, [form / 40.0] * 2)
    np.testing.assert_allclose(made.lower, [0.1, 0.1])
    assert [row.text for row in made.rows] == ["curved >= 0.05", "curved <= 5"]
    assert all(row.relaxed and row.label == "curved" and row.weight is None for row in made.rows)
    assert np.isinf(made.upper).all() and _with_cuts(stated, made, []) is made


def test_what_a_cut_misses_is_what_its_bound_misses() -> None:
    stated = problem()
    form = np.zeros(10)
    form[6] = 1.0
    linear = _with_cuts(stated, LinearRows.none(10), [Cut(form, 0.5, 3, 0, 1.0)])
    elastic = _elastic(FeasibleSet(linear, NonlinearRows.none(), (), BODY))
    x = BODY.copy()
    x[6] = 0.02
    found = _read(stated, elastic, np.zeros(len(elastic.rows)), x, proven=True)
    assert found is not None and found.relaxation == {"curved >= 0.05": pytest.approx(0.05 - 0.02 * 2.0)}


def test_the_first_constraint_has_a_unit_too() -> None:
    with pytest.raises(InfeasibleError) as caught:
        solve(nearest(BODY, lambda v: (mass_bounds(v[0], 3.0, 4.0), Constraint("light", v[0].mass, upper=2.0)),
                      bounded=False))  # fmt: skip
    conflict = caught.value.solution.conflict
    assert conflict.proven and set(conflict.conflicting) == {"link1 mass >= 3 kg", "light <= 2"}
    assert any(text.endswith("kg") or "light" in text for text in conflict.advice)


def test_a_conflict_of_curved_constraints_is_proven_by_their_cuts() -> None:
    """The centre of mass within 5 cm of the origin and 20 cm away from it along x."""
    stated = nearest(
        BODY, lambda v: (Constraint("near", ca.sumsqr(v[0].com), upper=0.05**2),
                         Constraint("far", v[0].com[0], lower=0.2)),
    )  # fmt: skip
    with pytest.raises(InfeasibleError) as caught:
        solve(stated)
    assert caught.value.solution.conflict.proven
    body = to_standard(2.0, [0.2, 0.0, 0.0], 0.01 * np.eye(3))
    assert stated.violations(body)["near"] > 0
