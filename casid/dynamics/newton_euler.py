"""Recursive Newton-Euler for any tree, linear in the standard parameters. Everything else derives from it.

Per link, in its own frame, with angular velocity w, angular acceleration dw and acceleration a of the frame's origin
(gravity included as a fictitious base acceleration -g)::

    U = S(dw) + S(w) S(w)
    f = m a + U l                      force on the link
    n = L dw + w x (L w) + l x a       moment about the link-frame origin

The Euler term is written with the entries of U, which saves nine products a link (Khalil and Dombre 2002, Sec. 9.6)::

    n_x = Lxx dw_x - Lxy U_zx + Lxz U_yx + (Lzz - Lyy) w_y w_z + Lyz (w_y^2 - w_z^2)   and cyclic
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from casid.description import Joint, Robot
from casid.dynamics.coordinates import joint_positions, joint_rates, on_coordinates
from casid.dynamics.kinematics import exact, joint_offset, joint_rotation


class LinkMotion(NamedTuple):
    """Motion of a link frame, in its own axes."""

    w: ca.SX
    dw: ca.SX
    a: ca.SX
    U: ca.SX
    ww: ca.SX  # products w_y w_z, w_z w_x, w_x w_y
    squares: ca.SX  # w_x^2, w_y^2, w_z^2


class Wrench(NamedTuple):
    """Force [N] and moment [N.m]."""

    force: ca.SX
    moment: ca.SX


def link_motion(w: ca.SX, dw: ca.SX, a: ca.SX) -> LinkMotion:
    """Complete the motion by ``U = S(dw) + S(w) S(w)`` and the products of w."""
    x, y, z = w[0], w[1], w[2]
    xx, yy, zz, yz, zx, xy = x * x, y * y, z * z, y * z, z * x, x * y
    ax, ay, az = dw[0], dw[1], dw[2]
    U = ca.vertcat(
        ca.horzcat(-yy - zz, xy - az, zx + ay),
        ca.horzcat(xy + az, -xx - zz, yz - ax),
        ca.horzcat(zx - ay, yz + ax, -xx - yy),
    )
    return LinkMotion(w, dw, a, U, ca.vertcat(yz, zx, xy), ca.vertcat(xx, yy, zz))


def next_motion(joint: Joint, parent: LinkMotion, q: ca.SX, dq: ca.SX, ddq: ca.SX) -> LinkMotion:
    """Motion of a joint's link from the motion of its parent link."""
    axis = exact(joint.axis)
    to_joint = joint_rotation(joint, q).T
    a = ca.mtimes(to_joint, parent.a + ca.mtimes(parent.U, joint_offset(joint, q)))
    w, dw = ca.mtimes(to_joint, parent.w), ca.mtimes(to_joint, parent.dw)
    if joint.type == "revolute":
        dw = dw + axis * ddq + ca.cross(w, axis * dq)
        w = w + axis * dq
    else:
        a = a + axis * ddq + 2 * ca.cross(w, axis * dq)
    to_link = exact(joint.link_placement[:3, :3].T)
    motion = link_motion(ca.mtimes(to_link, w), ca.mtimes(to_link, dw), ca.mtimes(to_link, a))
    shift = exact(joint.link_placement[:3, :3].T @ joint.link_placement[:3, 3])
    return motion._replace(a=motion.a + ca.mtimes(motion.U, shift))


def inertial_wrench(parameters: ca.SX, motion: LinkMotion) -> Wrench:
    """Force and moment about the link-frame origin that a link's motion asks for; linear in its parameters.

    They are ten, or thirteen: with the antisymmetric part S(a) of an inertia that is not symmetric, which no body has
    but an unstructured estimate may (Sutanto et al. 2020, Sec. 3.1), ``n`` gains ``a x dw + w x (a x w)``.
    """
    if parameters.numel() == 13:
        symmetric, a = inertial_wrench(parameters[:10], motion), parameters[10:]
        added = ca.cross(a, motion.dw) + ca.cross(motion.w, ca.cross(a, motion.w))
        return Wrench(symmetric.force, symmetric.moment + added)
    if parameters.is_constant():
        return _wrench_of_second_moments(parameters, motion)
    Lxx, Lxy, Lxz, Lyy, Lyz, Lzz = (parameters[i] for i in range(6))
    moment, mass = parameters[6:9], parameters[9]
    U, dw, ww, (xx, yy, zz) = motion.U, motion.dw, motion.ww, ca.vertsplit(motion.squares)
    n = ca.vertcat(
        Lxx * dw[0] - Lxy * U[2, 0] + Lxz * U[1, 0] + (Lzz - Lyy) * ww[0] + Lyz * (yy - zz),
        Lyy * dw[1] - Lyz * U[0, 1] + Lxy * U[2, 1] + (Lxx - Lzz) * ww[1] + Lxz * (zz - xx),
        Lzz * dw[2] - Lxz * U[1, 2] + Lyz * U[0, 2] + (Lyy - Lxx) * ww[2] + Lxy * (xx - yy),
    )
    return Wrench(mass * motion.a + ca.mtimes(U, moment), n + ca.cross(moment, motion.a))


