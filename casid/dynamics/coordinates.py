"""Joints that follow others: from the coordinates of a robot to the positions of all its joints, and back.

With ``q_joints = G q + g`` (constant G) virtual work gives ``tau = G' tau_joints`` and ``M = G' M_joints G``; torques
stay linear in the parameters.
"""

from __future__ import annotations

import casadi as ca

from casid.description import Robot
from casid.dynamics.exact import exact


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
