"""Parts of a robot: frozen values and limits."""

from __future__ import annotations

import math

import pytest

from casid.description import Link, Robot
from casid.description._raw import JointLimits, RawJoint
from tests.description.conftest import build


def test_robots_are_frozen():
    robot = build([RawJoint("a", "revolute", "base", Link("x"), limits=JointLimits(lower=-1))])
    assert isinstance(robot, Robot)
    with pytest.raises(AttributeError):
        robot.name = "other"
    for array in (robot.gravity, robot.limits.lower, robot.joints[0].placement, robot.joints[0].axis):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    with pytest.raises(TypeError):
        robot.source["x"] = "y"


def test_unlimited_is_the_default():
    joint = build([RawJoint("a", "revolute", "base", Link("x"))]).joints[0]
    limits = Robot("one", (joint,)).limits
    assert (limits.lower.tolist(), limits.effort.tolist()) == ([-math.inf], [math.inf])
