"""The tree of joints and links: its order, what is fixed lumped into what moves, frames, bounds, locking."""

from __future__ import annotations

import math

import numpy as np
import pytest

from casid.description import Robot
from casid.errors import RobotError
from casid.inertia import consistency, pseudo_inertia, tensor_entries
from tests.description.conftest import build, joint, rpy_matrix


def body(rng):
    """A real body, as keys of a file: point masses."""
    points, masses = rng.normal(size=(6, 3)), rng.uniform(0.1, 1, 6)
    com = masses @ points / masses.sum()
    arms = points - com
    inertia = sum(m * (a @ a * np.eye(3) - np.outer(a, a)) for m, a in zip(masses, arms, strict=True))
    keys = {"mass": float(masses.sum()), "com": com, "inertia_com": np.array(tensor_entries(inertia))}
    return keys, points, masses


def placement(rng):
    """Keys of a placement, and its matrix."""
    rpy, xyz = rng.uniform(-3, 3, 3), rng.normal(size=3)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rpy_matrix(*rpy), xyz
    return {"xyz": xyz, "rpy": rpy}, T


def test_lumped_parameters_are_those_of_all_point_masses():
    rng = np.random.default_rng(0)
    parts = [body(rng) for _ in range(4)]
    poses = [placement(rng) for _ in range(3)]
    joints = [joint("j", "base", "l0", link=parts[0][0])]
    # a chain of two fixed links and a branch with a third one
    for k, parent in ((1, "l0"), (2, "l1"), (3, "l0")):
        joints.append(joint(f"f{k}", parent, f"l{k}", "fixed", link=parts[k][0], **poses[k - 1][0]))
    robot = build(joints)
    in_link = [np.eye(4), poses[0][1], poses[0][1] @ poses[1][1], poses[2][1]]
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
    (a, A), (b, B), (c, C) = placement(rng), placement(rng), placement(rng)
    behind = {f"link_{key}": value for key, value in b.items()}
    robot = build(
        [joint("second", "bracket", "two", "prismatic", **c), joint("first", "base", "one", **a, **behind),
         joint("weld", "one", "bracket", "fixed", **b)]
    )  # fmt: skip
    assert [one.name for one in robot.joints] == ["first", "second"]
    np.testing.assert_allclose(robot.joints[0].placement, A, atol=1e-14)
    np.testing.assert_allclose(robot.joints[1].placement, B @ C, atol=1e-14)
    np.testing.assert_allclose(robot.joints[0].link_placement, B, atol=1e-14)


def test_bounds_survive_fixed_parts_but_not_locked_ones():
    bounds = {"bounds": {"mass": [0, 3]}}
    joints = [joint("j", "base", "one", link=bounds), joint("f", "one", "plate", "fixed"),
              joint("k", "plate", "two", link=bounds)]  # fmt: skip
    assert build(joints).links[0].bounds.mass.tolist() == [0, 3]
    locked = build(joints, "total_mass = [1, 5]", lock=["k"])
    assert locked.links[0].bounds.mass.tolist() == [0, math.inf]
    assert locked.total_mass == (1, 5)
    assert build(joints, "total_mass = [1, 5]", lock=["j"]).total_mass == (0, 5)  # part of the mass stands still
    assert [f.name for f in build(joints, lock=["f"]).frames] == [f.name for f in build(joints).frames]


def test_order_is_that_of_the_file_wherever_it_can_be():
    parents = {"d": "c", "b": "base", "a": "base", "c": "a", "e": "b"}
    robot = build([joint(name, parent, name) for name, parent in parents.items()])
    assert [one.name for one in robot.joints] == ["b", "a", "c", "d", "e"]
    assert [one.parent for one in robot.joints] == [-1, -1, 1, 2, 0]
    n = 1500
    backwards = [joint(f"j{k}", f"l{k - 1}" if k > 1 else "base", f"l{k}") for k in range(n, 0, -1)]
    assert [one.parent for one in build(backwards).joints] == list(range(-1, n - 1))


@pytest.mark.parametrize(
    ("joints", "options", "words"),
    [
        ([("a", "base", "x"), ("b", "x", "base")], {}, "the base link 'base' is carried by a joint"),
        ([("a", "base", "x"), ("b", "z", "y")], {}, "joint 'b' stands on link 'z', which does not exist"),
        ([("a", "base", "x"), ("b", "d", "c"), ("c", "c", "d")], {}, "never reaches the base: b -> c -> b"),
        ([("a", "base", "x")], {"tail": '[[frame]]\nname = "x"'}, "frame 'x' has the name of another frame or link"),
        ([("a", "base", "x")], {"tail": '[[frame]]\nname = "base"'}, "frame 'base' has the name of another"),
        ([("a", "base", "x")], {"lock": ["a"]}, "robot 'machine' has no moving joint"),
        ([("a", "base", "x")], {"gravity": (0, 9.81)}, r"gravity: expected shape \(3,\), got \(2,\)"),
        ([("a", "base", "x")], {"gravity": (0, 0, math.nan)}, "gravity: contains NaN"),
    ],
)
def test_what_is_no_tree(joints, options, words):
    with pytest.raises(RobotError, match=words):
        build([joint(*one) for one in joints], **options)


def test_robots_are_frozen():
    robot = build([joint("a", "base", "x", limits={"lower": -1})])
    with pytest.raises(AttributeError):
        robot.name = "other"
    for array in (robot.gravity, robot.limits.lower, robot.joints[0].placement, robot.joints[0].axis):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    with pytest.raises(TypeError):
        robot.source["x"] = "y"
    limits = Robot("one", robot.joints).limits
    assert (limits.lower.tolist(), limits.effort.tolist()) == ([-math.inf], [math.inf])
