"""Parts of the verdict at their thresholds: headlines, unexplained joints, friction that drives, torques' size."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import t, ttest_1samp

from casid.description import Robot
from casid.dynamics import Model
from casid.files import json_bytes
from casid.identification import Checks, Choice, Constraints, ModelOptions, identify
from casid.identification._consistent_fits import ConsistentFits
from casid.identification.diagnosis import Finding, Trial, Verdict
from casid.identification.diagnosis._hypotheses import Hypotheses, Hypothesis, Losses, trial_of
from casid.identification.diagnosis._scales import Scale
from casid.identification.diagnosis._verdict import _nominal, _size, _unexplained
from casid.regression import compress
from casid.retrieval.plausible import plausible_bodies
from casid.testing import recording
from tests.identification.conftest import GRAVITY, serial

FRICTION = ("viscous", "coulomb", "offset")


def chain(count: int = 3, length: float = 0.4) -> Robot:
    axes = [[0, 0, 1], *[[0, 1, 0]] * (count - 1)]
    return serial("chain", [[length, 0, 0]] * count, axes, gravity=GRAVITY)


WRONG = Finding("dead channel", "run", "j1", {"others": "j0", "index": 1.0})
LOOK = Finding("one way", "run", "j0")
HEAVY = Finding("more than any arm", values={"mass": 240.0, "reach": 0.8, "torque": 28.0, "most": 41.0})
OPEN = Finding("open masses", values={"mass": 20.0, "low": 12.0, "high": 40.0})


@pytest.mark.claim("the headline of the links is not right above bodies that no arm has")
def test_headlines_say_what_is_wrong_first_and_count_the_rest():
    judged = Verdict((LOOK, WRONG, HEAVY, OPEN), 1.5, 2.5, 60)
    assert WRONG.wrong and not LOOK.wrong and HEAVY.about == OPEN.about == "links" and OPEN.kind == "masses"
    assert not judged.right
    assert judged.torques == f"WRONG: {WRONG.text} (and 1 more: one way)"
    assert judged.links == f"WRONG: {HEAVY.text}"
    assert judged.line == f"{judged.torques}; links: {judged.links}"
    usual = Verdict((LOOK, OPEN), 1.5, 2.5, 60)
    clean = "no finding against the model: error 1.50 %, 2.50 % on held-out parts of the same motion"
    kinds = "gravity, signs, order, zeros, scales, clock"
    checked = f"; 60 other readings ({kinds}) were checked, none explains the recording better"
    assert usual.right and usual.torques == f"{clean}{checked}; to be checked: {LOOK.text}"
    joints = {"j0": 9.9, "j1": 50.2, "j2": float("nan"), "j3": 10.0}
    assert Verdict((), 1.5, 2.5, 60, joints).torques == f"{clean} (j1 50 %, j3 10 %){checked}"
    assert Verdict((), 9.0, 11.0, 60, joints).torques.endswith("same motion" + checked)  # no good total
    assert usual.links == OPEN.text
    nothing = Verdict((), 1.5, float("nan"), 7)
    assert nothing.links == "no finding against the links" and "held out" not in nothing.torques
    tried = replace(WRONG, trial=Trial("held-out error", 5.0, 2.0, 9.0))
    assert (f"; try {tried.advice}" in Verdict((tried,), 1.5, 2.5, 60).torques) == bool(tried.advice)


@pytest.mark.parametrize(
    ("errors", "named"),
    [([5.0, 24.9, 5.0], ""), ([5.0, 25.1, 5.0], "j1"), ([10.0, 29.9, 12.0], ""), ([10.0, 36.1, 12.0], "j1"),
     ([40.0, 40.0, 40.0], ""), ([90.0, 10.0, 30.0], "j0")],
)  # fmt: skip
def test_a_joint_is_unexplained_beyond_a_quarter_and_three_times_the_others(errors, named):
    fit: Any = SimpleNamespace(relative_errors=np.array(errors), data=SimpleNamespace(model=Model(chain())))
    found = _unexplained(fit)
    assert [f.joint for f in found] == ([named] if named else [])
    if named:
        k = int(named[1])
        usual = float(np.median(np.delete(errors, k)))
        assert found[0].values == {"error": errors[k], "usual": usual}


@pytest.mark.claim("a robot of one joint whose torque is not explained has a finding that can be written")
def test_the_only_joint_of_a_robot_is_compared_with_no_other():
    def found(error):
        fit: Any = SimpleNamespace(relative_errors=np.array([error]), data=SimpleNamespace(model=Model(chain(1))))
        return _unexplained(fit)

    assert found(24.9) == []
    judged = Verdict(tuple(found(90.0)), 90.0, float("nan"), 7)
    assert "the model leaves 90 % of the torque of joint 'j0' unexplained" in judged.torques and judged.right
    assert b'"error": 90.0' in json_bytes(judged.record()) and "nan" not in judged.line


BODY = np.array([0.3, 0, 0, 0.3, 0, 0.3, 0.3, 0.1, 0.2, 2.0])


@pytest.mark.parametrize(
    ("ratio", "cause", "closer"),
    [(1.0, "", None), (0.41, "", None), (2.4, "", None), (0.39, "torques of nominal bodies", True),
     (2.6, "torques of nominal bodies", True), (-0.39, "torques of nominal bodies", False),
     (-0.41, "opposite torques", None)],
)  # fmt: skip
def test_torques_are_those_of_the_nominal_bodies_within_two_and_a_half(ratio, cause, closer):
    arm = chain()
    model, nominal = Model(arm), np.tile(BODY, 3)
    data = recording(model, nominal, samples=80)
    feasible: Any = SimpleNamespace(model=model, standard_parameters=abs(ratio) * nominal)
    found = _nominal(arm, nominal, replace(data, tau=ratio * data.tau), feasible)
    assert [f.cause for f in found] == ([cause] if cause else [])
    if cause:
        assert found[0].values["ratio"] == pytest.approx(ratio)
    if cause == "torques of nominal bodies":
        assert (found[0].trial is not None) == closer and found[0].values["gain"] == pytest.approx(1 / ratio)
    if closer:
        assert found[0].trial == Trial(
            "total mass", pytest.approx(6 * ratio), pytest.approx(6.0), pytest.approx(np.nan, nan_ok=True)
        )
        heavy: Any = SimpleNamespace(model=model, standard_parameters=nominal)  # the links have the mass already
        assert _nominal(arm, nominal, replace(data, tau=ratio * data.tau), heavy)[0].trial is None


def test_what_links_without_a_body_may_add_is_left_out():
    """The first link has none: its torques are free, those of the others are compared."""
    arm = chain()
    model, nominal = Model(arm), np.concatenate([np.zeros(10), np.tile(BODY, 2)])
    free = np.concatenate([4.0 * BODY, np.zeros(20)])
    data = recording(model, nominal + free, samples=80)
    feasible: Any = SimpleNamespace(model=model, standard_parameters=nominal + free)
    assert _nominal(arm, nominal, data, feasible) == []
    (found,) = _nominal(arm, nominal, recording(model, 0.2 * nominal + free, samples=80), feasible)
    assert found.values["ratio"] == pytest.approx(0.2, abs=1e-6)
    only = np.concatenate([BODY, np.zeros(20)])  # what the other links would add explains all of it
    assert _nominal(arm, only, recording(model, 0.1 * only, samples=80), feasible) == []


@pytest.mark.claim("a remedy is given only if it was tried and surely lowers the held-out error")
@pytest.mark.parametrize("tried", [1, 60])
def test_a_remedy_counts_by_each_joint_s_own_errors(tried):
    """Beyond chance over the stretches (Student, on logarithms), as the best of so many."""
    rng = np.random.default_rng(0)
    before = np.column_stack([1.0 + 0.1 * rng.random(12), 50.0 + rng.random(12), 9.0 + rng.random(12)])
    torques = np.array([100.0, 9000.0, 50.0])
    for share in (0.5, 0.9, 0.99, 1.0, 1.2):
        after = before * [share, 1.0, 1.0] + 0.01 * rng.normal(size=(12, 3))
        # the third joint is not predicted at all
        losses = [np.log(squares / torques)[:, :2].mean(axis=1) for squares in (before, after)]
        test = ttest_1samp(losses[0] - losses[1], 0.0)
        found = trial_of(Losses(before, torques), Losses(after, torques), tried)
        assert (found is not None) == (test.statistic > t.ppf(1 - 0.025 / tried, 11))
        if found is not None:
            old, new = (100 * np.sqrt(12 * np.exp(loss.mean())) for loss in losses)
            assert (found.before, found.after, found.sure) == pytest.approx((old, new, test.statistic))
    assert trial_of(Losses(before, torques), Losses(before[:6], torques)) is None
    assert trial_of(None, Losses(before, torques)) is None
    assert trial_of(Losses(100 * before, torques), Losses(90 * before, torques)) is None


def test_joints_without_torques_or_prediction_do_not_count():
    """A joint that no reading predicts would hide what the other gains."""
    steady = np.array([1.0, 1.1, 0.9, 1.0])

    def losses(first, second, torques=(100.0, 100.0)):
        return Losses(np.column_stack([first, second]), np.array(torques))

    before, better, worse = losses(steady, steady), 0.1 * steady, 15.0 * steady
    assert trial_of(before, losses(better, worse)) is None
    for old, new in (((100.0, 0.0), (100.0, 100.0)), ((100.0, 100.0), (100.0, 0.0))):
        found = trial_of(losses(steady, steady, old), losses(better, worse, new))
        assert found is not None and found.after == pytest.approx(found.before * np.sqrt(0.1))
    unpredicted = losses(0.1 * steady, 5.0 * steady, (4.0, 4.0))
    assert trial_of(unpredicted, losses(0.1 * steady, 3.0 * steady, (4.0, 4.0))) is None
    assert trial_of(unpredicted, losses(0.1 * steady, 0.5 * steady, (4.0, 4.0))) is not None  # it is predicted now
    far, less = (losses(0.1 * steady, size * steady, (4.0, 4.0)) for size in (50.0, 30.0))
    assert trial_of(far, less) is None


def test_a_remedy_is_stated_where_its_trial_is_better():
    values = {"what": "torque", "reading": 1.0, "recorded": 2.0}
    found = Finding("reversed joint", joint="elbow", values=values)
    assert found.remedy == found.advice == "" and found.wrong and found.kind == "sign"
    tried = replace(found, trial=Trial("held-out error", 5.0, 2.0, 4.0))
    assert "elbow" in tried.remedy and "held-out error 5 % -> 2 %, by 4.0 standard errors" in tried.advice
    assert tried.record()["trial"]["after"] == 2.0 and tried.record()["kind"] == "sign"


@pytest.mark.claim("a mass that no arm has is wrong only where the nearest that one may have surely predicts worse")
@pytest.mark.parametrize(("noise", "causes"), [(0.0, ["torques for the size"]), (20.0, [])])
def test_a_mass_that_the_torques_leave_open_is_no_finding(noise, causes):
    """A hundred-thousandth of the torques; under noise, links of any mass explain them as well."""
    arm = chain()
    model, bodies = Model(arm, FRICTION), plausible_bodies(arm)
    parameters = np.zeros(len(model.parameter_names))
    parameters[np.ravel(model.link_columns)] = 1e-5 * bodies.parameters
    data = recording(model, parameters, samples=400)
    sample = noise * np.random.default_rng(1).normal(size=data.tau.shape)
    assert [f.cause for f in _size(arm, bodies, compress(model, replace(data, tau=data.tau + sample)))] == causes


@pytest.mark.claim("the scale of a torque is proven by its posterior, or by errors that fall by more than 5 %")
@pytest.mark.parametrize(("sure", "factor", "taken"), [(False, 0.96, 0), (False, 0.9, 1), (True, 0.96, 1)])
def test_small_gains_of_a_scale_do_not_count_however_sure(sure, factor, taken):
    made = Hypotheses.__new__(Hypotheses)
    made._model = Model(chain())
    before = 1.0 + np.random.default_rng(0).random((12, 3))
    shares = factor**2 * (1.0 + 1e-3 * np.random.default_rng(1).normal(size=(12, 3)))
    after, sizes = Losses(before * shares, np.full(3, 99.0)), np.full(3, 99.0)
    stub: Any = made
    stub.free = stub.consistent = lambda *one: after if one else Losses(before, sizes)
    assert trial_of(stub.free(), after, 88) is not None
    residuals = iter((0.5, 1.0))  # on a few samples
    readings: Any = SimpleNamespace(regressor=lambda: None, residual=lambda *_: next(residuals), tau=np.ones((2, 3)))
    assert len(made._geared(Scale(1, 0.5, 0.8, sure, True), readings, 88)) == taken


@pytest.mark.claim("where something is surely wrong, the proven readings that have bodies are named, the best first")
def test_specific_readings_begin_with_the_least_error():
    made: Any = Hypotheses.__new__(Hypotheses)
    errors = {"j0": 4.0, "j1": 2.0, "j2": None, "j3": 1.0}
    tried = {
        name: replace(WRONG, joint=name, trial=error and Trial("held-out error", 5.0, error, 4.0))
        for name, error in errors.items()
    }
    made._compared = ["unproven", *errors]
    made._proven = lambda one: tried.get(one)
    made.bodies = lambda one: None if one == "j3" else SimpleNamespace(fit=SimpleNamespace(data=f"read as {one}"))
    assert made.specific() == [(tried[one], f"read as {one}") for one in ("j1", "j0", "j2")]


@pytest.mark.claim("another gravity is named where bodies of it surely predict better than others of twice their mass")
@pytest.mark.parametrize(
    ("mass", "light", "own", "named"),
    [(4.0, 9.0, 1.0, True), (4.0, None, 1.0, True), (4.0, 1.0, 1.0, False), (5.1, 9.0, 1.0, False),
     (4.0, 9.0, 1.3, False)],
    ids=["surely better than light ones", "no light ones", "light ones as good", "not half as heavy", "surely worse"],
)  # fmt: skip
def test_lighter_bodies_of_another_gravity(monkeypatch, mass, light, own, named):
    """Held-out errors of bodies as recorded (1.0, of 10 kg), under the other gravity, and as recorded of 2 ``mass``."""
    made: Any = Hypotheses.__new__(Hypotheses)

    def errors(size):
        noise = 0.01 * np.random.default_rng(0).random((12, 3))
        return None if size is None else Losses(size * (1.0 + noise), np.full(3, 99.0))

    def bodies(mass, total):
        parameters = np.append(np.zeros(9), mass)
        return SimpleNamespace(standard_parameters=parameters, solution=SimpleNamespace(total=total))

    asked = []

    def lightest(model, raw, weights, fits):
        asked.append(fits.robot.total_mass)
        return errors(light)

    monkeypatch.setattr("casid.identification.diagnosis._hypotheses.losses", lightest)
    arm = chain(1)
    made._model, made._raw, made._fit = Model(arm), [], SimpleNamespace(weights=np.ones(1))
    made._fits = ConsistentFits(arm, (recording(Model(arm), BODY, samples=20),), Constraints(), Choice())
    made._feasible = bodies(10.0, 1.0)
    made.bodies = lambda one: bodies(mass, 2.0)
    made.consistent = lambda one=None: errors(1.0 if one is None else own)
    unknown = dict.fromkeys(("turned_mass", "mass", "reading"), float("nan"))
    one = Hypothesis(Finding("gravity of lighter links", values={**unknown, "direction": "+x"}), 1.0)
    found = made._lighter(one)
    assert (found is not None) == named
    if found is not None:
        assert asked == [(0.0, 2.0 * mass)] and found.trial == Trial("total mass", 10.0, mass)
        assert found.values["turned_mass"] == mass and found.values["direction"] == "+x"


@pytest.mark.claim("a clock that times and positions contradict is named before what a model of another clock shows")
def test_milliseconds_are_named_first(monkeypatch):
    other = Finding("reversed joint", joint="j1", values={"what": "torque", "reading": 1.0, "recorded": 2.0})
    monkeypatch.setattr(Hypotheses, "explained", lambda *_: ([other], 60))
    arm = chain()
    data = recording(Model(arm), np.tile(BODY, 3), samples=200)
    slow = replace(data, t=1e3 * data.t, dq=1e-3 * data.dq, ddq=1e-6 * data.ddq)
    judged = identify(arm, slow, processing=False, model=ModelOptions(springs=False), checks=Checks(folds=0)).verdict
    first, second = judged.about("torques")[:2]
    assert first.cause == "slow motion" and "milliseconds" in first.text and first.wrong and second == other
