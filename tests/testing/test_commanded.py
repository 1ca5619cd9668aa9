"""Synthetic recordings of servos: at rest they hold what physics says, encoders have their noise and steps."""

from __future__ import annotations

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.output_error import Servo
from casid.testing import broadband_commands, commanded_motion

BODY = [0.3, 0.01, 0.02, 0.3, 0.01, 0.2, 0.1, 0.05, 0.1, 2.0, 0.2, 0.01, 0.01, 0.2, 0.01, 0.1, 0.2, 0.05, 0.1, 1.5]
SERVO = Servo(kp=[60.0, 40.0], kd=1.0, armature=0.05, viscous=3.0, coulomb=0.0, bias=[0.01, -0.02], delay=0.02)


@pytest.fixture(scope="module")
def robot() -> casid.Robot:
    return casid.load_robot("spatial_2r").with_parameters(BODY)


def test_at_rest_the_servo_holds_gravity(robot: casid.Robot) -> None:
    t = np.arange(600) * 0.02
    u = np.tile([0.4, -0.3], (600, 1))
    q = commanded_motion(robot, SERVO, t, u).q[-1]
    gravity = np.array(Model(robot).gravity(q, robot.standard_parameters())).ravel()
    assert np.array([60.0, 40.0]) * (u[-1] + [0.01, -0.02] - q) == pytest.approx(gravity, rel=1e-4, abs=1e-6)


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
