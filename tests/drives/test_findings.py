"""Findings about recordings of commands and about their fit, each where it belongs and nowhere else."""

from dataclasses import replace

import numpy as np
import pytest

from casid.drives import CommandRecording, Servo, SimulationOptions, identify_from_commands
from casid.testing import broadband_commands, commanded_motion

TRUE = Servo(kp=[12.0, 9.0], armature=0.03, viscous=0.3, coulomb=0.1, bias=0.0, delay=0.01)
T = np.arange(600) * 0.02
QUICK = SimulationOptions(threads=1, folds=0, terms=())


def motion(arm, **changes):
    commands = broadband_commands(T, [0.2, -0.3], 0.7)
    return commanded_motion(arm, replace(TRUE, **changes), T, commands, noise=5e-4, quantum=1.5e-3)


def findings(arm, data, servo=None):
    found = identify_from_commands(arm, [data], servo, QUICK)
    wrong = [f.kind for f in found.findings if f.wrong]
    assert not found.findings or (wrong or [found.findings[0].kind])[0] in found.headline
    return found.findings


def kinds(found):
    return [(f.kind, f.joint) for f in found]


@pytest.mark.parametrize(
    ("changes", "servo", "expected"),
    [
        ({}, None, []),
        ({"bias": [0.0, 0.2]}, None, [("zero", "elbow")]),
        ({"delay": 0.08}, None, [("delay", "")]),
    ],
)
def test_the_fit_is_judged(arm, changes, servo, expected):
    found = findings(arm, motion(arm, **changes), servo)
    assert kinds(found) == expected
    assert [f.wrong for f in found] == [f.kind == "zero" for f in found]


@pytest.mark.claim("24: a gain that is given wrongly is named, with the error of the gain that was tried")
@pytest.mark.parametrize(
    ("changes", "servo", "expected"),
    [({}, Servo(kp=[5.0, 4.0]), "gain"), ({"limit": [1.5, 0.6]}, None, "saturation")],
)
def test_what_explains_a_misfit_is_named(arm, changes, servo, expected):
    one = next(f for f in findings(arm, motion(arm, **changes), servo) if f.kind == expected)
    before, after = (float(x.split()[0]) for x in one.remedy.removeprefix("tried: ").split(" -> "))
    assert one.wrong and after < 0.6 * before


def edited(data, name, rows, joint, value):
    made = np.array(getattr(data, name))
    made[rows, joint] = value(made[rows, joint])
    return replace(data, **{name: made})


@pytest.mark.parametrize(
    ("edit", "expected", "words"),
    [
        (
            ("q", slice(300, None), 0, lambda x: x + 0.1),
            ("slip", "shoulder"),
            "after 6 s the joint stands 0.098 rad off",
        ),
        (("q_des", slice(200, 400), 1, lambda x: x[0]), ("missing commands", "elbow"), "for 3.5 s"),
        (("q", slice(200, 350), 0, lambda x: x[0]), ("stall", "shoulder"), "0.35 rad from the model"),
    ],
)
def test_what_went_wrong_in_a_stretch_is_named_with_its_amount(arm, edit, expected, words):
    (one,) = (f for f in findings(arm, edited(motion(arm), *edit)) if (f.kind, f.joint) == expected)
    assert words in one.text


def test_lost_cycles_are_counted(arm):
    data, kept = motion(arm), np.delete(np.arange(600), [100, 200, 201, 300, 400])
    (one,) = findings(arm, CommandRecording(data.t[kept], data.q[kept], data.q_des[kept]))
    assert "4 steps of the clock miss 5 cycles" in one.text


@pytest.mark.claim("a joint whose encoder flickers by one step does not move")
def test_joints_that_stand_are_named_and_do_not_make_it_wrong(arm):
    data = edited(motion(arm), "q", slice(None), 1, lambda x: 0.1 + 1.5e-3 * (np.arange(len(x)) % 2))
    one = findings(arm, data)[0]
    assert (one.kind, one.joint, one.wrong) == ("standstill", "elbow", False) and "assumed" in one.remedy


def test_reversed_and_exchanged_joints_are_found(arm):
    data = motion(arm)
    for commands, kind in (
        (data.q_des * [1, -1], ("sign", "elbow")),
        (data.q_des[:, ::-1], ("joint order", "shoulder, elbow")),
    ):
        first = findings(arm, replace(data, q_des=commands))[0]
        assert (first.kind, first.joint) == kind and first.wrong and "tried" in first.remedy
    pushed = replace(data, q_des=0 * data.q_des, torque=12.0 * (data.q_des[:, ::-1] - data.q))
    assert not {"sign", "joint order"} & {f.kind for f in findings(arm, pushed)}  # commands are not followed


def test_exchanged_joints_are_found_in_a_few_seconds(arm):
    """Errors of both joints count: those of one alone leave it open in most of these."""
    for seed in range(3):
        data = commanded_motion(
            arm, TRUE, T[:200], broadband_commands(T[:200], [0.2, -0.3], 0.5, seed=seed), noise=1e-3
        )
        assert not any(f.wrong for f in findings(arm, data))
        assert kinds(findings(arm, replace(data, q_des=data.q_des[:, ::-1])))[0] == ("joint order", "shoulder, elbow")


