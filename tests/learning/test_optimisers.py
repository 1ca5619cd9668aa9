"""Optimisers decrease the loss and resume."""

from __future__ import annotations

import numpy as np
import pytest

from casid.errors import ProblemError
from casid.learning import (
    Adam,
    Chart,
    GaussNewton,
    train,
)


@pytest.mark.parametrize("optimiser", [Adam(batch=64), GaussNewton()], ids=lambda o: o.name)
def test_optimisers_decrease_the_loss_and_resume_bitwise(loss_of, model, data, optimiser, tmp_path):
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


def test_a_training_that_stalled_stays_where_it_is_when_resumed(loss_of, model, data, tmp_path):
    chart, loss = Chart(model, "symm"), loss_of(model, data, "symm")
    runs = [train(loss, chart, GaussNewton(steps=50), epochs=50, checkpoint=tmp_path / "state.npz") for _ in range(2)]
    assert "stalled" in runs[0].step.memory
    assert [e.number for e in runs[1].epochs] == [e.number for e in runs[0].epochs]


@pytest.mark.parametrize("redraw", [False, True])
def test_adam_redraws_its_batches_or_not(loss_of, model, data, redraw):
    chart, loss = Chart(model, "cov"), loss_of(model, data, "cov")
    run = train(loss, chart, Adam(batch=64, redraw=redraw), epochs=10, seed=3)
    assert run.epochs[-1].loss < 0.5 * run.epochs[0].loss
