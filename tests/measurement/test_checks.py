"""Checks of a recording against a robot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import casid
from casid import load_robot
from casid.description import load_description
from casid.dynamics import Model
from casid.errors import DatasetError, RobotError
from casid.measurement import Dataset, check_against, without_locked
from tests.helpers import run
from tests.measurement.conftest import TAU, Q, T, motion

# ---------------------------------------------------------------------- does it fit the robot


def test_joint_count_degrees_and_standstill(panda):
    t, q, *_ = motion(7, 200, 0)
    for positions, words in (
        (q[:, :6], "has 6 joints, robot 'panda' has 7"), (np.rad2deg(q), "these look like degrees"),
        (np.ones_like(q), "no joint moves"),
    ):  # fmt: skip
        with pytest.raises(DatasetError, match=words):
            check_against(Dataset(t, positions, positions), panda)


def test_reversed_torques_are_noted(arm):
    """Those that contradict the others by the robot's dynamics, whatever its bodies; a right recording has no note."""
    robot, data = arm
    assert check_against(data, robot).notes == ()
    for signs, named in (([1, -1], "joint 'joint2' "), ([-1, -1], "'joint1', 'joint2' ")):
        (note,) = check_against(replace(data, tau=data.tau * signs), robot).notes
        assert named in note and "its sign seems reversed" in note


def test_named_joints_are_put_in_the_order_of_the_robot() -> None:
    robot = load_robot("three_link")
    names = [joint.name for joint in robot.joints]
    q, tau = np.column_stack([Q[:, 2], Q[:, :1], Q[:, 0], Q[:, 1]]), np.column_stack([TAU[:, 2], Q[:, :1], TAU[:, :2]])
    file = Dataset(T, q, tau, joints=(f"arm_{names[2]}", "gripper", names[0].upper(), names[1]))
    data = check_against(file, robot)
    np.testing.assert_array_equal(data.q, Q)
    np.testing.assert_array_equal(data.tau, TAU)
    assert "left out: gripper" in " ".join(data.steps)


@pytest.fixture
def floating(tmp_path: Path) -> Path:
    """The Panda on a base that floats."""
    path = casid.description.convert("panda", tmp_path / "panda.urdf").files[0]
    base = load_description(path).base.name
    text = path.read_text()
    joint = (
        f'<link name="ground"/><joint name="root" type="floating"><parent link="ground"/><child link="{base}"/></joint>'
    )
    path.write_text(text.replace("</robot>", f"{joint}</robot>"))
    return path


@pytest.mark.claim(
    "house h: --lock of a floating joint works in every command, as the message that recommends it states"
)
def test_a_floating_joint_is_locked_on_the_command_line(floating: Path, tmp_path: Path) -> None:
    with pytest.raises(RobotError, match="--lock root"):
        casid.load_robot(floating)
    robot = casid.load_robot(floating, lock=("root",))
    model = Model(robot, ("viscous", "coulomb"))
    t, q, dq, ddq = motion(7, 400, 1)
    x = model.parameters(robot.standard_parameters(), np.tile([1.0, 2.0], 7))
    tau = model.inverse_dynamics(q, dq, ddq, x)
    np.savez(tmp_path / "run.npz", t=t, q=q, torque=tau)
    printed = run("identify", floating, tmp_path / "run.npz", "--lock", "root", "--quick", "--terms", "viscous,coulomb")
    assert "panda" in printed


def test_columns_of_locked_joints_are_left_out(floating: Path) -> None:
    robot = casid.load_robot(floating, lock={"root": 0.0, "joint7": 0.5})
    q = np.tile(np.linspace(0, 1, 50)[:, None], (1, 7))
    moving = Dataset(np.linspace(0, 1, 50), q.copy(), q, q, q, name="run")
    q[:, 6] = 0.5
    data = Dataset(np.linspace(0, 1, 50), q, q, q, q, name="run")
    assert without_locked(data, robot).n == 6
    with pytest.raises(DatasetError, match="is to be locked, but moves by"):
        without_locked(moving, robot)
