"""Functions derived from a model: the momentum observer, the Runge-Kutta step, and their C code."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import casid
from casid.codegen._compiler import find_compiler
from casid.dynamics import momentum_observer
from casid.dynamics._derived import rk4_step
from casid.errors import DatasetError
from casid.export import export_c, load

GAIN, DT = 20.0, 1e-3


@pytest.fixture(scope="module")
def arm() -> tuple[casid.Model, np.ndarray]:
    robot = casid.load_robot("ur10e")
    model = casid.Model(robot, ("viscous", "offset"))
    return model, np.append(np.asarray(robot.standard_parameters(), dtype=float), np.tile([0.5, 0.2], 6))


def motion(model: casid.Model, pi: np.ndarray, external: np.ndarray, samples: int) -> tuple[np.ndarray, ...]:
    """A motion that obeys the dynamics exactly: torques by Newton-Euler, less what the environment adds."""
    t = DT * np.arange(samples)
    phase = np.arange(model.n)
    q = 0.5 * np.sin(1.3 * t[:, None] + phase)
    dq, ddq = 0.65 * np.cos(1.3 * t[:, None] + phase), -0.845 * np.sin(1.3 * t[:, None] + phase)
    tau = model.inverse_dynamics.map(samples)(q.T, dq.T, ddq.T, np.tile(pi[:, None], samples)).full().T
    return q, dq, tau - external


def residuals(functions: tuple, q: np.ndarray, dq: np.ndarray, tau: np.ndarray) -> np.ndarray:
    start, step = functions
    state = np.array(start(q[0], dq[0]), dtype=float).ravel()
    found = []
    for k in range(len(q)):
        r, state = (np.array(x, dtype=float).ravel() for x in step(q[k], dq[k], tau[k], state, DT if k else 0.0))
        found.append(r)
    return np.array(found)


def test_the_residual_follows_a_step_as_a_filter_of_first_order(arm: tuple[casid.Model, np.ndarray]) -> None:
    model, pi = arm
    samples, onset = 400, 100
    push = np.zeros((samples, model.n))
    push[onset:, 1], push[onset:, 4] = 12.0, -3.0
    found = residuals(momentum_observer(model, pi, GAIN), *motion(model, pi, push, samples))
    t = DT * (np.arange(samples) - onset + 1)
    expected = np.where(t[:, None] > 0, push * (1 - np.exp(-GAIN * np.maximum(t, 0)))[:, None], 0)
    np.testing.assert_allclose(found, expected, atol=0.15)  # Euler's error at this step: 1 % of the push
    assert np.abs(found[:onset]).max() < 0.02


def test_wrong_parameters_are_seen_as_an_external_torque(arm: tuple[casid.Model, np.ndarray]) -> None:
    model, pi = arm
    q, dq, tau = motion(model, pi, np.zeros((300, 6)), 300)
    heavier = pi.copy()
    heavier[model.link_columns[2][6]] += 1.0  # kg.m: ten newton metres where the arm is level
    assert np.abs(residuals(momentum_observer(model, heavier, GAIN), q, dq, tau)).max() > 1.0


@pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
def test_its_c_code_gives_the_same(arm: tuple[casid.Model, np.ndarray], tmp_path: Path) -> None:
    model, pi = arm
    start, step = momentum_observer(model, pi, np.full(6, GAIN))
    export_c({"start": start, "step": step}, tmp_path / "c", "observer")
    library = load(tmp_path / "c")
    rng = np.random.default_rng(2)
    q, dq, tau, state = rng.uniform(-1, 1, (4, 6))
    np.testing.assert_allclose(library["start"](q, dq), np.array(start(q, dq), dtype=float).ravel(), rtol=1e-12)
    for got, expected in zip(
        library["step"](q, dq, tau, state, np.array([0.01])), step(q, dq, tau, state, 0.01), strict=True
    ):
        np.testing.assert_allclose(got, np.array(expected, dtype=float).ravel(), rtol=1e-10, atol=1e-12)


def test_bad_gains_are_refused(arm: tuple[casid.Model, np.ndarray]) -> None:
    model, pi = arm
    for gain in (0.0, np.nan, [1.0, 2.0], -np.ones(6)):
        with pytest.raises(DatasetError, match="positive gain"):
            momentum_observer(model, pi, gain)
    with pytest.raises(DatasetError, match="gravity is an input"):
        momentum_observer(casid.Model(model.robot, model.terms, "input"), pi)


@pytest.mark.claim("the observer's step is implicit: stable for any gain and step")
def test_a_step_longer_than_the_lag_is_stable(arm: tuple[casid.Model, np.ndarray]) -> None:
    model, pi = arm
    gain, dt, push = 50.0, 0.1, np.array([0.0, 12.0, 0.0, 0.0, -3.0, 0.0])
    q, still = np.linspace(-0.5, 0.5, 6), np.zeros(6)
    tau = np.array(model.inverse_dynamics(q, still, still, pi)).ravel() - push
    start, step = momentum_observer(model, pi, gain)
    state, residual = np.array(start(q, still)).ravel(), np.zeros(6)
    for _ in range(5):
        expected = (residual + gain * dt * push) / (1 + gain * dt)  # dr/dt = K (push - r) by implicit Euler
        residual, state = (np.array(value).ravel() for value in step(q, still, tau, state, dt))
        np.testing.assert_allclose(residual, expected, atol=1e-9)


def test_a_step_is_of_fourth_order():
    def error(h: float) -> float:
        return abs(float(rk4_step(lambda x, u: u * x, np.array([1.0]), -1.0, h)[0]) - np.exp(-h))

    assert 28 < error(0.2) / error(0.1) < 36  # the local error falls with h^5


def test_expressions_and_arrays_give_the_same_step():
    def f(x, u):
        return -x * x + u

    x = ca.SX.sym("x")
    step = ca.Function("step", [x], [rk4_step(f, x, 0.5, 0.1)])
    np.testing.assert_allclose(float(step(0.3)), rk4_step(f, np.array(0.3), 0.5, 0.1), rtol=1e-15)
