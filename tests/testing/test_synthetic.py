"""Synthetic motions, recordings and problems: derivatives agree, torques are those of the parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.drives import FREE, Servo
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.testing import BODY, TERMS, broadband_commands, commanded_motion, motion, plausible, recorded, recording


@pytest.mark.parametrize("periodic", [True, False])
def test_derivatives_are_those_of_the_positions(periodic: bool) -> None:
    t, q, dq, ddq = motion(3, 5000, 1, periodic=periodic)
    np.testing.assert_allclose(np.gradient(q, t, axis=0)[1:-1], dq[1:-1], atol=2e-3)
    np.testing.assert_allclose(np.gradient(dq, t, axis=0)[1:-1], ddq[1:-1], atol=5e-3)
    assert np.array_equal(motion(3, 5000, 1, periodic=periodic)[1], q)


def test_torques_are_those_of_the_parameters() -> None:
    model = Model(casid.load_robot("panda"), TERMS)
    x = model.parameters(model.robot.standard_parameters(), np.tile([0.5, 0.4, 0.1], 7))
    exact, noisy = recording(model, x, samples=50), recording(model, x, samples=50, noise=0.1)
    expected = np.array(model.inverse_dynamics(exact.q[7], exact.dq[7], exact.ddq[7], x)).ravel()
    np.testing.assert_allclose(exact.tau[7], expected, atol=1e-11)
    assert 0.08 < np.std(noisy.tau - exact.tau) < 0.12
    t, *_, tau, pi = recorded(model, 200, load=BODY, noise=0.0)
    assert len(t) == len(tau) == 200 and pi[model.link_columns[-1][9]] == pytest.approx(
        x[model.link_columns[-1][9]] + 2
    )
    assert len(plausible(model).bodies) == 7


BODIES = [0.3, 0.01, 0.02, 0.3, 0.01, 0.2, 0.1, 0.05, 0.1, 2.0, 0.2, 0.01, 0.01, 0.2, 0.01, 0.1, 0.2, 0.05, 0.1, 1.5]
SERVO = Servo(kp=[60.0, 40.0], kd=1.0, armature=0.05, viscous=3.0, coulomb=0.0, bias=[0.01, -0.02], delay=0.02)


@pytest.fixture(scope="module")
def robot() -> casid.Robot:
    return casid.load_robot("spatial_2r").with_parameters(BODIES)


def test_at_rest_the_servo_holds_gravity(robot: casid.Robot) -> None:
    t = np.arange(600) * 0.02
    u = np.tile([0.4, -0.3], (600, 1))
    q = commanded_motion(robot, SERVO, t, u).q[-1]
    gravity = np.array(Model(robot).gravity(q, robot.standard_parameters())).ravel()
    assert np.array([60.0, 40.0]) * (u[-1] + [0.01, -0.02] - q) == pytest.approx(gravity, rel=1e-4, abs=1e-6)


def test_a_servo_with_an_unknown_value_is_refused(robot: casid.Robot) -> None:
    with pytest.raises(DatasetError, match=r"kp .* unknown: give every value"):
        commanded_motion(robot, replace(SERVO, kp=[60.0, FREE]), np.arange(30) * 0.02, np.zeros((30, 2)))


def test_gains_scale_with_their_setting_and_encoders_have_steps_and_noise(robot: casid.Robot) -> None:
    t = np.arange(300) * 0.02
    u = broadband_commands(t, [0.4, -0.3], 0.3)
    plain = commanded_motion(robot, SERVO, t, u, gain=2.0, name="one")
    stiff = Servo(kp=[120.0, 80.0], kd=2.0, armature=0.05, viscous=3.0, coulomb=0.0, bias=[0.01, -0.02], delay=0.02)
    changed = commanded_motion(robot, stiff, t, u)
    error = np.abs(plain.q - changed.q).max()
    assert plain.gain == 2.0 and plain.name == "one" and error < 0.05  # the bias is that of the command
    steps = commanded_motion(robot, SERVO, t, u, quantum=1e-3).q / 1e-3
    assert np.abs(steps - np.round(steps)).max() < 1e-9
    noisy = commanded_motion(robot, SERVO, t, u, noise=0.01, seed=1).q - commanded_motion(robot, SERVO, t, u).q
    assert noisy.std() == pytest.approx(0.01, rel=0.1)
    again = commanded_motion(robot, SERVO, t, u, noise=0.01, seed=1)
    assert np.array_equal(again.q, commanded_motion(robot, SERVO, t, u, noise=0.01, seed=1).q)


def test_broadband_commands_keep_their_width_and_band() -> None:
    t = np.arange(4000) * 0.01
    u = broadband_commands(t, [1.0, -0.5], [0.3, 0.7], seed=2, highest=0.8)
    assert np.abs(u - [1.0, -0.5]).max(axis=0) == pytest.approx([0.3, 0.7])
    power = np.abs(np.fft.rfft((u - u.mean(axis=0)) * np.hanning(len(t))[:, None], axis=0)) ** 2
    above = np.fft.rfftfreq(len(t), 0.01) > 0.9
    assert power[above].sum() < 1e-3 * power.sum()
    assert not np.array_equal(u, broadband_commands(t, [1.0, -0.5], [0.3, 0.7], seed=3, highest=0.8))
