"""Report of a designed motion."""

from __future__ import annotations

import pytest

import casid
from casid.excitation import DesignSettings
from casid.report import report_of


def test_a_report_without_and_with_the_designer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("casid.report._excitation.skeleton_gif", lambda *_, **__: b"GIF")
    robot = casid.load_robot("panda")
    designer = DesignSettings(harmonics=2, duration=5.0, samples=40, collision=False, torque=False).designer(robot)
    design = designer.run(1, 0, max_seconds=1.0, robot=robot.name)
    alone, whole = report_of(design), report_of(design, designer=designer, robot=robot, rate=20.0)
    assert alone.record()["limits"] == [] and all(entry["certified"] for entry in whole.record()["limits"])
    assert "animation.gif" in whole.sections[-1].files()
    assert not any("animation.gif" in section.files() for section in alone.sections)
    assert set(whole.figures()) == {"motion", "singular_values", "deviations"}
