"""What is wrong with a recording is named with the option that corrects it; a right one has no finding."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.files import json_bytes
from casid.identification import Checks, RegressionProblem, feasible_regression, identify
from casid.identification._bounds import default_bounds
from casid.identification.diagnosis import Finding, Verdict, without_delay
from casid.identification.diagnosis._better_readings import WORTH, _clocks, _gravity, _orders, _signs, _zeros
from casid.identification.diagnosis._delay import delay_finding, significant
from casid.identification.diagnosis._findings import CAUSES, Trial
from casid.identification.diagnosis._readings import Readings
from casid.identification.diagnosis._signals import link_findings, signal_findings
from casid.identification.diagnosis._trial import HeldOutErrors, compared
from casid.identification.diagnosis._verdict import _strength, judge
from casid.regression import Delay, compress, wls
from casid.report import report_of
from casid.retrieval import mass_bounds
from casid.retrieval.plausible import DESCRIBED_ARMS, heaviest
from casid.testing import recording
from casid.testing._synthetic import arm as arm_of
from casid.testing._synthetic import blind, with_friction

FRICTION = ("viscous", "coulomb", "offset")


@pytest.fixture(scope="module")
def robot():
    return casid.load_robot("ur10e")


@pytest.fixture(scope="module")
def data(robot):
    model = Model(robot, FRICTION)
    parameters = model.parameters(robot.standard_parameters(), np.tile([4.0, 6.0, -0.5], 6))
    made = recording(model, parameters, samples=700, noise=0.5)
    return replace(made, dq=0.5 * made.dq, ddq=made.ddq) if made.dq is None else made


def verdict(robot, data):
    return identify(robot, data, processing=False, checks=Checks(folds=0)).verdict


def kinds(robot, data):
    return {finding.kind for finding in verdict(robot, data).findings if finding.wrong}


def columns(data, order):
    return replace(data, **{k: getattr(data, k)[:, order] for k in ("q", "dq", "ddq", "tau")})


def test_a_right_recording_has_no_finding(robot, data):
    judged = verdict(robot, data)
    assert judged.right and "no finding against the model" in judged.line and "\n" not in judged.line
    assert judged.tried > 20


@pytest.mark.claim("wrong gravity is named, not fitted without notice")
@pytest.mark.parametrize(
    "gravity",
    [(9.81, 0, 0), *(pytest.param(g, marks=pytest.mark.slow) for g in ((0, -9.81, 0), (0, 0, 9.81), (6.94, 0, -6.94)))],
)
def test_wrong_gravity_is_named_with_the_option_that_corrects_it(robot, data, gravity):
    judged = verdict(replace(robot, gravity=np.array(gravity)), data)
    (finding,) = [f for f in judged.findings if f.wrong][:1]
    assert finding.kind == "gravity" and finding.remedy == "--gravity=-z"
    assert judged.line.startswith("WRONG")


@pytest.mark.parametrize("joint", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_one_reversed_torque_is_named(robot, data, joint):
    signs = np.where(np.arange(6) == joint, -1.0, 1.0)
    judged = verdict(robot, replace(data, tau=data.tau * signs))
    assert any(f.kind == "sign" and robot.joints[joint].name in f.text for f in judged.findings)


def test_all_torques_reversed_are_found_by_friction(robot, data):
    judged = verdict(robot, replace(data, tau=-data.tau))
    assert any(f.kind == "sign" and "friction drives" in f.text for f in judged.findings)


@pytest.mark.claim("findings are data, from which their texts are made")
def test_findings_carry_data(robot, data):
    still = data.tau.copy()
    still[:, 2] = 3.0
    (finding,) = (f for f in verdict(robot, replace(data, tau=still)).findings if f.cause == "dead channel")
    assert (finding.kind, finding.joint, finding.wrong) == ("channel", "elbow_joint", True)
    assert finding.remedy == "" or finding.trial is not None  # advice that was not tried is not given
    assert finding.text == f"{data.name}: the torque of joint 'elbow_joint' never changes: a dead channel"
    assert "elbow_joint" not in finding.remedy
    values = {"direction": "+x", "reading": 3.2, "recorded": 60.0}
    assert Finding("gravity direction", values=values).text.startswith("with gravity along +x the model leaves 3 %")


def test_every_cause_has_a_known_kind():
    kinds = {"gravity", "sign", "joint order", "clock", "torque scale", "delay", "standstill", "channel", "one way"}
    kinds |= {"outliers", "zero position", "gaps", "saturation", "links", "spring", "model", "masses", "unit"}
    assert {cause.kind for cause in CAUSES.values()} == kinds


def test_exchanged_joints_are_named(robot, data):
    judged = verdict(robot, columns(data, [0, 2, 1, 3, 4, 5]))
    assert any(f.kind == "joint order" and "elbow_joint" in f.text for f in judged.findings)


def test_another_unit_of_torque_is_named(robot, data):
    assert "torque scale" in kinds(robot, replace(data, tau=0.1 * data.tau))


@pytest.mark.slow
def test_dead_and_noisy_channels_and_rest_are_named(robot, data):
    rng = np.random.default_rng(0)
    noisy = data.tau.copy()
    noisy[:, 2] = rng.normal(size=len(noisy))
    assert "channel" in kinds(robot, replace(data, tau=noisy))
    half = np.arange(len(data)) < len(data) // 2
    still = replace(
        data,
        q=np.where(half[:, None], data.q, data.q[len(data) // 2]),
        dq=np.where(half[:, None], data.dq, 0.0),
        ddq=np.where(half[:, None], data.ddq, 0.0),
        tau=np.where(half[:, None], data.tau, data.tau[len(data) // 2] + 0.01 * rng.normal(size=data.tau.shape)),
    )
    judged = verdict(robot, still)
    assert "standstill" in {finding.kind for finding in judged.findings}
    assert "no joint moves for 49 % of the time" in judged.torques  # the headline names it; it is no proof of a fault
    assert not judged.right


def test_one_way_motion_is_found_but_not_wrong(robot, data):
    one_way = np.where(np.arange(6) == 2, np.abs(data.dq) + 0.05, data.dq)
    judged = verdict(robot, replace(data, dq=one_way))
    assert any(f.kind == "one way" and not f.wrong for f in judged.findings)


@pytest.mark.claim("the report lists which numbers the data determine and which are the plausible choice")
def test_proven_ranges_hold_the_truth_and_the_choice(robot, data):
    result = identify(robot, data, processing=False, checks=Checks(folds=0, verdict=False, intervals=True))
    assert result.intervals is not None and len(result.intervals.entries) == robot.n
    true = robot.standard_parameters().reshape(-1, 10)
    for k, (link, chosen) in enumerate(zip(robot.links, result.feasible.link_parameters, strict=True)):
        entry = result.intervals[f"{link.name} mass"]
        slack = 1e-6 * max(1.0, abs(entry.high))
        assert entry.low - slack <= true[k, 9] <= entry.high + slack
        assert entry.low - slack <= chosen.mass <= entry.high + slack
    record = result.record()
    assert record["intervals"][f"{robot.links[0].name} mass"][0] is not None
    assert {entry["name"] for entry in record["determined"]} == set(result.model.parameter_names)
    assert "Proven ranges" in report_of(result).html({})


def noisy_pair(seed=0, gain=0.0, loss=0.0):
    """Squared errors of twelve stretches at two joints, the second noisy, before and after a change of the first."""
    rng = np.random.default_rng(seed)
    before = np.stack([0.01 + 0.001 * rng.random(12), 5.0 + 0.1 * rng.random(12)], axis=1)
    after = before.copy()
    after[:, 0] = (1.0 - gain) * before[:, 0] + loss * rng.normal(size=12)
    torques = np.array([10.0, 20.0])
    return HeldOutErrors(before, torques), HeldOutErrors(after, torques)


@pytest.mark.claim("a remedy is given only if it was tried and lowers the held-out error by two standard errors")
def test_a_trial_counts_only_if_it_is_surely_better():
    trial = compared(*noisy_pair(gain=0.9))
    assert trial is not None and trial.after < 0.75 * trial.before and trial.sure > 2
    assert "held-out error" in trial.text
    assert compared(*noisy_pair(gain=0.0)) is None
    assert compared(*noisy_pair(gain=0.1, loss=0.01)) is None  # better on average, not beyond a standard error


@pytest.mark.claim("exchanged joints are not found where one of them is masked")
def test_masked_joints_are_not_exchanged(robot, data):
    processed = data.only([0, 2, 3, 4, 5])
    readings = Readings(Model(robot, FRICTION), processed)
    pairs = [pair for pair, _ in readings.exchanged()]
    assert len(pairs) == 10 and not any(1 in pair for pair in pairs)


@pytest.mark.claim("exchanged torque columns are named")
def test_exchanged_torques_are_named_with_a_remedy_that_was_tried(robot, data):
    judged = verdict(robot, replace(data, tau=data.tau[:, [0, 2, 1, 3, 4, 5]]))
    (finding,) = (f for f in judged.findings if f.kind == "joint order")
    assert finding.cause == "exchanged torques" and finding.trial is not None
    assert finding.trial.after < finding.trial.before and "tried" in judged.torques


@pytest.mark.claim("the headline of the links is not right above bodies that no arm has")
def test_links_have_a_headline_of_their_own():
    held = Finding("more than any arm", values={"mass": 240.0, "reach": 0.8, "torque": 28.0, "most": 41.0})
    judged = Verdict((held,), 1.6, 2.3, 60)
    assert not judged.right and judged.torques.startswith("no finding against the model")
    assert judged.links.startswith("WRONG: the links weigh 240 kg") and judged.record()["links"] == judged.links


def test_described_arms_bound_the_mass_of_an_arm():
    for arm in DESCRIBED_ARMS:
        if np.isfinite(arm.torque):
            assert arm.mass < heaviest(arm.reach, arm.torque / 3.0)
    assert heaviest(0.77, 28.0) < 60.0  # 240 kg were found for an arm of this size


def test_a_delay_counts_above_three_thresholds(robot, data):
    assert significant(Delay(0.01, 0.001, 2.0, 0.1, False))
    for lag in (
        Delay(0.01, 0.001, 0.1, 0.1, False),
        Delay(0.01, 0.01, 2.0, 0.1, False),
        Delay(0.01, 0.001, 2.0, 0, False),
    ):
        assert not significant(lag)
    same, _, note = without_delay(Model(robot, FRICTION), [data], [data], False, None)
    assert len(same) == 1 and same[0].n == data.n and isinstance(note, str)


@pytest.mark.claim("a delay that is kept is said to be kept, and comes after what touches more of the residual")
def test_a_delay_that_predicts_no_better_is_kept(robot, data):
    noise = 0.2 * np.std(data.tau, axis=0) * np.random.default_rng(0).normal(size=data.tau.shape)
    late = replace(data, tau=np.roll(data.tau, 2, axis=0) + noise)
    model, weights = Model(robot, FRICTION), np.ones(robot.n)
    (kept,) = delay_finding(late, late, model, weights, lambda seconds: None)
    assert (kept.cause, kept.advice, kept.wrong) == ("unproven delay", "", False) and kept.text.endswith("it is kept")
    better = Trial("held-out error", 2.0, 1.0, 9.0)
    (proven,) = delay_finding(late, late, model, weights, lambda seconds: better)
    assert proven.cause == "late torques" and "--delay" in proven.advice
    trifle = replace(kept, values={**kept.values, "gain": 0.7})
    gaps = Finding("gaps", "run", values={"count": 2.0, "longest": 0.3, "share": 0.8, "done": "kept as they are"})
    assert Verdict((trifle, gaps), 1.6, 2.3, 60).about("torques") == (gaps, trifle)
    large = replace(kept, values={**kept.values, "gain": 7.0})
    assert Verdict((gaps, large), 1.6, 2.3, 60).about("torques") == (large, gaps)


def test_other_readings_explain_a_right_recording_worse(robot, data):
    readings = Readings(Model(robot, FRICTION), data)
    best = readings.residual(readings.regressor())
    assert readings.possible
    assert max(error for _, error in readings.reversed_torques()) > best
    assert max(error for _, error in readings.clocks((0.5, 2.0))) > best


def test_signals_of_a_clean_recording_have_no_finding(robot, data):
    fit = wls(compress(Model(robot, FRICTION), data))
    assert [f for f in signal_findings(data, data, robot, fit) if f.wrong] == []
    assert judge(robot, (data,), (data,), feasible_regression(fit), None).right


@pytest.mark.claim("a verdict whose remedy was tried on a residual alone is written")
def test_a_trial_without_standard_errors_is_written():
    found = Finding(
        "gravity of lighter links", values={"turned_mass": 9.0, "mass": 13.0, "reading": 13.0, "direction": "-z"}
    )
    judged = Verdict((replace(found, trial=Trial("residual", 1.3, 0.2)),), 1.3, 2.0, 3)
    assert json.loads(json_bytes(judged.record()))["findings"][0]["trial"] == {
        "measure": "residual", "before": 1.3, "after": 0.2,
    }  # fmt: skip


@pytest.mark.claim("a mass that a default bound holds is a finding with its proven interval")
def test_a_mass_at_a_default_bound_is_named_with_its_interval():
    robot = casid.load_robot("kuka_iiwa")
    data = recording(*with_friction(robot), samples=400, noise=0.5)
    unknown = blind(robot)
    usual = default_bounds(unknown, np.abs(data.tau).max(axis=0))

    def build(variables):
        own = mass_bounds(variables[3], 0.0, 0.5)
        return [own if c.label == own.label else c for c in usual(variables)]

    fit = wls(compress(Model(unknown, ("viscous", "coulomb", "offset")), data))
    problem = RegressionProblem(fit, constraints=build)
    found = link_findings(unknown, (data,), problem.choose(problem.solve()), None, True)
    held = next(one for one in found if one.cause == "mass at a bound")
    true = robot.standard_parameters()[39]
    assert held.joint == robot.links[3].name and held.values["most"] == pytest.approx(0.5, rel=1e-3)
    assert held.values["low"] <= true <= held.values["high"] and f"{held.values['high']:.3g}" in held.text


@pytest.mark.claim("noise of other joints does not hide gravity's direction or a reversed torque")
def test_readings_are_compared_joint_by_joint(robot, data):
    rng = np.random.default_rng(3)
    weak = np.abs(data.tau).max(axis=0).argsort()[:3]
    noise = np.zeros(data.tau.shape)
    noise[:, weak] = np.abs(data.tau[:, weak]).max(axis=0) * rng.normal(size=(len(data), 3))
    readings = Readings(Model(robot, FRICTION), replace(data, tau=data.tau + noise))
    here = readings.residual(readings.regressor())
    assert min(value for name, _, value in readings.axes() if name != "-z") > 1.1 * here
    assert max(value for _, value in readings.reversed_torques()) > 1.1 * here


# ---------------------------------------------------------------------- thresholds of readings


def readings_of(model, **values):
    """Readings whose residuals are given."""
    return SimpleNamespace(model=model, gravity=np.array([0.0, 0.0, 9.81]), **values)


@pytest.mark.claim("another reading is stated at its threshold and not before, nor only far beyond it")
@pytest.mark.parametrize(
    ("ask", "name", "share"),
    [(_clocks, "clocks", WORTH), (_signs, "reversed_torques", WORTH), (_gravity, "axes", WORTH),
     (_orders, "exchanged", WORTH), (_zeros, "shifted", WORTH)],
)  # fmt: skip
def test_readings_are_stated_from_their_threshold_on(ask, name, share):
    model = Model(arm_of(2))
    assert 0.95 < share <= 0.99  # what is little better is tried on held-out parts
    for value, stated in ((0.5 * (share - 0.01), True), (0.5 * (share + 0.01), False)):
        none = {key: [] for key in ("reversed_joints", "reversed_torques", "exchanged", "exchanged_torques")}
        pair, axis = ((0, 1), value), ("+x", np.array([9.81, 0.0, 0.0]), value)
        of = {"clocks": (2.0, value), "reversed_torques": (1, value), "axes": axis, "exchanged": pair}
        made = {**none, name: [of.get(name, (1, 0.3, value))]}
        given = {key: lambda *_, values=values: values for key, values in made.items()}
        found, count = ask(readings_of(model, direction=lambda g: (g, 1.0), **given), 0.5)
        assert bool(found) is stated and count == 1


def test_gravity_between_axes_is_taken_where_it_is_better():
    model, axis, between = Model(arm_of(2)), np.array([9.81, 0.0, 0.0]), np.array([7.0, 0.0, 7.0])
    for best, taken in ((0.92, between), (0.94, axis)):
        readings = readings_of(model, axes=lambda: [("+x", axis, 0.4)], direction=lambda g, b=best: (between, 0.4 * b))
        (found,), _ = _gravity(readings, 0.5)
        np.testing.assert_array_equal(found.gravity, taken)


@pytest.mark.claim("a joint that the model explains far worse than the others is in the headline")
def test_a_joint_with_a_torque_of_another_origin_is_named(robot, data):
    joint = 4
    foreign = np.abs(data.tau[:, joint]).max() * np.sign(data.dq[:, 0] + data.dq[:, 5])  # friction of other joints
    tau = data.tau + foreign[:, None] * (np.arange(6) == joint)
    judged = verdict(robot, replace(data, tau=tau))
    (found,) = [f for f in judged.findings if f.kind == "model"]
    assert found.joint == robot.joints[joint].name and f"joint '{found.joint}' unexplained" in judged.torques
    assert not [f for f in verdict(robot, data).findings if f.kind == "model"]


@pytest.mark.claim("an arm on a pedestal is not called weak for its size, one whose torques are a thousandth is")
def test_a_pedestal_is_no_part_of_the_arm_s_size(robot, data):
    first = robot.joints[0]
    high = np.array(first.placement)
    high[2, 3] += 2.0
    raised = blind(replace(robot, joints=(replace(first, placement=high), *robot.joints[1:])))
    feasible = SimpleNamespace(residual_ratio=1.0)
    assert _strength(raised, (data,), feasible) == []
    (found,) = _strength(raised, (replace(data, tau=1e-3 * data.tau),), feasible)
    assert found.cause == "torques for the size" and found.values["what"] == "weak"


@pytest.mark.claim("a headline opens with what matters most")
def test_the_headline_opens_with_what_is_open_and_large():
    def delay(cause, gain, trial=None):
        values = {"what": "", "lag": 9.0, "samples": 0.9, "seconds": 0.009, "gain": gain, "tried": "x"}
        return Finding(cause, "a", values=values, trial=trial)

    better = Trial("held-out error", 2.0, 1.0, 9.0)
    level = {"level": 3.0, "share": 4.0, "done": "kept as they are"}
    saturated = Finding("saturation", "a", "j1", level)
    still = Finding("standstill", "a", values={"share": 50.0, "done": "kept as they are"})
    spikes = Finding("spikes", "a", "j2", {"share": 0.02, "done": "bridged", "of": " of joint 'j2'"})
    handled, large = delay("delay taken out", 7.0), delay("delay taken out", 36.0)
    late, wrong = delay("late torques", 20.0, better), delay("torques of another time", 40.0, better)
    for first, rest in (
        (saturated, (spikes, handled)), (still, (handled, saturated)), (large, (spikes, still)),
        (late, (spikes, saturated)), (wrong, (late, saturated)), (spikes, (handled,)),
    ):  # fmt: skip
        judged = Verdict((*rest, first), 1.6, 2.3, 60)
        assert judged.about("torques")[0] is first and first.text in judged.torques
        assert set(map(id, judged.about("torques"))) == set(map(id, judged.findings))
