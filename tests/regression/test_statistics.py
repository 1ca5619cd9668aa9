"""Noise of measurements and of residuals; each number is computed again from its definition, sample by sample."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import sqrtm
from scipy.signal import lfilter
from scipy.stats import chi2, norm

from casid.dynamics import Model
from casid.errors import DatasetError
from casid.measurement import Dataset, Processing
from casid.regression import compress, wls
from casid.regression._correlation import correlation_factors
from casid.regression._statistics import (
    Batches,
    MeasurementNoise,
    ResidualNoise,
    _unbiased_maps,
    _white_variance,
    covariance_of,
    disagreement,
)
from casid.testing._synthetic import recording
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


def factor_of(W, w, e, k, used, segments=12):
    """Of joint k: squares of the segments' scores over their mean for independent errors, whose covariance is written
    out sample by sample, and how many squares that is.
    """
    samples, n, rank = W.shape
    variances = (e**2).mean(axis=0)
    rows, own = W.reshape(samples * n, rank), np.arange(samples) * n + k
    left = np.eye(samples * n) - rows @ root_of(W, w) @ (rows @ root_of(W, w)).T * np.tile(w**2, samples)
    covariance = (left[own] * np.tile(variances, samples)) @ left[own].T
    variance = (e[:, k] ** 2).sum() / (np.trace(covariance) / variances[k])
    Wk = W[:, k, used]
    normal, per = np.linalg.inv(Wk.T @ Wk), samples // segments
    parts = [slice(b * per, (b + 1) * per) for b in range(segments)]
    scores = [Wk[part].T @ e[part, k] for part in parts]
    blocks = [normal @ Wk[part].T @ covariance[part, part] @ Wk[part] / variances[k] for part in parts]
    mean = sum(map(np.trace, blocks))
    squares = sum(s @ normal @ s for s in scores)
    return squares / (variance * mean), mean**2 / sum(np.trace(block @ block) for block in blocks)


@pytest.mark.parametrize("weights", [[1.0, 1.0, 1.0], [1.0, 2.0, 0.5]])
def test_correlation_factors_are_those_of_the_segments_scores(small, weights):
    data, W, tau, _ = small["correlated"]
    w = np.array(weights)
    beta, root = least_squares(W * w[:, None], tau * w), root_of(W, w)
    columns = range(data.base.rank)
    found = correlation_factors(data, w, columns, beta, root)
    for k in range(3):
        measured, squares = factor_of(W, w, tau - W @ beta, k, W[:, k].any(axis=0))
        chance = chi2.ppf(norm.cdf(3.0), squares) / squares
        assert measured > 1.02 * chance
        assert found[k] == pytest.approx(measured, rel=1e-6)
        # a known correlation stands until the measured one exceeds it by three standard deviations
        edge = measured / chance
        for share, expected in ((0.99, measured), (1.01, 1.01 * edge)):
            known = replace(data, correlation=np.full(3, edge * share))
            assert correlation_factors(known, w, columns, beta, root)[k] == pytest.approx(expected, rel=1e-6)


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


@pytest.mark.parametrize("count", [1, 7, 1000, 5001])
def test_residuals_as_a_whole_are_those_sample_by_sample(count: int) -> None:
    white = np.random.default_rng(count).normal(size=(count, 3))
    residual = np.asarray(lfilter([1.0], [1.0, -0.8], white, axis=0))
    one, whole = ResidualNoise(3), ResidualNoise.of([residual])
    for sample in residual:
        one.update(sample)
    assert whole.variance == pytest.approx(one.variance, rel=1e-12)
    for samples in (1.0, 30.0, np.inf):
        assert whole.inflation(samples) == pytest.approx(one.inflation(samples), rel=1e-12)


@pytest.mark.parametrize("samples", [0.0, 1.0, 2.0, 30.0, np.inf])
def test_the_inflation_is_that_of_block_sums(samples):
    """Over blocks of up to so many samples, of which there are at least sixty, those with a missing sample left out."""
    residual = np.asarray(lfilter([1.0], [1.0, -0.95], np.random.default_rng(3).normal(size=(3000, 2)), axis=0))
    residual[5, 1] = np.nan
    variance = np.nanmean(residual**2)
    ratios = []
    for length in 2 ** np.arange(11):
        sums = residual[: 3000 // length * length].reshape(-1, length, 2).sum(axis=1)
        known = sums[np.isfinite(sums)]
        if len(known) >= 60 and length <= max(samples, 1.0):
            ratios.append(np.mean(known**2) / length / variance)
    assert len(ratios) == {0.0: 1, 1.0: 1, 2.0: 2, 30.0: 5, np.inf: 7}[samples]
    found = ResidualNoise.of([residual])
    assert found.inflation(samples) == pytest.approx(max(ratios), rel=1e-10)
    assert found.variance == pytest.approx(variance, rel=1e-12)
    assert found.variance_with(7.0, 50.0) == pytest.approx((7.0 + 1000.0 * variance) / 1050.0, rel=1e-12)


def test_residuals_that_alternate_or_are_few_are_not_inflated():
    swinging = np.tile([1.0, -1.0], 200)[:, None]
    assert ResidualNoise.of([swinging]).inflation() == 1.0
    assert ResidualNoise.of([np.ones((59, 1))]).inflation() == 1.0
    assert ResidualNoise.of([np.ones((120, 1))]).inflation() == pytest.approx(2.0)
    assert ResidualNoise.of([np.zeros((500, 1))]).inflation() == 1.0
    assert ResidualNoise(2).variance == 1.0 and ResidualNoise(2).inflation() == 1.0
    two = ResidualNoise.of([np.ones((120, 1)), -np.ones((120, 1))])  # no block reaches over the edge
    assert two.inflation() == pytest.approx(4.0)


@pytest.mark.parametrize(("samples", "correlation", "batches"), [(700, 1.0, 28), (700, 1.3, 21), (300, 1.0, 20)])
def test_the_covariance_of_scores_is_that_of_half_sine_batches(samples, correlation, batches):
    rng = np.random.default_rng(5)
    Z, e = rng.normal(size=(samples, 2, 3)) * [1.0, 10.0, 0.1], rng.normal(size=(samples, 2))
    made = Batches(samples, 3, correlation)
    made.add(Z[:123], e[:123])
    made.add(Z[123:], e[123:])
    A = np.einsum("ijr,ijs->rs", Z, Z)
    white = np.asarray(np.linalg.inv(sqrtm(A)).real)
    total = np.zeros((3, 3))
    for b in range(batches + 1):
        centre = b * samples / batches
        distance = (np.arange(samples) + 0.5 - centre) * batches / samples
        h = np.where(np.abs(distance) < 1, np.cos(np.pi / 2 * distance), 0.0)
        S = np.einsum("i,ijr,ij->r", h, Z, e)
        P, Q = (white @ np.einsum("i,ijr,ijs->rs", window, Z, Z) @ white for window in (h**2, h))
        half = sqrtm(P).real
        T = half @ np.linalg.inv(sqrtm(half @ (P - Q @ Q) @ half).real) @ half
        total += np.outer(T @ white @ S, T @ white @ S)
    back = np.linalg.inv(white)
    np.testing.assert_allclose(made.covariance(), back @ total @ back, rtol=1e-6)


def test_scores_of_directions_that_nothing_moves_have_no_covariance():
    rng = np.random.default_rng(6)
    Z, e = rng.normal(size=(600, 1, 3)), rng.normal(size=(600, 1))
    Z[:, :, 1] = 0.0
    made, fewer = Batches(600, 3), Batches(600, 2)
    made.add(Z, e)
    fewer.add(Z[:, :, [0, 2]], e)
    found = made.covariance()
    assert not found[1].any() and not found[:, 1].any()
    np.testing.assert_allclose(found[np.ix_([0, 2], [0, 2])], fewer.covariance(), rtol=1e-9)


def test_maps_restore_what_the_fit_took_but_for_a_twentieth():
    """In units of P: shares of a half and less than a twentieth, which counts as that, and more than all."""
    P = np.diag([4.0, 1.0, 9.0])
    shares = np.diag([0.5, 0.01, 2.0])
    turn = np.linalg.qr(np.random.default_rng(7).normal(size=(3, 3)))[0]
    T = _unbiased_maps((turn @ P @ turn.T)[None], (turn @ (shares * P) @ turn.T)[None])[0]
    np.testing.assert_allclose(turn.T @ T @ turn, np.diag(np.array([0.5, 0.05, 1.0]) ** -0.5), atol=1e-10)


@pytest.mark.parametrize("lag", [0, 3])
def test_the_white_part_is_what_sixth_differences_leave(lag):
    """A motion of fifth order is none of it, one of sixth order is; jumps far beyond the rest do not count."""
    t = np.linspace(-1.0, 1.0, 400)[:, None]
    assert _white_variance(t**5 - 3 * t**2)[0] < 1e-20
    noise = 0.1 * np.random.default_rng(8 + lag).normal(size=(400, 1))
    spread = 1.4826 * np.median(np.abs(np.diff(noise[:, 0], 6)))
    noise[170:200] = 0.0
    noise[185] = 5.5 * spread / 20  # the middle one of its seven differences is 20 times as large
    steps = np.diff(noise[:, 0], 6)
    spread = 1.4826 * np.median(np.abs(steps))
    assert 5.1 * spread < np.abs(steps).max() < 6 * spread
    inside = steps[np.abs(steps) <= 5.0 * spread]
    plain = np.mean(inside**2) / 924
    assert _white_variance(noise + t**5)[0] == pytest.approx(plain, rel=1e-6) == pytest.approx(0.01, rel=0.3)
    assert _white_variance(noise + 100.0 * (t > 0))[0] == pytest.approx(plain, rel=0.05)
    mostly_still = np.zeros((400, 1))
    mostly_still[200:] = 1.0
    assert _white_variance(mostly_still)[0] == pytest.approx(np.sum(np.diff(mostly_still[:, 0], 6) ** 2) / 394 / 924)


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
        np.testing.assert_allclose(
            found.motion[k] / np.outer(scale, scale), measured / np.outer(scale, scale), atol=0.15
        )


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


def test_blocks_are_as_long_as_a_thousand_samples():
    """An error that changes every 4096 samples: means over 1024 do not average it out."""
    drift = np.repeat(np.random.default_rng(4).normal(size=(8, 3)), 4096, axis=0)
    found = ResidualNoise.of([drift])
    assert found.inflation() == pytest.approx(1024.0) and found.inflation(600.0) == pytest.approx(512.0)


def test_samples_count_as_independent_unless_told_otherwise():
    rng = np.random.default_rng(7)
    Z, e = rng.normal(size=(2000, 1, 3)), rng.normal(size=(2000, 1))
    plain, one, two = Batches(2000, 3), Batches(2000, 3, 1.0), Batches(2000, 3, 2.0)
    for made in (plain, one, two):
        made.add(Z, e)
    np.testing.assert_array_equal(plain.covariance(), one.covariance())
    assert not np.allclose(plain.covariance(), two.covariance(), rtol=1e-3)
