"""Kinematics and rigid-body algorithms of any tree, linear in the parameters: Newton-Euler, mass matrix, energies.

Inverse dynamics is the recursive Newton-Euler algorithm (RNEA); the mass matrix (joint-space inertia) comes from
composite rigid bodies (CRBA).

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
import numpy as np

from casid.description import Joint, Robot
from casid.inertia import TENSOR_INDEX, skew


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
    """Force and moment about the link-frame origin that a link's motion requires; linear in its parameters.

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
        tau[k] = _along(joint, at_joint)
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


class Composite(NamedTuple):
    """Inertia L (3x3) about a frame's origin, first moment l (3) and mass of a set of links."""

    inertia: ca.SX
    moment: ca.SX
    mass: ca.SX


def mass_matrix(robot: Robot, q: ca.SX, parameters: list[ca.SX]) -> ca.SX:
    """Symmetric joint-space mass matrix M(q), n x n (Featherstone 2008, Sec. 6.2), linear in the parameters."""
    composites = [_composite(p) for p in parameters]
    q, count = joint_positions(robot, q), len(robot.joints)
    M = ca.SX(count, count)
    for k in reversed(range(count)):
        joint = robot.joints[k]
        # The wrench that a unit acceleration of joint k requires of its whole subtree, in the link frame ...
        at_joint = link_to_joint(joint, _unit_acceleration_wrench(joint, composites[k]))
        M[k, k] = _along(joint, at_joint)
        # ... seen by every joint below.
        j, child, wrench = joint.parent, joint, at_joint
        index = k
        while j >= 0:
            wrench = link_to_joint(robot.joints[j], joint_to_parent(child, wrench, q[index]))
            M[j, k] = M[k, j] = _along(robot.joints[j], wrench)
            index, child = j, robot.joints[j]
            j = child.parent
        if joint.parent >= 0:
            composites[joint.parent] = _add(composites[joint.parent], _in_parent(joint, composites[k], q[k]))
    return on_coordinates(robot, on_coordinates(robot, M).T)


class MassFactor(NamedTuple):
    """``M = L' D L`` (Featherstone 2008, Sec. 6.5): L unit lower triangular; M is positive definite iff all D > 0.

    Attributes
    ----------
    L : SX, shape (n, n)
    D : tuple of SX
        The n pivots.
    paths : list of list of int
        Columns of each row of L that may be nonzero.
    """

    L: ca.SX
    D: tuple[ca.SX, ...]
    paths: list[list[int]]

    def solve(self, right: ca.SX) -> ca.SX:
        """``M^-1 right``."""
        x = ca.SX(right)
        for k in reversed(range(len(self.D))):
            for i in self.paths[k]:
                x[i, :] = x[i, :] - self.L[k, i] * x[k, :]
        for k in range(len(self.D)):
            x[k, :] = x[k, :] / self.D[k]
        for k in range(len(self.D)):
            for i in self.paths[k]:
                x[k, :] = x[k, :] - self.L[k, i] * x[i, :]
        return x


def factor_mass_matrix(M: ca.SX, robot: Robot | None, dense: bool = False) -> MassFactor:
    """The sparse factorisation ``M = L' D L`` that follows the tree (Featherstone 2008, Sec. 6.5).

    Without square roots and without fill-in: entries between different branches stay structurally zero. ``dense``, or
    no robot: for matrices that couple joints which the tree does not, as rotors behind a transmission do (or joints
    that follow others, which are seen here).
    """
    n = M.size1()
    tree = None if robot is None or dense or robot.coupled else robot  # joints that follow others couple branches
    paths = [list(reversed(range(k))) if tree is None else _ancestors(tree, k) for k in range(n)]
    L = ca.SX.eye(n)
    H = ca.SX(M)
    for k in reversed(range(n)):
        for place, i in enumerate(paths[k]):
            factor = H[k, i] / H[k, k]
            for j in paths[k][place:]:
                H[i, j] = H[i, j] - factor * H[k, j]
            L[k, i] = factor
    return MassFactor(L, tuple(H[k, k] for k in range(n)), paths)


def _ancestors(robot: Robot, k: int) -> list[int]:
    path = []
    while (k := robot.joints[k].parent) >= 0:
        path.append(k)
    return path


def _composite(parameters: ca.SX) -> Composite:
    inertia = ca.SX(3, 3)
    for entry, (i, j) in enumerate(TENSOR_INDEX):
        inertia[i, j] = inertia[j, i] = parameters[entry]
    return Composite(inertia, parameters[6:9], parameters[9])


def _add(one: Composite, other: Composite) -> Composite:
    return Composite(*(a + b for a, b in zip(one, other, strict=True)))


def _unit_acceleration_wrench(joint: Joint, body: Composite) -> Wrench:
    """Wrench about the link-frame origin for unit acceleration of the joint, everything at rest."""
    turn = joint.link_placement[:3, :3].T
    axis = ca.SX(exact(turn @ joint.axis))
    if joint.type == "prismatic":
        return Wrench(body.mass * axis, ca.cross(body.moment, axis))
    acceleration = ca.cross(axis, ca.SX(exact(turn @ joint.link_placement[:3, 3])))  # of the link-frame origin
    return Wrench(
        body.mass * acceleration + ca.cross(axis, body.moment),
        ca.mtimes(body.inertia, axis) + ca.cross(body.moment, acceleration),
    )


def _along(joint: Joint, wrench: Wrench) -> ca.SX:
    return ca.dot(exact(joint.axis), wrench.moment if joint.type == "revolute" else wrench.force)


def _in_parent(joint: Joint, body: Composite, q: ca.SX) -> Composite:
    """The composite of a link, expressed in the frame of its parent link."""
    in_joint = _moved(body, ca.SX(exact(joint.link_placement[:3, :3])), ca.SX(exact(joint.link_placement[:3, 3])))
    return _moved(in_joint, joint_rotation(joint, q), joint_offset(joint, q))


def _moved(body: Composite, R: ca.SX, t: ca.SX) -> Composite:
    """Composite in another frame: ``L' = R L R' - S(t) S(l) - S(l) S(t) - m S(t) S(t)``, ``l' = R l + m t``."""
    moment = ca.mtimes(R, body.moment)
    half = moment + body.mass * t / 2
    # -S(t) S(h) - S(h) S(t) = 2 t.h 1 - t h' - h t'  with h = R l + m t / 2
    spread = ca.mtimes(t, half.T)
    shift = 2 * ca.trace(spread) * ca.SX.eye(3) - spread - spread.T
    rotated = ca.mtimes(ca.mtimes(R, body.inertia), R.T)
    inertia = ca.SX(3, 3)
    for i, j in TENSOR_INDEX:  # each entry of the symmetric matrix once
        inertia[i, j] = inertia[j, i] = rotated[i, j] + shift[i, j]
    return Composite(inertia, moment + body.mass * t, body.mass)


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
