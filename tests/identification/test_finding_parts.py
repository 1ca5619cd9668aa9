"""Order and remedies of findings, and the joints that count in a trial."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from casid.identification.diagnosis import Finding
from casid.identification.diagnosis._findings import CAUSES, Trial
from casid.identification.diagnosis._trial import HeldOutErrors, compared
from casid.identification.diagnosis._verdict import _place


def test_a_remedy_is_stated_where_its_trial_is_better():
    name = "reversed joint"
    assert CAUSES[name].remedy
    values = {"what": "torque", "reading": 1.0, "recorded": 2.0}
    assert Finding(name, joint="elbow", values=values).remedy == ""
    trial = Trial("held-out error", 5.0, 2.0, 4.0)
    assert "elbow" in Finding(name, joint="elbow", values=values, trial=trial).remedy


@pytest.mark.parametrize(
    ("wrong", "advice", "cause", "values", "place"),
    [
        (True, "", "a", {}, (0, 0.0)), (False, "do", "a", {}, (1, 0.0)), (True, "do", "a", {}, (0, 0.0)),
        (False, "", "a", {}, (2, 0.0)), (False, "", "a", {"share": 1e-3}, (3, -1e-3)),
        (False, "", "delay taken out", {"gain": 100.0}, (1, 0.0)),
        (False, "", "delay taken out", {"gain": 0.0}, (4, 0.0)),
    ],
)  # fmt: skip
def test_findings_stand_in_the_order_of_what_they_spoil(wrong, advice, cause, values, place):
    kind = cause.partition(" ")[0]
    assert _place(SimpleNamespace(wrong=wrong, advice=advice, cause=cause, kind=kind, values=values)) == place


def errors(first, second, torques):
    return HeldOutErrors(np.column_stack([first, second]), np.array(torques))


def test_joints_without_torques_in_either_do_not_count():
    """The second joint's errors would hide what the first one gains."""
    steady = [1.0, 1.1, 0.9, 1.0]
    before = errors(steady, steady, [100.0, 100.0])
    better, worse = [0.1 * one for one in steady], [5.0 * one for one in steady]
    assert compared(before, errors(better, worse, [100.0, 100.0])) is None
    for old, new in (((100.0, 0.0), (100.0, 100.0)), ((100.0, 100.0), (100.0, 0.0))):
        trial = compared(errors(steady, steady, old), errors(better, worse, new))
        assert trial is not None and trial.after == pytest.approx(trial.before * np.sqrt(0.1))
    assert compared(before, errors(better[:3], worse[:3], [100.0, 100.0])) is None
    assert compared(None, before) is None and compared(before, None) is None
