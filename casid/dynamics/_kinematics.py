"""Kinematics of a tree, its joints that follow others (mimic joints), and constants with structural zeros."""

from __future__ import annotations

import casadi as ca
import numpy as np

from casid.description import Joint, Robot
from casid.inertia import skew


def exact(matrix: np.ndarray | ca.SX) -> ca.DM | ca.SX:
    """Constant as a sparse CasADi matrix: its exact zeros become structural, so that products stay small.

    A matrix with symbols stays one.
    """
    return ca.sparsify(matrix if isinstance(matrix, ca.SX) else ca.DM(matrix))


def joint_positions(robot: Robot, q: ca.SX) -> ca.SX:
    """Positions of all joints, ``G q + g``."""
    if not robot.coupled:
        return q
    G, offset = robot.coupling()
    return ca.densify(ca.mtimes(ca.SX(exact(G)), q) + ca.SX(ca.DM(offset)))


def joint_rates(robot: Robot, rates: ca.SX) -> ca.SX:
    """Velocities (or accelerations) of all joints, ``G dq``."""
    return rates if not robot.coupled else ca.densify(ca.mtimes(ca.SX(exact(robot.coupling()[0])), rates))


def on_coordinates(robot: Robot, values: ca.SX) -> ca.SX:
    """Torques of all joints as torques of the coordinates, ``G' tau``; rows of any matrix alike."""
    return values if not robot.coupled else ca.mtimes(ca.SX(exact(robot.coupling()[0])).T, values)


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


class Kinematics:
    """Placements of all joint and link frames of a tree in the base frame, at symbolic joint positions.

    Attributes
    ----------
    joints, links : list of (rotation 3x3, origin 3)
        Moved joint frames and link frames, in the order of the robot's joints.
    """

    def __init__(self, robot: Robot, q: ca.SX) -> None:
        self.robot = robot
        q = joint_positions(robot, q)
        self.joints: list[tuple[ca.SX, ca.SX]] = []
        self.links: list[tuple[ca.SX, ca.SX]] = []
        for k, joint in enumerate(robot.joints):
            rotation, origin = joint_rotation(joint, q[k]), joint_offset(joint, q[k])
            if joint.parent >= 0:
                parent_rotation, parent_origin = self.links[joint.parent]
                rotation = ca.mtimes(parent_rotation, rotation)
                origin = parent_origin + ca.mtimes(parent_rotation, origin)
            self.joints.append((rotation, origin))
            turn, shift = exact(joint.link_placement[:3, :3]), exact(joint.link_placement[:3, 3])
            self.links.append((ca.mtimes(rotation, turn), origin + ca.mtimes(rotation, shift)))

    def placement(self, name: str) -> ca.SX:
        """Homogeneous placement (4x4) of a link or named frame; RobotError for an unknown name."""
        frame = self.robot.frame(name)
        local = exact(frame.placement)
        return ca.SX(local) if frame.joint < 0 else ca.mtimes(homogeneous(*self.links[frame.joint]), local)

    def jacobian(self, name: str) -> ca.SX:
        """Geometric Jacobian (6 x n) of a link or named frame; RobotError for an unknown name.

        Rows: linear velocity of the frame's origin, then angular velocity, both in the axes of the base frame.
        """
        point = self.placement(name)[:3, 3]
        jacobian = ca.SX(6, len(self.robot.joints))
        k = self.robot.frame(name).joint
        while k >= 0:
            joint = self.robot.joints[k]
            rotation, origin = self.joints[k]
            axis = ca.mtimes(rotation, exact(joint.axis))
            if joint.type == "revolute":
                jacobian[:3, k] = ca.cross(axis, point - origin)
                jacobian[3:, k] = axis
            else:
                jacobian[:3, k] = axis
            k = joint.parent
        return on_coordinates(self.robot, jacobian.T).T


def homogeneous(rotation: ca.SX, origin: ca.SX) -> ca.SX:
    """4x4 matrix ``[[R, p], [0, 1]]``."""
    return ca.vertcat(ca.horzcat(rotation, origin), ca.SX(ca.DM([[0, 0, 0, 1]])))
