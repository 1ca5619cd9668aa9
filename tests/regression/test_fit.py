"""Least squares of base parameters, their statistics, and what the data leave undetermined."""

from dataclasses import replace

import numpy as np
import pytest

from casid.dynamics import Model
from casid.errors import DatasetError
from casid.measurement import Dataset
from casid.regression import compress, essential, irls, ols, quadratic, unexcited_reasons, wls
from casid.testing import recording
from tests.regression.conftest import stacked

FRICTION = ("viscous", "coulomb", "offset")


@pytest.fixture(scope="module")
def planar():
    """A planar arm and its parameters, of either sign."""
    arm = Model("three_link", FRICTION)
    return arm, np.random.default_rng(0).uniform(-1.0, 1.0, len(arm.parameter_names))


def test_exact_data_give_the_exact_base_parameters(model, truth):
    data = compress(model, recording(model, truth))
    for fit in (ols(data), wls(data, weights=np.linspace(1, 3, 7))):
        np.testing.assert_allclose(fit.beta, model.base.values(truth), atol=1e-10)
        assert fit.rank == model.base.rank and fit.unexcited == ()
        assert fit.relative_error < 1e-10


def test_weights_are_inverse_errors_and_dead_channels_have_none(model, truth, noisy):
    data = compress(model, noisy)
    np.testing.assert_allclose(wls(data).weights, 1 / ols(data).rms)
    with pytest.raises(DatasetError, match=r"torques of .* are fitted without any error \(a dead channel"):
        wls(compress(model, recording(model, truth)))


def test_unexciting_motion_names_what_it_leaves_open(model, truth):
    data = recording(model, truth)
    q, dq, ddq = (np.array(x) for x in (data.q, data.dq, data.ddq))
    for x in (dq, ddq):
        x[:, 1:] = 0.0
    q[:, 1:] = 0.5
    still = Dataset(data.t, q, data.tau, dq, ddq)
    fit = ols(compress(model, still))
    assert fit.rank < model.base.rank
    reasons = dict(zip(fit.unexcited, unexcited_reasons(fit), strict=True))
    assert "has no effect in this motion" in reasons["fv5"]
    assert "acts as" in next(r for r in reasons.values() if "acts as" in r)
    assert np.isinf(fit.sd[model.base.row("fv5")])
    assert fit.beta[model.base.row("fv5")] == 0.0


def test_errors_say_what_is_missing(model, truth):
    data = recording(model, truth)
    with pytest.raises(DatasetError, match="has 6 joints, the model has 7"):
        compress(model, Dataset(data.t, *(x[:, :6] for x in (data.q, data.tau, data.dq, data.ddq))))
    with pytest.raises(DatasetError, match="no torque sample is left"):
        compress(model, [])


def test_a_drive_gain_is_found_from_joints_with_known_gains(robot):
    plain = Model(robot, ("viscous",))
    data = recording(plain, plain.parameters(robot.standard_parameters(), np.full(7, 0.5)))
    tau = np.array(data.tau)
    tau[:, 1] /= 1.25  # true torque = 1.25 signal
    fit = ols(compress(Model(robot, ("viscous", "drive_gain@joint2")), replace(data, tau=tau)))
    assert fit.beta[fit.data.base.row("kg2")] == pytest.approx(0.25, abs=1e-8)


@pytest.fixture(scope="module")
def small(planar):
    """The arm's recording with outliers, its compressed data and its plain rows."""
    arm, values = planar
    data = recording(arm, values, samples=240, noise=0.3)
    tau = np.array(data.tau)
    tau[::17] += 5.0
    data = replace(data, tau=tau)
    W, _ = stacked(arm, data)
    return compress(arm, data), data, W.reshape(240, 3, -1)


def test_information_and_deviations_are_the_covariance_s(small):
    data, _, _ = small
    fit = wls(data)
    rows, targets = fit.information
    share = np.linalg.inv(rows.T @ rows) @ np.linalg.inv(fit.covariance)
    assert share[0, 0] > 1.0  # by what segments disagree
    np.testing.assert_allclose(share, share[0, 0] * np.eye(fit.rank), atol=1e-4 * share[0, 0])
    np.testing.assert_allclose(rows @ fit.beta, targets, rtol=1e-9)
    sd = np.sqrt(np.diag(fit.covariance))
    np.testing.assert_allclose(fit.sd, sd)
    np.testing.assert_allclose(fit.relative_sd, 100 * sd / np.abs(fit.beta))
    np.testing.assert_allclose(fit.correlation, fit.covariance / np.outer(sd, sd))
    beta = fit.beta.copy()
    beta[2] = 0.0
    assert replace(fit, beta=beta).relative_sd[2] == np.inf


def test_information_of_deviations_that_differ_by_ten_digits(small):
    """Columns of joints that hardly move: the covariance is no longer positive definite as it is computed."""
    fit = wls(small[0])
    sizes = np.logspace(-6, 6, fit.rank)
    covariance = fit.covariance * np.outer(sizes, sizes)
    covariance[0] = covariance[:, 0] = 1e-9 * covariance[-1]
    covariance[0, 0] = (1e-9) ** 2 * covariance[-1, -1]  # the first is the last, but for its unit
    rough = replace(fit, covariance=covariance)
    rows, targets = rough.information
    assert np.isfinite(rows).all() and np.isfinite(targets).all()
    np.testing.assert_allclose(rows @ rough.beta, targets, rtol=1e-6, atol=1e-6 * np.abs(targets).max())


