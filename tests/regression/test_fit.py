"""Least squares of base parameters, their statistics, and what the data leave undetermined."""

from dataclasses import replace

import numpy as np
import pytest

from casid.dynamics import Model
from casid.errors import DatasetError
from casid.measurement import Dataset
from casid.regression import compress, essential, wls
from casid.regression._fit import irls, joint_weights, ols, unexcited_reasons
from casid.testing._synthetic import recording

FRICTION = ("viscous", "coulomb", "offset")


def test_exact_data_give_the_exact_base_parameters(model, truth):
    data = compress(model, recording(model, truth))
    for fit in (ols(data), wls(data, weights=np.linspace(1, 3, 7))):
        np.testing.assert_allclose(fit.beta, model.base.values(truth), atol=1e-10)
        assert fit.rank == model.base.rank and fit.unexcited == ()
        assert fit.relative_error < 1e-10


def test_confidence_covers_the_truth(model, truth, noisy):
    fit = wls(compress(model, noisy))
    shift = (fit.beta - model.base.values(truth)) / fit.sd
    assert 0.7 < np.sqrt(np.mean(shift**2)) < 1.3
    np.testing.assert_allclose(fit.rms, 0.05, rtol=0.1)


def test_weights_are_inverse_errors_and_dead_channels_have_none(model, truth, noisy):
    data = compress(model, noisy)
    np.testing.assert_allclose(joint_weights(data, ols(data).beta), 1 / ols(data).rms)
    tau = np.array(noisy.tau)
    tau[:, 0] = 0.0
    quiet = model.parameters(np.zeros(70))
    with pytest.raises(DatasetError, match="dead channel"):
        joint_weights(compress(model, replace(noisy, tau=tau)), model.base.values(quiet))


def test_robust_fit_shrugs_off_outliers(model, truth, noisy):
    rng = np.random.default_rng(5)
    tau = np.array(noisy.tau)
    hit = rng.random(tau.shape) < 0.03
    tau[hit] += rng.choice([-20.0, 20.0], hit.sum())
    data = replace(noisy, tau=tau)
    plain = wls(compress(model, data))
    robust = irls(data, plain)
    exact = model.base.values(truth)
    assert np.linalg.norm(robust.beta - exact) < 0.15 * np.linalg.norm(plain.beta - exact)
    assert robust.method == "IRLS"


def test_unexciting_motion_names_what_it_leaves_open(model, truth):
    data = recording(model, truth)
    q, dq, ddq = (np.array(x) for x in (data.q, data.dq, data.ddq))
    for x in (dq, ddq):
        x[:, 1:] = 0.0
    q[:, 1:] = 0.5
    still = Dataset(data.t, q, data.tau, dq, ddq)
    fit = ols(compress(model, still))
    assert fit.rank < model.base.rank
    reasons = dict(zip(fit.unexcited, unexcited_reasons(fit), strict=True))
    assert "has no effect in this motion" in reasons["fv5"]
    assert "acts as" in next(r for r in reasons.values() if "acts as" in r)
    assert np.isinf(fit.sd[model.base.row("fv5")])
    assert fit.beta[model.base.row("fv5")] == 0.0


def test_essential_parameters_drop_the_uncertain(model, noisy):
    fit = wls(compress(model, noisy))
    small, dropped = essential(fit)
    assert dropped and small.rank == fit.rank - len(dropped)
    assert fit.objective <= small.objective <= 1.0405 * fit.objective
    assert all(small.beta[model.base.row(name)] == 0.0 for name in dropped)


def test_errors_say_what_is_missing(model, truth):
    data = recording(model, truth)
    with pytest.raises(DatasetError, match="no velocities or accelerations"):
        compress(model, Dataset(data.t, data.q, data.tau))
    with pytest.raises(DatasetError, match="has 6 joints, the model has 7"):
        compress(model, Dataset(data.t, *(x[:, :6] for x in (data.q, data.tau, data.dq, data.ddq))))
    with pytest.raises(DatasetError, match="no torque sample is left"):
        compress(model, [])
    with pytest.raises(DatasetError, match="weights: expected 7"):
        wls(compress(model, data), weights=[1.0, -1.0])


def test_a_drive_gain_is_found_from_joints_with_known_gains(robot):
    plain = Model(robot, ("viscous",))
    data = recording(plain, plain.parameters(robot.standard_parameters(), np.full(7, 0.5)))
    tau = np.array(data.tau)
    tau[:, 1] /= 1.25  # true torque = 1.25 signal
    fit = ols(compress(Model(robot, ("viscous", "drive_gain@joint2")), replace(data, tau=tau)))
    assert fit.beta[fit.data.base.row("kg2")] == pytest.approx(0.25, abs=1e-8)


# ---------------------------------------------------------------------- friction
