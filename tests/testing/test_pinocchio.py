"""The adapter of Pinocchio."""

from __future__ import annotations

from casid.testing import random_robot


def test_pinocchio_visits_branch_by_branch() -> None:
    from casid.testing._pinocchio import depth_first, parameter_map

    robot = random_robot(2, n=6)
    order = depth_first(robot)
    assert sorted(order) == list(range(6))
    assert all(order.index(joint.parent) < order.index(k) for k, joint in enumerate(robot.joints) if joint.parent >= 0)
    assert parameter_map(robot).shape == (60, 60)
