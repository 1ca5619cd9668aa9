"""The forward-dynamics loss, and recordings that losses refuse."""

from __future__ import annotations

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.dynamics.terms import GEAR_FRICTION
from casid.errors import DatasetError
from casid.learning import (
    AccelerationLoss,
    Chart,
    NaturalGradient,
    RolloutLoss,
    TorqueLoss,
    train,
)
from casid.measurement import Dataset


def test_acceleration_loss_finds_what_torques_find(loss_of, model, data):
    chart = Chart(model, "cov")
    loss = AccelerationLoss(model, data)
    pi = chart.parameters(chart.random(np.random.default_rng(1)))
    rows = np.arange(0, len(data), 5)
    value, slope = loss.gradient(pi, rows)
    for i in (0, 5, 9, 10, 19, 20):
        step = np.zeros_like(pi)
        step[i] = 1e-6 * max(1.0, abs(pi[i]))
        up, down = loss.gradient(pi + step, rows)[0], loss.gradient(pi - step, rows)[0]
        assert slope[i] == pytest.approx((up - down) / (2 * step[i]), rel=1e-3, abs=1e-6 * abs(slope).max())
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


LINK = casid.inertia.to_standard(2.0, [-0.5, 0.02, 0.1], np.diag([0.01, 0.05, 0.05]))


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
    for i in range(len(pi)):
        step = np.zeros_like(pi)
        step[i] = 1e-6 * max(1.0, abs(pi[i]))
        difference = (loss.value(pi + step) - loss.value(pi - step)) / (2 * step[i])
        assert slope[i] == pytest.approx(difference, rel=1e-4, abs=1e-7 * np.abs(slope).max())


def test_training_through_the_simulation_needs_no_accelerations(model, truth, run):
    data = run.dataset()
    assert data.ddq is None
    chart, loss = Chart(model, "log-cholesky"), RolloutLoss(model, data, window=10)
    other = casid.inertia.to_standard(3.0, [-0.4, 0.0, 0.0], np.diag([0.05, 0.08, 0.08]))
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
