"""Kinetic and potential energy of a tree; both linear in the standard parameters (Sousa 2014, Sec. 2.2)."""

from __future__ import annotations

import casadi as ca

from casid.description import Robot
from casid.dynamics.coordinates import joint_positions, joint_rates
from casid.dynamics.kinematics import Kinematics, exact, joint_offset, joint_rotation
from casid.inertia import TENSOR_INDEX


def kinetic_energy(robot: Robot, q: ca.SX, dq: ca.SX, parameters: list[ca.SX]) -> ca.SX:
    """``sum_k (m v'v / 2 + v'(w x l) + w' L w / 2)`` [J]; v, w: velocity of the link frame in its own axes."""
    energy = ca.SX(0)
    q, dq = joint_positions(robot, q), joint_rates(robot, dq)
    velocities: list[tuple[ca.SX, ca.SX]] = []
    for k, joint in enumerate(robot.joints):
        v, w = (ca.SX(3, 1), ca.SX(3, 1)) if joint.parent < 0 else velocities[joint.parent]
        to_joint = joint_rotation(joint, q[k]).T
        v = ca.mtimes(to_joint, v + ca.cross(w, joint_offset(joint, q[k])))
        w = ca.mtimes(to_joint, w)
        if joint.type == "revolute":
            w = w + exact(joint.axis) * dq[k]
        else:
            v = v + exact(joint.axis) * dq[k]
        to_link = exact(joint.link_placement[:3, :3].T)
        v = ca.mtimes(to_link, v + ca.cross(w, ca.SX(exact(joint.link_placement[:3, 3]))))
        w = ca.mtimes(to_link, w)
        velocities.append((v, w))
        p = parameters[k]
        rotation = sum(
            (p[entry] * w[i] * w[j] / (2 if i == j else 1) for entry, (i, j) in enumerate(TENSOR_INDEX)), ca.SX(0)
        )
        energy += p[9] * ca.dot(v, v) / 2 + ca.dot(v, ca.cross(w, p[6:9])) + rotation
    return energy


def potential_energy(robot: Robot, q: ca.SX, parameters: list[ca.SX], gravity: ca.SX) -> ca.SX:
    """``-sum_k g'(m p + R l)`` [J]; zero with all mass at the base origin."""
    energy = ca.SX(0)
    for (rotation, origin), p in zip(Kinematics(robot, q).links, parameters, strict=True):
        energy -= ca.dot(gravity, p[9] * origin + ca.mtimes(rotation, p[6:9]))
    return energy
