"""Predicted torques of a recording."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.identification import Checks, Choice, ModelOptions, predict
from casid.report import report_of
from casid.testing import recording


def test_the_table_the_record_and_the_figure_agree() -> None:
    robot = casid.load_robot("spatial_2r").with_parameters(np.array([0.1, 0, 0, 0.1, 0, 0.1, 0.1, 0, 0, 2.0] * 2))
    model = casid.Model(robot)
    data = recording(model, robot.standard_parameters(), noise=0.01)
    report = report_of(predict(model, robot.standard_parameters(), data), joints=["a", "b"])
    assert list(report.figures()) == ["torques"]
    record = report.record()
    (table,) = report.tables()
    shown = [float(str(cell)) for cell in list(table.columns[2].cells)[:2]]
    assert [joint["name"] for joint in record["joints"]] == ["a", "b"]
    assert shown == pytest.approx([joint["rms"] for joint in record["joints"]], abs=1e-4)


@pytest.mark.claim("pictures of torques and friction draw nothing where samples are left out, not 0 N.m")
def test_samples_that_are_left_out_are_not_drawn() -> None:
    robot = casid.load_robot("spatial_2r").with_parameters(np.array([0.1, 0, 0, 0.1, 0, 0.1, 0.1, 0, 0, 2.0] * 2))
    model = casid.Model(robot, terms=("viscous",))
    truth = model.parameters(robot.standard_parameters(), np.full(2, 5.0))
    data = recording(model, truth, noise=0.01)
    assert data.dq is not None
    data = replace(data, mask=np.abs(data.dq) > 0.1)
    report = report_of(predict(model, truth, data), joints=["a", "b"])
    fast = {"choice": Choice(believable=False), "checks": Checks(folds=0)}
    found = casid.identify(robot, data, model=ModelOptions(terms=("viscous",)), **fast)
    for k, (torques, friction) in enumerate(zip(report.plot("torques")[1::2], found.plot_friction(), strict=False)):
        used = found.datasets[0].mask[:, k]
        assert 0 < used.sum() < len(used)
        assert np.array_equal(np.isnan(torques.lines[0].get_ydata()), ~data.mask[:, k])
        points, curve = (np.asarray(line.get_ydata()) for line in friction.lines[:2])
        assert np.array_equal(np.isnan(points), ~used)
        np.testing.assert_allclose(points[used], curve[used], atol=0.1)
