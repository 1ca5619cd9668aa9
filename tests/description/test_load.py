"""Robots by name and by file, and the notes of their reader."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import casid
from casid.description import load_robot, robot_names
from casid.errors import RobotError, RobotWarning
from tests.description.conftest import URDF


@pytest.mark.claim("degrees and millimetres in robot files pass silently")
@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("mdh = { a = 0, alpha_deg = -1.5708, d = 0, theta_deg = 0 }", "-1.5708 degrees looks like an angle in rad"),
        ("mdh = { a = 400, alpha_deg = -90, d = 0, theta_deg = 0 }", "400 m from its parent, which looks like millim"),
        ("mdh = [0, 0, 0, 0]\nlimits = { lower = -170, upper = 170 }", "170 rad looks like degrees"),
        (
            "mdh = { a = 0.5, alpha_deg = 0, d = 0, theta_deg = 0 }\n[joint.link]\nmass = 3000\ncom = [0, 0, 0]\n"
            "inertia_com = [1, 0, 0, 1, 0, 1]",
            "look like grams",
        ),
    ],
)
def test_slips_of_units_are_noticed(tmp_path: Path, row: str, words: str) -> None:
    head = 'schema = 1\nname = "x"\nconvention = "modified-dh"\n[[joint]]\ntype = "revolute"\n'
    (tmp_path / "x.toml").write_text(head + row + "\n", encoding="utf-8")
    with pytest.warns(RobotWarning, match=words):
        load_robot(tmp_path / "x.toml")


@pytest.mark.claim("an angle printed as 1.5708 passes silently")
def test_a_printed_pi_is_noticed(arm: Path) -> None:
    arm.write_text(URDF.replace('"0 1.5707963267948966 0"', '"0 1.5708 0"'), encoding="utf-8")
    (note,) = load_robot(arm).notes
    assert "joint 'weld', rpy: 1.5708 is 3.7e-06 rad from a multiple of pi/2" in note
    assert load_robot(arm, angle_tolerance=1e-5).notes == ()
    arm.write_text(
        URDF.replace('"0 1.5707963267948966 0"', '"0 1.5708 0"').replace("-2.9", "-3.1416"), encoding="utf-8"
    )
    (both,) = load_robot(arm).notes
    assert "joint 'shoulder', rpy: -3.1416 is 7.3e-06 rad" in both
    assert "1 more at most as far" in both and "tolerance of 1e-05" in both


def test_names():
    assert list(robot_names()) == sorted(robot_names())
    assert casid.robot_names is robot_names
    assert casid.load_robot is load_robot


def test_unknown_robots_and_files(tmp_path):
    with pytest.raises(RobotError, match=r"unknown robot 'pnada'; did you mean 'panda'.*kuka_iiwa, panda"):
        load_robot("pnada")
    with pytest.raises(RobotError, match="unknown robot 'Panda'; did you mean 'panda'"):
        load_robot("Panda")
    with pytest.raises(RobotError, match=r"robot file .*panda.toml' does not exist .*'panda' is a shipped robot"):
        load_robot(tmp_path / "panda.toml")
    with pytest.raises(RobotError, match="does not exist"):
        load_robot("nowhere/arm.urdf")
    with pytest.raises(RobotError, match="is a folder"):
        load_robot(tmp_path)
    for name, words in (
        ("arm.step", "is no robot file: known are TOML"),
        ("arm.xacro", "expand it first: xacro arm.xacro"),
    ):
        (tmp_path / name).write_text("", encoding="utf-8")
        with pytest.raises(RobotError, match=words):
            load_robot(tmp_path / name)


def test_options_reach_shipped_robots():
    robot = load_robot("panda", lock={"joint7": 0.3}, gravity=(0, 9.81, 0))
    assert robot.n == 6
    assert robot.gravity.tolist() == [0, 9.81, 0]
    merged, own = robot.links[5], load_robot("panda").links
    assert merged.inertial.mass == pytest.approx(own[5].inertial.mass + own[6].inertial.mass)
    assert np.isinf(merged.bounds.com).all()  # the bounds of link 6 do not bound 6 and 7 together
    assert {frame.name for frame in robot.frames} == {"base", "link7", "flange"}
