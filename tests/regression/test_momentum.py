"""The momentum form: the same parameters without accelerations, unbiased friction, clear refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.codegen import evaluate_batch
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.measurement import Dataset
from casid.regression import compress_momentum, wls
from casid.regression._fit import ols
from casid.regression._momentum import momentum_regressor


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
    tau = np.asarray(evaluate_batch(model.inverse_dynamics, q, dq, ddq, pi))[..., 0]
    return model, pi, Dataset(t, q, tau, dq), ddq


def test_momentum_and_newton_euler_agree(case):
    """``d/dt (Y_p beta) - Y_E beta`` by differences along the motion equals the torque, away from sign changes."""
    model, pi, data, _ = case
    beta = model.base.values(pi)
    Yp, YE = (np.asarray(v) for v in evaluate_batch(momentum_regressor(model), data.q, data.dq))
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
