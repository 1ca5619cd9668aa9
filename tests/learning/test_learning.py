"""Gradient training: gradients are right, rungs reach the certified limit, runs resume, faults are said."""

from __future__ import annotations

import numpy as np
import pytest

import casid
from casid.codegen import evaluate_batch
from casid.dynamics import Model
from casid.dynamics.terms._catalogue import friction_model
from casid.dynamics.terms._friction import Friction, JointFriction
from casid.errors import DatasetError, ProblemError
from casid.identification.online import GEAR_FRICTION
from casid.inertia.parametrisations._maps import PARAMETRISATIONS
from casid.learning import (
    LBFGS,
    AccelerationLoss,
    Adam,
    Chart,
    GaussNewton,
    NaturalGradient,
    RolloutLoss,
    TorqueLoss,
    certified_limit,
    train,
)
from casid.learning.compiled_adam import CompiledAdam
from casid.learning.optimiser import value_and_gradient
from casid.measurement import Dataset, Processing


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(casid.load_robot("spatial_2r"), ("viscous",))


@pytest.fixture(scope="module")
def data(model) -> Dataset:
    rng = np.random.default_rng(0)
    t = np.arange(0, 10, 0.02)
    w, a = np.array([1.3, 2.1]), np.array([0.8, 0.6])
    q, dq, ddq = a * np.sin(np.outer(t, w)), a * w * np.cos(np.outer(t, w)), -a * w**2 * np.sin(np.outer(t, w))
    bodies = [casid.inertia.to_standard(2.0, [-0.5, 0.02, 0.1], np.diag([0.01, 0.05, 0.05]))] * 2
    pi = model.parameters(np.concatenate(bodies), [0.3, 0.2])
    tau = np.asarray(evaluate_batch(model.inverse_dynamics, q, dq, ddq, pi))[..., 0]
    return Dataset(t, q, tau + 0.05 * rng.normal(size=tau.shape), dq, ddq)


def loss_of(model, data, name):
    return TorqueLoss(model, data, symmetric=PARAMETRISATIONS[name].symmetric)


@pytest.mark.parametrize("name", list(PARAMETRISATIONS))
def test_gradients_against_finite_differences(model, data, name):
    chart, loss = Chart(model, name), loss_of(model, data, name)
    theta = chart.random(np.random.default_rng(1))
    rows = np.arange(0, len(data), 7)
    _, slope = value_and_gradient(loss, chart, theta, rows)
    h = 1e-6
    for i in range(chart.size):
        step = np.eye(chart.size)[i] * h
        up = loss.gradient(chart.parameters(theta + step), rows)[0]
        down = loss.gradient(chart.parameters(theta - step), rows)[0]
        assert slope[i] == pytest.approx((up - down) / (2 * h), rel=1e-4, abs=1e-6 * (1 + abs(slope).max()))


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


@pytest.mark.parametrize("redraw", [False, True])
def test_adam_redraws_its_batches_or_not(model, data, redraw):
    chart, loss = Chart(model, "cov"), loss_of(model, data, "cov")
    run = train(loss, chart, Adam(batch=64, redraw=redraw), epochs=10, seed=3)
    assert run.epochs[-1].loss < 0.5 * run.epochs[0].loss


