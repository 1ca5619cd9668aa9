"""Robots as SDF."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from casid.description import load_robot, write_robot
from casid.errors import RobotError


def test_a_robot_returns_from_sdf(arm: Path, tmp_path: Path) -> None:
    robot = load_robot(arm)
    write_robot(robot, tmp_path / "arm.sdf")
    again = load_robot(tmp_path / "arm.sdf")
    assert [joint.name for joint in again.joints] == [joint.name for joint in robot.joints]
    np.testing.assert_allclose(again.standard_parameters(), robot.standard_parameters(), rtol=1e-9, atol=1e-12)
    (tmp_path / "arm.sdf").rename(tmp_path / "arm.xml")  # an ending that MJCF has, too
    assert load_robot(tmp_path / "arm.xml").n == robot.n


def test_a_file_without_a_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.sdf").write_text('<sdf version="1.9"/>', encoding="utf-8")
    with pytest.raises(RobotError, match="model"):
        load_robot(tmp_path / "empty.sdf")
