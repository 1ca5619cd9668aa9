"""Noise of measurements and of residuals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from casid.regression._statistics import ResidualNoise


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
