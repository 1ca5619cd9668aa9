"""Noise of measurements and covariance of estimates; each number is computed again from its definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import chi2, norm

from casid.dynamics import Model
from casid.errors import DatasetError
from casid.measurement import Dataset, Processing
from casid.regression import MeasurementNoise, compress, wls
from casid.regression._fit import correlation_factors, covariance_of, disagreement
from casid.testing import recording
from tests.regression.conftest import stacked


@pytest.fixture(scope="module")
def small():
    """A planar arm's data, with white residuals and with parameters that differ between segments, and plain rows."""
    model = Model("three_link", ("viscous", "coulomb", "offset"))
    data = recording(model, np.random.default_rng(0).uniform(0.5, 1.0, len(model.parameter_names)), samples=480)
    rng = np.random.default_rng(1)
    noise = 0.1 * rng.normal(size=data.tau.shape)
    W = stacked(model, data)[0].reshape(12, 40, 3, -1)
    drift = np.einsum("bijr,br->bij", W, 0.1 * rng.normal(size=(12, W.shape[3]))).reshape(480, 3)
    made = {}
    for name, change in (("white", noise), ("correlated", noise + drift)):
        noisy = replace(data, tau=data.tau + change)
        made[name] = compress(model, noisy), W.reshape(480, 3, -1), noisy.tau, noisy
    return made


def least_squares(W, tau):
    return np.linalg.lstsq(W.reshape(-1, W.shape[2]), tau.ravel(), rcond=None)[0]


def root_of(W, w):
    """B with ``B B' = (sum_j w_j^2 A_j)^-1``."""
    values, vectors = np.linalg.eigh(np.linalg.pinv(np.einsum("ijr,j,ijs->rs", W, w**2, W), rcond=1e-10))
    return vectors * np.sqrt(np.maximum(values, 0.0))


def factor_of(W, w, e, k, segments=12):
    """Of joint k: squares of the segments' scores over their mean for independent errors, whose covariance is written
    out sample by sample, and how many squares that is.
    """
    samples, n, rank = W.shape
    variances = (e**2).mean(axis=0)
    rows, own = W.reshape(samples * n, rank), np.arange(samples) * n + k
    left = np.eye(samples * n) - rows @ root_of(W, w) @ (rows @ root_of(W, w)).T * np.tile(w**2, samples)
    covariance = (left[own] * np.tile(variances, samples)) @ left[own].T
    variance = (e[:, k] ** 2).sum() / (np.trace(covariance) / variances[k])
    Wk, metric, per = W[:, k], root_of(W, w) @ root_of(W, w).T, samples // segments
    parts = [slice(b * per, (b + 1) * per) for b in range(segments)]
    scores = [Wk[part].T @ e[part, k] for part in parts]
    blocks = [metric @ Wk[part].T @ covariance[part, part] @ Wk[part] / variances[k] for part in parts]
    mean = sum(map(np.trace, blocks))
    squares = sum(s @ metric @ s for s in scores)
    return squares / (variance * mean), mean**2 / sum(np.trace(block @ block) for block in blocks)


@pytest.mark.parametrize("weights", [[1.0, 1.0, 1.0], [1.0, 2.0, 0.5]])
def test_correlation_factors_are_those_of_the_segments_scores(small, weights):
    data, W, tau, _ = small["correlated"]
    w = np.array(weights)
    beta, root = least_squares(W * w[:, None], tau * w), root_of(W, w)
    columns = range(data.base.rank)
    found = correlation_factors(data, w, columns, beta, root)
    for k in range(3):
        measured, squares = factor_of(W, w, tau - W @ beta, k)
        chance = chi2.ppf(norm.cdf(3.0), squares) / squares
        assert measured > 1.02 * chance
        assert found[k] == pytest.approx(measured, rel=1e-6)
        # a known correlation stands until the measured one exceeds it by three standard deviations
        edge = measured / chance
        for share, expected in ((0.99, measured), (1.01, 1.01 * edge)):
            known = replace(data, correlation=np.full(3, edge * share))
            assert correlation_factors(known, w, columns, beta, root)[k] == pytest.approx(expected, rel=1e-6)


