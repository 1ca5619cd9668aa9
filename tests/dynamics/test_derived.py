"""Functions derived from a model: the momentum observer, the Runge-Kutta step, and their C code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import casid
from casid.dynamics import (
    dry_friction_directions,
    dry_friction_places,
    equation_of_motion,
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
    inverse_mass_matrix,
    momentum_observer,
    operational_space,
    rk4_step,
)
from casid.errors import DatasetError, RobotError
from casid.export import export_c, load
from casid.testing import random_robot
from tests.helpers import needs_compiler

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
    return q, dq, model.inverse_dynamics(q, dq, ddq, pi) - external


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


@needs_compiler
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
    for gain in (0.0, np.nan, np.inf, [1.0, 2.0], -np.ones(6), [1.0, 1.0, 1.0, 1.0, 1.0, -1.0]):
        with pytest.raises(DatasetError, match="positive gain"):
            momentum_observer(model, pi, gain)
    with pytest.raises(DatasetError, match="gravity is an input"):
        momentum_observer(casid.Model(model.robot, model.terms, "input"), pi)


@pytest.mark.claim("the observer's step is implicit: stable for any gain and step")
def test_a_step_longer_than_the_lag_is_stable(arm: tuple[casid.Model, np.ndarray]) -> None:
    model, pi = arm
    gain, dt, push = 50.0, 0.1, np.array([0.0, 12.0, 0.0, 0.0, -3.0, 0.0])
    q, still = np.linspace(-0.5, 0.5, 6), np.zeros(6)
    tau = model.inverse_dynamics(q, still, still, pi) - push
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


def central(f, x: np.ndarray, h: float = 1e-5) -> np.ndarray:
    """Columns of df/dx by central differences."""
    steps = h * np.eye(len(x))
    return np.stack([(f(x + s) - f(x - s)) / (2 * h) for s in steps], axis=1)


@pytest.mark.parametrize(("name", "tolerance"), [("inverse_dynamics", 1e-6), ("forward_dynamics", 1e-5)])
def test_derivatives_of_torque_and_acceleration_are_their_differences(arm, name: str, tolerance: float) -> None:
    model, pi = arm
    forward = name == "forward_dynamics"
    q, dq, x = np.random.default_rng(3).uniform(-1, 1, (3, 6))
    x *= 20.0 if forward else 1.0
    of, M = getattr(model, name), model.mass_matrix(q, pi)
    expected = [
        central(lambda at: of(at, dq, x, pi), q),
        central(lambda at: of(q, at, x, pi), dq),
        np.linalg.inv(M) if forward else M,
    ]
    found = (forward_dynamics_derivatives if forward else inverse_dynamics_derivatives)(model)(q, dq, x, pi)
    for got, block in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, block, atol=tolerance * np.abs(block).max())


def test_a_force_at_a_frame_moves_it_as_its_operational_space_says() -> None:
    """``Lambda xdd + mu + p = F`` along the motion that ``tau = J' F`` causes, which forward dynamics gives."""
    robot = casid.load_robot("panda")
    model, frame = casid.Model(robot), robot.links[-1].name
    pi = np.asarray(robot.standard_parameters(), dtype=float)
    rng = np.random.default_rng(5)
    q, dq = rng.uniform(-1, 1, (2, 7))
    force = rng.uniform(-20, 20, 6)
    J, drift, inertia, mu, weight = operational_space(model, frame)(q, dq, pi)
    jacobian, h = model.frame_jacobian(frame), 1e-6
    np.testing.assert_allclose(J, jacobian(q), atol=1e-12)
    rate = (jacobian(q + h * dq) - jacobian(q - h * dq)) / (2 * h)
    np.testing.assert_allclose(drift, rate @ dq, atol=1e-7)
    seen = J @ np.linalg.inv(model.mass_matrix(q, pi)) @ J.T
    np.testing.assert_allclose(inertia @ seen, np.eye(6), atol=1e-8)
    ddq = model.forward_dynamics(q, dq, J.T @ force, pi)
    np.testing.assert_allclose(inertia @ (J @ ddq + drift) + mu + weight, force, atol=1e-7)
    still = operational_space(model, frame)(q, np.zeros(7), pi)[3]
    np.testing.assert_allclose(still, 0.0, atol=1e-12)
    with pytest.raises(RobotError, match="2 joints"):
        operational_space(casid.Model(casid.load_robot("spatial_2r")), "link2")
    assert operational_space(casid.Model("ur10e"), casid.load_robot("ur10e").links[-1].name).n_out() == 5


