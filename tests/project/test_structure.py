"""The source's shape: no circles, one way down, constraints that nobody else knows by name."""

from __future__ import annotations

import pytest
from benchmarks.soundness import structure


@pytest.mark.claim("no circles among files, no imports against the slope, folders inside retrieval included")
def test_data_flows_one_way():
    assert structure.circles() == []
    assert structure.arrows() == []


@pytest.mark.claim("no file but its own names a kind of constraint")
def test_constraints_know_themselves():
    assert structure.constraint_kinds() == {}
    assert structure.kind_switches() == []


@pytest.mark.claim("a Solution is built in one place")
def test_a_solution_is_built_in_one_place():
    assert len(structure.builders("Solution")) == 1


@pytest.mark.claim("no type: ignore outside CasADi's corners")
def test_types_are_not_ignored():
    assert structure.ignores() == []


def test_the_tools_see_what_they_look_for():
    assert "casid.retrieval._problem" in structure.imported("casid.retrieval._solution")
    assert structure.builders("Constraint")
    assert len(structure.trees()) > 100
