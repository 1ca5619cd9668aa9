"""Answers about a log reach the numbers: gains, signs, units; limits and velocities decide what is asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from casid.description import Robot
from casid.measurement import Answers, Dataset, Processing, propose, read_dataset
from tests.measurement.conftest import german_log, sine

Arm = tuple[Robot, Dataset]


def read(log: Path, robot: Robot, answers: Answers) -> Dataset:
    """The recording as the TOML of a proposal describes it."""
    found = propose(log, robot, answers)
    assert not found.questions
    toml = log.with_suffix(".toml")
    toml.write_text(found.toml(), encoding="utf-8")
    return read_dataset(toml)


@pytest.mark.claim("a reversed joint keeps its gain, and milliamperes are thousandths")
@pytest.mark.parametrize(("unit", "size"), [("A", 1.0), ("mA", 1e3)])
def test_gains_signs_and_units_of_currents_are_those_of_the_torques(
    arm: Arm, tmp_path: Path, unit: str, size: float
) -> None:
    robot, data = arm
    gains = np.array([4.0, 0.5])
    currents = replace(data, tau=size * data.tau / gains)
    names = f"Zeit [ms];A1_Ist [°];A2_Ist [°];Strom_1 [{unit}];Strom_2 [{unit}]"
    log = german_log(tmp_path / "log.csv", currents, -1.0, names)
    made = read(log, robot, Answers(gains=tuple(gains), reversed=(2,)))
    np.testing.assert_allclose(made.tau, data.tau, atol=1e-5)


@pytest.mark.claim("torques far beyond what the drives can give are of another unit: it is asked for")
@pytest.mark.parametrize(("times", "asked"), [(2.5, False), (3.5, True), (100.0, True), (1e-3, True), (3e-3, False)])
def test_torques_beyond_the_limits_are_asked_for(arm: Arm, tmp_path: Path, times: float, asked: bool) -> None:
    robot, data = arm
    limit = np.abs(data.tau).max(axis=0) / times
    rated = replace(robot, limits=replace(robot.limits, effort=limit))
    log = german_log(tmp_path / "log.csv", data, names="Zeit [ms];A1_Ist [°];A2_Ist [°];A1_Moment;A2_Moment")
    found = propose(log, rated)
    assert [one.option for one in found.questions] == ["--torque-unit"] * asked


@pytest.mark.claim("velocities that are not the derivative of the positions in any unit are left out of a log")
@pytest.mark.parametrize(("factor", "noise", "taken"), [(1.0, 0.0, True), (2.0, 0.0, False), (1.0, 3.0, False)])
def test_velocities_of_a_log_are_the_derivative_or_left_out(
    arm: Arm, tmp_path: Path, factor: float, noise: float, taken: bool
) -> None:
    robot, data = arm
    exact = np.gradient(data.q, data.t, axis=0)
    dq = factor * exact + noise * exact.std(axis=0) * np.random.default_rng(0).normal(size=exact.shape)
    table = np.column_stack([data.t, data.q, dq, data.tau])
    header = "t,q1,q2,dq1,dq2,tau1,tau2"
    np.savetxt(tmp_path / "log.csv", table, delimiter=",", header=header, comments="", fmt="%.9g")
    found = propose(tmp_path / "log.csv", robot)
    assert ("dq" in found.settings["columns"]) is taken
    assert any(what == "velocities" and (guess == "left out") is not taken for what, guess, _ in found.evidence)


def test_twenty_samples_are_kept_for_each_period_of_the_cut_off() -> None:
    """Of the torques' cut-off; all of them without a filter."""
    for cutoff, torque_cutoff, every in ((9.0, "same", 5), (9.0, 4.5, 11), (21.0, "same", 2), (None, "same", 1)):
        made = Processing(cutoff=cutoff, torque_cutoff=torque_cutoff).apply(sine(rate=1000.0, seconds=5.0))
        assert made.period == pytest.approx(every * 1e-3), cutoff
