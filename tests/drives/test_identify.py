"""Identification from commands: recovery of a truth, intervals, starts, what stays open, findings."""

import json
from dataclasses import replace

import numpy as np
import pytest

from casid.drives import FREE, CommandRecording, Servo, SimulationOptions, identify_from_commands
from casid.errors import DatasetError
from casid.testing import broadband_commands, commanded_motion

TRUE = {"kp": [12.0, 9.0], "armature": [0.03, 0.02], "viscous": [0.4, 0.3], "coulomb": [0.1, 0.06],
        "bias": [0.01, -0.005], "delay": 0.013}  # fmt: skip
OPTIONS = SimulationOptions(threads=1)


def recordings(robot, count=3, seconds=14.0, **changes):
    t = np.arange(int(seconds / 0.02)) * 0.02
    return [
        commanded_motion(robot, Servo(**{**TRUE, **changes}), t, broadband_commands(t, [0.2, -0.3], 0.7, seed=k),
                         noise=5e-4, quantum=1.5e-3, seed=k, name=f"motion {k}")
        for k in range(count)
    ]  # fmt: skip


def truth(found):
    return np.array([np.broadcast_to(TRUE[e.attribute], 2)[max(e.joint, 0)] for e in found.estimates])


@pytest.fixture(scope="module")
def found(arm):
    return identify_from_commands(arm, recordings(arm), options=OPTIONS)


def test_the_truth_is_inside_the_intervals(found):
    values = truth(found)
    inside = [e.low <= v <= e.high for e, v in zip(found.estimates, values, strict=True)]
    assert np.mean(inside) >= 0.9
    assert found.error < 1.5e-3 and found.held_out < 1.5e-3
    assert found.theta[:2] == pytest.approx(TRUE["kp"], rel=0.05)
    assert {e.joint for e in found.estimates if e.attribute == "delay"} == {-1}


def test_the_convex_start_is_certified_and_near(found):
    assert found.start.gap < 1e-6 and found.start.ratios == ()
    kp = [v for p, v in zip(found.runs.parameters, found.start.theta, strict=False) if p.attribute == "kp"]
    assert kp == pytest.approx(TRUE["kp"], rel=0.3)


def test_any_start_gives_the_same_answer(arm, found):
    rng = np.random.default_rng(3)
    p = found.runs.parameters
    for _ in range(2):
        start = found.theta * np.exp(rng.normal(0, 1.0, len(p)))
        again = identify_from_commands(arm, found.recordings, options=OPTIONS, start=start)
        assert again.error < 1.03 * found.error


@pytest.mark.claim("the error held out is that of motions that the fit did not see")
def test_the_error_held_out_is_that_of_the_other_motion(arm):
    """Two motions of unlike servos: a fit of both lies between them, a fit of one misses the other by twice as much."""
    pair = [recordings(arm, 1, kp=[gain, 9.0], bias=0.0)[0] for gain in (10.0, 14.0)]
    pair = [replace(data, name=f"of {k}", motion=f"of {k}") for k, data in enumerate(pair)]
    known = {name: value for name, value in TRUE.items() if name != "kp"} | {"bias": 0.0}
    servo = Servo(**known, kp=[FREE, 9.0])
    both = identify_from_commands(arm, pair, servo, replace(OPTIONS, terms=()))
    alone = [identify_from_commands(arm, [data], servo, replace(OPTIONS, terms=(), folds=0)) for data in pair]
    missed = np.hypot(alone[0].error_of(pair[1:]), alone[1].error_of(pair[:1])) / np.sqrt(2)
    assert both.held_out == pytest.approx(missed, rel=0.15) and missed > 1.5 * both.error


def test_motions_that_a_fit_did_not_see_are_predicted(arm, found):
    t = np.arange(400) * 0.02
    fresh = commanded_motion(arm, Servo(**TRUE), t, broadband_commands(t, [-0.2, 0.5], 0.6, seed=9), quantum=1.5e-3)
    assert found.error_of([fresh]) < 2e-3


@pytest.mark.slow
@pytest.mark.claim("24: a gain that no known torque fixes is named, and ratios are given")
def test_a_scale_that_nothing_fixes_is_refused_in_words(arm):
    turned = replace(arm, gravity=np.array([0.0, -9.80665, 0.0]))  # along the axes: no gravity torque
    light = turned.with_parameters(turned.standard_parameters() * 1e-3)
    made = identify_from_commands(light, recordings(light, 2), options=OPTIONS)
    kp = [e for e in made.estimates if e.attribute == "kp"]
    assert not any(e.determined for e in kp)
    assert all("ratio" in e.words for e in kp)
    ratio, half = made.ratios["viscous shoulder / kp"]
    assert abs(ratio - 0.4 / 12.0) < 3 * max(half, 1e-3)


