"""Logs of commands and encoders, of any layout: which columns are the goals, which the positions, in which unit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from casid.description import Robot, load_robot, write_robot
from casid.drives import CommandRecording, Servo, read_commands
from casid.errors import DatasetError
from casid.measurement import Answers, command_settings, propose
from casid.testing import broadband_commands, commanded_motion

JOINTS = ("shoulder_pan", "elbow_flex", "gripper")


@pytest.fixture(scope="module")
def robot(tmp_path_factory: pytest.TempPathFactory) -> Robot:
    """Three joints, one of them a gripper."""
    links = "".join(
        f'<link name="l{k}"><inertial><origin xyz="0.08 0 0"/><mass value="0.2"/><inertia ixx="1e-4" ixy="0" ixz="0" '
        f'iyy="2e-4" iyz="0" izz="2e-4"/></inertial></link><joint name="{name}" type="revolute"><parent '
        f'link="{"base" if k == 0 else f"l{k - 1}"}"/><child link="l{k}"/><origin xyz="0.1 0 0"/><axis xyz="0 1 0"/>'
        '<limit lower="-2" upper="2" effort="3" velocity="6"/></joint>'
        for k, name in enumerate(JOINTS)
    )
    path = tmp_path_factory.mktemp("arm") / "arm.urdf"
    path.write_text(f'<robot name="arm"><link name="base"/>{links}</robot>')
    return load_robot(path)


@pytest.fixture(scope="module")
def data(robot: Robot) -> CommandRecording:
    t = np.arange(400) * 0.02
    servo = Servo(kp=8.0, armature=0.02, viscous=0.2, coulomb=0.05, bias=0.0, delay=0.0)
    return commanded_motion(robot, servo, t, broadband_commands(t, [0.3, -0.6, 0.2], 0.6), noise=1e-3)


def _log(path: Path, data: CommandRecording, names: Sequence[str], scale: float = 1.0) -> Path:
    """Times, goals, positions, of the joints in another order; goals in the names' first group."""
    order = [2, 0, 1]
    head = [names[0], *(names[1].format(JOINTS[k]) for k in order), *(names[2].format(JOINTS[k]) for k in order)]
    table = np.column_stack([data.t, scale * data.q_des[:, order], scale * data.q[:, order]])
    np.savetxt(path, table, delimiter=",", header=",".join(head), comments="", fmt="%.9f")
    return path


@pytest.mark.parametrize(
    ("names", "scale"),
    [
        (("timestamp", "action.{}.pos", "observation.state.{}.pos"), 180 / np.pi),
        (("time_s", "{}_goal", "{}_present"), 1.0),
        (("t", "target_{}", "actual_{}"), 1.0),
        (("t", "goal_position_{}", "present_position_{}"), 1.0),
        (("t", "goal_position_{}", "present_position_{}"), 180 / np.pi),
        (("Zeit [s]", "Soll_{} [deg]", "Ist_{} [deg]"), 180 / np.pi),
    ],
)
def test_logs_of_commands_read_the_truth(
    robot: Robot, data: CommandRecording, tmp_path: Path, names: Sequence[str], scale: float
) -> None:
    log = _log(tmp_path / "log.csv", data, names, scale)
    found = propose(log, robot)
    assert not found.questions
    (tmp_path / "log.toml").write_text(found.toml(), encoding="utf-8")
    settings = command_settings(log, robot)
    assert settings is not None
    for read in (read_commands(tmp_path / "log.toml", robot), read_commands(log, robot, settings)):
        assert read.joints == JOINTS
        np.testing.assert_allclose(read.t, data.t, atol=1e-8)
        np.testing.assert_allclose(read.q, data.q, atol=1e-8)
        np.testing.assert_allclose(read.q_des, data.q_des, atol=1e-8)


def test_columns_of_locked_joints_are_left_out(robot: Robot, data: CommandRecording, tmp_path: Path) -> None:
    write_robot(robot, tmp_path / "arm.urdf")
    locked = load_robot(tmp_path / "arm.urdf", lock={"gripper": 0.0})
    settings = command_settings(_log(tmp_path / "log.csv", data, ("t", "{}_goal", "{}_present")), locked)
    assert settings is not None and settings["columns"]["q"] == ["shoulder_pan_present", "elbow_flex_present"]


def test_currents_are_asked_for_or_left_out(robot: Robot, data: CommandRecording, tmp_path: Path) -> None:
    """With currents beside commands the user says which; 'none' leaves them out."""
    log = _log(tmp_path / "log.csv", data, ("t", "{}_goal", "{}_present"))
    head, *lines = log.read_text().splitlines()
    wider = [head + "".join(f",present_current_{name}" for name in JOINTS), *(f"{line},1,2,3" for line in lines)]
    log.write_text("\n".join(wider))
    assert any("tau=none" in one.text for one in propose(log, robot).questions)
    found = propose(log, robot, Answers(columns={"tau": "none"}))
    assert not found.questions and set(found.settings["columns"]) == {"t", "q", "q_des"}


def test_positions_that_follow_nothing_are_asked_for(robot: Robot, data: CommandRecording, tmp_path: Path) -> None:
    noise = np.random.default_rng(0).uniform(-1, 1, data.q.shape)
    other = CommandRecording(data.t, data.q, noise)
    log = _log(tmp_path / "log.csv", other, ("t", "{}_goal", "{}_present"))
    assert [one.option for one in propose(log, robot).questions] == ["--as-is"]
    with pytest.raises(DatasetError, match="do not follow"):
        command_settings(log, robot)


def test_degrees_are_not_taken_for_radians(robot: Robot, data: CommandRecording, tmp_path: Path) -> None:
    log = _log(tmp_path / "log.csv", data, ("t", "goal_position_{}", "present_position_{}"), 180 / np.pi)
    with pytest.raises(DatasetError, match=r"joint '.*' reaches .* degrees = true"):
        read_commands(log, robot)


def test_a_switch_is_no_torque(robot: Robot, data: CommandRecording, tmp_path: Path) -> None:
    log = _log(tmp_path / "log.csv", data, ("t", "goal_position_{}", "present_position_{}"))
    head, *lines = log.read_text().splitlines()
    log.write_text("\n".join([head + ",torque_enable", *(f"{line},1" for line in lines)]))
    found = propose(log, robot)
    assert not found.questions and found.unused == ("torque_enable",)
    np.testing.assert_allclose(read_commands(log, robot).q, data.q, atol=1e-8)
