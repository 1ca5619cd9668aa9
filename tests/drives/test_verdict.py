"""Findings about recordings of commands and about their fit, each where it belongs and nowhere else."""

from dataclasses import replace

import numpy as np
import pytest

from casid.drives import FREE, CommandRecording, FreeRuns, Servo
from casid.drives._verdict import check_recordings, judge
from casid.errors import DatasetError
from casid.testing import broadband_commands, commanded_motion

TRUE = {"kp": [12.0, 9.0], "armature": 0.03, "viscous": 0.4, "coulomb": 0.1, "bias": 0.0, "delay": 0.01}
NAMES = ("shoulder", "elbow")
T = np.arange(500) * 0.02


@pytest.fixture(scope="module")
def data(arm):
    commands = broadband_commands(T, [0.2, -0.3], 0.7)
    return commanded_motion(arm, Servo(**TRUE), T, commands, noise=5e-4, quantum=1.5e-3)


def kinds(found):
    return [(f.kind, f.joint) for f in found]


@pytest.mark.claim("a joint whose encoder flickers by one step does not move")
def test_joints_that_stand_are_named_and_do_not_make_it_wrong(data):
    q = np.array(data.q)
    q[:, 1] = 0.1 + 1.5e-3 * (np.arange(len(T)) % 2)
    (one,) = check_recordings([replace(data, q=q)], NAMES)
    assert (one.kind, one.joint, one.wrong) == ("standstill", "elbow", False) and "assumed" in one.remedy


def test_of_three_joints_two_are_exchanged():
    rng = np.random.default_rng(0)
    q = np.cumsum(rng.normal(size=(600, 3)), axis=0) * 1e-2
    u = q[:, [0, 2, 1]] + 1e-3 * rng.normal(size=q.shape)
    made = check_recordings([CommandRecording(np.arange(600) * 0.02, q, u)], ("a", "b", "c"))
    assert kinds(made) == [("joint order", "b, c")] and made[0].wrong
    driven = CommandRecording(np.arange(600) * 0.02, q, u, torque=0 * q)  # commands are not followed
    assert check_recordings([driven], ("a", "b", "c")) == ()


def test_recordings_without_motion_or_commands_are_refused(data):
    with pytest.raises(DatasetError, match="no joint moves"):
        check_recordings([replace(data, q=0 * data.q)], NAMES)
    with pytest.raises(DatasetError, match="same numbers"):
        check_recordings([replace(data, q_des=data.q)], NAMES)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"bias": [0.0, 0.2]}, [("zero", "elbow")]),
        ({"delay": 0.08}, [("delay", "")]),
        ({"kp": [12.0, 1e5]}, [("bound", "elbow")]),
    ],
)
def test_the_fit_is_judged(arm, data, changes, expected):
    runs = FreeRuns(arm, Servo(**dict.fromkeys(TRUE, FREE)), [data])
    values = {**TRUE, **changes}
    theta = np.array([np.broadcast_to(values[p.attribute], 2)[max(p.joint, 0)] for p in runs.parameters])
    assert kinds(judge(runs, runs.point(theta), NAMES)) == expected


def test_a_joint_that_is_stopped_is_named_with_its_time(arm, data):
    q = np.array(data.q)
    q[200:350, 0] = q[200, 0]
    runs = FreeRuns(arm, Servo(**TRUE), [replace(data, q=q)])
    (one,) = judge(runs, runs.point(np.zeros(0)), NAMES)
    assert (one.kind, one.joint) == ("stall", "shoulder") and not one.wrong
    assert 2.0 <= float(one.text.split(" for ")[1].split(" s ")[0]) <= 3.5
