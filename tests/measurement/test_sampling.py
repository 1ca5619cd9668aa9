"""Values that measure nothing are replaced by those around them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from casid.errors import DatasetError
from casid.measurement import Dataset, Processing, advanced, repaired
from casid.measurement._sampling import regular, uniform
from tests.measurement.conftest import sine


def test_a_clean_recording_stays_itself():
    data = sine(rate=100.0)
    made, found = repaired(data)
    assert made is data and found == ()


def test_a_spike_is_replaced_at_its_sample_alone():
    data = sine(rate=100.0)
    tau = np.array(data.tau)
    tau[300, 1] += 40.0
    made, found = repaired(replace(data, tau=tau))
    assert [(d.kind, d.joint, d.samples) for d in found] == [("spike", 1, 1)]
    np.testing.assert_allclose(made.tau, data.tau, atol=1e-3)
    np.testing.assert_array_equal(made.tau[:300], data.tau[:300])
    assert made.steps[-1] == "interpolated 1 samples with spikes"


def test_repeated_samples_are_interpolated_and_repeated_stamps_dropped():
    data = sine(rate=100.0)
    q, tau, t = np.array(data.q), np.array(data.tau), np.array(data.t)
    q[401:404], tau[401:404] = q[400], tau[400]
    made, found = repaired(replace(data, q=q, tau=tau))
    assert [d.kind for d in found] == ["repeats"] and made.steps[-1] == "interpolated 3 repeated samples"
    np.testing.assert_allclose(made.q, data.q, atol=1e-3)
    t[10] = t[9]
    made, _ = repaired(replace(data, t=t))
    assert len(made) == len(data) - 1 and "1 repeated time stamps" in made.steps[0]


def test_torques_are_taken_later_by_the_delay():
    data = sine(rate=200.0)
    late = replace(data, tau=np.sin(data.t - 0.03)[:, None] * np.ones(2))
    inner = data.t < data.t[-1] - 0.05
    np.testing.assert_allclose(advanced(late, 0.03).tau[inner, 0], np.sin(data.t)[inner], atol=1e-6)
    assert advanced(late, 0.0) is late
    with pytest.raises(DatasetError, match="as long as the recording"):
        advanced(late, 6.0)


def test_a_nominal_rate_is_round_and_a_grid_is_regular():
    data = sine(rate=100.0)
    wobbling = np.array(data.t)
    wobbling[1:-1:5] += 0.002
    assert regular(data.t) and not regular(wobbling)
    np.testing.assert_array_equal(uniform(data, "auto").t, data.t)
    made = uniform(replace(data, t=wobbling), "auto")
    np.testing.assert_allclose(np.diff(made.t), 0.01, rtol=1e-9)
    np.testing.assert_allclose(made.q, data.q[: len(made)], atol=0.01)


def test_repeated_stamps_are_dropped():
    data = sine(rate=100.0)
    t = np.array(data.t)
    t[500:] += 1.0
    t[100] = t[99]
    made = uniform(replace(data, t=t), None)
    assert len(made) == len(data) - 1
    assert any("1 repeated" in note for note in made.notes)
    with pytest.raises(DatasetError, match="uniform grid at 1e\\+06 Hz"):
        uniform(data, 1e6)


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
