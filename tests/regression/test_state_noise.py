"""Deviation of residuals by the state: at rest, in motion, with an error of timing."""

from __future__ import annotations

import numpy as np
import pytest

from casid.regression import torque_rate
from casid.regression._state_noise import SPEEDS, _moving, state_noise


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


def test_variance_and_timing_are_the_weighted_regression_s():
    """Residuals that are exactly ``e^2 = s^2 + d^2 rate^2`` give s and d; a falling variance has no timing error."""
    rate = np.linspace(0.0, 50.0, 200)
    variance, timing = _moving(np.sqrt(0.04 + (0.01 * rate) ** 2), rate)
    assert variance == pytest.approx(0.04, rel=1e-6) and timing == pytest.approx(0.01, rel=1e-6)
    e = np.sqrt(1.0 - 1e-4 * rate**2)
    assert _moving(e, rate) == (pytest.approx(np.mean(e**2)), 0.0)
    assert _moving(1e-3 * rate, rate) == (pytest.approx(np.mean(1e-6 * rate**2)), 0.0)


def test_the_speed_is_that_of_the_largest_likelihood():
    """Of every candidate the sum of ``log v + e^2 / v``, with twenty samples at least in either regime."""
    rng, t = np.random.default_rng(1), np.arange(0.0, 20.0, 0.01)
    dq = np.column_stack([np.sin(t), 0.3 * np.cos(2 * t), np.ones(len(t))])
    e = 0.2 * rng.normal(size=dq.shape)
    e[rng.random(dq.shape) < 0.1] = np.nan
    slow = np.abs(dq) < 0.04 * np.sqrt(np.mean(dq**2, axis=0))
    e = np.where(slow, e + rng.uniform(-1.0, 1.0, e.shape), e)
    rate = 10.0 * rng.normal(size=dq.shape)
    offset = 0.3
    found = state_noise([e[:900], e[900:]], [dq[:900], dq[900:]], [rate[:900], rate[900:]], [friction] * 2)
    usual = np.sqrt(np.mean(dq**2, axis=0))
    for j in range(3):
        best = np.inf
        for share in SPEEDS:
            v = share * usual[j]
            known = np.isfinite(e[:, j])
            rest, x = (np.abs(dq[known, j]) < v), e[known, j].copy()
            if share and min(rest.sum(), (~rest).sum()) < 20:
                continue
            half = 1.5 + 0.1 * v
            x[rest] -= offset - friction(dq[known][rest])[:, j]  # from the middle of the band
            s2, d = _moving(x[~rest], rate[known, j][~rest])
            total = s2 + (d * rate[known, j]) ** 2 + np.where(rest, half, 0.0) ** 2
            cost = np.sum(np.log(total) + x**2 / total)
            if cost < best:
                best, expected = cost, (np.sqrt(s2), v, d)
        np.testing.assert_allclose((found.size[j], found.speed[j], found.timing[j]), expected, rtol=1e-9)
    assert found.speed[2] == 0.0


def friction(v):
    return 0.3 + 1.5 * np.sign(v) + 0.1 * v


def test_torques_change_from_the_sample_before():
    tau = np.array([[1.0], [3.0], [3.5], [3.0]])
    np.testing.assert_array_equal(torque_rate(tau, np.array([0.0, 0.5, 0.5, 1.0])), [[0.0], [4.0], [0.0], [-1.0]])


def test_a_few_samples_at_rest_do_not_make_a_speed():
    """Nineteen of them, however well a band explains their residuals; with twenty it is taken."""
    rng = np.random.default_rng(2)
    for count, taken in ((19, False), (20, True)):
        dq, e = np.ones((400, 1)), 0.1 * rng.normal(size=(400, 1))
        dq[:count], e[:count] = 1e-4, rng.uniform(-50.0, 50.0, (count, 1)) - 100.0
        found = state_noise([e], [dq], [np.zeros((400, 1))], [lambda v: 100.0 * np.sign(v)])
        assert (found.speed[0] > 0) == taken


def test_residuals_of_nothing_have_no_deviation():
    """Exact ones, and those of a joint that never counts."""
    dq = np.sin(np.arange(200.0))[:, None] * np.ones(2)
    e = np.zeros((200, 2))
    e[:, 1] = np.nan
    found = state_noise([e], [dq], [np.ones((200, 2))], [lambda v: 0.0 * v])
    for values in (found.size, found.speed, found.timing):
        np.testing.assert_array_equal(values, np.zeros(2))


def test_residuals_beyond_the_band_are_no_friction_at_rest():
    """A band of 1 does not explain residuals of 50: no speed is taken, however small the others are."""
    rng = np.random.default_rng(3)
    dq, e = np.ones((400, 1)), 0.1 * rng.normal(size=(400, 1))
    dq[:30], e[:30] = 1e-4, 50.0 * rng.choice([-1.0, 1.0], (30, 1))
    found = state_noise([e], [dq], [np.zeros((400, 1))], [lambda v: np.sign(v)])
    assert found.speed[0] == 0.0 and found.size[0] == pytest.approx(np.sqrt(np.mean(e**2)))
