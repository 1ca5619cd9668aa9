"""Deviation of residuals by the state: at rest, in motion, with an error of timing."""

from __future__ import annotations

import numpy as np
import pytest

from casid.regression._state_noise import state_noise


def test_noise_at_rest_and_where_torques_change_is_that_of_the_recording():
    """Residuals of 0.1 in motion, anywhere within a band of 2 below 0.05 rad/s, and of 4 ms of timing."""
    rng, t = np.random.default_rng(0), np.arange(0.0, 60.0, 0.01)
    dq = np.sin(1.3 * t)[:, None] * np.ones(2)
    rate = 200.0 * np.cos(3.1 * t)[:, None] * np.ones(2)
    e = rng.normal(size=dq.shape) * np.hypot(0.1, 0.004 * rate)
    held = (np.abs(dq) < 0.05) & (np.arange(2) == 0)  # the first joint only
    e[held] = rng.uniform(-2.0, 2.0, held.sum()) - 2.0 * np.sign(dq[held])  # less the model's friction
    found = state_noise([e], [dq], [rate], [lambda v: 2.0 * np.sign(v)])
    assert 0.025 < found.speed[0] < 0.12 and found.speed[1] == 0.0
    assert found.size == pytest.approx([0.1, 0.1], rel=0.1)
    assert found.timing == pytest.approx([0.004, 0.004], rel=0.1)
