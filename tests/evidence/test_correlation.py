"""Residuals that repeat themselves; each number is computed again from its definition, sample by sample."""

import numpy as np
import pytest
from scipy.linalg import sqrtm
from scipy.signal import lfilter

from casid.evidence import Batches, ResidualNoise


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
