"""Report of a simulation."""

from __future__ import annotations

import pytest

import casid
from casid.control import PD
from casid.motion import Sine
from casid.report import report_of
from casid.simulation import Plant, simulate


def test_the_sections_share_the_record_and_the_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("casid.report._simulation.skeleton_gif", lambda *_, **__: b"GIF")
    robot = casid.load_robot("spatial_2r").with_parameters([0.1, 0, 0, 0.1, 0, 0.1, 0, 0, 0, 1.0] * 2)
    run = simulate(Plant.of(robot, viscous=0.5), PD([50, 50], [10, 10]), Sine.within(robot), 0.5, rate=200)
    report = report_of(run)
    motion, _ = report.sections
    assert list(report.record()) == [*motion.record(), "energy"] and report.record()["samples"] == len(run)
    assert set(report.figures()) == {"motion", "energy"} and {"recording.npz", "animation.gif"} == set(motion.files())
    assert [table.row_count for table in report.tables()] == [2, 3]
