"""Robots that the row of simulated robots may judge."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.measure import NotMeasured
from benchmarks.real import robots, simulated_robots

from casid.description import load_robot


def test_moments_of_inertia_beyond_the_reach_are_placeholders() -> None:
    arm = load_robot("ur10e")
    assert not simulated_robots.placeholders(arm)
    last = arm.joints[-1]
    assert last.link.inertial is not None
    unit = replace(last.link.inertial, mass=0.3, inertia_com=np.eye(3))
    joints = (*arm.joints[:-1], replace(last, link=replace(last.link, inertial=unit)))
    assert simulated_robots.placeholders(replace(arm, joints=joints))


def test_a_robot_of_placeholders_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated_robots, "placeholders", lambda robot: True)
    try:
        robots.chain(*simulated_robots.JUDGED["UR3"])
    except NotMeasured:
        pytest.skip("needs example-robot-data")
    with pytest.raises(NotMeasured, match="placeholders"):
        simulated_robots.robot_of("UR3")
