"""Uniform grids of time, and torques moved by a delay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from casid.errors import DatasetError
from casid.measurement._grid import advanced, regular, uniform
from tests.measurement.conftest import sine


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


def test_jumps_of_the_clock_are_reported_and_repeated_stamps_dropped():
    data = sine(rate=100.0)
    t = np.array(data.t)
    t[500:] += 1.0
    t[100] = t[99]
    made = uniform(replace(data, t=t), None)
    assert len(made) == len(data) - 1
    assert any("the clock jumps 1 times" in n for n in made.notes) and any("1 repeated" in n for n in made.notes)
    with pytest.raises(DatasetError, match="uniform grid at 1e\\+06 Hz"):
        uniform(data, 1e6)
