"""Symbolic kinematics of a tree: joint motions, link placements, geometric Jacobians."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from casid.description import Joint, Robot
from casid.inertia import skew


def exact(matrix: np.ndarray) -> ca.DM:
    """Constant as a sparse CasADi matrix: its exact zeros become structural, so that products stay small."""
    return ca.sparsify(ca.DM(matrix))


def joint_rotation(joint: Joint, q: ca.SX) -> ca.SX:
    """Rotation R (3x3) of the moved joint frame in the parent link's frame: ``v_parent = R v_joint``.

    Revolute: ``R = R_0 (a a' + cos q (1 - a a') + sin q S(a))`` (Rodrigues); prismatic: ``R = R_0``.
    """
    fixed = exact(joint.placement[:3, :3])
    if joint.type == "prismatic":
        return ca.SX(fixed)
    along = np.outer(joint.axis, joint.axis)
    turn = exact(along) + ca.cos(q) * exact(np.eye(3) - along) + ca.sin(q) * exact(skew(joint.axis))
    return ca.mtimes(fixed, turn)


def joint_offset(joint: Joint, q: ca.SX) -> ca.SX:
    """Origin (3) of the moved joint frame in the parent link's frame [m]."""
    offset = ca.SX(exact(joint.placement[:3, 3]))
    if joint.type == "prismatic":
        offset = offset + ca.mtimes(exact(joint.placement[:3, :3]), exact(joint.axis)) * q
    return offset


def link_placements(robot: Robot, q: ca.SX) -> list[tuple[ca.SX, ca.SX]]:
    """Rotation (3x3) and origin (3) of every link frame in the base frame."""
    placements: list[tuple[ca.SX, ca.SX]] = []
    for k, joint in enumerate(robot.joints):
        rotation, origin = joint_placement(robot, placements, k, q)
        placements.append(
            (
                ca.mtimes(rotation, exact(joint.link_placement[:3, :3])),
                origin + ca.mtimes(rotation, exact(joint.link_placement[:3, 3])),
            )
        )
    return placements


def joint_placement(robot: Robot, links: Sequence[tuple[ca.SX, ca.SX]], k: int, q: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Rotation and origin, in the base frame, of joint ``k``'s moved frame, given its parents' link placements."""
    joint = robot.joints[k]
    rotation, offset = joint_rotation(joint, q[k]), joint_offset(joint, q[k])
    if joint.parent < 0:
        return rotation, offset
    parent_rotation, parent_origin = links[joint.parent]
    return ca.mtimes(parent_rotation, rotation), parent_origin + ca.mtimes(parent_rotation, offset)


def frame_placement(robot: Robot, name: str, q: ca.SX) -> ca.SX:
    """Homogeneous placement (4x4) of a link or named frame in the base frame; KeyError for an unknown name."""
    links = link_placements(robot, q)
    for k, joint in enumerate(robot.joints):
        if joint.link.name == name:
            return homogeneous(*links[k])
    for frame in robot.frames:
        if frame.name == name:
            placement = exact(frame.placement)
            return ca.SX(placement) if frame.joint < 0 else ca.mtimes(homogeneous(*links[frame.joint]), placement)
    raise KeyError(name)


def frame_jacobian(robot: Robot, name: str, q: ca.SX) -> ca.SX:
    """Geometric Jacobian (6 x n) of a link or named frame.

    Rows: linear velocity of the frame's origin, then angular velocity, both in the axes of the base frame.
    """
    links = link_placements(robot, q)
    point = frame_placement(robot, name, q)[:3, 3]
    jacobian = ca.SX(6, robot.n)
    k = carrying_joint(robot, name)
    while k >= 0:
        joint = robot.joints[k]
        rotation, origin = joint_placement(robot, links, k, q)
        axis = ca.mtimes(rotation, exact(joint.axis))
        if joint.type == "revolute":
            jacobian[:3, k] = ca.cross(axis, point - origin)
            jacobian[3:, k] = axis
        else:
            jacobian[:3, k] = axis
        k = joint.parent
    return jacobian


def carrying_joint(robot: Robot, name: str) -> int:
    """Index of the joint that carries the link or frame ``name``; -1 for the base."""
    for k, joint in enumerate(robot.joints):
        if joint.link.name == name:
            return k
    for frame in robot.frames:
        if frame.name == name:
            return frame.joint
    raise KeyError(name)


def homogeneous(rotation: ca.SX, origin: ca.SX) -> ca.SX:
    """4x4 matrix ``[[R, p], [0, 1]]``."""
    return ca.vertcat(ca.horzcat(rotation, origin), ca.SX(ca.DM([[0, 0, 0, 1]])))
