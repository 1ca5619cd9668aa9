"""Training: coordinates and their gradients, held ones, starts, optimisers, checkpoints, the certified limit."""

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
    parametrisation,
    train,
)
from casid.measurement import Dataset
from tests.learning.conftest import differences, loss_of

NAMES = ("nostr", "symm", "spd", "tri", "cov", "log-cholesky", "spectral")


@pytest.mark.parametrize("name", NAMES)
def test_gradients_against_finite_differences(model, data, name):
    chart, loss = Chart(model, name), loss_of(model, data, name)
    theta = chart.random(np.random.default_rng(1))
    rows = np.arange(0, len(data), 7)
    slope = chart.pullback(theta, loss.gradient(chart.parameters(theta), rows)[1])
    expected = differences(lambda x: loss.gradient(chart.parameters(x), rows)[0], theta, range(chart.size))
    assert slope == pytest.approx(expected, rel=1e-4, abs=1e-6 * (1 + abs(slope).max()))


@pytest.mark.parametrize("optimiser", [Adam(batch=64), GaussNewton(), NaturalGradient()], ids=lambda o: o.name)
def test_held_coordinates_stay_and_the_others_learn(model, data, optimiser):
    chart, loss = Chart(model, "cov", held=(1, 2, 3)), loss_of(model, data, "cov")
    start = chart.random(np.random.default_rng(5))
    held = np.concatenate([np.arange(k * 10 + 1, k * 10 + 4) for k in range(chart.n)])
    run = train(loss, chart, optimiser, epochs=10, start=start)
    assert np.array_equal(run.step.theta[held], start[held])
    assert run.epochs[-1].loss < 0.9 * run.epochs[0].loss


@pytest.mark.parametrize("name", NAMES)
def test_every_parametrisation_starts_where_it_says(model, data, name):
    chart, loss = Chart(model, name), loss_of(model, data, name)
    theta = chart.draw(np.random.default_rng(4))
    assert theta.shape == (chart.size,) and np.array_equal(theta, chart.draw(np.random.default_rng(4)))
    run = train(loss, chart, Adam(rate=3e-2, batch=32), epochs=30, start=theta)
    assert run.epochs[-1].loss < 0.2 * run.epochs[0].loss
    if chart.links.triangle:
        assert run.epochs[-1].inconsistent == 0


def test_a_checkpoint_of_other_data_start_or_held_coordinates_is_refused(model, data, tmp_path):
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


def test_the_limit_bounds_every_parametrisation_from_below(model, data):
    for name in NAMES:
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


@pytest.mark.parametrize("optimiser", [Adam(batch=64), GaussNewton()], ids=lambda o: o.name)
def test_optimisers_decrease_the_loss_and_resume_bitwise(model, data, optimiser, tmp_path):
    chart, loss = Chart(model, "cov"), loss_of(model, data, "cov")
    whole = train(loss, chart, optimiser, epochs=8, seed=3)
    assert whole.epochs[-1].loss < 0.5 * whole.epochs[0].loss
    file = tmp_path / "state.npz"
    train(loss, chart, optimiser, epochs=3, seed=3, checkpoint=file)
    resumed = train(loss, chart, optimiser, epochs=8, seed=3, checkpoint=file)
    assert np.array_equal(resumed.step.theta, whole.step.theta)
    assert [e.loss for e in resumed.epochs] == [e.loss for e in whole.epochs]
    with pytest.raises(ProblemError, match="belongs to another training"):
        train(loss, chart, optimiser, epochs=8, seed=4, checkpoint=file)
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(ProblemError, match="training checkpoint"):
        train(loss, chart, optimiser, epochs=8, seed=3, checkpoint=file)


def test_a_training_that_stalled_stays_where_it_is_when_resumed(model, data, tmp_path):
    chart, loss = Chart(model, "symm"), loss_of(model, data, "symm")
    runs = [train(loss, chart, GaussNewton(steps=50), epochs=50, checkpoint=tmp_path / "state.npz") for _ in range(2)]
    assert "stalled" in runs[0].step.memory
    assert [e.number for e in runs[1].epochs] == [e.number for e in runs[0].epochs]


def test_bad_input(model, data):
    chart = Chart(model, "cov")
    loss = loss_of(model, data, "cov")
    with pytest.raises(DatasetError, match="no velocities"):
        TorqueLoss(model, Dataset(data.t, data.q, data.tau))
    for field in ("q", "tau", "ddq"):
        broken = {name: np.array(getattr(data, name)) for name in ("t", "q", "tau", "dq", "ddq")}
        broken[field][7, 1] = np.nan
        with pytest.raises(DatasetError):
            TorqueLoss(model, Dataset(**broken))
    with pytest.raises(DatasetError, match="start: entry 0 is not a finite number"):
        train(loss, chart, Adam(), start=np.full(22, np.nan))
    with pytest.raises(DatasetError, match="link 'link1'"):
        chart.inverse(np.full(20, -1.0), [0.1, 0.1])
    with pytest.raises(DatasetError, match="diverged in epoch 1"):
        train(loss, chart, Adam(rate=1e200), epochs=2)


@pytest.mark.claim("a function of a user that returns another shape is refused where it is taken")
@pytest.mark.parametrize("what", ["value", "gradient", "residual"])
@pytest.mark.parametrize("size", [0, 1, 3, 700])
def test_shapes_of_a_loss_are_checked(what, size, model, data):
    class Own(TorqueLoss):
        def value(self, pi):
            return np.ones(size) if what == "value" else super().value(pi)

        def gradient(self, pi, rows):
            return (1.0, np.ones(size)) if what == "gradient" else super().gradient(pi, rows)

        def residual(self, pi):
            return (np.ones(3), np.ones((3, size))) if what == "residual" else super().residual(pi)

    with pytest.raises(DatasetError, match=rf"'Own': .*`{what}`: expected .*, got shape .*\b{size}\b"):
        train(Own(model, data), Chart(model, "cov"), GaussNewton(), epochs=1)


@pytest.mark.claim("a function of a user that returns another shape is refused where it is taken")
def test_shapes_of_a_parametrisation_are_checked(model):
    own = type("Own", (type(parametrisation("symm")),), {"expression": lambda self, theta: theta[:3]})
    with pytest.raises(DatasetError, match=r"'symm': `expression`: expected shape \(10, 1\), got \(3, 1\)"):
        Chart(model, own()).parameters(np.zeros(20))