@pytest.mark.parametrize("shuffle", [True, False])
def test_adam_in_c_takes_the_steps_of_adam_in_python(model, data, monkeypatch, shuffle):
    """A few epochs: rounding grows with the steps."""
    chart, loss = Chart(model, "log-cholesky"), loss_of(model, data, "log-cholesky")
    optimiser = Adam(batch=64, shuffle=shuffle)
    compiled = train(loss, chart, optimiser, epochs=3, seed=3)
    monkeypatch.setattr(CompiledAdam, "available", staticmethod(lambda: False))
    interpreted = train(loss, chart, optimiser, epochs=3, seed=3)
    assert compiled.step.theta == pytest.approx(interpreted.step.theta, rel=1e-9, abs=1e-12)
    for name, value in interpreted.step.memory.items():
        assert compiled.step.memory[name] == pytest.approx(value, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("optimiser", [Adam(batch=64), GaussNewton(), NaturalGradient(), LBFGS()], ids=lambda o: o.name)
def test_held_coordinates_stay_and_the_others_learn(model, data, optimiser):
    chart, loss = Chart(model, "cov", held=(1, 2, 3)), loss_of(model, data, "cov")
    start = chart.random(np.random.default_rng(5))
    held = np.concatenate([np.arange(k * 10 + 1, k * 10 + 4) for k in range(chart.n)])
    run = train(loss, chart, optimiser, epochs=10, start=start)
    assert np.array_equal(run.step.theta[held], start[held])
    assert run.epochs[-1].loss < 0.9 * run.epochs[0].loss


def test_friction_with_memory_is_learnt_at_the_states_of_the_recording(data):
    """The limit comes from `compress`, which follows the memory along the motion: the loss has to agree with it."""
    joints = (JointFriction(friction_model("dahl"), (0.05,)), JointFriction(friction_model("linear"), ()))
    model = Model("spatial_2r").with_friction(Friction(joints))
    chart, loss = Chart(model, "cov"), TorqueLoss(model, data)
    limit = certified_limit(loss, chart.links)
    assert loss.value(limit.parameters) == pytest.approx(limit.value, rel=1e-6)
    run = train(loss, chart, GaussNewton(steps=5), epochs=60, limit=limit, tolerance=1e-4)
    assert run.gap < 1e-2


@pytest.mark.parametrize("name", list(PARAMETRISATIONS))
def test_every_parametrisation_starts_where_it_says(model, data, name):
    chart, loss = Chart(model, name), loss_of(model, data, name)
    theta = chart.draw(np.random.default_rng(4))
    assert theta.shape == (chart.size,) and np.array_equal(theta, chart.draw(np.random.default_rng(4)))
    run = train(loss, chart, Adam(rate=3e-2, batch=32), epochs=30, start=theta)
    assert run.epochs[-1].loss < 0.2 * run.epochs[0].loss
    if chart.links.triangle:
        assert run.epochs[-1].inconsistent == 0


def test_asymmetric_inertia_enters_the_torque_as_newton_and_euler_say(model, data):
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
def test_physical_rungs_reach_their_certified_limit(model, data, name, optimiser):
    chart, loss = Chart(model, name), loss_of(model, data, name)
    limit = certified_limit(loss, chart.links)
    own = limit.gap(limit.value)
    assert own < 1e-5
    run = train(loss, chart, optimiser, epochs=300, limit=limit, tolerance=own + 5e-6, seed=1)
    assert run.gap <= own + 5e-6
    assert loss.value(run.parameters) >= limit.lower_bound * (1 - 1e-9)


@pytest.mark.parametrize("optimiser", [Adam(batch=64), LBFGS(), GaussNewton()], ids=lambda o: o.name)
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


def test_a_training_that_stalled_stays_where_it_is_when_resumed(model, data, tmp_path):
    chart, loss = Chart(model, "symm"), loss_of(model, data, "symm")
    runs = [train(loss, chart, GaussNewton(steps=50), epochs=50, checkpoint=tmp_path / "state.npz") for _ in range(2)]
    assert "stalled" in runs[0].step.memory
    assert [e.number for e in runs[1].epochs] == [e.number for e in runs[0].epochs]


def test_a_target_that_cannot_be_reached_names_the_limit(model, data):
    chart, loss = Chart(model, "cov"), loss_of(model, data, "cov")
    limit = certified_limit(loss, chart.links)
    run = train(loss, chart, GaussNewton(), epochs=400, target=limit.lower_bound / 10, limit=limit, seed=1)
    assert run.reached is None and run.epochs[-1].number < 400 and run.gap <= limit.gap(limit.value) + 5e-6
    assert f"certified limit of the loss {limit.lower_bound:.6g}" in run.verdict()
    assert "no parameters of this kind reach the target" in run.verdict()


def test_the_limit_bounds_every_parametrisation_from_below(model, data):
    for name in PARAMETRISATIONS:
        chart, loss = Chart(model, name), loss_of(model, data, name)
        limit = certified_limit(loss, chart.links)
        rng = np.random.default_rng(5)
        for _ in range(20):
            assert loss.value(chart.parameters(chart.random(rng))) >= limit.lower_bound
        run = train(loss, chart, GaussNewton(steps=30), epochs=10, seed=5)
        assert run.epochs[-1].loss >= limit.lower_bound * (1 - 1e-9)


def test_acceleration_loss_finds_what_torques_find(model, data):
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
    with pytest.raises(DatasetError, match="expected 22 finite numbers"):
        train(loss, chart, Adam(), start=np.full(22, np.nan))
    with pytest.raises(DatasetError, match="link 'link1'"):
        chart.inverse(np.full(20, -1.0), [0.1, 0.1])
    with pytest.raises(DatasetError, match="diverged in epoch 1"):
        train(loss, chart, Adam(rate=1e200), epochs=2)


@pytest.mark.claim("the certified limit is that of the loss, whatever filter the recording's columns ask for")
def test_the_limit_of_a_filtered_recording_is_that_of_its_loss(model, data):
    ready = Processing(cutoff=3.0, rate=None, trim=0.0, every=1).apply(Dataset(data.t, data.q, data.tau))
    assert ready.full is not None
    loss = TorqueLoss(model, ready)
    limit = certified_limit(loss, PARAMETRISATIONS["cov"])
    assert limit.value == pytest.approx(loss.value(limit.parameters), rel=1e-9)


def test_held_coordinates_that_are_none_are_said(model):
    with pytest.raises(DatasetError, match="'cov' has coordinates 0 to 9"):
        Chart(model, "cov", held=(1, 10))


@pytest.mark.parametrize("loss", [TorqueLoss, AccelerationLoss, RolloutLoss])
def test_masked_torques_are_not_trained_on(model, data, loss):
    with pytest.raises(DatasetError, match="masked"):
        loss(model, data.only([0]))


@pytest.mark.parametrize("loss", [AccelerationLoss, RolloutLoss])
def test_terms_that_need_more_than_the_motion_are_refused_by_what_simulates(model, data, loss):
    geared = Model(model.robot, (GEAR_FRICTION,))
    with pytest.raises(DatasetError, match="knows no input 'signal'"):
        loss(geared, data)
