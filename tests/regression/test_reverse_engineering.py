"""Base parameters from a controller's mass matrices and gravity torques."""

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.dynamics import Model, regroup
from casid.errors import DatasetError
from casid.regression import compress, reverse_engineer, reverse_engineer_with_torques, wls
from casid.regression._reverse_engineering import FRICTION, ordinary_least_squares, solved
from casid.testing import recording
from tests.regression.conftest import stacked


def test_exact_numbers_of_a_controller_give_the_exact_base_parameters():
    model = Model(casid.load_robot("kuka_iiwa"))
    truth = model.robot.standard_parameters()
    poses = np.random.default_rng(2).uniform(-2.0, 2.0, (30, model.n))
    M = np.array([model.mass_matrix(q, truth) for q in poses])
    g = np.array([model.gravity(q, truth) for q in poses])
    found = reverse_engineer(model, poses, M, g)
    np.testing.assert_allclose(found.values, model.base.values(truth), atol=1e-8)


def test_statistics_are_those_of_all_rows():
    """Sousa (2014), eq. 4.27-4.29 and 4.37, by the normal equations."""
    rng = np.random.default_rng(3)
    W, y = rng.normal(size=(40, 3)) * [1.0, 5.0, 0.1], rng.normal(size=40)
    base = regroup(W, list("abc"))
    found = ordinary_least_squares(W, y, base)
    normal = np.linalg.inv(W.T @ W)
    beta = normal @ W.T @ y
    e = y - W @ beta
    sd = np.sqrt(e @ e / 37 * np.diag(normal))
    np.testing.assert_allclose(found.values, beta, rtol=1e-10)
    np.testing.assert_allclose(found.sd, sd, rtol=1e-10)
    assert found.relative_error == pytest.approx(100 * np.linalg.norm(e) / np.linalg.norm(y), rel=1e-10)
    assert found.condition_number == pytest.approx(np.linalg.cond(W), rel=1e-9)
    assert (found.samples, found.rank) == (40, 3)
    percent = 100 * sd / np.abs(beta)
    np.testing.assert_allclose(found.relative_sd, percent, rtol=1e-10)
    middle = np.sort(percent)[1]
    assert found.reliable(middle * (1 + 1e-9)).sum() == 2 and found.reliable(middle * (1 - 1e-9)).sum() == 1
    np.testing.assert_array_equal(found.reliable(), percent <= 30.0)
    exact = replace(found, values=np.array([0.0, 1.0, -1.0]), covariance=np.diag([0.0, 0.301, 0.299]) ** 2)
    assert exact.relative_sd[0] == np.inf and exact.reliable().tolist() == [False, False, True]
    # a triangular factor and the squares that it leaves stand for all rows
    Q, R = np.linalg.qr(W)
    values, short, _, error, *_ = solved(R, Q.T @ y, 40, float(y @ y - np.sum((Q.T @ y) ** 2)))
    np.testing.assert_allclose(values, beta, rtol=1e-9)
    np.testing.assert_allclose(short, found.covariance, rtol=1e-9)
    assert error == pytest.approx(found.relative_error, rel=1e-9)


def test_measurements_that_do_not_fit_are_refused():
    W = np.random.default_rng(4).normal(size=(4, 3))
    base = regroup(W, list("abc"))
    assert ordinary_least_squares(W, np.ones(4), base).samples == 4
    with pytest.raises(DatasetError, match="3 equations are too few for 3 unknowns"):
        ordinary_least_squares(W[:3], np.ones(3), base)
    with pytest.raises(DatasetError, match=r"expected shape \(4,\), got \(5,\)"):
        ordinary_least_squares(W, np.ones(5), base)
    with pytest.raises(DatasetError, match="entry 2 is not a finite number"):
        ordinary_least_squares(W, [1.0, 1.0, np.nan, 1.0], base)


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
    with pytest.raises(DatasetError, match="q has 30, mass matrices 30, gravity torques 29"):
        reverse_engineer(model, q, M, g[:29])


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_gravity_torques_and_measured_ones_are_one_weighted_problem(numbers, noise):
    """Rows of the measured torques by their joints' residuals, of gravity by its own fit's, at least a millionth."""
    model, truth, q, _, g = numbers
    g = g + noise * np.random.default_rng(6).normal(size=g.shape)
    full = Model(model.robot, FRICTION)
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
