"""The momentum form: the same parameters without accelerations, unbiased friction, clear refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.measurement import Dataset
from casid.regression import compress_momentum, wls
from casid.regression._fit import ols
from casid.regression._momentum import modulating_function, momentum_regressor, overlap
from casid.testing import recording


@pytest.fixture(scope="module", params=["kuka_iiwa", "tx40"])
def case(request):
    robot = casid.load_robot(request.param)
    model = Model(robot, ("viscous", "coulomb", "offset", "motor_rotor" if request.param == "tx40" else "rotor"))
    rng = np.random.default_rng(0)
    t = np.arange(4000) * 0.002
    w, a = rng.uniform(1.0, 6.0, (4, model.n)), rng.uniform(-0.4, 0.4, (4, model.n))
    q = sum(a[k] * np.sin(np.outer(t, w[k])) for k in range(4))
    dq = sum(a[k] * w[k] * np.cos(np.outer(t, w[k])) for k in range(4))
    ddq = sum(-a[k] * w[k] ** 2 * np.sin(np.outer(t, w[k])) for k in range(4))
    pi = rng.uniform(0.1, 1.0, len(model.parameter_names))
    tau = model.inverse_dynamics(q, dq, ddq, pi)
    return model, pi, Dataset(t, q, tau, dq), ddq


def test_momentum_and_newton_euler_agree(case):
    """``d/dt (Y_p beta) - Y_E beta`` by differences along the motion equals the torque, away from sign changes."""
    model, pi, data, _ = case
    beta = model.base.values(pi)
    Yp, YE = (np.asarray(v) for v in momentum_regressor(model)(data.q, data.dq))
    p = Yp @ beta
    torque = (p[2:] - p[:-2]) / (data.t[2:] - data.t[:-2])[:, None] - (YE @ beta)[1:-1]
    quiet = np.abs(data.dq).min(axis=1)[1:-1] > 0.05
    assert np.allclose(torque[quiet], data.tau[1:-1][quiet], atol=2e-4 * np.abs(data.tau).max())


def test_the_parameters_come_back_without_accelerations(case):
    model, pi, data, _ = case
    fit = ols(compress_momentum(model, data, width=0.1))
    truth = model.base.values(pi)
    error = np.abs(fit.beta - truth)[list(fit.excited.independent)]
    assert error.max() <= 2e-3 * np.abs(truth).max()
    assert fit.relative_error < 0.2


def test_noise_in_velocity_harms_it_less_than_differentiated_accelerations(case):
    from casid.regression import compress

    model, pi, data, _ = case
    rng = np.random.default_rng(3)
    noisy = replace(data, dq=data.dq + 1e-3 * rng.normal(size=data.dq.shape))
    ddq = np.gradient(noisy.dq, noisy.t, axis=0)
    momentum = ols(compress_momentum(model, noisy, width=0.1))
    direct = ols(compress(model, replace(noisy, ddq=ddq)))
    truth = model.base.values(pi)
    assert np.linalg.norm(momentum.beta - truth) < 0.5 * np.linalg.norm(direct.beta - truth)


def test_no_test_function_meets_a_masked_torque(case):
    model, _, data, _ = case
    rng, tau = np.random.default_rng(1), data.tau.copy()
    mask = rng.uniform(size=tau.shape) > 0.002
    tau[~mask] = 1e3
    spoilt = compress_momentum(model, replace(data, tau=tau, mask=mask), width=0.1)
    plain = compress_momentum(model, replace(data, mask=mask), width=0.1)
    assert np.array_equal(spoilt.counts, plain.counts) and plain.counts.min() > 50
    assert ols(spoilt).beta == pytest.approx(ols(plain).beta, abs=1e-6)


@pytest.mark.claim("intervals of the momentum form hold, however test functions overlap")
@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.slow), None, 40])
def test_equations_that_share_samples_do_not_count_twice(case, every):
    model, _, data, _ = case
    ratios, clean = [], compress_momentum(model, data, width=0.1, every=every)
    for seed in range(8):
        noise = 0.1 * np.random.default_rng(seed).normal(size=data.tau.shape)
        fit = wls(compress_momentum(model, replace(data, tau=data.tau + noise), width=0.1, every=every))
        exact = wls(clean, weights=fit.weights)
        known = list(fit.excited.independent)
        ratios.append(((fit.beta - exact.beta) / fit.sd)[known])
    assert 0.85 < np.sqrt(np.mean(np.square(ratios))) < 1.15


def test_bad_input(case):
    model, _, data, _ = case
    with pytest.raises(DatasetError, match="no velocities"):
        compress_momentum(model, replace(data, dq=None))
    with pytest.raises(DatasetError, match="not uniform"):
        t = data.t.copy()
        t[100:] += 0.01
        compress_momentum(model, replace(data, t=t))
    with pytest.raises(DatasetError, match="fewer than one test function"):
        compress_momentum(model, data, width=100.0)
    with pytest.raises(DatasetError, match="take a wider one"):
        compress_momentum(model, data, width=0.002)
    for wrong in (0.0, -1.0, np.nan, np.inf, "x"):
        with pytest.raises(DatasetError, match="width"):
            compress_momentum(model, data, width=wrong)
    for wrong in (0, -3, 2.5):
        with pytest.raises(DatasetError, match="every"):
            compress_momentum(model, data, every=wrong)


def test_a_test_function_is_a_squared_hann_window_of_unit_integral():
    half, period = 6, 0.01
    h, slope = modulating_function(half, period)
    width = (half + 1) * period
    t = period * np.arange(-half, half + 1)

    def window(t):
        return ((1 + np.cos(np.pi * t / width)) / 2) ** 2

    total = window(t).sum()
    np.testing.assert_allclose(h, window(t) / total, rtol=1e-12)
    assert window(width) < 1e-30 and h.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(slope, (window(t + 1e-6) - window(t - 1e-6)) / 2e-6 / total, atol=1e-6)


@pytest.mark.parametrize("step", [1, 3, 20])
def test_the_overlap_is_the_sum_of_the_correlations(step):
    h = np.random.default_rng(0).uniform(size=13)
    shifted = [h[: -k * step] @ h[k * step :] if k * step < 13 else 0.0 for k in range(1, 14)]
    assert overlap(h, step) == pytest.approx(1 + 2 * sum(shifted) / (h @ h))


@pytest.mark.parametrize("every", [None, 1, 7])
def test_equations_are_the_integrals_test_function_by_test_function(every):
    """Two recordings of a planar arm, with masked torques and raw ones, integrated one centre after the other."""
    model = Model("three_link", ("viscous", "coulomb", "offset", "rotor"))
    rng, rank, period = np.random.default_rng(1), model.base.rank, 0.01
    recordings = []
    for count in (180, 130):
        t = period * np.arange(count)
        q = np.sin(np.outer(t, [1.0, 2.0, 3.0]) + rng.normal(size=3))
        tau, raw = rng.normal(size=(2, count, 3))
        mask = rng.random((count, 3)) > 0.02
        recordings.append(Dataset(t, q, tau, np.gradient(q, t, axis=0), tau_raw=raw, mask=mask))
    found = compress_momentum(model, recordings, width=0.12, every=every)
    function = momentum_regressor(model)
    h, slope = modulating_function(6, period)
    step = 3 if every is None else every
    totals, counts = np.zeros((3, rank + 2, rank + 2)), np.zeros(3)
    for data in recordings:
        for centre in range(6, len(data) - 6, step):
            around = range(centre - 6, centre + 7)
            parts = [function(data.q[i], data.dq[i]) for i in around]
            rows = sum(-s * Yp - w * YE for s, w, (Yp, YE) in zip(slope, h, parts, strict=True))
            for k in range(3):
                if data.mask[around, k].all():
                    row = np.concatenate([rows[k], [h @ data.tau[around, k], h @ data.tau_raw[around, k]]])
                    totals[k] += np.outer(row, row)
                    counts[k] += 1
    np.testing.assert_array_equal(found.counts, counts)
    for R, total in zip(found.factors, totals, strict=True):
        np.testing.assert_allclose(R.T @ R, total, atol=1e-8 * np.abs(total).max())
    np.testing.assert_allclose(found.correlation, overlap(h, step))
    alone = compress_momentum(model, recordings[0], width=0.12, every=every)
    assert alone.counts.sum() < found.counts.sum() and len(alone.datasets) == 1


def test_a_long_recording_is_taken_in_parts(monkeypatch):
    model = Model("three_link", ("viscous",))
    t = 0.01 * np.arange(400)
    q = np.sin(np.outer(t, [1.0, 2.0, 3.0]))
    data = Dataset(t, q, np.cos(q), np.gradient(q, t, axis=0))
    whole = compress_momentum(model, data)
    monkeypatch.setattr("casid.regression._momentum._BLOCK", 64)
    parts = compress_momentum(model, data)
    np.testing.assert_array_equal(parts.counts, whole.counts)
    for one, other in zip(parts.factors, whole.factors, strict=True):
        np.testing.assert_allclose(one.T @ one, other.T @ other, atol=1e-9)


@pytest.mark.parametrize(("late", "refused"), [(0.9e-4, False), (1.2e-4, True)])
def test_steps_may_differ_by_a_hundredth(late, refused):
    model = Model("three_link", ("viscous",))
    assert model.base.rank == 18
    t = 0.01 * np.arange(200)
    q = np.sin(np.outer(t, [1.0, 2.0, 3.0]))
    t[50:] += late
    data = Dataset(t, q, np.cos(q), q)
    if refused:
        with pytest.raises(DatasetError, match=r"not uniform \(step 0.01012 s after sample 49"):
            compress_momentum(model, data)
    else:
        assert compress_momentum(model, data).counts.sum() > 0
    even = Dataset(0.01 * np.arange(200), q, q, q)
    assert compress_momentum(model, even, width=0.04, every=1).counts[0] == 196
    with pytest.raises(DatasetError, match="3 equations are too few for 18 base parameters"):
        compress_momentum(model, even, width=1.98)
    with pytest.raises(DatasetError, match="fewer than 5 samples; take a wider one"):
        compress_momentum(model, even, width=0.02)


@pytest.mark.parametrize("every", [3, 40])
def test_equations_count_by_how_far_their_functions_overlap(every):
    arm = Model("spatial_2r")
    data = recording(arm, np.ones(20), samples=300)
    made = compress_momentum(arm, data, width=0.2, every=every)
    half = round(0.2 / data.period / 2)
    h, _ = modulating_function(half, data.period)
    np.testing.assert_allclose(made.correlation, overlap(h, every))
    np.testing.assert_array_equal(made.counts, [-(-(300 - 2 * half) // every)] * 2)
