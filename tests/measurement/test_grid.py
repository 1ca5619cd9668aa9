"""Recordings on uniform grids."""

from __future__ import annotations

import numpy as np
import pytest

from casid.measurement import Dataset, Processing
from casid.measurement._grid import uniform


def recording(t: np.ndarray) -> Dataset:
    q = np.sin(3.0 * t)[:, None] * [1.0, 2.0]
    return Dataset(t, q, 5.0 * q)


@pytest.mark.claim("lost samples leave all others as they were measured: none of them is interpolated to a round rate")
def test_a_gap_leaves_the_other_samples_as_they_are() -> None:
    t = np.arange(1000) / 599.9 + 1e-6 * np.random.default_rng(0).normal(size=1000)
    kept = np.delete(np.arange(1000), np.arange(400, 460))
    data = recording(t[kept])
    made = uniform(data, "auto")
    assert len(made) == 1000
    np.testing.assert_array_equal(made.t[kept], data.t)
    np.testing.assert_array_equal(made.q[kept], data.q)
    np.testing.assert_allclose(made.q[400:460, 0], np.interp(made.t[400:460], data.t, data.q[:, 0]), atol=1e-3)
    assert [one.kind for one in Processing(cutoff=10.0).apply(data).defects] == ["gap"]


def test_an_irregular_clock_gets_the_nominal_rate() -> None:
    t = np.cumsum(np.random.default_rng(1).uniform(0.005, 0.015, 500))
    made = uniform(recording(t), "auto")
    assert np.ptp(np.diff(made.t)) < 1e-9
    assert 1.0 / made.period == pytest.approx(100.0, rel=0.03)
    np.testing.assert_allclose(made.q[:, 0], np.sin(3.0 * made.t), atol=1e-3)
