"""Checks of a recording against a robot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import casid
from casid import load_robot
from casid.codegen import evaluate_batch
from casid.description._load import load_description
from casid.dynamics import Model
from casid.errors import DatasetError, RobotError
from casid.measurement import Dataset
from casid.measurement._checks import check_against, without_locked
from casid.testing._synthetic import motion, recording
from tests.helpers import run
from tests.measurement.conftest import TAU, Q, T

# ---------------------------------------------------------------------- does it fit the robot


@pytest.fixture(scope="module")
def panda():
    return casid.load_robot("panda")


def test_joint_count_and_degrees(panda):
    t, q, *_ = motion(7, 200, 0)
    with pytest.raises(DatasetError, match="has 6 joints, robot 'panda' has 7"):
        check_against(Dataset(t, q[:, :6], q[:, :6]), panda)
    with pytest.raises(DatasetError, match="these look like degrees"):
        check_against(Dataset(t, np.rad2deg(q), q), panda)


def test_notes_on_channels(panda):
    model = Model(panda)
    data = recording(model, panda.standard_parameters(), noise=0.01)
    assert check_against(data, panda).notes == ()
    tau, q, dq = np.array(data.tau), np.array(data.q), np.array(data.dq)
    tau[:, 1] = -tau[:, 1]
    tau[:, 2] = 0.0
    tau[:, 3] = np.clip(tau[:, 3], -np.inf, np.quantile(tau[:, 3], 0.8))
    q[:, 6] = 0.3
    dq[:, 0] *= 57.3
    notes = " ".join(check_against(replace(data, tau=tau, q=q, dq=dq), panda).notes)
    for part in (
        "'joint2' goes against the gravity torque",
        "its sign seems reversed",
        "'joint3' is zero in every sample",
        "'joint4' equal their largest value",
        "the channel saturates",
        "'joint7' does not move",
        "velocity of joint 'joint1'",
    ):
        assert part in notes
    assert "joint5" not in notes


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
    t, q, dq, ddq = motion(7, 1500, 1)
    x = model.parameters(robot.standard_parameters(), np.tile([1.0, 2.0], 7))
    tau = np.asarray(evaluate_batch(model.inverse_dynamics, q, dq, ddq, x))[:, :, 0]
    np.savez(tmp_path / "run.npz", t=t, q=q, torque=tau)
    printed = run(
        "identify", floating, tmp_path / "run.npz", "--lock", "root", "--folds", "0", "--terms", "viscous,coulomb"
    )
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