def test_the_search_begins_with_a_step_that_the_start_bears(arm):
    """Stiff and light: free runs from the convex start at steps of 5 ms end hundreds of radians away."""
    servo, t = replace(TRUE, kp=[1200.0, 900.0], limit=[1.0, 0.4], viscous=0.4, coulomb=0.0), T[:250]
    data = commanded_motion(arm, servo, t, broadband_commands(t, [0.2, -0.3], 0.5, seed=1), noise=1e-3)
    found = identify_from_commands(arm, [data], Servo(kp=servo.kp), QUICK)
    assert found.start_error < 0.3 and found.error < found.start_error


@pytest.mark.claim("37.9: commands in degrees are named, with the error of radians")
def test_commands_in_degrees_are_named(arm):
    data = motion(arm)
    found = findings(arm, replace(data, q_des=np.degrees(data.q_des)))
    one = next(f for f in found if f.kind == "unit")
    assert one.joint == "shoulder, elbow" and one.wrong and "tried" in one.remedy


HELD = np.repeat([[0.2, -0.4], [0.2, 0.9], [-0.5, 0.9], [0.8, 0.3]], 150, axis=0)


@pytest.mark.claim("37.9: commands in degrees of held poses, whose encoders follow no change, are named")
def test_commands_in_degrees_of_held_poses_are_named(arm):
    data = commanded_motion(arm, TRUE, T, HELD, noise=5e-4, quantum=1.5e-3)
    assert "unit" not in {f.kind for f in findings(arm, data)}
    first = findings(arm, replace(data, q_des=np.degrees(data.q_des)))[0]
    assert (first.kind, first.joint, first.wrong) == ("unit", "shoulder, elbow", True)


@pytest.mark.claim("37.9: an encoder that jumps while its joint stands, whose friction is unknown, has slipped")
def test_a_jump_of_an_encoder_is_a_slip_and_lost_samples_are_none(arm):
    commands = HELD.copy()
    commands[:, 1] = 0.3
    data = commanded_motion(arm, TRUE, T, commands, quantum=1.5e-3)
    assert not findings(arm, data)
    (one,) = findings(arm, edited(data, "q", slice(320, None), 1, lambda x: x + 0.1))
    assert (one.kind, one.joint, one.wrong) == ("slip", "elbow", True) and "at 6.40 s" in one.text
    frozen = edited(motion(arm), "q", slice(300, 312), slice(None), lambda x: x[:1])
    assert "slip" not in {f.kind for f in findings(arm, frozen)}


@pytest.mark.claim("37.9: free runs that miss by more than the joints move explain nothing")
def test_a_fit_that_is_worse_than_standing_still_is_wrong(arm):
    data = motion(arm)
    first = findings(arm, replace(data, q_des=data.q_des[::-1]), Servo(kp=[12.0, 9.0]))[0]
    assert first.kind == "no fit" and first.wrong


@pytest.mark.claim("37.9: a joint that follows a standing command late misses no command")
@pytest.mark.parametrize("seed", range(6))
def test_commands_that_are_logged_early_do_not_miss(arm, seed):
    u = np.array([0.2, -0.3]) + np.repeat(np.random.default_rng(seed).uniform(-0.4, 0.4, (6, 2)), 100, axis=0)
    acted = u.copy()
    for first in (100, 300):  # two of the steps act 1.2 s after their line of the log
        acted[first : first + 60] = u[first - 1]
    late = commanded_motion(arm, replace(TRUE, viscous=1.5), T, acted, noise=5e-4)
    assert not {"missing commands", "slip"} & {f.kind for f in findings(arm, replace(late, q_des=u))}


@pytest.mark.claim("a joint that others shake within what its dry friction holds misses no command")
def test_motion_within_the_leeway_of_dry_friction_misses_no_command(arm):
    u = broadband_commands(T, [0.2, -0.3], 0.7)
    u[200:400, 1] = u[200, 1]
    data = commanded_motion(arm, replace(TRUE, coulomb=[0.1, 1.5]), T, u, noise=5e-4, quantum=1.5e-3)
    shaken = np.array(data.q)  # friction holds the elbow within 2 * 1.5 / 9 = 0.33 rad
    shaken[300:400, 1] += 0.1 * np.sin(np.pi * np.arange(100) / 100)
    assert "missing commands" not in {f.kind for f in findings(arm, replace(data, q=shaken))}


@pytest.mark.claim("a reversed joint is named where other motion hides half of its correlation")
def test_a_reversed_joint_is_found_beside_motion_of_another_origin(arm):
    data = motion(arm)
    pushed = np.cumsum(np.random.default_rng(0).normal(size=len(data)))
    pushed *= 0.8 * np.std(data.q_des[:, 1]) / np.std(pushed)
    reversed_ = replace(data, q_des=data.q_des * [1, -1], q=data.q + np.outer(pushed, [0.0, 1.0]))
    change = [np.diff(column[::12]) for column in (reversed_.q[:, 1], reversed_.q_des[:, 1])]
    assert -0.9 < np.corrcoef(*change)[0, 1] < -0.55
    assert ("sign", "elbow") in kinds(findings(arm, reversed_))
