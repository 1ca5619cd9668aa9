"""Assembly of a robot: fixed links lumped, frames placed, bounds kept."""

from __future__ import annotations

import math

import numpy as np
import pytest

from casid.description import Description, Inertial, Link, LinkBounds
from casid.description._document import assemble
from casid.description._placement import rotation_rpy, transform
from casid.description._raw import RawFrame, RawJoint
from casid.errors import RobotError
from casid.inertia import consistency, pseudo_inertia
from tests.description.conftest import build


def body(rng):
    """A real body: point masses."""
    points, masses = rng.normal(size=(6, 3)), rng.uniform(0.1, 1, 6)
    com = masses @ points / masses.sum()
    arms = points - com
    inertia = sum(m * (a @ a * np.eye(3) - np.outer(a, a)) for m, a in zip(masses, arms, strict=True))
    return Inertial(float(masses.sum()), com, inertia), points, masses


def placement(rng):
    return transform(rotation_rpy(rng.uniform(-3, 3, 3)), rng.normal(size=3))


def test_lumped_parameters_are_those_of_all_point_masses():
    rng = np.random.default_rng(0)
    parts = [body(rng) for _ in range(4)]
    poses = [placement(rng) for _ in range(3)]
    joints = [RawJoint("j", "revolute", "base", Link("l0", parts[0][0]))]
    # a chain of two fixed links and a branch with a third one
    for k, parent in ((1, "l0"), (2, "l1"), (3, "l0")):
        joints.append(RawJoint(f"f{k}", "fixed", parent, Link(f"l{k}", parts[k][0]), placement=poses[k - 1]))
    robot = build(joints)
    in_link = [np.eye(4), poses[0], poses[0] @ poses[1], poses[2]]
    J = np.zeros((4, 4))
    for (_, points, masses), pose in zip(parts, in_link, strict=True):
        homogeneous = np.c_[points, np.ones(len(points))] @ pose.T
        J += homogeneous.T @ (masses[:, None] * homogeneous)
    np.testing.assert_allclose(pseudo_inertia(robot.standard_parameters()), J, atol=1e-12)
    assert consistency(robot.standard_parameters()).full
    for frame, pose in zip(robot.frames[1:], in_link[1:], strict=True):
        np.testing.assert_allclose(frame.placement, pose, atol=1e-14)


def test_a_moving_joint_behind_fixed_ones_is_placed_in_the_moving_parent():
    rng = np.random.default_rng(1)
    a, b, c = placement(rng), placement(rng), placement(rng)
    robot = build(
        [
            RawJoint("second", "prismatic", "bracket", Link("two"), placement=c),
            RawJoint("first", "revolute", "base", Link("one"), placement=a, link_placement=b),
            RawJoint("weld", "fixed", "one", Link("bracket"), placement=b, link_placement=a),
        ]
    )
    assert [joint.name for joint in robot.joints] == ["first", "second"]
    np.testing.assert_allclose(robot.joints[1].placement, b @ a @ c, atol=1e-14)
    np.testing.assert_array_equal(robot.joints[0].link_placement, b)


def test_bounds_survive_fixed_parts_but_not_locked_ones():
    bounds = LinkBounds(mass=[0, 3])
    joints = [
        RawJoint("j", "revolute", "base", Link("one", bounds=bounds)),
        RawJoint("f", "fixed", "one", Link("plate")),
        RawJoint("k", "revolute", "plate", Link("two", bounds=bounds)),
    ]
    assert build(joints).links[0].bounds.mass.tolist() == [0, 3]
    locked = build(joints, lock=["k"], total_mass=(1, 5))
    assert locked.links[0].bounds.mass.tolist() == [0, math.inf]
    assert locked.total_mass == (1, 5)
    assert build(joints, lock=["j"], total_mass=(1, 5)).total_mass == (0, 5)  # part of the mass stands still


def test_a_frame_may_not_take_the_name_of_the_base():
    with pytest.raises(RobotError, match="frame 'base' has the name of another frame or link"):
        build([RawJoint("a", "revolute", "base", Link("x"))], base="base", frames=[RawFrame("base", "x", np.eye(4))])


def test_locking_a_described_machine_leaves_the_description_whole():
    joints = (RawJoint("j1", "revolute", "base", Link("l1")), RawJoint("j2", "revolute", "l1", Link("l2")))
    description = Description("machine", "machine.toml", Link("base"), joints)
    assert [link.name for link in description.links] == ["base", "l1", "l2"] and len(description.moving) == 2
    locked = assemble(description, lock=("j2",))
    assert locked.n == 1 and assemble(description).n == 2
