"""The momentum form: the same parameters without accelerations, unbiased friction, clear refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.measurement import Dataset
from casid.regression import compress, compress_momentum, ols, wls


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


def test_the_parameters_come_back_without_accelerations(case):
    model, pi, data, _ = case
    fit = ols(compress_momentum(model, data, width=0.1))
    truth = model.base.values(pi)
    error = np.abs(fit.beta - truth)[list(fit.excited.independent)]
    assert error.max() <= 2e-3 * np.abs(truth).max()
    assert fit.relative_error < 0.2


def test_noise_in_velocity_harms_it_less_than_differentiated_accelerations(case):
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


def test_recordings_compress_as_their_parts(monkeypatch):
    """Two recordings, one without some torques, in blocks of any size: their equations one after the other."""
    model = Model("three_link", ("viscous", "rotor"))
    t = 0.01 * np.arange(400)
    q = np.sin(np.outer(t, [1.0, 2.0, 3.0]))
    data = Dataset(t, q, np.cos(q), np.gradient(q, t, axis=0))
    masked = replace(data, mask=np.random.default_rng(0).random(q.shape) > 0.02)
    parts = [compress_momentum(model, one, every=7) for one in (data, masked)]
    monkeypatch.setattr("casid.regression._momentum._BLOCK", 64)
    both = compress_momentum(model, [data, masked], every=7)
    np.testing.assert_array_equal(both.counts, sum(part.counts for part in parts))
    for k, R in enumerate(both.factors):
        squares = sum(part.factors[k].T @ part.factors[k] for part in parts)
        np.testing.assert_allclose(R.T @ R, squares, atol=1e-9 * np.abs(squares).max())
