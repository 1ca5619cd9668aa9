"""Reports of loads."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import casid
from casid.errors import RobotError
from casid.identification.loads._gains import Gains
from casid.report._loads import GainsSection, _interval, flange_of


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


@pytest.mark.claim("gains leads with the factors of the joints that are determined")
def test_factors_of_joints_come_before_the_common_one():
    known = Gains(0.95, (0.94, 0.96), np.array([0.99, 1.01]), np.array([0.002, 0.002]), 2.8, SimpleNamespace(mass=2.95))
    assert known.determined and repr(known) == "Gains(torques times 0.99, 1.01)"
    first = next(iter(GainsSection(known, ("a", "b")).tables()[1].columns[0].cells))
    assert "each joint" in str(first)
    vague = replace(known, joints=np.array([0.99, np.nan]))
    assert not vague.determined and "0.95" in repr(vague)
    whose, texts = (list(column.cells) for column in GainsSection(vague, ("a", "b")).tables()[1].columns)
    assert ["each joint" in str(whose[0]), "one factor for the others" in str(whose[1])] == [True, True]
    assert "0.9900, -" in str(texts[0])
    unknown = replace(known, joints=np.array([np.nan, np.nan]))
    assert "all joints" in str(next(iter(GainsSection(unknown, ("a", "b")).tables()[1].columns[0].cells)))
