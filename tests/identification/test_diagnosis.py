"""What is wrong with a recording is named with the option that corrects it; a right one has no finding."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.files import json_bytes
from casid.identification import Checks, Constraints, ModelOptions, identify, without_delay
from casid.identification.diagnosis import Finding, Trial, Verdict
from casid.measurement import Processing, advanced
from casid.report import report_of
from casid.retrieval import total_mass
from casid.testing import blind, recording, with_friction
from tests.helpers import first_joints

FRICTION = ("viscous", "coulomb", "offset")


def verdict(robot, data, **options):
    return identify(robot, data, processing=False, checks=Checks(folds=0), **options).verdict


def columns(data, order, names=("q", "dq", "ddq", "tau")):
    return replace(data, **{name: getattr(data, name)[:, order] for name in names})


def signed(data, signs, names=("tau",)):
    return replace(data, **{name: getattr(data, name) * signs for name in names})


QUICK = {"model": ModelOptions(springs=False)}


#: Change of the recording, cause, joint and remedy of its finding.
FAULTS = {
    "torque reversed": (lambda d: signed(d, [1, -1, 1, 1]), "reversed joint", 1, "gains with a negative entry"),
    "all torques reversed": (lambda d: signed(d, -1.0), "driving friction", None, "gains = -1"),
    "joints exchanged": (lambda d: columns(d, [0, 2, 1, 3]), "exchanged joints", 1, "columns"),
    "torques exchanged": (lambda d: columns(d, [0, 2, 1, 3], ("tau",)), "exchanged torques", 1, "columns"),
    "clock": (lambda d: replace(d, t=2 * d.t, dq=d.dq / 2, ddq=d.ddq / 4), "velocity scale", None, "time_scale = 0.5"),
    "zero": (lambda d: replace(d, q=d.q - [0, 0.3, 0, 0]), "shifted zero", 1, "position_offset with 0.3"),
}


@pytest.mark.claim("each fault of a recording is named with the remedy that was tried and predicts better")
@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_named_with_a_remedy_that_was_tried(four, four_data, name):
    change, cause, joint, remedy = FAULTS[name]
    judged = verdict(four, change(four_data), **QUICK)
    found = judged.about("torques")[0]
    assert found.cause == cause and found.wrong and judged.torques.startswith("WRONG")
    assert joint is None or found.joint == four.joints[joint].name
    assert remedy in found.remedy and found.trial.after < 0.95 * found.trial.before and "tried" in judged.torques


@pytest.mark.claim("wrong gravity is named, not fitted without notice")
@pytest.mark.parametrize(
    "gravity", [pytest.param((9.81, 0, 0), marks=pytest.mark.slow), (0, 0, 9.81), (6.94, 0, -6.94)]
)
def test_wrong_gravity_is_named_with_the_option_that_corrects_it(four, four_data, gravity):
    judged = verdict(replace(four, gravity=np.array(gravity)), four_data, **QUICK)
    found = judged.about("torques")[0]
    assert found.kind == "gravity" and found.remedy == "--gravity=-z" and judged.line.startswith("WRONG")


@pytest.mark.claim("a joint that is held has no friction that drives, and decides nothing between readings")
def test_a_held_joint_is_not_judged(four, four_data):
    held = replace(four_data, q=np.where(np.arange(4) == 3, 1e-4 * four_data.q, four_data.q))
    assert not [f for f in verdict(four, signed(held, [1, 1, 1, -1]), **QUICK).findings if f.kind == "sign"]


@pytest.mark.claim("noise of other joints does not hide a reversed torque")
def test_readings_are_compared_joint_by_joint(arm, arm_data):
    weak = np.abs(arm_data.tau).max(axis=0).argsort()[:3]
    noise = np.zeros(arm_data.tau.shape)
    size = np.abs(arm_data.tau[:, weak]).max(axis=0)
    noise[:, weak] = size * np.random.default_rng(3).normal(size=(len(arm_data), 3))
    noisy = replace(arm_data, tau=arm_data.tau + noise)
    judged = verdict(arm, signed(noisy, [1, -1, 1, 1, 1, 1]), **QUICK)
    assert any(f.kind == "sign" and f.joint == arm.joints[1].name for f in judged.findings)


@pytest.mark.claim("a link whose description is refused makes no wrong unit of right torques")
def test_torques_against_a_description_in_which_a_link_is_refused(four, four_data):
    nothing = replace(four.joints[0].link, inertial=None)
    partly = replace(four, joints=(replace(four.joints[0], link=nothing), *four.joints[1:]))
    assert not [f for f in verdict(partly, four_data, **QUICK).findings if f.kind == "torque scale"]
    (found,) = [f for f in verdict(partly, signed(four_data, 4.0), **QUICK).findings if f.kind == "torque scale"]
    assert found.cause == "torques of nominal bodies" and found.values["ratio"] == pytest.approx(4.0, rel=0.1)


@pytest.mark.slow
@pytest.mark.claim("by default a delay that held-out motion proves is taken out, and the verdict states it")
def test_a_proven_delay_is_taken_out_by_default():
    whole = casid.load_robot("kuka_iiwa")
    robot = first_joints(whole, 3)

    def raw(seconds):
        data = recording(*with_friction(robot), samples=600, noise=0.05)
        return advanced(replace(data, dq=None, ddq=None), -seconds)

    def identified(data, **options):
        return identify(robot, data, model=ModelOptions(friction="linear", springs=False), **options)

    lag = 0.04
    found, kept = identified(raw(lag)), identified(raw(lag), delay=0.0)
    first = found.verdict.findings[0]
    assert first.cause == "delay taken out" and first.values["seconds"] == pytest.approx(lag, rel=0.05)
    assert "taken out" in found.verdict.torques and found.verdict.right and not first.advice
    assert found.processing.delay == pytest.approx(lag, rel=0.05) and kept.processing.delay == 0.0
    assert found.held_out.tested["consistent"].total < 0.7 * kept.held_out.tested["consistent"].total
    (advised,) = [f for f in kept.verdict.findings if f.kind == "delay"]
    assert "--delay" in advised.advice
    clean = identified(raw(0.0))
    assert clean.processing.delay == 0.0 and not [f for f in clean.verdict.findings if f.kind == "delay"]
    given = identified(raw(lag), processing=Processing(delay=0.01))
    assert given.processing.delay == 0.01


def test_a_right_recording_has_no_finding(four, four_data):
    judged = verdict(four, four_data)
    assert judged.right and "no finding against the model" in judged.line and "\n" not in judged.line
    assert judged.tried > 20


@pytest.mark.claim("findings are data, from which their texts are made")
def test_findings_carry_data(four, four_data):
    still = four_data.tau.copy()
    still[:, 2] = 3.0
    (finding,) = (f for f in verdict(four, replace(four_data, tau=still)).findings if f.cause == "dead channel")
    assert (finding.kind, finding.joint, finding.wrong) == ("channel", "elbow_joint", True)
    assert finding.remedy == "" or finding.trial is not None  # advice that was not tried is not given
    assert finding.text == f"{four_data.name}: the torque of joint 'elbow_joint' never changes: a dead channel"
    assert "elbow_joint" not in finding.remedy
    values = {"direction": "+x", "reading": 3.2, "recorded": 60.0}
    assert Finding("gravity direction", values=values).text.startswith("with gravity along +x the model leaves 3.2 %")


@pytest.mark.slow
def test_dead_and_noisy_channels_and_rest_are_named(arm, arm_data):
    rng = np.random.default_rng(0)
    noisy = arm_data.tau.copy()
    noisy[:, 2] = rng.normal(size=len(noisy))
    assert "channel" in [f.kind for f in verdict(arm, replace(arm_data, tau=noisy)).findings if f.wrong]
    half = np.arange(len(arm_data)) < len(arm_data) // 2
    still = replace(
        arm_data,
        q=np.where(half[:, None], arm_data.q, arm_data.q[len(arm_data) // 2]),
        dq=np.where(half[:, None], arm_data.dq, 0.0),
        ddq=np.where(half[:, None], arm_data.ddq, 0.0),
        tau=np.where(
            half[:, None], arm_data.tau, arm_data.tau[len(arm_data) // 2] + 0.01 * rng.normal(size=arm_data.tau.shape)
        ),
    )
    judged = verdict(arm, still)
    assert "standstill" in {finding.kind for finding in judged.findings}
    assert judged.torques.startswith("no finding") and "standstill" in judged.torques  # it is no proof of a fault
    assert any(f.kind == "standstill" and "no joint moves for 50 % of the time" in f.text for f in judged.findings)
    assert not judged.right


def test_one_way_motion_is_found_but_not_wrong(four, four_data):
    one_way = np.where(np.arange(4) == 2, np.abs(four_data.dq) + 0.05, four_data.dq)
    judged = verdict(four, replace(four_data, dq=one_way))
    assert any(f.kind == "one way" and not f.wrong for f in judged.findings)
    assert next(f.joint for f in judged.findings if f.cause == "one way") == four.coordinates[2].name
    both = verdict(four, [replace(four_data, dq=sign * one_way) for sign in (1.0, -1.0)])
    assert not any(f.cause == "one way" for f in both.findings)


@pytest.mark.claim("the report lists which numbers the data determine and which are the plausible choice")
def test_proven_ranges_hold_the_truth_and_the_choice(four, four_data):
    result = identify(four, four_data, processing=False, checks=Checks(folds=0, verdict=False, intervals=True))
    assert result.intervals is not None and len(result.intervals.entries) == four.n
    true = four.standard_parameters().reshape(-1, 10)
    for k, (link, chosen) in enumerate(zip(four.links, result.feasible.link_parameters, strict=True)):
        entry = result.intervals[f"{link.name} mass"]
        slack = 1e-6 * max(1.0, abs(entry.high))
        assert entry.low - slack <= true[k, 9] <= entry.high + slack
        assert entry.low - slack <= chosen.mass <= entry.high + slack
    record = result.record()
    assert record["intervals"][f"{four.links[0].name} mass"][0] is not None
    assert {entry["name"] for entry in record["determined"]} == set(result.model.parameter_names)
    first, *others = result.intervals.entries
    apart = replace(first, low=1.2573, high=98.512, attained_low=33.287, attained_high=44.519)
    made = replace(result, intervals=replace(result.intervals, entries=(apart, *others)))
    proven = report_of(made).html({}).split("Proven ranges")[1].split("Bounds that are reached")[0]
    assert "1.257" in proven and "98.51" in proven and made.record()["intervals"][first.name] == [1.2573, 98.512]
    assert "33.29" not in proven and "44.52" not in proven  # what sets attain proves nothing


@pytest.mark.claim("a verdict whose remedy was tried on a residual alone is written")
def test_a_trial_without_standard_errors_is_written():
    values = {"turned_mass": 9.0, "mass": 13.0, "reading": 13.0, "direction": "-z"}
    found = Finding("gravity of lighter links", values=values)
    judged = Verdict((replace(found, trial=Trial("held-out error", 1.3, 0.2)),), 1.3, 2.0, 3)
    assert json.loads(json_bytes(judged.record()))["findings"][0]["trial"] == {
        "measure": "held-out error", "before": 1.3, "after": 0.2,
    }  # fmt: skip


@pytest.mark.claim("a joint that the model explains far worse than the others is in the headline")
def test_a_joint_with_a_torque_of_another_origin_is_named(four, four_data):
    joint = 3
    friction_of_others = np.sign(four_data.dq[:, 0] + four_data.dq[:, 1])
    foreign = np.abs(four_data.tau[:, joint]).max() * friction_of_others
    tau = four_data.tau + foreign[:, None] * (np.arange(4) == joint)
    judged = verdict(four, replace(four_data, tau=tau))
    (found,) = [f for f in judged.findings if f.kind == "model"]
    assert found.joint == four.joints[joint].name and f"joint '{found.joint}' unexplained" in judged.torques
    assert not [f for f in verdict(four, four_data).findings if f.kind == "model"]


def late(cause, gain, trial=None):
    values = {"what": "", "lag": 9.0, "samples": 0.9, "seconds": 0.009, "gain": gain, "tried": "x"}
    return Finding(cause, "a", values=values, trial=trial)


def defect(cause, joint, share, treatment):
    values = {"level": 3.0, "share": share, "done": treatment, "treatment": treatment, "of": ""}
    return Finding(cause, "a", joint, values)


BETTER = Trial("held-out error", 2.0, 1.0, 9.0)


@pytest.mark.claim("a headline opens with what matters most")
def test_the_headline_opens_with_what_is_open_and_large():
    saturated, still = defect("saturation", "j1", 0.4, "left out"), defect("standstill", "", 50.0, "left out")
    spikes, open_ = defect("spikes", "j2", 0.02, "bridged"), Finding("one way", "a", "j2")
    handled, large = late("delay taken out", 7.0), late("delay taken out", 36.0)
    proven, wrong = late("late torques", 20.0, BETTER), late("torques of another time", 40.0, BETTER)
    for first, rest in (
        (saturated, (spikes,)), (still, (handled, saturated)), (large, (spikes, open_, proven, still)),
        (proven, (spikes, open_, still)), (wrong, (proven, large)), (handled, (spikes,)), (open_, (still, saturated)),
    ):  # fmt: skip
        judged = Verdict((*rest, first), 1.6, 2.3, 60)
        assert judged.about("torques")[0] is first and first.text in judged.torques
        assert set(map(id, judged.about("torques"))) == set(map(id, judged.findings))


@pytest.mark.claim("what was taken out of a recording is no doubt, unless it makes the recording wrong")
def test_what_was_corrected_is_no_doubt_and_a_faulty_recording_is_called_wrong():
    def words(*findings):
        judged = Verdict(findings, 1.6, 2.3, 60)
        return judged, judged.torques

    few = defect("saturation", "j1", 0.9, "left out"), late("delay taken out", 29.0), late("unproven delay", 90.0)
    judged, text = words(*few, defect("spikes", "j2", 5.0, "bridged"))
    assert judged.right and "WRONG" not in text and "to be checked" not in text
    assert "; corrected in the recording: " in text and text.endswith("(and 2 more: outliers, saturation)")
    for grave in (defect("saturation", "j1", 1.0, "left out"), late("delay taken out", 29.3)):
        judged, text = words(few[1], grave, Finding("one way", "a", "j0"))
        assert judged.right and grave.level == "fault"
        assert text.startswith(f"WRONG in the recording, and corrected: {grave.text}")
        assert "(and 1 more: one way); corrected in the recording: delay; with that no finding" in text
    kept = [defect(kind, "j1", 0.5, "kept") for kind in ("saturation", "standstill", "spikes")]
    assert [one.level for one in kept] == ["check"] * 3
    judged, text = words(defect("saturation", "j1", 60.0, "kept"))
    assert not judged.right and text.startswith("WRONG: ")
    assert words(late("unproven delay", 90.0))[1] == words()[1]


# ------------------------------------------------------------------------------------------------- signals and links


def causes(judged):
    return [finding.cause for finding in judged.findings]


@pytest.mark.claim("what is wrong with samples is worded from the one list of defects, with what became of them")
def test_defects_are_worded(four, four_data):
    tau, q = four_data.tau.copy(), four_data.q.copy()
    top = 0.6 * np.abs(tau[:, 1]).max()
    tau[:, 1] = np.clip(tau[:, 1], -top, top)
    tau[200, 2] += 30 * np.ptp(tau[:, 2])
    found = {f.cause: f for f in verdict(four, replace(four_data, q=q, tau=tau), **QUICK).findings}
    assert found["saturation"].joint == four.joints[1].name and f"{top:.3g} N.m" in found["saturation"].text
    assert found["spikes"].joint == four.joints[2].name and found["spikes"].text.endswith("kept as they are")


@pytest.mark.parametrize(("speed", "cause"), [
    (1.9, None), (4.1, "faster than its limit"), pytest.param(0.015, "slow motion", marks=pytest.mark.slow),
])  # fmt: skip
def test_speeds_are_compared_with_limits(four, four_data, speed, cause):
    scale = speed / np.abs(four_data.dq).max()
    limits = replace(four.limits, velocity=np.full(4, 2.0))
    four_data = replace(four_data, dq=scale * four_data.dq, ddq=scale**2 * four_data.ddq, q=scale * four_data.q)
    found = causes(verdict(replace(four, limits=limits), four_data, **QUICK))
    assert (cause in found) if cause else not {"faster than its limit", "slow motion"} & set(found)


@pytest.mark.claim("a mass that a default bound holds is a finding with its proven interval")
def test_masses_at_bounds_are_named(four, four_data):
    limited = Constraints(build=lambda v: total_mass(v, 0.0, 2.0))
    judged = verdict(four, four_data, constraints=limited, **QUICK)
    (given,) = [f for f in judged.findings if f.cause == "given bounds"]
    assert "total mass" in given.text and given.about == "links" and given.text in judged.links
    assert "bodies cost residual" in causes(judged)


@pytest.mark.slow
@pytest.mark.claim("an arm on a pedestal is not called light for its size, one whose torques are a thousandth is")
def test_torques_are_those_of_an_arm_of_this_size(four, four_data):
    first = four.joints[0]
    high = np.array(first.placement)
    high[2, 3] += 2.0
    raised = blind(replace(four, joints=(replace(first, placement=high), *four.joints[1:])))
    assert "torques for the size" not in causes(verdict(raised, four_data, **QUICK))
    (weak,) = [f for f in verdict(raised, signed(four_data, 1e-4), **QUICK).findings if f.kind == "torque scale"]
    assert weak.values["mass"] < 0.1 * weak.values["low"] and "arms of such a reach" in weak.text
    (strong,) = [f for f in verdict(raised, signed(four_data, 1e4), **QUICK).findings if f.kind == "torque scale"]
    assert strong.values["mass"] > 10.0 * strong.values["high"]


@pytest.mark.claim("a known total mass is contradicted where bodies that have it surely predict worse")
def test_a_known_mass_that_the_torques_contradict_is_named(four, four_data):
    true = float(four.standard_parameters()[9::10].sum())
    for low, high, named in ((1.0, 2.0, True), (0.9 * true, 1.1 * true, False)):
        known = replace(blind(four), total_mass=(low, high))
        judged = identify(known, four_data, processing=False, checks=Checks(folds=2), **QUICK).verdict
        found = [f for f in judged.findings if f.cause == "total mass"]
        assert [f.values for f in found] == ([{"low": low, "high": high}] if named else [])


def test_a_delay_is_estimated_or_refused(four, four_data):
    same, made, note = without_delay(Model(four, FRICTION), [four_data], [four_data], False, None)
    assert len(same) == 1 and same[0].n == four.n and "torques" in note and isinstance(made, Processing)
    later, made, note = without_delay(Model(four, FRICTION), [four_data], [four_data], Processing(), 0.01)
    assert made.delay == 0.01 and note == "" and len(later[0]) > 0
    with pytest.raises(DatasetError):
        identify(four, [])
