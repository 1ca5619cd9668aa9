"""Kinematics of a tree, and constants with structural zeros."""

import casadi as ca
import numpy as np
import pytest

import casid
from casid.dynamics._kinematics import Kinematics, exact, joint_positions
from casid.errors import CasidError


def test_zeros_of_a_constant_are_structural():
    assert exact(np.diag([1.0, 2.0, 0.0])).nnz() == 2


def test_a_jacobian_is_the_derivative_of_the_placement(panda=None):
    robot = casid.load_robot("panda")
    q = ca.SX.sym("q", robot.n)
    kinematics = Kinematics(robot, q)
    frame = robot.links[-1].name
    slope = ca.Function("slope", [q], [ca.jacobian(kinematics.placement(frame)[:3, 3], q)])
    whole = ca.Function("whole", [q], [kinematics.jacobian(frame)])
    at = np.linspace(-1.0, 1.0, robot.n)
    np.testing.assert_allclose(whole(at).full()[:3], slope(at).full(), atol=1e-12)
    assert joint_positions(robot, q) is q
    with pytest.raises(CasidError, match="nowhere"):
        kinematics.placement("nowhere")
