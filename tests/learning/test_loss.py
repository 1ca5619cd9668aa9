"""The forward-dynamics loss, and recordings that losses refuse."""

from __future__ import annotations

import numpy as np
import pytest

from casid.dynamics import Model
from casid.dynamics.terms._joint_terms import GEAR_FRICTION
from casid.errors import DatasetError
from casid.learning import (
    AccelerationLoss,
    Chart,
    NaturalGradient,
    RolloutLoss,
    TorqueLoss,
    train,
)


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
