"""Checks of a recording against a robot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid import load_robot
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.measurement import Dataset
from casid.measurement._checks import check_against
from casid.testing._synthetic import motion, recording
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