def test_correlation_factors_do_not_depend_on_rounding(small):
    data, W, tau, _ = small["correlated"]
    w, beta, columns = np.ones(3), least_squares(W, tau), range(data.base.rank)
    rng = np.random.default_rng(2)

    def rounded(factors):
        return tuple(R + 1e-15 * np.abs(R).max() * rng.normal(size=R.shape) for R in factors)

    segments = tuple(replace(segment, factors=rounded(segment.factors)) for segment in data.segments)
    other = replace(data, factors=rounded(data.factors), segments=segments)
    found, again = (correlation_factors(one, w, columns, beta, root_of(W, w)) for one in (data, other))
    assert (found > 1.0).all()
    np.testing.assert_allclose(again, found, rtol=1e-9)


@pytest.mark.claim("intervals count errors that repeat from sample to sample")
@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_intervals_hold_the_truth_where_errors_repeat(correlation):
    model = Model("three_link", ("viscous", "coulomb", "offset"))
    truth = np.random.default_rng(0).uniform(0.5, 1.0, len(model.parameter_names))
    clean = recording(model, truth, samples=2400)
    z = []
    for seed in range(20):
        noise = lfilter([1.0], [1.0, -correlation], np.random.default_rng(seed).normal(size=clean.tau.shape), axis=0)
        fit = wls(compress(model, replace(clean, tau=clean.tau + 0.1 * noise)))
        z.append((fit.beta - model.base.values(truth)) / fit.sd)
    assert 0.75 < np.sqrt(np.mean(np.square(z))) < 1.25


def test_independent_residuals_have_the_known_correlation(small):
    data, W, tau, _ = small["white"]
    w, beta, columns = np.ones(3), least_squares(W, tau), range(data.base.rank)
    np.testing.assert_array_equal(correlation_factors(data, w, columns, beta, root_of(W, w)), np.ones(3))
    known = replace(data, correlation=np.array([0.5, 4.0, 2.0]))
    np.testing.assert_array_equal(correlation_factors(known, w, columns, beta, root_of(W, w)), [1.0, 4.0, 2.0])


def test_few_segments_and_joints_without_samples_have_the_known_correlation(small):
    data, W, tau, _ = small["correlated"]
    w, beta, columns = np.ones(3), least_squares(W, tau), range(data.base.rank)
    root = root_of(W, w)
    assert (correlation_factors(data.only(range(4)), w, columns, beta, root) > 1.0).any()
    np.testing.assert_array_equal(correlation_factors(data.only(range(3)), w, columns, beta, root), np.ones(3))
    silent = replace(data, counts=np.array([480, 0, 480]))
    assert correlation_factors(silent, w, columns, beta, root)[1] == 1.0


@pytest.mark.parametrize(
    ("weights", "correlation"),
    [
        *(([1.0, 2.0, 0.5], c) for c in ([1.0, 1.0, 1.0], [4.0, 2.0, 3.0], [1.0, 2.0, 1.0], [400.0, 400.0, 400.0])),
        ([1.0, 0.0, 3.0], [400.0, 400.0, 400.0]),
    ],
)
def test_the_covariance_is_the_sandwich_of_the_weighted_rows(small, weights, correlation):
    data, W, tau, _ = small["white"]
    w, c = np.array(weights), np.array(correlation)
    beta, rank = least_squares(W * w[:, None], tau * w), data.base.rank
    A, middle = (np.einsum("ijr,j,ijs->rs", W, w**2 * f, W) for f in (1.0, c))
    inverse = np.linalg.pinv(A, rcond=1e-10)
    samples, independent = 480 * (w > 0).sum(), (480 / c)[w > 0].sum()
    squares = np.sum((w * (tau - W @ beta)) ** 2)
    variance = squares / samples * independent / max(independent - rank, 1.0)
    values, vectors = np.linalg.eigh(inverse)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    found = covariance_of(replace(data, correlation=c), w, range(rank), beta, root)
    expected = variance * inverse @ middle @ inverse
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


