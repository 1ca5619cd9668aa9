"""Identification from commands: recovery of a truth, starts, intervals, what stays open, profiles, terms."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student

from casid.drives import FREE, CommandRecording, Servo, SimulationOptions, Unknown, identify_from_commands
from casid.errors import DatasetError
from casid.testing import broadband_commands, commanded_motion

TRUE = {"kp": [12.0, 9.0], "armature": [0.03, 0.02], "viscous": [0.4, 0.3], "coulomb": [0.1, 0.06],
        "bias": [0.01, -0.005], "delay": 0.013}  # fmt: skip
SMOOTH = {"kp": [12.0, 9.0], "armature": 0.03, "viscous": 0.4, "coulomb": 0.0, "bias": 0.01, "delay": 0.01}
OPTIONS = SimulationOptions(threads=1)
QUICK = SimulationOptions(threads=1, folds=0, terms=())
TERMS = {"load_friction", "warm_up", "warm_time", "stiffness", "joint_damping", "backlash", "bristle_stiffness",
         "bristle_damping", "viscous_asymmetry", "offset", "offset_drift"}  # fmt: skip


def motion(robot, seconds=6.0, seed=0, width=0.5, highest=1.0, of=SMOOTH, commands=None, noise=2e-3, quantum=0.0,
           late=0.0, **changes):  # fmt: skip
    """A recording of servos with these values, changed."""
    t = np.arange(round(seconds / 0.02)) * 0.02
    u = broadband_commands(t, [0.2, -0.3], width, seed=seed, highest=highest) if commands is None else commands
    return commanded_motion(robot, Servo(**{**of, **changes}), t + late, u, noise=noise, quantum=quantum, seed=seed,
                            name=f"motion {seed}")  # fmt: skip


def recordings(robot, count=3, seconds=14.0, **changes):
    return [motion(robot, seconds, k, 0.7, of=TRUE, noise=5e-4, quantum=1.5e-3, **changes) for k in range(count)]


def identified(robot, data, options=QUICK, profile=(), **unknown):
    """Two gains and viscous frictions, or what else is unknown."""
    servo = Servo(**{**SMOOTH, "viscous": FREE, **unknown})
    return identify_from_commands(robot, data, servo, options, profile=profile)


@pytest.fixture(scope="module")
def found(arm):
    return identify_from_commands(arm, recordings(arm), options=OPTIONS)


@pytest.fixture(scope="module")
def fitted(arm):
    """A fit in few pieces."""
    return identified(arm, [motion(arm)], kp=FREE)


def deviations(found):
    return np.array([e.sd for e in found.estimates])


def test_the_truth_is_inside_the_intervals(found):
    truth = [np.broadcast_to(TRUE[e.attribute], 2)[e.joints[0]] for e in found.estimates]
    assert np.mean([e.low <= v <= e.high for e, v in zip(found.estimates, truth, strict=True)]) >= 0.9
    assert found.error < 1.5e-3 and found.held_out < 1.5e-3 and found.theta[:2] == pytest.approx(TRUE["kp"], rel=0.05)
    assert [e.joints for e in found.estimates if e.attribute == "delay"] == [(0, 1)]
    assert not TERMS & {e.attribute for e in found.estimates}
    text = json.dumps(found.record(), allow_nan=False)
    assert '"held_out_error"' in text and "partner" in text


def test_motions_that_a_fit_did_not_see_are_predicted(arm, found):
    fresh = motion(arm, 8.0, 9, 0.6, of=TRUE, noise=0.0, quantum=1.5e-3)
    assert found.error_of([fresh]) < 2e-3


def start_of(found, attribute):
    return [v for e, v in zip(found.estimates, found.start.theta, strict=False) if e.attribute == attribute]


def test_the_convex_start_is_certified_and_near(found):
    assert found.start.gap < 1e-6 and found.start.ratios == ()
    assert start_of(found, "kp") == pytest.approx(TRUE["kp"], rel=0.3)
    assert start_of(found, "bias") == pytest.approx(TRUE["bias"], abs=6e-3)
    assert start_of(found, "delay") == pytest.approx([0.013], abs=0.01)  # a cell of the grid


def test_a_prior_of_the_gain_is_one_more_equation_of_the_start(arm):
    vague, sure = (identified(arm, [motion(arm)], kp=Unknown(20.0, sd)) for sd in (1e6, 1e-3))
    assert start_of(sure, "kp") == pytest.approx([20.0, 20.0], rel=1e-2)
    assert start_of(vague, "kp") == pytest.approx(TRUE["kp"], rel=0.2)


def test_any_start_gives_the_same_answer(arm, found):
    start = found.theta * np.exp(np.random.default_rng(3).normal(0, 1.0, len(found.theta)))
    again = identify_from_commands(arm, found.recordings, options=OPTIONS, start=start)
    assert again.error < 1.03 * found.error


def test_bounds_and_priors_hold(arm):
    held = identified(arm, [motion(arm)], kp=[Unknown(lower=13.0, upper=20.0), Unknown(6.0, 1e-4)])
    assert held.theta[:2] == pytest.approx([13.0, 6.0], rel=2e-3)  # the truth is below the bound
    assert "at its bound" in held.estimates[0].words


def test_servos_of_one_kind_share_what_is_of_the_kind(arm):
    """One gain of two servos, the one alone badly determined: what the other shows counts for both."""
    joints = [joint.name for joint in arm.coordinates]
    data, open_values = motion(arm, kp=12.0), {"kp": FREE, "armature": FREE}
    apart, one = (identified(arm, [data], **open_values, same=groups) for groups in ((), (joints,)))
    assert [e.name for e in one.estimates if e.attribute == "kp"] == [f"kp {'='.join(joints)}"]
    assert [e.attribute for e in one.estimates].count("viscous") == 2
    (gain, inertia), gains = one.estimates[:2], [e for e in apart.estimates if e.attribute == "kp"]
    assert gain.low <= 12.0 <= gain.high and inertia.low <= 0.03 <= inertia.high
    assert gain.sd < min(e.sd for e in gains) and np.ptp([e.value for e in gains]) > 1e-6
    assert one.table["kp"].tolist() == [gain.value] * 2 and one.table["armature"].tolist() == [inertia.value] * 2
    assert one.ratios.keys() >= {f"viscous {name} / kp" for name in joints}


@pytest.mark.parametrize(
    ("servo", "words"),
    [
        ({"same": [["shouldr", "elbow"]]}, "no joint 'shouldr'.*shoulder"),
        ({"same": [["shoulder", "elbow"], ["elbow"]]}, "'elbow' twice"),
        ({"same": [["shoulder", "elbow"]], "kp": [12.0, 9.0]}, "shoulder, elbow are the same servo, but differ in kp"),
    ],
)
def test_servos_of_one_kind_that_contradict_are_refused(arm, servo, words):
    with pytest.raises(DatasetError, match=words):
        identify_from_commands(arm, [motion(arm)], Servo(**servo))


def test_outliers_count_linearly(arm):
    data = motion(arm)
    q = np.array(data.q)
    q[::40] += 0.04
    cases = ((data, 4.0), (replace(data, q=q), 4.0), (replace(data, q=q), 1e6))
    clean, robust, plain = (identified(arm, [one], replace(QUICK, robust=edge), kp=FREE) for one, edge in cases)
    off = [np.abs(one.theta / clean.theta - 1).max() for one in (robust, plain)]
    assert off[0] < 0.02 and off[0] < 0.5 * off[1]


@pytest.mark.claim("the error held out is that of motions that the fit did not see")
def test_the_error_held_out_is_that_of_the_other_motion(arm):
    """Two motions of unlike servos: a fit of both lies between them, a fit of one misses the other by twice as much."""
    pair = [recordings(arm, 1, kp=[gain, 9.0], bias=0.0)[0] for gain in (10.0, 14.0)]
    pair = [replace(data, name=f"of {k}", motion=f"of {k}") for k, data in enumerate(pair)]
    known = {name: value for name, value in TRUE.items() if name != "kp"} | {"bias": 0.0}
    servo = Servo(**known, kp=[FREE, 9.0])
    both = identify_from_commands(arm, pair, servo, replace(OPTIONS, terms=()))
    alone = [identify_from_commands(arm, [data], servo, QUICK) for data in pair]
    missed = np.hypot(alone[0].error_of(pair[1:]), alone[1].error_of(pair[:1])) / np.sqrt(2)
    assert both.held_out == pytest.approx(missed, rel=0.15) and missed > 1.5 * both.error


def test_deviations_are_those_of_repeated_noise(arm, fitted):
    clean, noise = motion(arm, noise=0.0), 2e-3 * np.random.default_rng(0).standard_normal((9, 300, 2))
    scatter = [identified(arm, [replace(clean, q=clean.q + e)], kp=FREE).theta for e in noise]
    ratio = np.std(scatter, axis=0, ddof=1) / deviations(fitted)
    assert np.all(ratio < 2.2) and np.all(ratio > 0.35)


@pytest.mark.claim("intervals are as wide as the errors' correlation makes them")
def test_correlated_errors_widen_the_intervals(arm):
    """Of first order with 0.9: the variance of a mean is ``(1 + 0.9) / (1 - 0.9) = 19`` times that of white noise."""
    white = 2e-3 * np.random.default_rng(0).standard_normal((1000, 2))
    red = white.copy()
    for k in range(1, len(red)):
        red[k] = 0.9 * red[k - 1] + np.sqrt(1 - 0.9**2) * white[k]
    clean = motion(arm, 20.0, noise=0.0)
    options = replace(QUICK, longest=99.0)  # one piece: nothing but the errors' own correlation shows it
    noisy = [[replace(clean, q=clean.q + e)] for e in (red, white)]
    wide, narrow = (deviations(identified(arm, data, options, kp=FREE)) for data in noisy)
    assert np.all(wide / narrow > 2.0) and np.all(wide / narrow < 6.0)


@pytest.mark.claim("few pieces that disagree widen the intervals")
def test_pieces_that_disagree_widen_the_intervals(arm):
    apart, alike = (deviations(identified(arm, [motion(arm, viscous=fv) for fv in pair], replace(QUICK, longest=3.0),
                                          kp=FREE)) for pair in ((0.36, 0.44), (0.4, 0.4)))  # fmt: skip
    assert np.all(apart > 12.0 * alike)  # the correlation of the errors alone makes it 8


@pytest.mark.claim("where the model misses, intervals are as wide as what one motion more or less changes")
def test_motions_that_a_wrong_model_misses_differently_widen_the_intervals(arm):
    """The jackknife by hand: every motion is left out in turn, and the rest is identified anew."""
    data = [motion(arm, 3.0, k, 0.6, noise=2e-4, viscous=[fv, 0.4])
            for k, fv in enumerate((0.36, 0.38, 0.40, 0.42, 0.44))]  # fmt: skip
    options = replace(QUICK, robust=1e6)
    found = identified(arm, data, options, kp=FREE)
    left = np.array([identified(arm, [*data[:k], *data[k + 1 :]], options, kp=FREE).theta for k in range(5)])
    direct = np.sqrt(4 / 5 * ((left - left.mean(axis=0)) ** 2).sum(axis=0))
    one = found.estimates[2]
    assert one.name == "viscous shoulder" and one.sd == pytest.approx(direct[2], rel=0.1)
    assert one.high - one.value == pytest.approx(student.ppf(0.975, 4) * one.sd, rel=1e-6)
    assert np.all(deviations(found) > 0.9 * direct)


@pytest.mark.claim("errors of an encoder's steps, which a motion that repeats repeats, count once")
def test_steps_of_the_encoders_widen_the_intervals(arm):
    """A motion of 20 periods: rounding errs alike in each, noise of the same variance does not."""
    t = np.arange(500) * 0.02
    swing = 0.05 * np.column_stack([np.sin(4 * np.pi * t), np.cos(4 * np.pi * t)]) + [0.2, -0.3]
    data = [motion(arm, 10.0, commands=swing, noise=noise, quantum=quantum)
            for quantum, noise in ((0.0, 4e-3 / 12**0.5), (4e-3, 0.0))]  # fmt: skip
    sizes = [deviations(identified(arm, [one], viscous=0.4, kp=FREE, bias=FREE)) for one in data]
    ratio = sizes[1] / sizes[0]
    assert np.all(ratio > 2.0) and np.all(ratio < 2 * np.sqrt(20))


def test_ratios_have_the_deviation_of_their_distribution(fitted):
    drawn = np.random.default_rng(0).multivariate_normal(fitted.theta, fitted.covariance, 200_000)
    ratio, half = fitted.ratios["viscous elbow / kp"]
    assert list(fitted.ratios) == ["viscous shoulder / kp", "viscous elbow / kp"]
    assert ratio == pytest.approx(fitted.theta[3] / fitted.theta[1])
    assert half == pytest.approx(1.96 * np.std(drawn[:, 3] / drawn[:, 1]), rel=0.02)


def test_partners_are_the_most_correlated(arm):
    """Without weight a constant torque and a command offset are the same."""
    weightless = replace(arm, gravity=np.zeros(3))
    found = identified(weightless, [motion(weightless)], viscous=0.4, bias=[FREE, 0.01], offset=[FREE, 0.0])
    bias, offset = found.estimates
    assert (bias.partner, offset.partner) == (offset.name, bias.name) and abs(bias.correlation) > 0.9
    assert f"traded with {offset.name}" in bias.words


@pytest.mark.claim("24: a gain that no known torque fixes is named, and ratios are given")
def test_a_scale_that_nothing_fixes_is_refused_in_words(arm):
    """A joint that no known torque moves takes the mean gain of the rest, or 10 N.m/rad where there is none."""
    turned = replace(arm, gravity=np.array([0.0, -9.80665, 0.0]))  # along the axes: no gravity torque
    light = turned.with_parameters(turned.standard_parameters() * 1e-3)
    made = identify_from_commands(light, recordings(light, 2), options=replace(OPTIONS, terms=()))
    kp = [e for e in made.estimates if e.attribute == "kp"]
    assert not any(e.determined for e in kp) and all("ratio" in e.words for e in kp)
    assert made.start.ratios == (0, 1) and start_of(made, "kp") == pytest.approx([10.0, 10.0], rel=1e-6)
    ratio, half = made.ratios["viscous shoulder / kp"]
    assert abs(ratio - 0.4 / 12.0) < 3 * max(half, 1e-3)


def test_what_the_data_leave_open_is_not_determined(arm):
    """A torque limit that no motion reaches."""
    made = identified(arm, [motion(arm)], viscous=0.4, limit=FREE, kp=FREE)
    assert [e.determined for e in made.estimates] == [True, True, False, False] and made.error < 2.1e-3
    limit = made.estimates[2]
    assert (limit.low, limit.high) == (1e-3, 1e6) and limit.words.startswith("not determined")
    assert "2 of 4 parameters not determined" in made.headline
    reached = identified(arm, [motion(arm, limit=[1.5, 0.6])], viscous=0.4, limit=FREE, kp=FREE)
    assert reached.table["limit"] == pytest.approx([1.5, 0.6], rel=0.05)


def test_two_gain_settings_separate_the_derivative_gain(arm):
    t = np.arange(500) * 0.02
    known = Servo(**{**TRUE, "kd": 0.1, "viscous": 0.2})
    data = [commanded_motion(arm, known, t, broadband_commands(t, [0.2, -0.3], 0.6, seed=k), quantum=1e-4, gain=g,
                             name=str(k))
            for k, g in enumerate((0.5, 2.0))]  # fmt: skip
    made = identify_from_commands(arm, data, Servo(kd=FREE), OPTIONS)
    assert made.table["kd"] == pytest.approx([0.1, 0.1], abs=0.03)


def test_an_integral_and_a_tilted_base_are_found(arm):
    """With known gains: the integral gain of one servo, and how far the base is out of level, over twelve draws."""
    truth = {**SMOOTH, "coulomb": 0.1, "bias": 0.0, "delay": 0.0, "tilt_y": 0.12, "ki": [15.0, 0.0]}
    known = Servo(kp=[12.0, 9.0], delay=0.0, bias=0.0, tilt_y=FREE, ki=[FREE, 0.0])
    held = {"tilt_y": 0, "ki shoulder": 0}
    for draw in range(12):
        data = [motion(arm, 10.0, k, 0.6, of=truth, noise=3e-4) for k in (2 * draw, 2 * draw + 1)]
        values = {e.name: e for e in identify_from_commands(arm, data, known, SimulationOptions(folds=0)).estimates}
        for name, value in (("tilt_y", 0.12), ("ki shoulder", 15.0)):
            held[name] += values[name].low <= value <= values[name].high
            assert values[name].value == pytest.approx(value, rel=0.05)
    assert min(held.values()) >= 11


def test_bad_recordings_and_options_are_refused(arm, fitted):
    (data,) = fitted.recordings
    with pytest.raises(DatasetError, match="more commands than encoders"):
        CommandRecording(data.t, data.q[:, :1], data.q_des)
    with pytest.raises(DatasetError, match="drives nothing"):
        replace(data, gain=0.0)
    for bad, servo, words in (
        (replace(data, q=np.zeros_like(data.q)), None, "no joint moves"),
        (replace(data, q=data.q_des), None, "same numbers"),
        (CommandRecording(data.t, data.q[:, :1], data.q_des[:, :1]), None, "joints for the 2"),
        (data, Servo(**TRUE), "nothing is left"),
    ):
        with pytest.raises(DatasetError, match=words):
            identify_from_commands(arm, [bad], servo)
    with pytest.raises(DatasetError, match="'armature' is no unknown here"):
        identified(arm, [data], profile=["armature"])
    assert fitted.runs.named(["kp", "viscous elbow"]) == [0, 1, 3] and fitted.runs.named(["all"]) == [0, 1, 2, 3]


@pytest.mark.claim("the profile of a quadratic objective ends where its closed form does; a flat one is open")
def test_profiles_in_closed_form(arm):
    """Without weight a constant torque o is a command offset -o / kp: ``min_o`` of both is the prior of o alone."""
    weightless = replace(arm, gravity=np.zeros(3))
    data = [motion(weightless, viscous=1.0, noise=1e-3)]
    for sd in (0.3, np.inf):
        prior = Unknown(0.0, sd) if np.isfinite(sd) else FREE
        made = identified(weightless, data, viscous=1.0, bias=[FREE, 0.01], offset=[prior, 0.0], profile=["bias"])
        (one,), own = made.profiles, made.estimates[0]
        if np.isfinite(sd):
            half = (own.high - own.low) / 2
            assert one.closed == (True, True) and one.words.startswith("from ")
            assert [one.value - one.low, one.high - one.value] == pytest.approx([half, half], rel=0.1)
            parabola = ((one.path[:, 0] - one.value) / half) ** 2
            assert one.path[:, 1] == pytest.approx(parabola, rel=0.2, abs=0.02)
        else:
            assert one.closed == (False, False) and one.words.startswith("open")
            assert one.path[:, 1].max() < 0.2


@pytest.mark.claim("a profile says that slow motions bound the armature from above only; Fisher's interval cannot")
def test_a_profile_that_is_open_below(arm):
    slow = [motion(arm, 8.0, k, highest=0.3, noise=1e-3, armature=5e-4, coulomb=0.05) for k in range(2)]
    found = identify_from_commands(arm, slow, Servo(kp=[12.0, 9.0]), SimulationOptions(terms=(), threads=1),
                                   profile=["armature elbow"])  # fmt: skip
    (one,) = found.profiles
    assert one.closed == (False, True) and one.words.startswith("bounded above only: at most")
    assert one.low == pytest.approx(1e-6) and 5e-4 < one.high < 0.05
    assert one.path[0, 1] < 1.0 < one.path[-1, 1]
    assert found.record()["profiles"][0]["closed"] == [False, True]


HEAVY = {"kp": [12.0, 9.0], "armature": 0.02, "viscous": 0.4, "coulomb": 0.1, "bias": 0.003, "delay": 0.01}


@pytest.mark.claim("load-dependent friction, warming up, memory and play are found where they are, and not elsewhere")
@pytest.mark.parametrize(
    ("changes", "judged", "tolerance"),
    [
        ({"load_friction": 0.3}, "load_friction", 0.1),
        ({"warm_up": 0.6, "warm_time": 12.0}, "warm_up", 0.1),
        pytest.param({"backlash": 0.03}, "backlash", 0.05, marks=pytest.mark.slow),
        pytest.param({"coulomb": 0.3, "bristle_stiffness": 15.0, "bristle_damping": 0.05}, "bristle_stiffness", 0.15,
                     marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_effects_are_found_where_they_are(arm, changes, judged, tolerance):
    loaded = judged == "load_friction"
    robot = arm if loaded else replace(arm, gravity=np.zeros(3))
    data = [motion(robot, 8.0, k, 0.7, 1.0 if loaded else 2.0, of=HEAVY, noise=3e-4, late=8.0 * k, **changes)
            for k in range(4)]  # fmt: skip
    found = identify_from_commands(robot, data, Servo() if loaded else Servo(kp=[12.0, 9.0]))
    assert TERMS & {e.attribute for e in found.estimates} == set(changes) - {"coulomb"}
    assert found.table[judged] == pytest.approx(changes[judged], rel=tolerance)
    assert found.error == pytest.approx(3e-4, rel=0.1) or not loaded


@pytest.mark.claim("play that is asked for is found from a start that is off, with the scatter of minima as good")
def test_play_is_found(arm):
    weightless = replace(arm, gravity=np.zeros(3))
    given = {**HEAVY, "bias": 0.0, "viscous": [FREE, 0.4], "backlash": [FREE, 0.0]}
    truth = {**given, "viscous": 0.4, "backlash": [0.03, 0.0]}
    data = [motion(weightless, 8.0, k, 0.7, 2.5, of=truth, noise=3e-4) for k in range(2)]
    found = identify_from_commands(weightless, data, Servo(**given), replace(QUICK, longest=4.0))
    assert found.theta == pytest.approx([0.4, 0.03], rel=0.02) and np.all(deviations(found) < [0.04, 0.003])


def test_a_driven_axis_shows_friction_by_direction_and_a_drifting_offset(axis):
    """Both are tried and taken where known forces alone drive the axis; a servo's joints are not asked for them."""
    t = np.arange(1600) * 0.01
    zero, force = np.zeros((len(t), 1)), 20.0 * broadband_commands(t, [0.0], 1.0, seed=3, highest=1.0)
    known = {"kp": 0.0, "bias": 0.0, "delay": 0.0}
    truth = {"armature": 20.0, "viscous": 30.0, "coulomb": 4.0, "offset": -0.5}
    odd = {"viscous_asymmetry": 6.0, "offset_drift": 0.02}
    for more in ({}, {"offset_drift": 0.02}, odd):
        data = commanded_motion(axis, Servo(**known, **truth, **more), t, zero, torque=force, noise=1e-5)
        offset = 0.0 if more == odd else FREE  # both terms bring it where it is not asked for
        servo = Servo(**known, armature=Unknown(lower=1.0, upper=1e3), offset=offset)
        found = identify_from_commands(axis, [data], servo, SimulationOptions(step=2e-3))
        assert {e.attribute for e in found.estimates} & set(odd) == set(more)
        for name, value in more.items():
            assert found.table[name][0] == pytest.approx(value, rel=0.05)


def test_a_limit_that_servos_share_begins_at_what_is_asked_of_any(arm):
    """The second joint's commands are a fiftieth of the first's: alone it would limit both at next to nothing."""
    t = np.arange(300) * 0.02
    u = broadband_commands(t, [0.2, -0.3], 0.5, seed=0, highest=1.0)
    u = np.column_stack([u[:, 0], -0.3 + 0.02 * (u[:, 1] + 0.3)])
    data, joints = motion(arm, commands=u, kp=12.0), [[joint.name for joint in arm.coordinates]]
    (first,), (alone, other) = (
        start_of(identified(arm, [data], kp=12.0, limit=FREE, same=same), "limit") for same in (joints, ())
    )
    assert other < 0.5 * alone and first == pytest.approx(max(alone, other))
