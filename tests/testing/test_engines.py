"""Adapters of physics engines."""

from __future__ import annotations

import numpy as np
import pytest

import casid
from casid.testing import MuJoCo, running, states


def test_mujoco_runs_what_casid_writes() -> None:
    pytest.importorskip("mujoco", reason="needs the extra peers")
    robot = casid.load_robot("panda")
    q, dq, ddq = states(7)
    with running(robot, MuJoCo) as engine:
        tau = engine.inverse_dynamics(q, dq, ddq)
        np.testing.assert_allclose(engine.mass_matrix(q) @ ddq + engine.bias(q, dq), tau, atol=1e-9)
        np.testing.assert_allclose(engine.acceleration(q, dq, tau), ddq, atol=1e-8)
