"""Frames of a robot by name, its flange and its reach."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import casid
from casid.description import STANDARD_G, Robot
from casid.dynamics import Model
from casid.errors import RobotError
from casid.export import with_payload
from casid.testing import motion
from tests.helpers import run


def test_frames_are_found_by_name() -> None:
    robot = casid.load_robot("ur10e")
    assert robot.frame("ee_link") is robot.frames[[f.name for f in robot.frames].index("ee_link")]
    own = robot.frame(robot.links[2].name)
    assert own.joint == 2 and np.array_equal(own.placement, np.eye(4))
    with pytest.raises(RobotError, match=r"ur10e' has no frame 'ee_lnk'; did you mean 'ee_link'\?; known: .*tool0"):
        robot.frame("ee_lnk")


def test_flange_is_the_last_frame_of_the_last_link() -> None:
    robot = casid.load_robot("ur10e")
    assert robot.flange.name == "tool0" and casid.load_robot("panda").flange.name == "flange"
    bare = replace(robot, frames=())
    assert (bare.flange.name, bare.flange.joint) == ("wrist_3_link", 5)
    assert np.array_equal(bare.flange.placement, np.eye(4))


def test_reach_is_the_length_of_the_stretched_arm() -> None:
    robot = casid.load_robot("panda")
    lengths = [np.linalg.norm(joint.placement[:3, 3]) for joint in robot.joints]
    assert robot.reach == pytest.approx(sum(lengths) + np.linalg.norm(robot.flange.placement[:3, 3]))
    assert robot.lengths_beyond()[-1] == pytest.approx(0.107)


@pytest.mark.claim("house e: `casid payload` answers in the frame in which `casid export --payload` puts the load")
def test_a_load_hangs_at_the_same_frame_in_payload_and_export(tmp_path: Path) -> None:
    robot = casid.load_robot("ur10e")
    model = Model(robot, ("viscous",))
    truth = model.parameters(robot.standard_parameters(), np.full(6, 2.0))
    loaded = with_payload(model, truth, [2.0, 0.02, -0.03, 0.08, 0.01, 0, 0, 0.01, 0, 0.01], robot.flange.name)
    t, q, dq, ddq = motion(6, 1200, 2)
    for name, x in (("alone", truth), ("loaded", loaded)):
        tau = model.inverse_dynamics(q, dq, ddq, x)
        np.savez(tmp_path / f"{name}.npz", t=t, q=q, torque=tau)
    printed = run(
        "payload", "ur10e", tmp_path / "loaded.npz", "--without", tmp_path / "alone.npz", "--terms", "viscous"
    )
    match = re.search(r"centre of mass in (\S+)\s+([-\d.]+), ([-\d.]+), ([-\d.]+) mm", printed)
    assert match and match[1] == robot.flange.name
    np.testing.assert_allclose([float(match[k]) for k in (2, 3, 4)], [20, -30, 80], atol=2.0)
    exported = run(
        "export", "ur10e", "--payload", "2,0.02,-0.03,0.08", "--out", tmp_path / "c", "--functions", "gravity"
    )
    written = [path for path in (tmp_path / "c").iterdir() if path.suffix in (".md", ".h") and path.stem != "FRAMES"]
    notes = exported + "".join(path.read_text() for path in written)
    assert robot.flange.name in notes and "ee_link" not in notes


def test_gravity_is_the_standard_one_unless_given() -> None:
    arm = casid.load_robot("panda")
    np.testing.assert_array_equal(arm.gravity, [0.0, 0.0, -STANDARD_G])
    assert isinstance(arm, Robot) and casid.load_robot("panda", gravity=[1.0, 2.0, 3.0]).gravity.tolist() == [1, 2, 3]
