"""Inverse dynamics and mass matrix beside MuJoCo's: a third, unrelated implementation."""

import numpy as np
import pytest

import casid
from casid.testing import MuJoCo, random_body, random_robot, running, standard_parameters

pytest.importorskip("mujoco", reason="needs the extra peers")

ROBOTS = [
    *(pytest.param(name, id=name) for name in ("panda", "wam7", "stanford", "ur10e")),
    *(pytest.param(seed, id=f"random tree {seed}") for seed in range(2)),
]


@pytest.mark.parametrize("which", ROBOTS)
def test_torques_and_mass_matrix(which):
    robot = casid.load_robot(which) if isinstance(which, str) else random_robot(which, n=8, shifted_links=True)
    rng = np.random.default_rng(3)
    bodies = [random_body(rng) for _ in range(robot.n)]
    pi = standard_parameters(bodies)
    q, dq, ddq = rng.uniform(-2, 2, (3, robot.n))
    model = casid.Model(robot)
    with running(robot.with_parameters(pi), MuJoCo) as engine:
        tau, M = engine.inverse_dynamics(q, dq, ddq), engine.mass_matrix(q)
    np.testing.assert_allclose(model.inverse_dynamics(q, dq, ddq, pi), tau, atol=1e-10 * abs(tau).max())
    np.testing.assert_allclose(model.mass_matrix(q, pi), M, atol=1e-10 * abs(M).max())
