"""Reports of loads."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import casid
from casid.errors import RobotError
from casid.inertia import express_in, to_standard
from casid.loads import Gains, Payload
from casid.report import report_of

NAMES = ("Lxx", "Lxy", "Lxz", "Lyy", "Lyz", "Lzz", "m", "cx", "cy", "cz",
         "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")  # fmt: skip


def tables(found):
    return report_of(found, joints=("a", "b")).sections[0].tables()


@pytest.mark.claim("gains leads with the factors of the joints that are determined")
def test_factors_of_joints_come_before_the_common_one():
    known = Gains(0.95, (0.94, 0.96), np.array([0.99, 1.01]), np.array([0.002, 0.002]), 2.8, SimpleNamespace(mass=2.95))
    assert known.determined and repr(known) == "Gains(torques times 0.99, 1.01)"
    first = next(iter(tables(known)[1].columns[0].cells))
    assert "each joint" in str(first)
    vague = replace(known, joints=np.array([0.99, np.nan]))
    assert not vague.determined and "0.95" in repr(vague)
    whose, texts = (list(column.cells) for column in tables(vague)[1].columns)
    assert ["each joint" in str(whose[0]), "one factor for the others" in str(whose[1])] == [True, True]
    assert "0.9900, -" in str(texts[0])
    unknown = replace(known, joints=np.array([np.nan, np.nan]))
    assert "all joints" in str(next(iter(tables(unknown)[1].columns[0].cells)))


@pytest.mark.claim(
    "commands for controllers are in the frame that the controller takes, whatever the frame of the result"
)
def test_commands_are_in_the_frame_of_the_controller() -> None:
    robot = casid.load_robot("ur10e")
    tool = next(frame for frame in robot.frames if frame.name == "tool0").placement
    load = express_in(to_standard(2.0, [0.02, -0.035, 0.06], np.diag([0.02, 0.015, 0.01])), tool[:3, :3], tool[:3, 3])
    certificate = SimpleNamespace(status="optimal", gap=0.0, certified=True)
    found = Payload(load, dict.fromkeys(NAMES, (1e-4, np.inf)), {}, certificate, 9.0, 1.0)
    for frame in (None, "ee_link", robot.links[-1].name):
        report = report_of(found, robot=robot, frame=frame)
        section = report.sections[0]
        assert "not determined by the data" in map(str, section.tables()[0].columns[2].cells)
        assert section.commands()["UR, in tool0"] == (
            "set_target_payload(2.0000, [0.02000, -0.03500, 0.06000], "
            "[0.020000, 0.015000, 0.010000, -0.000000, 0.000000, 0.000000])"
        ).replace("-0.000000", section.commands()["UR, in tool0"].split(", ")[7])
        assert section.record()["controllers"]["frame"] == "tool0"
        numbers = [float(x) for x in re.findall(r"-?\d+\.\d+", section.commands()["KUKA, in tool0"])]
        assert numbers[:4] == [2.0, 20.0, -35.0, 60.0]
        z, y, x = np.radians(numbers[4:7])
        turn = Rotation.from_euler("ZYX", [z, y, x]).as_matrix()
        assert turn @ np.diag(numbers[7:]) @ turn.T == pytest.approx(np.diag([0.02, 0.015, 0.01]), abs=1e-6)
    assert report_of(found, robot=robot).sections[0].frame == robot.flange.name
    with pytest.raises(RobotError, match="has no frame 'nosuch'"):
        report_of(found, robot=robot, frame="nosuch")
