"""Reports about a robot."""

from __future__ import annotations

import casid
from casid.report import report_of
from tests.helpers import run
from tests.report.helpers import arm, text_of


def test_joints_and_masses_are_listed() -> None:
    text = text_of(report_of(arm()).tables()[0])
    assert "-1 to 2" in text and "-1 to inf" in text and "limits" in text
    rows = [line.split() for line in text.splitlines() if "revolute" in line]
    assert [(row[0], row[-1]) for row in rows] == [("joint1", "1"), ("joint2", "2"), ("joint3", "3")]


def test_every_grouping_is_listed() -> None:
    base = casid.Model(casid.load_robot("spatial_2r")).base
    text = run("base", "spatial_2r")
    assert f"{base.rank} base parameters of 20" in text and "Without effect" in text
    assert all(expression in text for expression in base.expressions)
