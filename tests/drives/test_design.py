"""Position commands designed for servos."""

import numpy as np
import pytest

from casid.drives import FreeRuns, Servo, design_commands, identify_from_commands
from casid.drives._design import command_information, relative_deviations, units_of
from casid.errors import ProblemError
from casid.excitation import MotionLimits
from casid.excitation.limits._motion_limits import certify_limits
from casid.testing import broadband_commands, commanded_motion

TRUE = Servo(kp=[12.0, 9.0], armature=0.03, viscous=0.3, coulomb=0.1, bias=0.01, delay=0.01)
THETA = np.array([12.0, 9.0, 0.03, 0.03, 0.3, 0.3, 0.1, 0.1, 0.01, 0.01, 0.01])
LIMITS = MotionLimits(("shoulder", "elbow"), np.array([[-0.9] * 2, [-4.0] * 2, [-np.inf] * 2, [-np.inf] * 2]),
                      np.array([[0.9] * 2, [4.0] * 2, [np.inf] * 2, [np.inf] * 2]))  # fmt: skip
T = np.arange(600) * 0.02


@pytest.fixture(scope="module")
def ordinary(arm):
    return commanded_motion(arm, TRUE, T, broadband_commands(T, [0.2, -0.3], 0.6), noise=5e-4, quantum=1e-4)


@pytest.fixture(scope="module")
def design(arm, ordinary):
    runs = FreeRuns(arm, Servo(), [ordinary], threads=1)
    return runs, design_commands(runs, THETA, LIMITS, duration=12.0, iterations=80)


def test_the_information_gives_the_scatter_of_estimates(arm, ordinary):
    runs = FreeRuns(arm, Servo(), [ordinary], threads=1)
    F, q = command_information(runs, THETA, T, np.asarray(ordinary.q_des))
    assert np.abs(q - ordinary.q).max() < 0.03
    found = identify_from_commands(arm, [ordinary])
    names = [p.name for p in runs.parameters]
    assert [e.name for e in found.estimates] == names
    expected, stated = np.sqrt(np.diag(np.linalg.inv(F))), np.array([e.sd for e in found.estimates])
    assert np.median(stated / expected) == pytest.approx(1.0, abs=0.6)


def test_designed_commands_tell_more_than_ordinary_ones_and_keep_the_limits(design, ordinary):
    runs, made = design
    F, _ = command_information(runs, THETA, T, np.asarray(ordinary.q_des))
    assert made.value < 0.5 * relative_deviations(F, units_of(runs, THETA)).max()
    assert made.value < made.first and made.worst in made.names
    assert all(check.excess <= 0 for check in certify_limits(made.trajectory, LIMITS))


def test_joints_and_commands_keep_speed_limits_of_their_own(arm, ordinary):
    runs = FreeRuns(arm, Servo(), [ordinary], threads=1)
    t = np.arange(0.0, 3.0, runs.period)
    for joint, command in ((1.2, 40.0), (40.0, 0.5)):
        limits, commands = (
            MotionLimits(LIMITS.joints, *(side * np.array([1.0, top / 4, 1.0, 1.0])[:, None]
                                          for side in (LIMITS.lower, LIMITS.upper)))
            for top in (joint, command)
        )  # fmt: skip
        made = design_commands(runs, THETA, limits, commands, duration=12.0, iterations=40)
        u, rate = (made.trajectory.derivative(t, order) for order in (0, 1))
        q = command_information(runs, THETA, t, u)[1]
        assert 0.5 * joint < np.abs(np.diff(q, axis=0) / np.diff(t)[:, None]).max() <= joint or command < joint
        assert 0.5 * command < np.abs(rate).max() <= command or joint < command


def test_a_length_without_a_period_is_refused(design):
    runs, _ = design
    with pytest.raises(ProblemError, match="too short"):
        design_commands(runs, THETA, LIMITS, duration=0.5)
