"""The acceptance table of the learning room: its quick form says what it leaves out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.learning import MEASURES

ROOT = Path(__file__).resolve().parents[2]
#: Rows that take seconds as they are.
SHORT = ("guarantees", "streaming", "acceleration-free", "adaptive control", "exported C")


@pytest.mark.parametrize("row", MEASURES, ids=lambda row: row.name)
def test_every_row_is_short_or_has_a_quick_form_that_says_what_it_leaves_out(row):
    if row.name.startswith(SHORT):
        assert row.quick is None
    else:
        assert row.quick is not None
        assert row.left_out


def test_rows_asked_for_by_name_that_have_no_quick_form_are_a_wrong_command():
    """In a process of its own, as a user starts it."""
    program = [sys.executable, str(ROOT / "scripts" / "acceptance.py"), "learning", "--quick", "--only"]
    left = subprocess.run([*program, "tracking NMSE"], capture_output=True, text=True)
    assert left.returncode == 2
    assert "no row with 'tracking NMSE' in its name has a quick form: measure it without --quick" in left.stderr


def test_the_published_code_moves_all_joints_by_one_sine():
    """Its samples: the same position for every joint, velocities and accelerations its derivatives."""
    from benchmarks.learning.epochs import one_sine

    motion = one_sine(2000)
    assert np.ptp(motion.q, axis=1).max() < 1e-15
    assert np.abs(motion.q).max() == pytest.approx(0.7, rel=1e-4)
    step = 39.0 / 1999
    assert np.gradient(motion.q[:, 0], step)[5:-5] == pytest.approx(motion.dq[5:-5, 0], abs=1e-4)
    assert np.gradient(motion.dq[:, 0], step)[5:-5] == pytest.approx(motion.ddq[5:-5, 0], abs=1e-4)


def test_the_order_of_the_ladder_is_judged_target_by_target():
    """Not reached counts as slower than reached; two that are not reached are not ordered."""
    from benchmarks.learning.epochs import GRID, RUNGS, ordered, spans, stretches

    inf = float("inf")
    epochs = np.array([[9, 9, inf, inf], [5, 2, 5, inf], [1, 3, 1, 1], [1, 1, 1, 1], [2, 1, 1, 1]])
    assert list(ordered(epochs)) == [True, False, True, False]
    assert stretches(ordered(epochs)) == [(0, 0), (2, 2)]
    assert stretches(np.array([False, True, True, True, True])) == [(1, 4)]
    assert len(RUNGS) == 5 and len(GRID) == 36
    assert spans((1, 5)) and not spans((1, 3)) and not spans((1, 2))  # ten targets a decade


def test_the_published_experiment_knows_the_centre_of_mass():
    from benchmarks.learning.epochs import COM, READINGS, _start, iiwa

    from casid.learning import Chart

    chart = Chart(iiwa(), "tri", COM)
    start = chart.parameters(_start(chart, 0, READINGS[0].known)).reshape(7, 10)
    true = iiwa().robot.standard_parameters().reshape(7, 10)
    assert start[:, 6:9] / start[:, 9:] == pytest.approx(true[:, 6:9] / true[:, 9:])
