"""Base parameters from a controller's mass matrices and gravity torques."""

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.regression import compress, reverse_engineer, reverse_engineer_with_torques, wls
from casid.testing import recording
from tests.regression.conftest import stacked


@pytest.fixture(scope="module")
def numbers():
    """A planar arm's mass matrices and gravity torques."""
    model = Model(casid.load_robot("spatial_2r"))
    truth, q = np.linspace(0.5, 1.5, 20), np.random.default_rng(5).uniform(-3, 3, (30, 2))
    M = np.array([model.mass_matrix(row, truth) for row in q])
    return model, truth, q, M, np.array([model.gravity(row, truth) for row in q])


def test_mass_matrices_are_symmetric_to_a_millionth_of_their_size(numbers):
    model, _, q, M, g = numbers
    for share, refused in ((0.5e-6, False), (2e-6, True)):
        for sign in (1.0, -1.0):
            uneven = sign * M.copy()
            uneven[7, 0, 1] += share * np.abs(M[7]).max()
            if refused:
                with pytest.raises(DatasetError, match="mass matrix of pose 7 is not symmetric"):
                    reverse_engineer(model, q, uneven, g)
            else:
                reverse_engineer(model, q, uneven, g)


def test_shapes_are_poses_by_joints(numbers):
    model, _, q, M, g = numbers
    for bad in (q[:, :1], q[0], q[:, :, None], q[:0]):
        with pytest.raises(DatasetError, match=r"q: expected shape \(poses, 2\)"):
            reverse_engineer(model, bad, M, g)
    with pytest.raises(DatasetError, match=r"mass matrices: expected shape \(poses, 2, 2\), got \(30, 4\)"):
        reverse_engineer(model, q, M.reshape(30, 4), g)
    spoilt = M.copy()
    spoilt[4, 1, 0] = np.inf
    with pytest.raises(DatasetError, match="mass matrices: pose 4, joint 2: not a finite number"):
        reverse_engineer(model, q, spoilt, g)
    with pytest.raises(DatasetError, match="q 30, mass matrices 30, gravity torques 29"):
        reverse_engineer(model, q, M, g[:29])


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_gravity_torques_and_measured_ones_are_one_weighted_problem(numbers, noise):
    """Rows of the measured torques by their joints' residuals, of gravity by its own fit's, at least a millionth."""
    model, truth, q, _, g = numbers
    g = g + noise * np.random.default_rng(6).normal(size=g.shape)
    full = Model(model.robot, ("viscous", "coulomb", "offset"))
    pi = full.parameters(truth, [0.4, 0.7, 0.1, 0.2, 0.5, -0.3])
    data = recording(full, pi, samples=300, noise=0.2)
    found = reverse_engineer_with_torques(model, q, g, data)

    W, tau = stacked(full, data)
    weights = wls(compress(full, data)).weights
    rows = np.tile(weights, 300)
    Y = np.vstack([model.base_regressor(row, [0, 0], [0, 0]) for row in q])
    own = g.ravel() - Y @ np.linalg.lstsq(Y, g.ravel(), rcond=1e-9)[0]
    share = max(np.linalg.norm(own) / np.linalg.norm(g), 1e-6)
    sigma = share * np.sqrt(np.mean(g**2))
    places = [full.base.row(name) for name in model.base.names]
    extended = np.zeros((60, full.base.rank))
    extended[:, places] = Y / sigma
    A, b = np.vstack([W * rows[:, None], extended]), np.concatenate([tau * rows, g.ravel() / sigma])
    beta, *_ = np.linalg.lstsq(A, b, rcond=None)
    e = b - A @ beta
    sd = np.sqrt(e @ e / (660 - len(beta)) * np.diag(np.linalg.inv(A.T @ A)))
    np.testing.assert_allclose(found.values, beta[places], rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(found.sd, sd[places], rtol=1e-4)
    assert found.samples == 660
    assert found.relative_error == pytest.approx(100 * np.linalg.norm(e) / np.linalg.norm(b), rel=1e-3)


def test_statistics_are_those_of_all_rows(numbers):
    """Sousa (2014), eq. 4.27-4.29 and 4.37, by the normal equations of ``[vech M; g]`` of all poses."""
    model, _, q, M, g = numbers
    rng = np.random.default_rng(3)
    M = M + 0.05 * (noise := rng.normal(size=M.shape)) + 0.05 * noise.transpose(0, 2, 1)
    g = g + 0.1 * rng.normal(size=g.shape)
    found = reverse_engineer(model, q, M, g)
    rows = np.concatenate([model.static_regressor(row) for row in q])
    W, y = rows[:, list(found.base.independent)], np.hstack([M[:, [0, 1, 1], [0, 0, 1]], g]).ravel()
    normal = np.linalg.inv(W.T @ W)
    e = y - W @ (beta := normal @ W.T @ y)
    sd = np.sqrt(e @ e / (len(y) - len(beta)) * np.diag(normal))
    np.testing.assert_allclose(found.values, beta, rtol=1e-8)
    np.testing.assert_allclose(found.sd, sd, rtol=1e-8)
    np.testing.assert_allclose(found.relative_sd, 100 * sd / np.abs(beta), rtol=1e-8)
    np.testing.assert_array_equal(found.reliable(2.0), found.relative_sd <= 2.0)
    assert found.relative_error == pytest.approx(100 * np.linalg.norm(e) / np.linalg.norm(y), rel=1e-10)
    assert found.condition_number == pytest.approx(np.linalg.cond(W), rel=1e-9)
    assert (found.samples, found.rank) == (150, model.base.rank)
    exact = replace(found, values=0.0 * beta)
    assert np.isinf(exact.relative_sd).all() and not exact.reliable().any()
