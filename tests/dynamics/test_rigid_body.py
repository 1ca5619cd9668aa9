"""The rigid-body algorithms against one another."""

import casadi as ca
import numpy as np

import casid
from casid.dynamics._rigid_body import factor_mass_matrix, mass_matrix, newton_euler, solve_mass_matrix


def test_the_mass_matrix_is_the_slope_of_inverse_dynamics_in_the_acceleration():
    robot = casid.load_robot("panda")
    n = robot.n
    q, ddq = ca.SX.sym("q", n), ca.SX.sym("ddq", n)
    links = [ca.SX(ca.DM(p)) for p in np.split(robot.standard_parameters(), n)]
    still = ca.SX(n, 1)
    torque = newton_euler(robot, q, still, ddq, links, ca.SX(3, 1))[0]
    M = mass_matrix(robot, q, links)
    both = ca.Function("both", [q], [ca.jacobian(torque, ddq), M, solve_mass_matrix(M, robot, M)])
    slope, composite, identity = (value.full() for value in both(np.linspace(-1.0, 1.0, n)))
    np.testing.assert_allclose(composite, slope, atol=1e-12)
    np.testing.assert_allclose(identity, np.eye(n), atol=1e-10)
    assert len(factor_mass_matrix(M, robot).D) == n
