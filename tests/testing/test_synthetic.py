"""Synthetic motions, recordings and problems: derivatives agree, torques are those of the parameters."""

from __future__ import annotations

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.testing import motion, random_robot, recording
from casid.testing._synthetic import (
    BASES,
    BODY,
    TERMS,
    arm,
    nearest,
    plausible,
    random_placement,
    random_trajectory,
    recorded,
)


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


@pytest.mark.parametrize("basis", BASES, ids=lambda basis: type(basis).__name__)
def test_a_trajectory_of_a_seed_repeats(basis):
    first, second, other = (random_trajectory(basis, 2, seed) for seed in (1, 1, 2))
    at = np.linspace(0.1, 1.0, 5)
    np.testing.assert_array_equal(first.motion(at).q, second.motion(at).q)
    assert first.motion(at).q.shape == (5, 2) and not np.allclose(first.motion(at).q, other.motion(at).q)


def test_the_seed_decides() -> None:
    one, two, other = (random_robot(seed, n=8, shifted_links=True) for seed in (1, 1, 2))
    for a, b in zip(one.joints, two.joints, strict=True):
        assert a.parent == b.parent and a.type == b.type and np.array_equal(a.placement, b.placement)
    assert not np.array_equal(one.joints[0].placement, other.joints[0].placement)
    assert not np.array_equal(one.joints[0].link_placement, np.eye(4))


def test_chains_are_chains() -> None:
    assert [joint.parent for joint in random_robot(0, n=5, chain=True).joints] == [-1, 0, 1, 2, 3]


def test_placements_are_rigid() -> None:
    T = random_placement(np.random.default_rng(4))
    np.testing.assert_allclose(T[:3, :3] @ T[:3, :3].T, np.eye(3), atol=1e-14)
    assert np.linalg.det(T[:3, :3]) > 0 and np.abs(T[:3, 3]).max() <= 0.5
