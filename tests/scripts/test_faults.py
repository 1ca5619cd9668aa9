"""Row of injected faults: what counts as named, as a false alarm, and as a remedy that is no better."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.real import faults as faults
from benchmarks.real.faults import Judged, names, summary

import casid
from casid.dynamics import Model
from casid.testing import recording


def piece(fault, right, first="", remedies=()):
    return {"fault": fault, "right": right, "headline": "a headline", "first": first, "remedies": list(remedies)}


MADE = {"a, clean whole": piece(None, True)} | {f"a, {k}": piece(str(k), True, "sign") for k in range(40)}


@pytest.mark.parametrize(
    ("changed", "met"),
    [({}, True), ({"a, 1": piece("1", False), "a, 2": piece("2", False)}, True),
     ({f"a, {k}": piece(str(k), False) for k in range(3)}, False), ({"a, clean whole": piece(None, False)}, False),
     ({"a, 1": piece("1", True, "sign", ["held-out error"])}, True),
     ({"a, 1": piece("1", True, "sign", ["worse"])}, False), ({"a, 1": piece("1", True, "sign", ["untried"])}, False)],
)  # fmt: skip
def test_what_the_row_demands(changed, met):
    text, found = summary({**MADE, **changed})
    assert found is met
    assert f"{40 - sum(not one['right'] for one in changed.values() if one['fault'])} of 40 called wrong" in text


def test_a_refusal_names_a_fault_in_words_only():
    assert names(Judged("refused: is it in milliseconds?", "refused", True), ("clock",))
    assert not names(Judged("refused: the recording is bad", "refused", True), ("clock",))
    assert names(Judged("x", "sign", True), ("sign", "gravity")) and not names(Judged("x", "", False), ("sign",))
    assert not names(Judged("no finding against the model, to be checked", "sign", False), ("sign",))


def test_fifteen_kinds_change_the_recording_or_the_robot(monkeypatch):
    robot = casid.load_robot("three_link")
    model = Model(robot)
    data = recording(model, np.ones(len(model.parameter_names)), samples=400)
    monkeypatch.setattr(faults, "recording_of", lambda name: (robot, data))
    made = list(faults.faults(robot, data))
    assert len({fault.name for fault in made}) == 15
    same = [f.name for f in made if f.robot is robot and all(
        np.array_equal(getattr(f.data, k), getattr(data, k)) for k in ("t", "q", "dq", "ddq", "tau")
    )]  # fmt: skip
    assert same == []
    assert len(faults.cases(("a", "b"), 2)) == 2 * (3 + 15)
