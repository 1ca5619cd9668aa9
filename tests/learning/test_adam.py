"""Adam on mini-batches."""

from __future__ import annotations

import pytest

from casid.learning import (
    Adam,
    Chart,
    train,
)


@pytest.mark.parametrize("redraw", [False, True])
def test_adam_redraws_its_batches_or_not(loss_of, model, data, redraw):
    chart, loss = Chart(model, "cov"), loss_of(model, data, "cov")
    run = train(loss, chart, Adam(batch=64, redraw=redraw), epochs=10, seed=3)
    assert run.epochs[-1].loss < 0.5 * run.epochs[0].loss
