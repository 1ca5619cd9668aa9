"""The certified limit of a loss."""

from __future__ import annotations

import pytest

from casid.inertia.parametrisations._maps import PARAMETRISATIONS
from casid.learning import (
    Chart,
    GaussNewton,
    NaturalGradient,
    TorqueLoss,
    certified_limit,
    train,
)
from casid.measurement import Dataset, Processing


@pytest.mark.parametrize(
    ("name", "optimiser"),
    [("spd", GaussNewton())]
    + [(name, o) for name in ("tri", "cov", "log-cholesky", "spectral") for o in (NaturalGradient(), GaussNewton())],
    ids=str,
)
def test_physical_rungs_reach_their_certified_limit(loss_of, model, data, name, optimiser):
    chart, loss = Chart(model, name), loss_of(model, data, name)
    limit = certified_limit(loss, chart.links)
    own = limit.gap(limit.value)
    assert own < 1e-5
    run = train(loss, chart, optimiser, epochs=300, limit=limit, tolerance=own + 5e-6, seed=1)
    assert run.gap <= own + 5e-6
    assert loss.value(run.parameters) >= limit.lower_bound * (1 - 1e-9)


def test_a_target_that_cannot_be_reached_names_the_limit(loss_of, model, data):
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
    limit = certified_limit(loss, PARAMETRISATIONS["cov"])
    assert limit.value == pytest.approx(loss.value(limit.parameters), rel=1e-9)
