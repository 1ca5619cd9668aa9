"""The inverse-dynamics loss and its certified optimum."""

from __future__ import annotations

import numpy as np
import pytest

from casid.dynamics import Model
from casid.dynamics.terms import Friction, JointFriction, friction_model
from casid.learning import (
    Chart,
    GaussNewton,
    NaturalGradient,
    TorqueLoss,
    certified_limit,
    train,
)
from casid.learning._parametrisations import PARAMETRISATIONS
from casid.measurement import Dataset, Processing


def test_the_compressed_loss_is_the_mean_over_samples(loss_of, model, data):
    chart, loss = Chart(model, "cov"), loss_of(model, data, "cov")
    pi = chart.parameters(chart.random(np.random.default_rng(2)))
    everything = loss.gradient(pi, np.arange(len(data)))[0]
    r, _ = loss.residual(pi)
    assert loss.value(pi) == pytest.approx(everything, rel=1e-10)
    assert float(r @ r) == pytest.approx(everything, rel=1e-10)
    assert loss.nmse(pi).mean() == pytest.approx(everything, rel=1e-10)


def test_batches_drawn_once_are_compressed_exactly(loss_of, model, data):
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


def test_asymmetric_inertia_enters_the_torque_as_newton_and_euler_say(loss_of, model, data):
    """Sum over links of J_w' (I dw + w x I w) with a matrix I that is not symmetric, by finite differences of R."""
    chart, loss = Chart(model, "nostr"), loss_of(model, data, "nostr")
    rng = np.random.default_rng(3)
    theta = chart.random(rng)
    base = theta.copy()
    base[4:13] = chart.links.coordinates(chart.links.parameters(theta[:13])[:10])[4:]  # symmetrised
    delta = loss._Y @ (chart.parameters(theta) - chart.parameters(base))
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
