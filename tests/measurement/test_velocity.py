"""The measured velocity is taken where it is less noisy than differences of the positions, and agrees with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from casid.measurement._velocity import measured_is_better
from tests.measurement.conftest import sine

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
