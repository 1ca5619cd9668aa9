"""Training through the simulation; closed loops of torque laws that are no expressions; killed trainings."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import casid
from casid.control import PD
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.learning import Chart, NaturalGradient, RolloutLoss, train
from casid.measurement import Dataset
from casid.motion import Sine
from casid.simulation import Plant, Reason, simulate, simulate_law
from casid.simulation.integrators import RungeKutta4

LINK = casid.inertia.to_standard(2.0, [-0.5, 0.02, 0.1], np.diag([0.01, 0.05, 0.05]))


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(casid.load_robot("spatial_2r"), ("viscous",))


@pytest.fixture(scope="module")
def truth(model) -> np.ndarray:
    return model.parameters(np.tile(LINK, 2), [0.3, 0.2])


@pytest.fixture(scope="module")
def run(model, truth):
    reference = Sine(np.zeros(2), np.array([0.8, 0.6]), np.array([0.4, 0.7]), 4.0)
    return simulate(
        Plant(model, truth), PD(np.array([40.0, 30.0]), np.array([8.0, 5.0])), reference, 4.0, rate=100.0,
        integrator=RungeKutta4(0.01),
    )  # fmt: skip


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


def test_bad_rollouts_are_said(model, run):
    data = run.dataset()
    with pytest.raises(DatasetError, match="do not fit"):
        RolloutLoss(model, data, window=10_000)
    with pytest.raises(DatasetError, match="needs velocities"):
        RolloutLoss(model, Dataset(data.t, data.q, data.tau))
    with pytest.raises(DatasetError, match="'coulomb' stops motions"):
        RolloutLoss(Model(model.robot, ("coulomb",)), data)
    with pytest.raises(DatasetError, match="not finite any more"):
        RolloutLoss(model, data, window=100).residual(np.zeros(22))


def test_a_law_of_arrays_runs_as_the_same_law_as_an_expression(model, truth, run):
    reference = Sine(np.zeros(2), np.array([0.8, 0.6]), np.array([0.4, 0.7]), 4.0)
    motion = reference.at(run.t)

    def law(tick, q, dq):
        return np.array([40.0, 30.0]) * (motion.q[tick] - q) + np.array([8.0, 5.0]) * (motion.dq[tick] - dq)

    start = np.tile(motion.q[0], (3, 1))
    found = simulate_law(Plant(model, truth), law, 4.0, start, rate=100.0, integrator=RungeKutta4(0.01))
    assert np.allclose(found.q[2], run.q, rtol=0, atol=1e-12)
    assert found.finished.all()


def test_laws_that_fail_end_their_own_rollout_only(model, truth):
    def law(tick, q, dq):
        tau = np.zeros_like(q)
        tau[1] = np.nan if tick == 20 else 0.0
        tau[2] = 1e5
        return tau

    found = simulate_law(Plant(model, truth), law, 1.0, np.full((3, 2), 0.3), rate=100.0)
    assert [end.reason for end in found.ends] == [Reason.FINISHED, Reason.NOT_FINITE, Reason.DIVERGED]
    assert found.ends[1].time == pytest.approx(0.2)
    assert np.isfinite(found.q[0]).all() and np.isnan(found.q[1, 21:]).all() and np.isfinite(found.q[1, :21]).all()
    with pytest.raises(DatasetError, match="gave shape"):
        simulate_law(Plant(model, truth), lambda *_: np.zeros(2), 1.0, np.full((3, 2), 0.3), rate=100.0)


_KILLED = """
    import sys, numpy as np, casid
    from casid.codegen import evaluate_batch
    from casid.dynamics import Model
    from casid.learning import Adam, Chart, TorqueLoss, train
    from casid.measurement import Dataset
    model = Model(casid.load_robot("spatial_2r"))
    t = np.arange(0, 10, 0.02); w = np.array([1.3, 2.1])
    q, dq, ddq = np.sin(np.outer(t, w)), w * np.cos(np.outer(t, w)), -w**2 * np.sin(np.outer(t, w))
    link = casid.inertia.to_standard(2.0, [-0.5, 0.02, 0.1], np.diag([0.01, 0.05, 0.05]))
    tau = evaluate_batch(model.inverse_dynamics, q, dq, ddq, np.tile(link, 2))[..., 0]
    run = train(TorqueLoss(model, Dataset(t, q, tau, dq, ddq)), Chart(model, "tri"), Adam(batch=32), seed=5,
                epochs=int(sys.argv[2]), checkpoint=sys.argv[1] or None)
    print(run.epochs[-1].number, repr(run.epochs[-1].loss), run.step.theta.tobytes().hex())
"""


def test_a_training_that_was_killed_resumes_to_the_same_numbers(tmp_path):
    file = tmp_path / "state.npz"

    def start(checkpoint, epochs):
        command = [sys.executable, "-c", textwrap.dedent(_KILLED), str(checkpoint), str(epochs)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)

    process = start(file, 1_000_000)
    deadline = time.monotonic() + 120
    while not file.is_file() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert file.is_file()
    with np.load(file) as state:
        reached = len(state["history"]) - 1
    assert reached >= 1
    resumed, whole = start(file, reached + 5), start("", reached + 5)
    one, other = resumed.communicate()[0], whole.communicate()[0]
    assert resumed.returncode == whole.returncode == 0
    assert one == other and one.startswith(f"{reached + 5} ")
