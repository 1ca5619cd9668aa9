"""Position commands designed for servos."""

import numpy as np
import pytest

from casid.drives import FreeRuns, Servo, SimulationOptions, design_commands, identify_from_commands
from casid.errors import ProblemError
from casid.excitation import MotionLimits
from casid.testing import broadband_commands, commanded_motion

TRUE = Servo(kp=[12.0, 9.0], armature=0.03, viscous=0.3, coulomb=0.1, bias=0.01, delay=0.01)
THETA = np.array([12.0, 9.0, 0.03, 0.03, 0.3, 0.3, 0.1, 0.1, 0.01, 0.01, 0.01])
UNITS = np.array([12.0, 9.0, 0.03, 0.03, 0.3, 0.3, 0.1, 0.1, 0.01, 0.01, 0.02])  # offsets to 0.01, delay to a cycle
T = np.arange(600) * 0.02


def limits(top):
    side = np.array([0.9, top, np.inf, np.inf])[:, None] * np.ones(2)
    return MotionLimits(("shoulder", "elbow"), -side, side)


@pytest.fixture(scope="module")
def ordinary(arm):
    return commanded_motion(arm, TRUE, T, broadband_commands(T, [0.2, -0.3], 0.6), noise=5e-4, quantum=1e-4)


@pytest.fixture(scope="module")
def runs(arm, ordinary):
    return FreeRuns(arm, Servo(), [ordinary], threads=1)


def scatter(arm, commands):
    """Least relative deviations that commands allow: ``(J'J)^-1 s^2``, J by differences of simulated motions."""

    def moved(k, step):
        x = THETA + step * UNITS[k] * np.eye(len(UNITS))[k]
        names = ("kp", "armature", "viscous", "coulomb", "bias")
        servo = Servo(**{name: list(pair) for name, pair in zip(names, x[:10].reshape(5, 2), strict=True)}, delay=x[10])
        return commanded_motion(arm, servo, T, commands).q

    J = np.array([(moved(k, 1e-3) - moved(k, -1e-3)).ravel() / 2e-3 for k in range(len(UNITS))])
    return 5e-4 * np.sqrt(np.diag(np.linalg.inv(J @ J.T)))


def test_designed_commands_are_worth_what_they_promise_and_keep_the_limits(arm, runs, ordinary):
    """Intervals of an identification from them are as expected, and half as wide as ordinary ones."""
    made = design_commands(runs, THETA, limits(4.0), duration=12.0, iterations=80)
    assert made.value < made.first and made.worst in made.names
    assert list(made.names) == [p.name for p in runs.parameters]
    u, rate = (made.trajectory.derivative(T, order) for order in (0, 1))
    assert np.abs(u).max() <= 0.9 and np.abs(rate).max() <= 4.0
    options = SimulationOptions(threads=1, terms=(), folds=0, longest=20.0)
    designed = commanded_motion(arm, TRUE, T, u, noise=5e-4, quantum=1e-4)
    stated, before = (np.array([e.sd for e in identify_from_commands(arm, [one], options=options).estimates]) / UNITS
                      for one in (designed, ordinary))  # fmt: skip
    assert made.relative == pytest.approx(scatter(arm, u), rel=0.25)  # of the delay 0.17, others 0.08
    assert np.median(before / scatter(arm, np.asarray(ordinary.q_des))) == pytest.approx(1.0, abs=0.6)
    assert made.value < 0.5 * before.max() and stated.max() < 0.7 * before.max()


@pytest.mark.parametrize(("joint", "command"), [(1.2, 40.0), (40.0, 0.5)])
def test_joints_and_commands_keep_speed_limits_of_their_own(arm, runs, joint, command):
    t = np.arange(0.0, 3.0, runs.period)
    made = design_commands(runs, THETA, limits(joint), limits(command), duration=12.0, iterations=40)
    u, rate = (made.trajectory.derivative(t, order) for order in (0, 1))
    speed = np.abs(np.diff(commanded_motion(arm, TRUE, t, u, step=5e-3).q, axis=0) / np.diff(t)[:, None]).max()
    assert 0.5 * joint < speed <= 1.01 * joint or command < joint
    assert 0.5 * command < np.abs(rate).max() <= command or joint < command


def test_a_length_without_a_period_is_refused(runs):
    with pytest.raises(ProblemError, match="too short"):
        design_commands(runs, THETA, limits(4.0), duration=0.5)