def test_a_constrained_fit_minimises_the_squares_or_the_estimate_s_own_metric(small):
    data, _, _ = small
    fit = wls(data)
    R, rho, rest = quadratic(fit)
    other = fit.beta + np.random.default_rng(1).normal(size=fit.rank)
    weighted = float(fit.weights**2 @ data.squared_errors(other))
    assert np.sum((rho - R @ other) ** 2) + rest == pytest.approx(weighted, rel=1e-9)
    alike = replace(data, correlation=np.full(3, 2.0))
    known = replace(fit, indirect=True, covariance=7.0 * fit.covariance, data=alike)
    R, rho, rest = quadratic(known)
    assert rest == pytest.approx(known.objective)
    variance = rest / (3 * 240 / 2.0 - fit.rank)
    normal = data.stacked(fit.weights)[0]
    mean = (known.covariance + variance * np.linalg.inv(normal.T @ normal)) / 2
    step = other - fit.beta
    assert np.sum((rho - R @ other) ** 2) == pytest.approx(variance * step @ np.linalg.solve(mean, step), rel=1e-6)
    assert np.sum((rho - R @ fit.beta) ** 2) < 1e-12 * rest


def test_a_robust_pass_is_huber_s(small):
    """Least squares of the rows with each sample's weight; passes end when the parameters stay."""
    compressed, data, W = small
    start = wls(compressed)
    e = data.tau - W @ start.beta
    scale = 1.482602218505602 * np.median(np.abs(e), axis=0)
    h = np.minimum(1.0, 1.345 * scale / np.abs(e))
    root = np.sqrt(h) / scale
    beta = np.linalg.lstsq((W * root[:, :, None]).reshape(-1, W.shape[2]), (data.tau * root).ravel(), rcond=None)[0]
    one = irls(data, start, iterations=1)
    np.testing.assert_allclose(one.beta, beta, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(one.weights, 1 / scale, rtol=1e-9)
    assert one.objective == pytest.approx(np.sum((root * (data.tau - W @ beta)) ** 2), rel=1e-8)
    calls = []

    def counting(*arguments):
        calls.append(1)
        return compress(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("casid.regression._fit.compress", counting)
        settled = irls(data, start, iterations=100)
    assert 2 < len(calls) < 40
    np.testing.assert_allclose(settled.beta, irls(data, settled, iterations=1).beta, rtol=1e-3, atol=1e-4)
    with pytest.raises(DatasetError, match="iterations must be at least 1, got 0"):
        irls(data, start, iterations=0)
    with pytest.raises(DatasetError, match="other samples"):
        irls(data.rows(slice(0, 200), "cut"), start)


def test_weights_are_finite_and_not_negative(small):
    data, _, _ = small
    fit = wls(data, [0.5, 0.0, 2.0])
    assert fit.weights.tolist() == [0.5, 0.0, 2.0]
    for wrong in ([1.0, -0.1, 1.0], [1.0, np.inf, 1.0], [1.0, np.nan, 1.0], [1.0, 1.0]):
        with pytest.raises(DatasetError, match="weights: expected 3 finite numbers that are not negative"):
            wls(data, wrong)


@pytest.mark.parametrize(("ratio", "growth"), [(10.0, 0.02), (3.0, 0.1), (30.0, 0.02), (1.0, 0.1)])
def test_the_least_certain_parameters_are_dropped_one_after_the_other(small, ratio, growth):
    """Pham and Gautier (1991) on the plain rows."""
    compressed, data, W = small
    fit = wls(compressed)
    A, y = (W * fit.weights[:, None]).reshape(-1, W.shape[2]), (data.tau * fit.weights).ravel()

    def fitted(columns):
        beta = np.linalg.lstsq(A[:, columns], y, rcond=None)[0]
        squares = np.sum((y - A[:, columns] @ beta) ** 2)
        return squares, np.sqrt(np.diag(np.linalg.inv(A[:, columns].T @ A[:, columns]))) / np.abs(beta)

    kept, expected = list(range(fit.rank)), []
    least = fitted(kept)[0]
    while len(kept) > 1:
        relative = fitted(kept)[1]
        fewer = [c for i, c in enumerate(kept) if i != relative.argmax()]
        if relative.max() <= ratio * relative.min() or fitted(fewer)[0] > (1 + growth) ** 2 * least:
            break
        expected.append(compressed.base.names[kept[int(relative.argmax())]])
        kept = fewer
    found, dropped = essential(fit, ratio, growth)
    assert list(dropped) == expected and dropped
    np.testing.assert_allclose(found.beta[kept], np.linalg.lstsq(A[:, kept], y, rcond=None)[0], rtol=1e-6, atol=1e-9)
    assert found.method == "WLS, essential" and found.excited.independent == tuple(kept)


def test_one_parameter_is_left(small):
    fit = wls(small[0])
    found, dropped = essential(fit, ratio=1.0, growth=1e9)
    assert found.rank == 1 and len(dropped) == fit.rank - 1
