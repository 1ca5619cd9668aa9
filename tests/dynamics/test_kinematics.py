"""Kinematics of a tree, and constants with structural zeros."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import casid
from casid.description import Limits, Mimic
from casid.dynamics import Kinematics, Model
from tests.helpers import first_joints


def test_zeros_of_constants_are_structural():
    """Of a chain whose joints two and three are parallel, one entry of the rotation is zero whatever the positions."""
    robot = casid.load_robot("three_link")
    kinematics = Kinematics(robot, ca.SX.sym("q", robot.n))
    turn = kinematics.placement(robot.links[-1].name)[:3, :3]
    assert turn.nnz() == 8


def slaved(count):
    """First joints of the Panda, of which the second follows the first; and the same with all of them free."""
    free = first_joints(casid.load_robot("panda"), count)
    joints = (free.joints[0], replace(free.joints[1], mimic=Mimic(0, -0.6, 0.2)), *free.joints[2:])
    return replace(free, joints=joints, limits=Limits.unlimited(count - 1)), free


def test_a_jacobian_of_followers_is_the_derivative_of_the_placement_too():
    """Translation by the placement's slope, rotation by that of its axes; the second of three joints follows."""
    robot, free = slaved(3)
    frame, q = robot.links[-1].name, ca.SX.sym("q", 2)
    kinematics = Kinematics(robot, q)
    placement = kinematics.placement(frame)
    f = ca.Function("f", [q], [kinematics.jacobian(frame), placement])
    p = ca.SX.sym("p", 3)
    expected = ca.Function("expected", [p], [Kinematics(free, p).placement(frame)])
    at, h = np.array([0.4, -0.7]), 1e-6
    J, T = (value.full() for value in f(at))
    np.testing.assert_allclose(T, expected([0.4, -0.6 * 0.4 + 0.2, -0.7]).full(), atol=1e-12)
    for k, way in enumerate(h * np.eye(2)):
        slope = (f(at + way)[1].full() - f(at - way)[1].full()) / (2 * h)
        turn = slope[:3, :3] @ T[:3, :3].T
        np.testing.assert_allclose(J[:3, k], slope[:3, 3], atol=1e-8)
        np.testing.assert_allclose(J[3:, k], [turn[2, 1], turn[0, 2], turn[1, 0]], atol=1e-8)


def test_a_follower_adds_its_torque_to_the_joint_it_follows():
    """With ``q_all = G q + g``: the torques, the mass matrix and the energy of the robot whose joints are all free."""
    robot, free = slaved(4)
    follower, model, pi = Model(robot), Model(free), free.standard_parameters()
    G, g = np.array([[1.0, 0, 0], [-0.6, 0, 0], [0, 1, 0], [0, 0, 1]]), np.array([0, 0.2, 0, 0])
    q, dq, ddq = np.random.default_rng(1).normal(size=(3, 3))
    expected = G.T @ model.inverse_dynamics(G @ q + g, G @ dq, G @ ddq, pi)
    np.testing.assert_allclose(follower.inverse_dynamics(q, dq, ddq, pi), expected, atol=1e-10)
    np.testing.assert_allclose(follower.forward_dynamics(q, dq, expected, pi), ddq, rtol=1e-8)
    np.testing.assert_allclose(follower.regressor(q, dq, ddq) @ pi, expected, atol=1e-10)
    np.testing.assert_allclose(follower.base_regressor(q, dq, ddq) @ follower.base.values(pi), expected, atol=1e-9)
    np.testing.assert_allclose(follower.mass_matrix(q, pi), G.T @ model.mass_matrix(G @ q + g, pi) @ G)
    energy = float(model.kinetic_energy(G @ q + g, G @ dq, pi))
    assert float(follower.kinetic_energy(q, dq, pi)) == pytest.approx(energy)