def test_two_gain_settings_separate_the_derivative_gain(arm):
    t = np.arange(500) * 0.02
    known = Servo(**{**TRUE, "kd": 0.1, "viscous": 0.2})
    data = [commanded_motion(arm, known, t, broadband_commands(t, [0.2, -0.3], 0.6, seed=k), quantum=1e-4, gain=g,
                             name=str(k))
            for k, g in enumerate((0.5, 2.0))]  # fmt: skip
    made = identify_from_commands(arm, data, Servo(kd=FREE), OPTIONS)
    kd = [e.value for e in made.estimates if e.attribute == "kd"]
    assert kd == pytest.approx([0.1, 0.1], abs=0.03)


def test_reversed_and_exchanged_joints_are_found(arm):
    data, quick = recordings(arm, 1)[0], replace(OPTIONS, terms=(), folds=0)
    for commands, kind in (
        (data.q_des, []),
        (data.q_des * [1, -1], [("sign", "elbow")]),
        (data.q_des[:, ::-1], [("joint order", "shoulder, elbow")]),
    ):
        made = identify_from_commands(arm, [replace(data, q_des=commands)], options=quick)
        assert [(f.kind, f.joint) for f in made.findings if f.wrong][:1] == kind
        assert not kind or (kind[0][0] in made.headline and "tried" in made.findings[0].remedy)


@pytest.mark.claim("a reversed joint is named where other motion hides half of its correlation")
def test_a_reversed_joint_is_found_beside_motion_of_another_origin(arm):
    data = recordings(arm, 1)[0]
    pushed = np.cumsum(np.random.default_rng(0).normal(size=len(data)))
    pushed *= 0.8 * np.std(data.q_des[:, 1]) / np.std(pushed)
    reversed_ = replace(data, q_des=data.q_des * [1, -1], q=data.q + np.outer(pushed, [0.0, 1.0]))
    change = [np.diff(column[::12]) for column in (reversed_.q[:, 1], reversed_.q_des[:, 1])]
    assert -0.9 < np.corrcoef(*change)[0, 1] < -0.55
    made = identify_from_commands(arm, [reversed_], options=replace(OPTIONS, terms=(), folds=0))
    assert ("sign", "elbow") in [(f.kind, f.joint) for f in made.findings]


def test_bad_recordings_are_refused(arm):
    data = recordings(arm, 1)[0]
    with pytest.raises(DatasetError, match="no joint moves"):
        identify_from_commands(arm, [replace(data, q=np.zeros_like(data.q))])
    with pytest.raises(DatasetError, match="same numbers"):
        identify_from_commands(arm, [replace(data, q=data.q_des)])
    with pytest.raises(DatasetError, match="more commands than encoders"):
        CommandRecording(data.t, data.q[:, :1], data.q_des)
    with pytest.raises(DatasetError, match="drives nothing"):
        replace(data, gain=0.0)
    with pytest.raises(DatasetError, match="joints for the 2"):
        identify_from_commands(arm, [data.columns([0])])
    with pytest.raises(DatasetError, match="nothing is left"):
        identify_from_commands(arm, [data], Servo(**TRUE))


def test_a_gap_starts_a_new_piece(arm):
    data = recordings(arm, 1)[0]
    cut = np.r_[0:200, 400:700]
    holed = CommandRecording(data.t[cut], data.q[cut], data.q_des[cut])
    assert [s.stop - s.start for s in holed.pieces()] == [200, 300]


def test_the_record_is_plain(found):
    text = json.dumps(found.record(), allow_nan=False)
    assert '"held_out_error"' in text and "partner" in text


def test_an_integral_and_a_tilted_base_are_found(arm):
    """With known gains: the integral gain of one servo, and how far the base is out of level."""
    truth = Servo(kp=[12.0, 9.0], armature=0.03, viscous=0.4, coulomb=0.1, bias=0.0, delay=0.0, tilt_y=0.12,
                  ki=[15.0, 0.0])  # fmt: skip
    t = np.arange(500) * 0.02
    data = [
        commanded_motion(
            arm, truth, t, broadband_commands(t, [0.2, -0.4], 0.6, seed=k), noise=3e-4, seed=k, name=str(k)
        )
        for k in range(2)
    ]
    known = Servo(kp=[12.0, 9.0], delay=0.0, bias=0.0, tilt_y=FREE, ki=[FREE, 0.0])
    values = {e.name: e for e in identify_from_commands(arm, data, known, SimulationOptions(folds=0)).estimates}
    for name, value in (("tilt_y", 0.12), ("ki shoulder", 15.0)):
        assert values[name].low <= value <= values[name].high
        assert values[name].value == pytest.approx(value, rel=0.05)
