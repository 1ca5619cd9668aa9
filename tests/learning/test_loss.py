"""Losses: of torques with their certified optimum, of accelerations, of rollouts; recordings that they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from casid.dynamics import Model
from casid.dynamics.terms import GEAR_FRICTION, Friction, JointFriction, friction_model
from casid.errors import DatasetError
from casid.inertia import to_standard
from casid.learning import (
    AccelerationLoss,
    Chart,
    GaussNewton,
    NaturalGradient,
    RolloutLoss,
    TorqueLoss,
    certified_limit,
    parametrisation,
    train,
)
from casid.measurement import Dataset, Processing
from tests.learning.conftest import differences, loss_of


def test_acceleration_loss_finds_what_torques_find(model, data):
    chart = Chart(model, "cov")
    loss = AccelerationLoss(model, data)
    pi = chart.parameters(chart.random(np.random.default_rng(1)))
    rows = np.arange(0, len(data), 5)
    value, slope = loss.gradient(pi, rows)
    places = [0, 5, 9, 10, 19, 20]
    expected = differences(lambda x: loss.gradient(x, rows)[0], pi, places)
    assert slope[places] == pytest.approx(expected, rel=1e-3, abs=1e-6 * abs(slope).max())
    torque = train(loss_of(model, data, "cov"), chart, NaturalGradient(), epochs=40, seed=1)
    run = train(loss, chart, NaturalGradient(), epochs=40, start=torque.step.theta)
    assert run.epochs[-1].loss <= run.epochs[0].loss
    assert value > run.epochs[-1].loss


@pytest.mark.parametrize("loss", [TorqueLoss, AccelerationLoss, RolloutLoss])
def test_masked_torques_are_not_trained_on(model, data, loss):
    with pytest.raises(DatasetError, match="masked"):
        loss(model, data.only([0]))


@pytest.mark.parametrize("loss", [AccelerationLoss, RolloutLoss])
def test_terms_that_need_more_than_the_motion_are_refused_by_what_simulates(model, data, loss):
    geared = Model(model.robot, (GEAR_FRICTION,))
    with pytest.raises(DatasetError, match="has no input 'signal'"):
        loss(geared, data)


def test_rollouts_of_the_truth_are_the_recording(model, truth, run):
    loss = RolloutLoss(model, run.dataset(), window=15)
    columns = [*np.ravel(model.link_columns), *sorted(model.term_columns)]
    assert loss.value(truth[columns]) < 1e-20
    assert loss.nmse(truth[columns]).max() < 1e-20


def test_gradient_through_the_simulation_against_finite_differences(model, run):
    chart, loss = Chart(model, "log-cholesky"), RolloutLoss(model, run.dataset(), window=10, stride=40)
    pi = chart.parameters(chart.random(np.random.default_rng(1)))
    rows = np.arange(loss.samples)
    value, slope = loss.gradient(pi, rows)
    r, J = loss.residual(pi)
    assert value == pytest.approx(loss.value(pi)) == pytest.approx(float(r @ r))
    assert np.allclose(2 * J.T @ r, slope, rtol=1e-9, atol=1e-12 * np.abs(slope).max())
    expected = differences(loss.value, pi, range(len(pi)))
    assert slope == pytest.approx(expected, rel=1e-4, abs=1e-7 * np.abs(slope).max())


def test_training_through_the_simulation_needs_no_accelerations(model, truth, run):
    data = run.dataset()
    assert data.ddq is None
    chart, loss = Chart(model, "log-cholesky"), RolloutLoss(model, data, window=10)
    other = to_standard(3.0, [-0.4, 0.0, 0.0], np.diag([0.05, 0.08, 0.08]))
    start = chart.inverse(np.tile(other, 2), [0.1, 0.1])
    found = train(loss, chart, NaturalGradient(), epochs=80, start=start, target=1e-10)
    assert found.reached is not None
    assert found.epochs[-1].inconsistent == 0
    full = np.zeros_like(truth)
    full[[*np.ravel(model.link_columns), *sorted(model.term_columns)]] = found.parameters
    q, dq, ddq = (np.random.default_rng(0).normal(size=(3, 2, 1)))[:, :, 0]
    torque = [np.asarray(model.inverse_dynamics(q, dq, ddq, pi)).ravel() for pi in (full, truth)]
    assert np.allclose(*torque, rtol=1e-3, atol=1e-3)


def test_bad_rollouts_are_refused(model, run):
    data = run.dataset()
    with pytest.raises(DatasetError, match="do not fit"):
        RolloutLoss(model, data, window=10_000)
    with pytest.raises(DatasetError, match="needs velocities"):
        RolloutLoss(model, Dataset(data.t, data.q, data.tau))
    with pytest.raises(DatasetError, match="'coulomb' stops motions"):
        RolloutLoss(Model(model.robot, ("coulomb",)), data)
    with pytest.raises(DatasetError, match="not finite any more"):
        RolloutLoss(model, data, window=100).residual(np.zeros(22))


def test_the_compressed_loss_is_the_mean_over_samples(model, data):
    chart, loss = Chart(model, "cov"), loss_of(model, data, "cov")
    pi = chart.parameters(chart.random(np.random.default_rng(2)))
    everything = loss.gradient(pi, np.arange(len(data)))[0]
    r, _ = loss.residual(pi)
    assert loss.value(pi) == pytest.approx(everything, rel=1e-10)
    assert float(r @ r) == pytest.approx(everything, rel=1e-10)
    assert loss.nmse(pi).mean() == pytest.approx(everything, rel=1e-10)


def test_batches_drawn_once_are_compressed_exactly(model, data):
    chart, loss = Chart(model, "tri"), loss_of(model, data, "tri")
    pi = chart.parameters(chart.random(np.random.default_rng(2)))
    for shuffle in (True, False):
        batches, slopes = loss.batches(96, shuffle), loss.slopes(96, shuffle)
        assert sorted(np.concatenate(batches)) == list(range(len(data)))
        for k, rows in enumerate(batches):
            expected = loss.gradient(pi, rows)[1]
            assert np.allclose(slopes(k, pi), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_friction_with_memory_is_learnt_at_the_states_of_the_recording(data):
    """The limit comes from `compress`, which follows the memory along the motion: the loss has to agree with it."""
    joints = (JointFriction(friction_model("dahl"), (0.05,)), JointFriction(friction_model("linear"), ()))
    model = Model("spatial_2r").with_friction(Friction(joints))
    chart, loss = Chart(model, "cov"), TorqueLoss(model, data)
    limit = certified_limit(loss, chart.links)
    assert loss.value(limit.parameters) == pytest.approx(limit.value, rel=1e-6)
    run = train(loss, chart, GaussNewton(steps=5), epochs=60, limit=limit, tolerance=1e-4)
    assert run.gap < 1e-2


def test_asymmetric_inertia_enters_the_torque_as_newton_and_euler_say(model, data):
    """Sum over links of J_w' (I dw + w x I w) with a matrix I that is not symmetric, by finite differences of R."""
    chart, loss = Chart(model, "nostr"), loss_of(model, data, "nostr")
    rng = np.random.default_rng(3)
    theta = chart.random(rng)
    base = theta.copy()
    base[4:13] = chart.links.coordinates(chart.links.parameters(theta[:13])[:10])[4:]  # symmetrised
    delta = np.concatenate([Y for _, Y in loss._blocks()]) @ (chart.parameters(theta) - chart.parameters(base))
    A = (theta[4:13].reshape(3, 3) - theta[4:13].reshape(3, 3).T) / 2
    k = 11
    jacobian = model.frame_jacobian(model.robot.links[0].name)
    fk = model.frame_placement(model.robot.links[0].name)

    def omega(q, dq):
        return np.asarray(jacobian(q) @ dq).ravel()[3:6] if jacobian.size1_out(0) == 6 else None

    q, dq, ddq = data.q[k], data.dq[k], data.ddq[k]
    h = 1e-6
    w = omega(q, dq)
    dw = (omega(q + h * dq, dq + h * ddq) - omega(q - h * dq, dq - h * ddq)) / (2 * h)
    R = np.asarray(fk(q))[:3, :3]
    wl, dwl = R.T @ w, R.T @ dw
    moment = R @ (A @ dwl + np.cross(wl, A @ wl))
    expected = np.asarray(jacobian(q)).T[:, 3:6] @ moment
    assert np.allclose(delta[k], expected, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "optimiser"),
    [("spd", GaussNewton())]
    + [(name, o) for name in ("tri", "cov", "log-cholesky", "spectral") for o in (NaturalGradient(), GaussNewton())],
    ids=str,
)
def test_physical_rungs_reach_their_certified_limit(model, data, name, optimiser):
    chart, loss = Chart(model, name), loss_of(model, data, name)
    limit = certified_limit(loss, chart.links)
    own = limit.gap(limit.value)
    assert own < 1e-5
    run = train(loss, chart, optimiser, epochs=300, limit=limit, tolerance=own + 5e-6, seed=1)
    assert run.gap <= own + 5e-6
    assert loss.value(run.parameters) >= limit.lower_bound * (1 - 1e-9)


def test_a_target_that_cannot_be_reached_names_the_limit(model, data):
    chart, loss = Chart(model, "cov"), loss_of(model, data, "cov")
    limit = certified_limit(loss, chart.links)
    run = train(loss, chart, GaussNewton(), epochs=400, target=limit.lower_bound / 10, limit=limit, seed=1)
    assert run.reached is None and run.epochs[-1].number < 400 and run.gap <= limit.gap(limit.value) + 5e-6
    assert f"certified limit of the loss {limit.lower_bound:.6g}" in run.verdict()
    assert "no parameters of this kind reach the target" in run.verdict()


@pytest.mark.claim("the certified limit is that of the loss, whatever filter the recording's columns ask for")
def test_the_limit_of_a_filtered_recording_is_that_of_its_loss(model, data):
    ready = Processing(cutoff=3.0, rate=None, trim=0.0, every=1).apply(Dataset(data.t, data.q, data.tau))
    assert ready.full is not None
    loss = TorqueLoss(model, ready)
    limit = certified_limit(loss, parametrisation("cov"))
    assert limit.value == pytest.approx(loss.value(limit.parameters), rel=1e-9)
