"""The shared assembly of trees, where the readers' own tests do not reach."""

import math

import numpy as np
import pytest

from casid.description import Inertial, Link, LinkBounds, Robot
from casid.description._document import assemble
from casid.description._placement import rotation_rpy, transform
from casid.description._raw import JointLimits, RawFrame, RawJoint
from casid.errors import RobotError
from casid.inertia import consistency, pseudo_inertia


def body(rng):
    """A real body: point masses."""
    points, masses = rng.normal(size=(6, 3)), rng.uniform(0.1, 1, 6)
    com = masses @ points / masses.sum()
    arms = points - com
    inertia = sum(m * (a @ a * np.eye(3) - np.outer(a, a)) for m, a in zip(masses, arms, strict=True))
    return Inertial(float(masses.sum()), com, inertia), points, masses


def placement(rng):
    return transform(rotation_rpy(rng.uniform(-3, 3, 3)), rng.normal(size=3))


def build(joints, **options):
    return assemble("machine", joints, where="machine.toml", **options)


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


def test_order_is_that_of_the_file_wherever_it_can_be():
    names = ["d", "b", "a", "c", "e"]
    parents = {"a": "base", "b": "base", "c": "a", "d": "c", "e": "b"}
    robot = build([RawJoint(name, "revolute", parents[name], Link(name)) for name in names], base="base")
    assert [joint.name for joint in robot.joints] == ["b", "a", "c", "d", "e"]
    assert [joint.parent for joint in robot.joints] == [-1, -1, 1, 2, 0]


def test_long_chains_given_backwards():
    n = 2000
    joints = [RawJoint(f"j{k}", "revolute", f"l{k - 1}", Link(f"l{k}")) for k in range(n, 0, -1)]
    assert [joint.parent for joint in build(joints).joints] == list(range(-1, n - 1))


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


def test_locking_a_fixed_joint_changes_nothing():
    joints = [RawJoint("j", "revolute", "base", Link("one")), RawJoint("f", "fixed", "one", Link("plate"))]
    assert [f.name for f in build(joints, lock=["f"]).frames] == [f.name for f in build(joints).frames]


@pytest.mark.parametrize(
    ("joints", "options", "words"),
    [
        ([("a", "base", "x"), ("b", "x", "base")], {"base": "base"}, "the base link 'base' is carried by a joint"),
        ([("a", "base", "x"), ("b", "z", "y")], {"base": "base"}, "joint 'b' stands on link 'z', which does not exist"),
        (
            [("a", "base", "x"), ("b", "d", "c"), ("c", "c", "d")],
            {"base": "base"},
            "the joints form a loop that never reaches the base: b -> c -> b",
        ),
        ([("a", "r", "x"), ("b", "s", "y")], {}, "a robot is one tree, but 2 links are carried by no joint: r, s"),
        (
            [("a", "base", "x")],
            {"frames": [RawFrame("x", "base", np.eye(4))]},
            "frame 'x' has the name of another frame or link",
        ),
        ([("a", "base", "x")], {"lock": ["a"]}, "robot 'machine' has no moving joint"),
        ([("a", "base", "x")], {"gravity": (0, 9.81)}, r"gravity: expected shape \(3,\), got \(2,\)"),
        ([("a", "base", "x")], {"gravity": (0, 0, math.nan)}, "gravity: contains NaN"),
    ],
)
def test_what_is_no_tree(joints, options, words):
    raw = [RawJoint(name, "revolute", parent, Link(link)) for name, parent, link in joints]
    with pytest.raises(RobotError, match=words):
        build(raw, **options)


def test_a_frame_may_not_take_the_name_of_the_base():
    with pytest.raises(RobotError, match="frame 'base' has the name of another frame or link"):
        build([RawJoint("a", "revolute", "base", Link("x"))], base="base", frames=[RawFrame("base", "x", np.eye(4))])


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
