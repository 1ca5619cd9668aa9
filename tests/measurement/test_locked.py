"""Recordings of robots of which some joints are locked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import casid
from casid.codegen import evaluate_batch
from casid.description._load import load_description
from casid.dynamics import Model
from casid.errors import DatasetError, RobotError
from casid.measurement import Dataset
from casid.measurement._locked import without_locked
from casid.testing._synthetic import motion
from tests.helpers import run


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
