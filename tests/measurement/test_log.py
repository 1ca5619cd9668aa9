"""Logs of any layout read as recordings where the robot's dynamics leave nothing open."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import casid
from casid.description import Robot
from casid.errors import DatasetError
from casid.identification import Checks, ModelOptions
from casid.measurement import Dataset, Processing, read_dataset, read_log
from tests.helpers import run
from tests.measurement.conftest import german_log

CLEAR = "Zeit [ms];A1_Ist [°];A2_Ist [°];A1_Moment;A2_Moment"


@pytest.mark.claim("a controller's log is read in one step where nothing about it is open, and a note says how")
def test_a_clear_log_is_a_recording(arm: tuple[Robot, Dataset], tmp_path: Path) -> None:
    robot, data = arm
    log = german_log(tmp_path / "log.csv", data, names=CLEAR)
    with pytest.raises(DatasetError):
        read_dataset(log)
    read = read_log(log, robot, columns=None)
    np.testing.assert_allclose(read.t, data.t, atol=1e-9)
    np.testing.assert_allclose(read.q, data.q, atol=1e-7)
    np.testing.assert_allclose(read.tau, data.tau, atol=1e-6)
    assert (
        "log.csv is read as its names and the robot's dynamics say (positions: A1_Ist [°] ... A2_Ist" in read.notes[-1]
    )
    assert list(tmp_path.iterdir()) == [log]
    settings, checks = Processing(cutoff=5.0), Checks(folds=0, verdict=False)
    result = casid.identify(robot, log, processing=settings, model=ModelOptions(terms=("viscous",)), checks=checks)
    assert any("log.csv is read as" in note for note in result.notes)


def test_what_is_open_is_named_and_nothing_is_taken(arm: tuple[Robot, Dataset], tmp_path: Path) -> None:
    robot, data = arm
    currents = german_log(tmp_path / "log.csv", data, names="Zeit [ms];A1_Ist [°];A2_Ist [°];Strom_1 [A];Strom_2 [A]")
    with pytest.raises(DatasetError, match=r"`casid import .*log.csv ROBOT` finds how to read it; open is: .*--gains"):
        read_log(currents, robot)
    reversed_ = german_log(tmp_path / "reversed.csv", data, -1.0, CLEAR)
    with pytest.raises(DatasetError, match=r"open is: .*\(--reversed\)"):
        read_log(reversed_, robot)
    with pytest.raises(DatasetError) as caught:
        read_log(german_log(tmp_path / "named.csv", data, names=CLEAR), robot, columns={"tau": "A1_Moment"})
    assert "casid import" not in str(caught.value)


def test_what_is_no_log_keeps_its_message(arm: tuple[Robot, Dataset], tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="No such file"):
        read_log(tmp_path / "none.csv", arm[0])
    (tmp_path / "empty.csv").write_text("a,b\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="no table of numbers"):
        read_log(tmp_path / "empty.csv", arm[0])


@pytest.mark.claim("a log of fewer joints than the robot has names the joints to lock, and casid import takes --lock")
def test_joints_that_a_log_does_not_have_are_to_be_locked(arm: tuple[Robot, Dataset], tmp_path: Path) -> None:
    _, data = arm
    names = ["Zeit [s]", "axis1 [rad]", "axis2 [rad]", "torque1 [Nm]", "torque2 [Nm]", "state"]
    rows = np.column_stack([data.t, data.q, data.tau, np.zeros(len(data))])
    np.savetxt(tmp_path / "log.csv", rows, delimiter=",", header=",".join(names), comments="", fmt="%.9g")
    with pytest.raises(DatasetError, match=r"3 joints, the log positions of 2 .*: --lock joint3\?") as caught:
        read_log(tmp_path / "log.csv", casid.load_robot("three_link"))
    assert str(caught.value).count("axis1") == 1
    printed = run("import", tmp_path / "log.csv", "three_link", "--lock", "joint3", "--as-is", "--reversed", "none")
    assert "--lock joint3 --out result" in printed
