"""Joint-space mass matrix by composite rigid bodies, and linear solves with it."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from casid.description import Joint, Robot
from casid.dynamics.coordinates import joint_positions, on_coordinates
from casid.dynamics.kinematics import exact, joint_offset, joint_rotation
from casid.dynamics.newton_euler import Wrench, joint_to_parent, link_to_joint
from casid.inertia import TENSOR_INDEX


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
        # The wrench a unit acceleration of joint k asks of all that it carries, in the link frame ...
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
    return on_coordinates(robot, on_coordinates(robot, M).T) if robot.coupled else M


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


def factor_mass_matrix(M: ca.SX, robot: Robot, dense: bool = False) -> MassFactor:
    """The sparse factorisation ``M = L' D L`` that follows the tree (Featherstone 2008, Sec. 6.5).

    Without square roots and without fill-in: entries between different branches stay structurally zero. ``dense``: for
    matrices that couple joints which the tree does not, as rotors behind a transmission do (or joints that follow
    others, which are seen here).
    """
    n = robot.n
    dense = dense or robot.coupled  # joints that follow others couple branches that the tree does not
    paths = [list(reversed(range(k))) if dense else _ancestors(robot, k) for k in range(n)]
    L = ca.SX.eye(n)
    H = ca.SX(M)
    for k in reversed(range(n)):
        for place, i in enumerate(paths[k]):
            factor = H[k, i] / H[k, k]
            for j in paths[k][place:]:
                H[i, j] = H[i, j] - factor * H[k, j]
            L[k, i] = factor
    return MassFactor(L, tuple(H[k, k] for k in range(n)), paths)


def solve_mass_matrix(M: ca.SX, robot: Robot, right: ca.SX) -> ca.SX:
    """``M^-1 right`` by `factor_mass_matrix`."""
    return factor_mass_matrix(M, robot).solve(right)


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
