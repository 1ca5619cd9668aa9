"""Compression of regression data to triangular factors."""

from dataclasses import replace

import numpy as np
import pytest

from casid.regression import compress, wls
from casid.regression._fit import ols, predicted_torques, residual_torques
from casid.testing._synthetic import recording
from tests.regression.conftest import stacked


def test_compression_equals_least_squares_of_all_rows(model, truth):
    data = recording(model, truth, samples=200, noise=0.3)
    compressed = compress(model, data)
    W, tau = stacked(model, data)
    w = np.linspace(1.0, 2.0, 7)
    rows = np.tile(w, len(data))
    beta = np.linalg.lstsq(W * rows[:, None], tau * rows, rcond=None)[0]
    fit = wls(compressed, weights=w)
    np.testing.assert_allclose(fit.beta, beta, atol=1e-9)
    residual = (tau - W @ beta).reshape(-1, 7)
    np.testing.assert_allclose(fit.rms, np.sqrt((residual**2).mean(axis=0)), rtol=1e-9)
    assert fit.relative_error == pytest.approx(100 * np.linalg.norm(residual) / np.linalg.norm(tau), rel=1e-9)
    assert fit.objective == pytest.approx(np.sum((residual * w) ** 2), rel=1e-9)
    assert fit.condition_number == pytest.approx(np.linalg.cond(W * rows[:, None]), rel=1e-6)
    covariance = (
        np.sum((residual * w) ** 2)
        / (len(tau) - W.shape[1])
        * np.linalg.inv((W * rows[:, None]).T @ (W * rows[:, None]))
    )
    np.testing.assert_allclose(fit.sd, np.sqrt(np.diag(covariance)), rtol=1e-6)
    np.testing.assert_allclose(np.diag(fit.correlation), 1.0)
    np.testing.assert_allclose(residual_torques(fit, data), residual, atol=1e-9)
    np.testing.assert_allclose(predicted_torques(compressed, beta, data), data.tau - residual, atol=1e-9)


def test_parts_and_wholes_compress_to_the_same(model, noisy):
    whole = compress(model, noisy)
    parts = compress(model, (noisy.rows(slice(k, k + 700), "") for k in range(0, len(noisy), 700)))
    np.testing.assert_allclose(ols(parts).beta, ols(whole).beta, atol=1e-10)
    np.testing.assert_array_equal(parts.counts, whole.counts)


def test_masked_joints_do_not_count(model, truth, noisy):
    tau = np.array(noisy.tau)
    tau[:, 6] += 100.0
    data = compress(model, replace(noisy, tau=tau).only(range(6)))
    assert data.counts.tolist() == [2500] * 6 + [0]
    fit = ols(data)
    known = [k for k, name in enumerate(model.base.names) if name[-1] != "7"]
    shift = (fit.beta - model.base.values(truth))[known]
    assert np.abs(shift).max() < 0.1
