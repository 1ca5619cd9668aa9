"""Synthetic motions, recordings and problems: derivatives agree, torques are those of the parameters."""

from __future__ import annotations

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.testing import motion, recording
from casid.testing._synthetic import BODY, TERMS, arm, nearest, plausible, recorded


@pytest.mark.parametrize("periodic", [True, False])
def test_derivatives_are_those_of_the_positions(periodic: bool) -> None:
    t, q, dq, ddq = motion(3, 5000, 1, periodic=periodic)
    np.testing.assert_allclose(np.gradient(q, t, axis=0)[1:-1], dq[1:-1], atol=2e-3)
    np.testing.assert_allclose(np.gradient(dq, t, axis=0)[1:-1], ddq[1:-1], atol=5e-3)
    assert np.array_equal(motion(3, 5000, 1, periodic=periodic)[1], q)


def test_torques_are_those_of_the_parameters() -> None:
    model = Model(casid.load_robot("panda"), TERMS)
    x = model.parameters(model.robot.standard_parameters(), np.tile([0.5, 0.4, 0.1], 7))
    exact, noisy = recording(model, x, samples=50), recording(model, x, samples=50, noise=0.1)
    expected = np.array(model.inverse_dynamics(exact.q[7], exact.dq[7], exact.ddq[7], x)).ravel()
    np.testing.assert_allclose(exact.tau[7], expected, atol=1e-11)
    assert 0.08 < np.std(noisy.tau - exact.tau) < 0.12
    t, *_, tau, pi = recorded(model, 200, load=BODY, noise=0.0)
    assert len(t) == len(tau) == 200 and pi[model.link_columns[-1][9]] == pytest.approx(
        x[model.link_columns[-1][9]] + 2
    )
    assert len(plausible(model).bodies) == 7


def test_the_nearest_consistent_parameters_to_consistent_ones_are_these() -> None:
    assert arm(2).n == 2
    solution = casid.solve(nearest(BODY))
    np.testing.assert_allclose(solution.standard_parameters, BODY, atol=1e-6)
