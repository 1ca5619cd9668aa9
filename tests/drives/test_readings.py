"""Lost cycles, missing commands, slips, and readings of a misfit."""

from dataclasses import replace

import numpy as np
import pytest

from casid.drives import CommandRecording, FreeRuns, Servo, SimulationOptions, identify_from_commands
from casid.drives._verdict import further
from casid.testing import broadband_commands, commanded_motion

TRUE = Servo(kp=[12.0, 9.0], armature=0.03, viscous=0.3, coulomb=0.1, bias=0.0, delay=0.01)
T = np.arange(600) * 0.02


def motion(arm, servo=TRUE):
    commands = broadband_commands(T, [0.2, -0.3], 0.7)
    return commanded_motion(arm, servo, T, commands, noise=5e-4, quantum=1.5e-3)


def kinds(arm, data, servo=None):
    found = identify_from_commands(arm, [data], servo, SimulationOptions(threads=1, folds=0))
    assert all(f.kind in found.headline for f in found.findings[:1])
    return [(f.kind, f.joint) for f in found.findings]


def test_a_clean_recording_has_no_finding(arm):
    assert kinds(arm, motion(arm)) == []


def test_lost_cycles_are_counted(arm):
    data = motion(arm)
    kept = np.random.default_rng(0).random(len(data)) > 0.03
    holed = CommandRecording(data.t[kept], data.q[kept], data.q_des[kept])
    assert ("lost cycles", "") in kinds(arm, holed)


def test_commands_that_stand_while_the_joint_moves_are_named(arm):
    data = motion(arm)
    u = np.array(data.q_des)
    u[200:400, 1] = u[200, 1]
    assert ("missing commands", "elbow") in kinds(arm, replace(data, q_des=u))


def test_a_slip_is_named_with_its_joint(arm):
    data = motion(arm)
    q = np.array(data.q)
    q[300:, 0] += 0.1
    assert ("slip", "shoulder") in kinds(arm, replace(data, q=q))


@pytest.mark.claim("24: a gain that is given wrongly is named, with the error of the gain that was tried")
def test_a_wrong_gain_is_named(arm):
    assert "gain" in [kind for kind, _ in kinds(arm, motion(arm), Servo(kp=[5.0, 4.0]))]


def test_saturation_is_named(arm):
    assert "saturation" in [kind for kind, _ in kinds(arm, motion(arm, replace(TRUE, limit=[1.5, 0.6])))]


def test_findings_have_their_amounts(arm):
    """Of the true servo: five cycles lost, a command that stands for six seconds, nothing else."""
    data = motion(arm)
    kept = np.delete(np.arange(len(data)), [100, 200, 201, 300, 400])
    u = np.array(data.q_des)
    u[250:550, 1] = u[250, 1]
    for made, words in (
        (data, []),
        (CommandRecording(data.t[kept], data.q[kept], data.q_des[kept]), ["4 steps of the clock miss 5 cycles"]),
        (replace(data, q_des=u), ["while its command stands, for 4.5 s"]),
    ):
        runs = FreeRuns(arm, TRUE, [made], threads=1)
        found = further(runs, runs.point(np.zeros(0)), ["shoulder", "elbow"], trials=False)
        assert bool(found) == bool(words) and all(word in found[0].text for word in words), found