DRIVES = ("viscous", "coulomb", "offset", "motor_coulomb", "motor_offset", "motor_rotor", "rotor")


def test_the_equation_of_motion_is_the_torque_with_signs_of_its_own() -> None:
    model = casid.Model(casid.load_robot("wam7"), DRIVES)
    rng = np.random.default_rng(6)
    pi = model.parameters(model.robot.standard_parameters(), rng.uniform(0.2, 1.0, 7 * len(DRIVES)))
    q, dq, ddq = rng.uniform(-1, 1, (3, 7))
    D = dry_friction_directions(model)
    T = np.asarray(model.robot.transmission)
    places = dry_friction_places(model)
    assert sorted(places) == [(side, k) for side in ("joint", "motor") for k in range(7)]
    np.testing.assert_array_equal(D.T, [(np.eye(7) if side == "joint" else T)[:, k] for side, k in places])
    parts = equation_of_motion(model)
    M, rigid, terms, dry = parts(q, dq, np.sign(D.T @ dq), pi)
    tau = model.inverse_dynamics(q, dq, ddq, pi)
    np.testing.assert_allclose(M @ ddq + rigid + terms + D @ dry, tau, atol=1e-10)
    np.testing.assert_allclose(M, model.mass_matrix(q, pi), atol=1e-12)
    links = pi.copy()
    links[list(model.term_columns)] = 0.0
    np.testing.assert_allclose(rigid, model.inverse_dynamics(q, dq, np.zeros(7), links), atol=1e-10)
    assert not parts(q, dq, np.zeros(14), pi)[3].any()
    reversed_dry = parts(q, dq, -np.sign(D.T @ dq), pi)[3]
    np.testing.assert_allclose(reversed_dry, -dry, atol=1e-12)


def test_dry_friction_acts_where_a_term_has_it_and_unknown_torques_are_refused() -> None:
    robot = casid.load_robot("panda")
    some = casid.Model(robot, ("viscous", "coulomb@joint3", "motor_coulomb@joint1"))
    assert set(dry_friction_places(some)) == {("joint", 2), ("motor", 0)}
    joints = [k for _, k in dry_friction_places(some)]
    np.testing.assert_array_equal(dry_friction_directions(some), np.eye(7)[:, joints])
    assert dry_friction_directions(casid.Model(robot, ("viscous",))).shape == (7, 0)
    with pytest.raises(RobotError, match="the measured torque"):
        equation_of_motion(casid.Model(robot, ("gear_friction",)))


def test_drives_that_couple_branches_couple_their_accelerations() -> None:
    """Two arms on one base whose motors share a differential: rotors couple joints that the tree does not."""
    robot = random_robot(3, n=4)
    parents = [joint.parent for joint in robot.joints]
    apart = next((i, k) for k in range(4) for i in range(k) if not in_path(parents, i, k))
    T = np.eye(4)
    T[apart], T[apart[::-1]] = 0.5, -0.3
    model = casid.Model(replace(robot, transmission=T), ("motor_rotor",))
    pi = model.parameters(np.tile([0.1, 0, 0, 0.1, 0, 0.1, 0, 0, 0, 1.0], 4), np.full(4, 2.0))
    q, dq, tau = np.random.default_rng(8).uniform(-1, 1, (3, 4))
    inverse = np.linalg.inv(model.mass_matrix(q, pi))
    assert abs(inverse[apart]) > 1e-3
    np.testing.assert_allclose(inverse_mass_matrix(model)(q, pi), inverse, atol=1e-10)
    np.testing.assert_allclose(forward_dynamics_derivatives(model)(q, dq, tau, pi)[2], inverse, atol=1e-10)
    still = model.inverse_dynamics(q, dq, np.zeros(4), pi)
    np.testing.assert_allclose(model.forward_dynamics(q, dq, tau, pi), inverse @ (tau - still), atol=1e-9)


def in_path(parents: list[int], i: int, k: int) -> bool:
    while k >= 0 and k != i:
        k = parents[k]
    return k == i
