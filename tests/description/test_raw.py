"""Joints of a file: the tree that they form, its order, and locking."""

from __future__ import annotations

import math

import numpy as np
import pytest

from casid.description import Link
from casid.description._raw import RawFrame, RawJoint
from casid.errors import RobotError
from tests.description.conftest import build


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
