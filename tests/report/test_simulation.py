"""Report of a simulation."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import casid
from casid.control._free_motion import PD
from casid.drives import Servo, SimulationOptions, identify_from_commands
from casid.drives._statistics import Estimate
from casid.drives._verdict import CommandFinding
from casid.errors import CasidError
from casid.motion._references import Sine
from casid.report import report_of, tracking_figure
from casid.report._simulation import (
    CommandSection,
    EnergySection,
    MotionSection,
    _animation,
    _remarks,
    _text,
    _value,
)  # fmt: skip
from casid.simulation import Plant, simulate
from casid.testing import broadband_commands, commanded_motion


def test_the_sections_share_the_record_and_the_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("casid.report._simulation._animation", partial(_animation, frames=4))
    robot = casid.load_robot("spatial_2r").with_parameters([0.1, 0, 0, 0.1, 0, 0.1, 0, 0, 0, 1.0] * 2)
    run = simulate(Plant.of(robot, viscous=0.5), PD([50, 50], [10, 10]), Sine.within(robot), 0.5, rate=200)
    report = report_of(run)
    motion, energy = report.sections
    assert isinstance(motion, MotionSection) and isinstance(energy, EnergySection)
    assert list(report.record()) == [*motion.record(), "energy"] and report.record()["samples"] == len(run)
    assert set(report.figures()) == {"motion", "energy"} and {"recording.npz", "animation.gif"} == set(motion.files())
    assert [table.row_count for table in report.tables()] == [2, 3]
    assert len(tracking_figure({"pd": run}, "errors").axes) == 2


ONE = Estimate("kp joint1", "kp", "N.m/rad", 0, 12.3456, 0.01, 12.3, 12.39, True, "", 0.0, "")


@pytest.fixture(scope="module")
def found():
    body = [0.02, 0.0, 0.0, 0.03, 0.0, 0.03, 0.02, 0.05, 0.1, 1.0]
    robot = casid.load_robot("spatial_2r").with_parameters(body * 2)
    t = np.arange(300) * 0.02
    servo = Servo(kp=[30.0, 20.0], armature=0.05, viscous=[1.0, 0.8], coulomb=0.1, bias=0.0, delay=0.01)
    data = commanded_motion(robot, servo, t, broadband_commands(t, [0.2, -0.3], 0.5), noise=5e-4)
    known = replace(servo, kp=Servo().kp, delay=Servo().delay)
    return identify_from_commands(robot, [data], known, SimulationOptions(threads=1, folds=0))


def test_values_have_the_digits_of_their_intervals() -> None:
    assert _value(ONE) == "12.346 ±0.046" and _value(replace(ONE, low=12.3, high=14.0)) == "12.3 ±1.7"
    assert _value(replace(ONE, determined=False)) == "(12)"
    assert _value(replace(ONE, low=0.0, high=0.123)) == "< 0.12"


def test_findings_and_remarks_in_words() -> None:
    one = CommandFinding("sign", "elbow", "moves the other way", "reverse it")
    assert _text(one) == "sign of elbow: moves the other way (reverse it)"
    assert _text(replace(one, joint="", remedy="")) == "sign: moves the other way"
    shared = replace(ONE, name="delay", attribute="delay", joint=-1, value=0.013, low=0.012, high=0.014, unit="s")
    alike = [replace(ONE, name=name, words="not determined") for name in ("kp a", "kp b")]
    assert _remarks(SimpleNamespace(estimates=(shared, *alike))) == [
        "delay of all joints 0.013 ±0.001 s", "kp a, kp b: not determined",
    ]  # fmt: skip


def test_the_table_has_what_was_unknown_and_nothing_else(found) -> None:
    summary, table = CommandSection(found).tables()
    heads = [str(column.header) for column in table.columns]
    assert heads[0] == "joint" and [head.split()[0] for head in heads[1:]] == ["kp"] and "[N.m/rad]" in heads[1]
    values = [float(str(cell).split()[0]) for cell in table.columns[1].cells]
    assert values == pytest.approx([30.0, 20.0], rel=0.1)
    text = " ".join(str(cell) for column in summary.columns for cell in column.cells)
    assert found.headline in text and f"{1e3 * found.error:.3g} mrad" in text


def test_the_figure_shows_commands_encoders_and_free_runs(found) -> None:
    figure = CommandSection(found).pictures()["free_runs"]()
    axes = figure.axes
    assert len(axes) == 2 and [one.get_ylabel() for one in axes] == ["joint1", "joint2"]
    command, encoder, free = (line.get_ydata() for line in axes[1].get_lines())
    data = found.recordings[0]
    assert np.array_equal(command, data.q_des[:, 1]) and np.array_equal(encoder, data.q[:, 1])
    assert np.sqrt(np.mean((free - encoder) ** 2)) < 5e-3
    other = found.plot_free_runs(data.rows(slice(0, 60)))
    assert [len(one.get_lines()[0].get_ydata()) for one in other] == [60, 60]
    with pytest.raises(CasidError, match="there is no recording 7"):
        found.plot_free_runs(7)
    report = report_of(found)
    assert report.lead == found.headline and "kp joint1" in str(report.sections[0].record())
