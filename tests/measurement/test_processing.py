"""The measured velocity is taken where it is less noisy than differences of the positions, and agrees with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from casid import load_robot
from casid.errors import DatasetError
from casid.measurement import Dataset, Processing, check_against
from casid.measurement._processing import measured_is_better
from tests.measurement.conftest import TAU, Q, T, sine

RATE = 500.0


@pytest.fixture(scope="module")
def data():
    made = sine(rate=RATE)
    return replace(made, dq=np.gradient(made.q, made.t, axis=0))


def noisy(data, on_q, on_dq):
    rng = np.random.default_rng(0)
    q = data.q + on_q * rng.normal(size=data.q.shape)
    return replace(data, q=q, dq=data.dq + on_dq * rng.normal(size=data.q.shape))


def test_the_less_noisy_of_two_is_chosen(data):
    even = 2 * np.pi * 20.0 * 1e-4 / np.sqrt(3.0)  # velocity noise that equals that of differences below 20 Hz
    assert measured_is_better(noisy(data, 1e-4, 0.5 * even), 20.0, RATE)
    assert not measured_is_better(noisy(data, 1e-4, 2.0 * even), 20.0, RATE)


def test_a_velocity_that_disagrees_or_lacks_is_not_taken(data):
    quiet = noisy(data, 1e-4, 1e-4)
    assert measured_is_better(quiet, 20.0, RATE)
    assert not measured_is_better(replace(quiet, dq=1.1 * quiet.dq), 20.0, RATE)
    assert not measured_is_better(replace(quiet, dq=None), 20.0, RATE)
    assert not measured_is_better(replace(quiet, q=np.zeros_like(quiet.q)), 20.0, RATE)


def test_processing_differentiates_without_phase():
    data = Processing(cutoff=10.0, trim=1.0, every=1).apply(sine())
    w = 2 * np.pi * 0.3
    np.testing.assert_allclose(data.dq[:, 0], w * np.cos(w * data.t + 0.7), atol=2e-4)
    np.testing.assert_allclose(data.ddq[:, 0], -(w**2) * np.sin(w * data.t + 0.7), atol=2e-3)
    assert data.t[0] == pytest.approx(1.0) and len(data) == 8000
    assert any("10 Hz" in step for step in data.steps)
    assert len(Processing(trim=1.0, every=10).apply(sine())) == 800


def test_irregular_and_repeated_time_stamps_are_put_on_a_grid_and_reported():
    rng = np.random.default_rng(0)
    regular = sine()
    t = regular.t + rng.uniform(-2e-4, 2e-4, len(regular))
    t[500] = t[499]
    t[5000:] += 0.5
    w = 2 * np.pi * 0.3
    phase = np.array([0.7, 1.4])
    data = Dataset(t, np.sin(w * t[:, None] + phase), regular.tau, name="jittery")
    made = Processing(trim=1.0, every=1).apply(data)
    assert made.period == pytest.approx(1e-3)
    text = " ".join((*made.steps, *made.notes))
    assert "linear interpolation to 1000 Hz" in text
    assert "dropped 1 repeated time stamps" in text
    assert "lost samples of all joints, 500 samples" in text
    calm = (made.t < 4.0) | (made.t > 7.0)
    np.testing.assert_allclose(made.dq[calm, 1], w * np.cos(w * made.t[calm] + 1.4), atol=5e-3)


def test_masks_survive_interpolation():
    data = sine(rate=500.0)
    made = Processing(rate=1000.0, trim=0.0, every=1).apply(data.only([1]).between(0.0, 5.0))
    assert len(made) > 4000 and made.mask[:, 1].all() and not made.mask[:, 0].any()


def test_measured_velocity_is_used_where_asked():
    data = sine()
    w = 2 * np.pi * 0.3
    with_velocity = replace(data, dq=w * np.cos(w * data.t[:, None] + np.array([0.7, 1.4])))
    made = Processing(velocity="measured", cutoff=None, trim=0.1, every=1).apply(with_velocity)
    np.testing.assert_array_equal(made.dq, with_velocity.dq[100:-100])
    with pytest.raises(DatasetError, match="no measured velocity"):
        Processing(velocity="measured").apply(data)


def test_filter_and_trim_errors_say_what_to_do():
    with pytest.raises(DatasetError, match="below half the sampling rate, 500 Hz"):
        Processing(cutoff=600.0).apply(sine())
    with pytest.raises(DatasetError, match="leaves nothing"):
        Processing(trim=6.0).apply(sine())
    with pytest.raises(DatasetError, match="cutoff must be positive"):
        Processing(cutoff=0.0)


def test_standstill_is_refused() -> None:
    robot = load_robot("three_link")
    with pytest.raises(DatasetError, match="no joint moves"):
        check_against(Dataset(T, np.ones_like(Q), TAU), robot)


@pytest.mark.claim("one jump of the clock does not take gigabytes")
def test_a_clock_jump_is_refused_before_memory_is_taken() -> None:
    t = np.arange(2000.0) * 1e-3
    t[1000:] += 3e5  # 300 million samples of the grid
    phase = np.sin(np.arange(2000.0))[:, None]
    with pytest.raises(DatasetError, match=r"(?i)clock|grid"):
        Processing().apply(Dataset(t, phase, phase, name="jump"))


@pytest.mark.claim("a jump of the clock does not allocate gigabytes")
def test_a_long_gap_is_an_error():
    t = np.r_[np.arange(0, 2, 1e-3), 1e7 + np.arange(0, 2, 1e-3)]
    with pytest.raises(DatasetError, match=r"longest gap is 1e\+07 s, after sample 1999"):
        Processing().apply(Dataset(t, np.zeros((4000, 2)), np.zeros((4000, 2))))


def test_a_delay_is_taken_out():
    t = np.arange(0, 10, 1e-3)
    late = np.sin(2 * np.pi * 0.5 * (t - 0.0037))[:, None]
    data = Processing(delay=0.0037, cutoff=None, every=1, trim=0.1).apply(Dataset(t, late, late))
    np.testing.assert_allclose(data.tau[:, 0], np.sin(2 * np.pi * 0.5 * data.t), atol=1e-9)
