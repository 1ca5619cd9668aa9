from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.measurement import Dataset
from casid.regression import compress, essential, fit_friction, wls
from casid.regression._fit import irls, joint_weights, ols, predicted_torques, residual_torques, unexcited_reasons
from casid.regression.friction._shape_fits import fit_jointly
from casid.testing.synthetic import recording
from problems.spatial_2r import true_parameters

FRICTION = ("viscous", "coulomb", "offset")


@pytest.fixture(scope="module")
def robot():
    return casid.load_robot("panda")


@pytest.fixture(scope="module")
def model(robot):
    return Model(robot, FRICTION)


@pytest.fixture(scope="module")
def truth(model):
    return model.parameters(model.robot.standard_parameters(), np.tile([0.4, 0.3, -0.1], 7))


@pytest.fixture(scope="module")
def noisy(model, truth):
    return recording(model, truth, samples=2500, noise=0.05)


def stacked(model, data):
    """The plain stacked system, sample by sample."""
    W = np.vstack([model.base_regressor(*row).full() for row in zip(data.q, data.dq, data.ddq, strict=True)])
    return W, data.tau.ravel()


def test_exact_data_give_the_exact_base_parameters(model, truth):
    data = compress(model, recording(model, truth))
    for fit in (ols(data), wls(data, weights=np.linspace(1, 3, 7))):
        np.testing.assert_allclose(fit.beta, model.base.values(truth), atol=1e-10)
        assert fit.rank == model.base.rank and fit.unexcited == ()
        assert fit.relative_error < 1e-10


def test_compression_equals_least_squares_of_all_rows(model, truth):
    data = recording(model, truth, samples=200, noise=0.3)
    compressed = compress(model, data)
    W, tau = stacked(model, data)
    w = np.linspace(1.0, 2.0, 7)
    rows = np.tile(w, len(data))
    beta = np.linalg.lstsq(W * rows[:, None], tau * rows, rcond=None)[0]
    fit = wls(compressed, weights=w)
    np.testing.assert_allclose(fit.beta, beta, atol=1e-9)
    residual = (tau - W @ beta).reshape(-1, 7)
    np.testing.assert_allclose(fit.rms, np.sqrt((residual**2).mean(axis=0)), rtol=1e-9)
    assert fit.relative_error == pytest.approx(100 * np.linalg.norm(residual) / np.linalg.norm(tau), rel=1e-9)
    assert fit.objective == pytest.approx(np.sum((residual * w) ** 2), rel=1e-9)
    assert fit.condition_number == pytest.approx(np.linalg.cond(W * rows[:, None]), rel=1e-6)
    covariance = (
        np.sum((residual * w) ** 2)
        / (len(tau) - W.shape[1])
        * np.linalg.inv((W * rows[:, None]).T @ (W * rows[:, None]))
    )
    np.testing.assert_allclose(fit.sd, np.sqrt(np.diag(covariance)), rtol=1e-6)
    np.testing.assert_allclose(np.diag(fit.correlation), 1.0)
    np.testing.assert_allclose(residual_torques(fit, data), residual, atol=1e-9)
    np.testing.assert_allclose(predicted_torques(compressed, beta, data), data.tau - residual, atol=1e-9)


def test_parts_and_wholes_compress_to_the_same(model, noisy):
    whole = compress(model, noisy)
    parts = compress(model, (noisy.rows(slice(k, k + 700), "") for k in range(0, len(noisy), 700)))
    np.testing.assert_allclose(ols(parts).beta, ols(whole).beta, atol=1e-10)
    np.testing.assert_array_equal(parts.counts, whole.counts)


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


def test_masked_joints_do_not_count(model, truth, noisy):
    tau = np.array(noisy.tau)
    tau[:, 6] += 100.0
    data = compress(model, replace(noisy, tau=tau).only(range(6)))
    assert data.counts.tolist() == [2500] * 6 + [0]
    fit = ols(data)
    known = [k for k, name in enumerate(model.base.names) if name[-1] != "7"]
    shift = (fit.beta - model.base.values(truth))[known]
    assert np.abs(shift).max() < 0.1


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


def test_friction_of_one_joint():
    v = np.linspace(-2, 2, 401)
    sigmoid = 0.6 / (1 + np.exp(-7 * (v + 0.1))) - 0.6 / (1 + np.exp(-0.7))
    fit = fit_friction(v, sigmoid, "sigmoid")
    np.testing.assert_allclose([*fit.amplitudes, *fit.shape], [0.6, 7.0, 0.1], rtol=1e-5)
    np.testing.assert_allclose(fit(v), sigmoid, atol=1e-8)
    stribeck = 0.4 * v + (1.0 + 0.5 * np.exp(-((v / 0.3) ** 2))) * np.tanh(v / 0.05) - 0.2
    fit = fit_friction(v, stribeck, "stribeck")
    np.testing.assert_allclose([*fit.amplitudes, *fit.shape], [0.4, 1.0, 0.5, -0.2, 0.05, 0.3], rtol=1e-3)
    smooth = fit_friction(v, stribeck, "smooth")
    assert smooth.rms > fit.rms and smooth.relative_error == pytest.approx(
        100 * smooth.rms / np.sqrt(np.mean(stribeck**2))
    )
    with pytest.raises(DatasetError, match="unknown friction model 'brush'; known: linear, deadband, smooth, "):
        fit_friction(v, stribeck, "brush")
    with pytest.raises(DatasetError, match="friction 'dahl' depends on more than the velocity"):
        fit_friction(v, stribeck, "dahl")
    with pytest.raises(DatasetError, match="do not determine friction"):
        fit_friction(np.zeros(50), np.zeros(50))


def test_friction_and_inertia_together_recover_the_truth():
    robot = casid.load_robot("spatial_2r")
    plain = Model(robot)
    data = recording(plain, true_parameters(), samples=500)
    tau = np.array(data.tau)
    for k, (fv, fc, fs, w, vs) in enumerate([(0.5, 2.0, 1.0, 0.05, 0.3), (0.2, 1.0, 0.6, 0.04, 0.2)]):
        v = data.dq[:, k]
        tau[:, k] += fv * v + (fc + fs * np.exp(-((v / vs) ** 2))) * np.tanh(v / w)
    found = fit_jointly(plain, replace(data, tau=tau), "stribeck")
    np.testing.assert_allclose(found.shapes, [[0.05, 0.3], [0.04, 0.2]], rtol=1e-3)
    assert found.fit.relative_error < 1e-4
    base = found.fit.data.base
    assert found.fit.beta[base.row("fc1")] == pytest.approx(2.0, rel=1e-3)
