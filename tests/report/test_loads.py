"""Reports of loads."""

from __future__ import annotations

import numpy as np
import pytest

import casid
from casid.errors import RobotError
from casid.report._loads import _interval, flange_of


def test_the_frame_of_a_load() -> None:
    robot = casid.load_robot("panda")
    name, placement = flange_of(robot)
    assert name == "flange" and placement[2, 3] != 0
    last = robot.links[-1].name
    assert flange_of(robot, last)[0] == last and np.array_equal(flange_of(robot, last)[1], np.eye(4))
    with pytest.raises(RobotError, match="has no frame 'nosuch'"):
        flange_of(robot, "nosuch")


def test_an_open_interval_is_words() -> None:
    assert _interval((1.0, 2.0)) == "[1, 2]" and _interval((-np.inf, 2.0)) == "not determined by the data"
