"""Coordinates of parametrisations: gradients, held ones, starts."""

from __future__ import annotations

import numpy as np
import pytest

from casid.errors import DatasetError, ProblemError
from casid.learning import (
    AccelerationLoss,
    Adam,
    Chart,
    GaussNewton,
    NaturalGradient,
    TorqueLoss,
    certified_limit,
    train,
)
from casid.learning._parametrisations import PARAMETRISATIONS
from casid.measurement import Dataset


@pytest.mark.parametrize("name", list(PARAMETRISATIONS))
def test_gradients_against_finite_differences(loss_of, model, data, name):
    chart, loss = Chart(model, name), loss_of(model, data, name)
    theta = chart.random(np.random.default_rng(1))
    rows = np.arange(0, len(data), 7)
    slope = chart.pullback(theta, loss.gradient(chart.parameters(theta), rows)[1])
    h = 1e-6
    for i in range(chart.size):
        step = np.eye(chart.size)[i] * h
        up = loss.gradient(chart.parameters(theta + step), rows)[0]
        down = loss.gradient(chart.parameters(theta - step), rows)[0]
        assert slope[i] == pytest.approx((up - down) / (2 * h), rel=1e-4, abs=1e-6 * (1 + abs(slope).max()))


@pytest.mark.parametrize("optimiser", [Adam(batch=64), GaussNewton(), NaturalGradient()], ids=lambda o: o.name)
def test_held_coordinates_stay_and_the_others_learn(loss_of, model, data, optimiser):
    chart, loss = Chart(model, "cov", held=(1, 2, 3)), loss_of(model, data, "cov")
    start = chart.random(np.random.default_rng(5))
    held = np.concatenate([np.arange(k * 10 + 1, k * 10 + 4) for k in range(chart.n)])
    run = train(loss, chart, optimiser, epochs=10, start=start)
    assert np.array_equal(run.step.theta[held], start[held])
    assert run.epochs[-1].loss < 0.9 * run.epochs[0].loss


@pytest.mark.parametrize("name", list(PARAMETRISATIONS))
def test_every_parametrisation_starts_where_it_says(loss_of, model, data, name):
    chart, loss = Chart(model, name), loss_of(model, data, name)
    theta = chart.draw(np.random.default_rng(4))
    assert theta.shape == (chart.size,) and np.array_equal(theta, chart.draw(np.random.default_rng(4)))
    run = train(loss, chart, Adam(rate=3e-2, batch=32), epochs=30, start=theta)
    assert run.epochs[-1].loss < 0.2 * run.epochs[0].loss
    if chart.links.triangle:
        assert run.epochs[-1].inconsistent == 0


def test_a_checkpoint_of_other_data_start_or_held_coordinates_is_refused(loss_of, model, data, tmp_path):
    chart, loss, file = Chart(model, "cov"), loss_of(model, data, "cov"), tmp_path / "state.npz"
    train(loss, chart, GaussNewton(), epochs=2, checkpoint=file)
    other = TorqueLoss(model, Dataset(data.t, data.q, 1.01 * data.tau, data.dq, data.ddq), scale=loss.scale)
    held, start = Chart(model, "cov", held=(1,)), chart.random(np.random.default_rng(7))
    for again in (
        (other, chart, None),
        (loss, held, None),
        (loss, chart, start),
        (AccelerationLoss(model, data), chart, None),
    ):
        with pytest.raises(ProblemError, match="belongs to another training"):
            train(*again[:2], GaussNewton(), epochs=4, start=again[2], checkpoint=file)
    assert train(loss, chart, GaussNewton(), epochs=4, checkpoint=file).epochs[-1].number == 4


def test_the_limit_bounds_every_parametrisation_from_below(loss_of, model, data):
    for name in PARAMETRISATIONS:
        chart, loss = Chart(model, name), loss_of(model, data, name)
        limit = certified_limit(loss, chart.links)
        rng = np.random.default_rng(5)
        for _ in range(20):
            assert loss.value(chart.parameters(chart.random(rng))) >= limit.lower_bound
        run = train(loss, chart, GaussNewton(steps=30), epochs=10, seed=5)
        assert run.epochs[-1].loss >= limit.lower_bound * (1 - 1e-9)


def test_held_coordinates_that_are_none_are_refused(model):
    with pytest.raises(DatasetError, match="'cov' has coordinates 0 to 9"):
        Chart(model, "cov", held=(1, 10))
