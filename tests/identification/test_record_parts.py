"""What a comparison, a fit and a record of settings state, from records and rows that are given."""

from __future__ import annotations

import inspect
from types import SimpleNamespace

import numpy as np
import pytest

from casid.dynamics import Model
from casid.errors import DatasetError
from casid.identification import FeasibleFit, compare
from casid.identification import _comparison as comparison
from casid.identification._feasible_fit import active_bounds
from casid.identification._identification import model_record


def record(values, sd=0.1, **changes):
    """Of base parameters ``p0``, ``p1`` ... with these values."""
    base = [
        {"name": f"p{k}", "expression": f"p{k}", "unconstrained": value, "sd": sd, "joint": "j", "torque": 1.0}
        for k, value in enumerate(values)
    ]
    made = {"robot": "arm", "recordings": [], "joints": [{}, {}], "base_parameters": base, "verdict": None}
    return {**made, **changes}


@pytest.fixture
def plain(monkeypatch):
    """Records are taken as they are; torques of differences are left out."""
    fields = list(inspect.signature(comparison.Difference).parameters)[6:]
    monkeypatch.setattr(comparison, "_record", lambda given: given)
    monkeypatch.setattr(comparison, "_torque", lambda *given: tuple(0.0 for _ in fields))


def test_half_of_the_base_parameters_must_be_common(plain):
    whole = record([1.0, 2.0, 3.0, 4.0])
    other = record([1.0, 2.0])
    other["base_parameters"] += [{**one, "expression": f"q{k}"} for k, one in enumerate(other["base_parameters"])]
    assert len(compare(whole, other).differences) == 2 and len(compare(whole, other).unmatched) == 4
    other["base_parameters"] = other["base_parameters"][1:] + other["base_parameters"][2:3]
    with pytest.raises(DatasetError, match="have only 1 of 3 base parameters"):
        compare(whole, other)


def test_surest_differences_come_first_and_the_larger_of_equals(plain):
    found = compare(record([0.0] * 4), record([0.0, 50.0, 1.0, 90.0]))
    assert [one.name for one in found.differences][:3] == ["p3", "p1", "p2"]
    assert found.differences[0].change == 90.0


@pytest.mark.parametrize(("verdict", "named"), [(None, 0), ({"right": True}, 0), ({}, 0), ({"right": False}, 1)])
def test_a_verdict_against_a_model_is_pointed_out(plain, verdict, named):
    found = compare(record([1.0] * 3), record([1.0] * 3, verdict=verdict))
    assert sum("has findings against its model" in note for note in found.notes) == named


def test_gravity_of_a_model_is_recorded_where_it_is_a_number():
    assert model_record(Model("spatial_2r", gravity=(0.0, 1.0, -9.0)))["gravity"] == [0.0, 1.0, -9.0]
    assert model_record(Model("spatial_2r", gravity="input"))["gravity"] is None


@pytest.mark.parametrize(
    ("solved", "chosen", "certified"), [(1, None, 1), (0, None, 0), (1, 0, 0), (0, 1, 0), (1, 1, 1)]
)
def test_a_fit_is_certified_where_both_its_optimum_and_its_choice_are(solved, chosen, certified):
    believable = None if chosen is None else SimpleNamespace(certified=bool(chosen))
    fit = SimpleNamespace(solution=SimpleNamespace(certified=bool(solved)), believable=believable)
    assert FeasibleFit.certified.fget(fit) == bool(certified)


def test_bounds_that_are_reached_from_either_side_are_active():
    """Rows of a constraint and of terms; a term that the data set to zero is not listed."""
    rows = [
        SimpleNamespace(constraint=c, entry=e, text=f"row {k}")
        for k, (c, e) in enumerate([(0, 0), (-1, 0), (-1, 1), (-1, 2)])
    ]
    problem = SimpleNamespace(
        variables=SimpleNamespace(extras={"fv1": None, "fc1": None, "fo1": None}), cones=(),
        constraints=[SimpleNamespace(label="total mass")],
    )  # fmt: skip
    linear = SimpleNamespace(
        matrix=np.eye(4),
        rows=rows,
        lower=np.array([0.0, 0.0, -np.inf, -5.0]),
        upper=np.array([8.0, np.inf, 3.0, np.inf]),
    )
    found = active_bounds(problem, linear, np.array([8.0, 0.0, 3.0, 1.0]))
    assert [(one.kind, one.quantity, one.value) for one in found] == [
        ("constraint", "total mass", 8.0), ("parameter", "fc1", 3.0),
    ]  # fmt: skip
    assert active_bounds(problem, linear, np.array([4.0, 1.0, 0.0, 1.0])) == ()
