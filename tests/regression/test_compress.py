"""Compression of regression data to triangular factors."""

from dataclasses import replace

import numpy as np
import pytest

from casid.dynamics import Model
from casid.errors import DatasetError
from casid.measurement import Dataset, Processing
from casid.regression import compress, ols, predicted_torques, residual_torques, wls
from casid.testing import recording
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
    normal = (W * rows[:, None]).T @ (W * rows[:, None])
    covariance = np.sum((residual * w) ** 2) / (len(tau) - W.shape[1]) * np.linalg.inv(normal)
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


def test_errors_of_the_torques_as_measured_and_of_weighted_ones(model, truth):
    """Every sample's square times its weight, of filtered torques or of raw ones, and plain for what is reported."""
    data = recording(model, truth, samples=130, noise=0.3)
    rng = np.random.default_rng(2)
    mask = rng.random(data.tau.shape) > 0.1
    mask[:, 6] = np.arange(130) == 7  # one sample
    data = replace(data, tau_raw=data.tau + rng.normal(size=data.tau.shape), mask=mask)
    h = rng.uniform(0.1, 2.0, data.tau.shape)
    weighted = compress(model, data, [h])
    W, tau = stacked(model, data)
    beta = np.linalg.lstsq(W, tau, rcond=None)[0] + 0.1
    for raw, torque in ((False, data.tau), (True, data.tau_raw)):
        e = np.where(mask, torque - (W @ beta).reshape(-1, 7), 0.0)
        known = np.where(mask, torque, 0.0)
        np.testing.assert_allclose(weighted.squared_errors(beta, raw), (h * e**2).sum(axis=0), rtol=1e-9)
        np.testing.assert_allclose(weighted.rms(beta, raw), np.sqrt((e**2).sum(axis=0) / mask.sum(axis=0)), rtol=1e-9)
        total, each = weighted.relative_errors(beta, raw)
        assert total == pytest.approx(100 * np.linalg.norm(e) / np.linalg.norm(known), rel=1e-9)
        np.testing.assert_allclose(each, 100 * np.linalg.norm(e, axis=0) / np.linalg.norm(known, axis=0), rtol=1e-9)
    np.testing.assert_allclose(weighted.rms(beta), weighted.rms(beta, False))
    np.testing.assert_allclose(weighted.relative_errors(beta)[1], weighted.relative_errors(beta, False)[1])
    np.testing.assert_allclose(weighted.squared_torques, (h * np.where(mask, data.tau, 0.0) ** 2).sum(axis=0))
    w = np.linspace(0.5, 2.0, 7)
    R, rho, rest = weighted.stacked(w)
    assert R.shape == (model.base.rank,) * 2
    assert np.sum((rho - R @ beta) ** 2) + rest == pytest.approx(w**2 @ weighted.squared_errors(beta), rel=1e-9)
    np.testing.assert_array_equal(weighted.counts, mask.sum(axis=0))
    # known parts give the same: samples without weights, columns
    plain = compress(model, data)
    assert plain.plain is plain and weighted.plain.unweighted is None
    columns = W.reshape(-1, 7, W.shape[1])
    for again in (compress(model, data, [h], plain), compress(model, data, [h], columns=[columns])):
        np.testing.assert_allclose(again.squared_errors(beta), weighted.squared_errors(beta), rtol=1e-9)
        np.testing.assert_allclose(again.plain.squared_errors(beta), plain.squared_errors(beta), rtol=1e-9)
    part = weighted.only([0, 5])
    chosen = np.zeros(130, dtype=bool)
    edges = np.linspace(0, 130, 13).astype(int)
    for i in (0, 5):
        chosen[edges[i] : edges[i + 1]] = True
    e = np.where(mask & chosen[:, None], data.tau - (W @ beta).reshape(-1, 7), 0.0)
    np.testing.assert_allclose(part.squared_errors(beta), (h * e**2).sum(axis=0), rtol=1e-8)
    np.testing.assert_allclose(part.plain.squared_errors(beta), (e**2).sum(axis=0), rtol=1e-8)
    assert plain.only([0]).unweighted is None


def test_samples_that_a_filter_made_alike_count_less(model, truth):
    data = recording(model, truth, samples=130)
    plain = compress(model, data)
    np.testing.assert_array_equal(plain.correlation, np.ones(7))
    known = replace(plain, correlation=np.linspace(1.0, 4.0, 7))
    np.testing.assert_allclose(known.independent_samples, 130 / np.linspace(1.0, 4.0, 7))
    filtered = Processing(cutoff=2.0, every=1).apply(Dataset(data.t, data.q, data.tau))
    again = compress(model, [filtered, data])
    count, own = len(filtered), filtered.full.correlation
    assert own > 1.1
    np.testing.assert_allclose(again.correlation, (count * own + 130) / (count + 130))


def test_weights_that_do_not_fit_the_recordings_are_refused(model, truth):
    data = recording(model, truth, samples=130)
    h = np.ones(data.tau.shape)
    h[3, 2] = 0.0  # a sample may count for nothing
    plain = compress(model, data)
    compress(model, [data, data], [h, h])
    for wrong, message in (
        ([], "no weights are given for this recording"),
        ([h, h], "weights of more than the 1 recordings"),
        ([h[:5]], r"expected finite weights of shape \(130, 7\) that are not negative, got shape \(5, 7\)"),
        ([h - 0.5], "that are not negative"),
        ([h * np.nan], "expected finite weights"),
    ):
        with pytest.raises(DatasetError, match=message):
            compress(model, data, wrong)
    with pytest.raises(DatasetError, match="plain: these are other samples"):
        compress(model, [data, data], [h, h], plain)
    with pytest.raises(DatasetError, match="plain: these are other samples"):
        compress(model, data, [h], compress(model, replace(data.rows(slice(0, 120), ""), name=data.name)))
    with pytest.raises(DatasetError, match=r"segments .* hold no torque sample"):
        compress(model, data.only([2])).only([])


def test_as_many_samples_as_parameters_are_too_few():
    small = Model("spatial_2r")
    rank = small.base.rank
    data = recording(small, np.linspace(0.5, 1.5, 20), samples=60)
    mask = np.zeros(data.tau.shape, dtype=bool)
    mask.ravel()[:: 120 // (rank + 1)][: rank + 1] = True
    assert compress(small, replace(data, mask=mask)).counts.sum() == rank + 1
    mask.ravel()[np.flatnonzero(mask.ravel())[0]] = False
    with pytest.raises(DatasetError, match=f"{rank} torque samples are too few for {rank} base parameters"):
        compress(small, replace(data, mask=mask))