def _wrench_of_second_moments(parameters: ca.SX, motion: LinkMotion) -> Wrench:
    """The same through the second moments ``Sigma = int p p' dm = tr(L)/2 1 - L``, which cost nothing as numbers.

    ``n = int p x (a + U p) dm``: with G = U Sigma + a l', ``n = (G_zy - G_yz, G_xz - G_zx, G_yx - G_xy)``. That is one
    product less a link than with L, and a link's redundant inertia about its joint axis is the single entry Szz.
    """
    p = [float(value) for value in ca.DM(parameters).full().ravel()]
    Sxx, Syy, Szz = (p[3] + p[5] - p[0]) / 2, (p[0] + p[5] - p[3]) / 2, (p[0] + p[3] - p[5]) / 2
    Sxy, Sxz, Syz = -p[1], -p[2], -p[4]
    U, moment, mass = motion.U, ca.SX(parameters[6:9]), parameters[9]
    xx, yy, zz = ca.vertsplit(motion.squares)  # U_yy - U_zz = w_y^2 - w_z^2 and cyclic
    n = ca.vertcat(
        Syy * U[2, 1] - Szz * U[1, 2] + Sxy * U[2, 0] - Sxz * U[1, 0] + Syz * (zz - yy),
        Szz * U[0, 2] - Sxx * U[2, 0] + Syz * U[0, 1] - Sxy * U[2, 1] + Sxz * (xx - zz),
        Sxx * U[1, 0] - Syy * U[0, 1] + Sxz * U[1, 2] - Syz * U[0, 2] + Sxy * (yy - xx),
    )
    return Wrench(mass * motion.a + ca.mtimes(U, moment), n + ca.cross(moment, motion.a))


def newton_euler(
    robot: Robot, q: ca.SX, dq: ca.SX, ddq: ca.SX, parameters: list[ca.SX], gravity: ca.SX
) -> tuple[ca.SX, list[Wrench]]:
    """Joint torques and joint wrenches of a motion.

    Parameters
    ----------
    robot
        The tree.
    q, dq, ddq
        Joint positions, velocities and accelerations, each (n).
    parameters
        Ten standard parameters of each link (or thirteen, see `inertial_wrench`).
    gravity
        Acceleration of gravity in the base frame (3) [m/s^2].

    Returns
    -------
    tau : SX (n)
        Joint torques [N.m] or forces [N].
    wrenches : list of Wrench
        What the parent link exerts on each link through its joint, about the origin and in the axes of the moved joint
        frame.
    """
    q, dq, ddq = joint_positions(robot, q), joint_rates(robot, dq), joint_rates(robot, ddq)
    zero = ca.SX(3, 1)
    base = link_motion(zero, zero, ca.sparsify(-gravity))
    motions: list[LinkMotion] = []
    for k, joint in enumerate(robot.joints):
        parent = base if joint.parent < 0 else motions[joint.parent]
        motions.append(next_motion(joint, parent, q[k], dq[k], ddq[k]))

    forces = [inertial_wrench(p, motion) for p, motion in zip(parameters, motions, strict=True)]
    count = len(robot.joints)
    tau: list[ca.SX] = [ca.SX(0)] * count
    wrenches: list[Wrench] = [Wrench(zero, zero)] * count
    for k in reversed(range(count)):
        joint = robot.joints[k]
        wrenches[k] = at_joint = link_to_joint(joint, forces[k])
        tau[k] = ca.dot(exact(joint.axis), at_joint.moment if joint.type == "revolute" else at_joint.force)
        if joint.parent >= 0:
            above = forces[joint.parent]
            added = joint_to_parent(joint, at_joint, q[k])
            forces[joint.parent] = Wrench(above.force + added.force, above.moment + added.moment)
    return on_coordinates(robot, ca.vertcat(*tau)), wrenches


def link_to_joint(joint: Joint, wrench: Wrench) -> Wrench:
    """A wrench about the link-frame origin, moved to the joint frame."""
    rotation = exact(joint.link_placement[:3, :3])
    force = ca.mtimes(rotation, wrench.force)
    shift = ca.SX(exact(joint.link_placement[:3, 3]))
    return Wrench(force, ca.mtimes(rotation, wrench.moment) + ca.cross(shift, force))


def joint_to_parent(joint: Joint, wrench: Wrench, q: ca.SX) -> Wrench:
    """A wrench about the joint frame's origin, moved to the parent link's frame."""
    rotation = joint_rotation(joint, q)
    force = ca.mtimes(rotation, wrench.force)
    return Wrench(force, ca.mtimes(rotation, wrench.moment) + ca.cross(joint_offset(joint, q), force))