def test_what_segments_disagree_by_is_that_of_their_scores(small):
    data, W, tau, noisy = small["correlated"]
    w, beta, rank = np.array([1.0, 2.0, 0.5]), least_squares(W, tau), data.base.rank
    C = np.diag(np.linspace(1.0, 2.0, rank))

    def expected(segments):
        rows, e = W * w[:, None], w * (tau - W @ beta)
        parts = [np.einsum("ijr,ijs->rs", rows[at], rows[at]) for at in segments]
        scores = [np.einsum("ijr,ij->r", rows[at], e[at]) for at in segments]
        inverse = np.linalg.inv(sum(parts))
        between = inverse @ sum(np.outer(s, s) for s in scores) @ inverse
        taken = sum(np.trace(inverse @ part @ inverse @ part) for part in parts)
        return np.trace(np.linalg.inv(C) @ between) / (rank - taken)

    each = [slice(40 * b, 40 * b + 40) for b in range(12)]
    assert disagreement(data, w, range(rank), beta, C) == pytest.approx(expected(each), rel=1e-6)
    halves = [slice(start, None, 32) for start in (0, 16)]  # fifteen samples each: a segment of its own
    two = compress(data.model, [noisy.rows(half, "") for half in halves])
    assert len(two.segments) == 2
    assert disagreement(two, w, range(rank), beta, C) == pytest.approx(expected(halves), rel=1e-5)
    assert disagreement(data.only([0]), w, range(rank), beta, C) == 0.0


def still(samples, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(samples) * 2e-3
    q = np.column_stack([np.sin(t), np.cos(2 * t)])
    return Dataset(t, q + [1e-4, 3e-4] * rng.normal(size=q.shape), 5 * q + [0.2, 0.5] * rng.normal(size=q.shape))


@pytest.mark.parametrize("columns", [True, False])
def test_noise_after_processing_is_that_of_many_samples(columns):
    """White noise through the same processing, the motion taken off: 30,000 samples in place of an impulse response."""
    settings = Processing(cutoff=20.0, torque_cutoff=10.0, every=1, filter_columns=columns, defects=False)
    found = MeasurementNoise.of(still(4000), settings)
    rng = np.random.default_rng(9)
    t = 2e-3 * np.arange(30000)
    noise = Dataset(t, [1e-4, 3e-4] * rng.normal(size=(30000, 2)), [0.2, 0.5] * rng.normal(size=(30000, 2)))
    made = settings.apply(noise)
    assert (made.full is not None) == columns
    np.testing.assert_allclose(found.torque, (made.tau**2).mean(axis=0), rtol=0.15)
    errors = np.stack([made.q, made.dq, made.ddq], axis=2)
    if columns:
        errors = made.full.low_pass(np.stack([made.full.q, made.full.dq, made.full.ddq], axis=2))[made.full.index]
    for k in range(2):
        measured = errors[:, k].T @ errors[:, k] / len(errors)
        scale = np.sqrt(np.diag(measured))
        size = np.outer(scale, scale)
        np.testing.assert_allclose(found.motion[k] / size, measured / size, atol=0.15)


def test_noise_does_not_depend_on_which_samples_are_kept():
    raw = still(1500)
    plain = MeasurementNoise.of(raw, Processing(cutoff=20.0, every=1))
    for other in ({"every": 7}, {"between": (0.5, 1.0)}, {"slowest": 0.3}, {"delay": 1e-3}):
        found = MeasurementNoise.of(raw, Processing(cutoff=20.0, **({"every": 1} | other)))
        np.testing.assert_allclose(found.motion, plain.motion, rtol=1e-12)
        np.testing.assert_allclose(found.torque, plain.torque, rtol=1e-12)


@pytest.mark.claim("noise is that of the filter chosen for the recording, also where columns are not filtered")
@pytest.mark.parametrize("settings", [{"filter_columns": False}, {"torque_cutoff": 3.0}, {}])
def test_an_automatic_cutoff_is_the_recording_s(settings):
    raw = still(4000)
    chosen = Processing(every=1).apply(raw).full.low_pass.cutoff
    found, given = (MeasurementNoise.of(raw, Processing(cutoff=f, every=1, **settings)) for f in ("auto", chosen))
    np.testing.assert_allclose(found.motion, given.motion, rtol=1e-12)
    np.testing.assert_allclose(found.torque, given.torque, rtol=1e-12)


def test_noise_that_cannot_be_estimated_is_refused():
    settings = Processing(cutoff=None, torque_cutoff=None, trim=0.0, filter_columns=False)
    with pytest.raises(DatasetError, match="59 samples are too few to estimate the noise; expected 60 or more"):
        MeasurementNoise.of(still(59), settings)
    assert MeasurementNoise.of(still(60), settings).torque.shape == (2,)
    silent = still(600)
    silent = replace(silent, tau=np.column_stack([silent.tau[:, 0], np.zeros(600)]))
    with pytest.raises(DatasetError, match="the torque of joint 2 has no noise"):
        MeasurementNoise.of(silent, settings)
