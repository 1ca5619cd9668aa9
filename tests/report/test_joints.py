"""Predicted torques of a recording."""

from __future__ import annotations

import numpy as np
import pytest

import casid
from casid.identification import predict
from casid.report import report_of
from casid.report._joints import PredictionSection
from casid.testing._synthetic import recording


def test_the_table_the_record_and_the_figure_agree() -> None:
    robot = casid.load_robot("spatial_2r").with_parameters(np.array([0.1, 0, 0, 0.1, 0, 0.1, 0.1, 0, 0, 2.0] * 2))
    model = casid.Model(robot)
    data = recording(model, robot.standard_parameters(), noise=0.01)
    report = report_of(predict(model, robot.standard_parameters(), data), joints=["a", "b"])
    (section,) = report.sections
    assert isinstance(section, PredictionSection) and list(report.figures()) == ["torques"]
    record = report.record()
    (table,) = report.tables()
    shown = [float(str(cell)) for cell in list(table.columns[2].cells)[:2]]
    assert [joint["name"] for joint in record["joints"]] == ["a", "b"]
    assert shown == pytest.approx([joint["rms"] for joint in record["joints"]], abs=1e-4)
