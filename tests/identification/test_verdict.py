"""Parts of the verdict at their thresholds: headlines, unexplained joints, friction that drives, torques' size."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from casid.description import Joint, Link, Robot
from casid.dynamics import Model
from casid.files import json_bytes
from casid.identification.diagnosis import Finding, Verdict
from casid.identification.diagnosis import _verdict as module
from casid.identification.diagnosis._findings import Trial
from casid.identification.diagnosis._trial import HeldOutErrors, compared
from casid.identification.diagnosis._verdict import _friction, _nominal, _strength, _total_mass, _unexplained
from casid.measurement import Dataset
from casid.testing import recording

FRICTION = ("viscous", "coulomb", "offset")


def chain(count: int = 3, length: float = 0.4) -> Robot:
    joints = []
    for k in range(count):
        placement = np.eye(4)
        placement[:3, 3] = [length, 0.0, 0.0]
        axis = np.array([0.0, 1.0, 0.0]) if k else np.array([0.0, 0.0, 1.0])
        joints.append(Joint(f"j{k}", "revolute", k - 1, Link(f"l{k}"), placement, axis=axis))
    return Robot("chain", tuple(joints), gravity=np.array([0.0, 0.0, -9.81]))


WRONG = Finding("dead channel", "run", "j1", {"others": "j0", "index": 1.0})
LOOK = Finding("one way", "run", "j0")
HEAVY = Finding("more than any arm", values={"mass": 240.0, "reach": 0.8, "torque": 28.0, "most": 41.0})
OPEN = Finding("open masses", values={"mass": 20.0, "low": 12.0, "high": 40.0})


def test_headlines_say_what_is_wrong_first_and_count_the_rest():
    judged = Verdict((LOOK, WRONG, HEAVY, OPEN), 1.5, 2.5, 60)
    assert WRONG.wrong and not LOOK.wrong and HEAVY.about == OPEN.about == "links" and OPEN.kind == "masses"
    assert not judged.right
    assert judged.torques == f"WRONG: {WRONG.text} (and 1 more: one way)"
    assert judged.links == f"WRONG: {HEAVY.text}"
    assert judged.line == f"{judged.torques}; links: {judged.links}"
    usual = Verdict((LOOK, OPEN), 1.5, 2.5, 60)
    clean = "no finding against the model: error 1.50 %, 2.50 % on data that were held out; 60 other readings of the "
    assert usual.right and usual.torques == f"{clean}recording explain it no better; to be checked: {LOOK.text}"
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


def driven(signs, sd=0.01, travel=(1.0, 1.0, 1.0)):
    """A consistent fit whose Coulomb friction has these signs and this deviation, and its recording."""
    model = Model(chain(), FRICTION)
    rank, names = model.base.rank, model.base.names
    beta = np.zeros(rank)
    for k, sign in enumerate(signs):
        beta[names.index(f"fc{k + 1}")] = sign
    t = np.linspace(0.0, 6.28, 50)
    q = np.outer(np.sin(t), travel)
    data = Dataset(t, q, np.ones(q.shape), np.full(q.shape, 0.5) * np.sign(np.cos(t))[:, None], 0 * q)
    fit = SimpleNamespace(
        data=SimpleNamespace(base=model.base, model=model), excited=SimpleNamespace(independent=tuple(range(rank))),
        beta=beta, covariance=sd**2 * np.eye(rank), weights=np.ones(3),
    )  # fmt: skip
    return SimpleNamespace(fit=fit, model=model, relative_error=5.0), (data,)


@pytest.mark.parametrize(
    ("signs", "sd", "joints", "what"),
    [([1, 1, 1], 0.01, "", ""), ([1, -1, 1], 0.01, "j1", "its torque is reversed"),
     ([-1, -1, 1], 0.01, "j0, j1", "torques are reversed"), ([1, -1, 1], 0.180, "", ""), ([1, -1, 1], 0.178, "j1", ""),
     ([-1, 1, 0.5], 0.15, "j0", "its torque is reversed"), ([-1, 0.5, 0.5], 0.15, "j0", "torques are reversed")],
)  # fmt: skip
def test_friction_that_drives_by_five_deviations_is_named(signs, sd, joints, what, monkeypatch):
    monkeypatch.setattr(module, "refitted", lambda *given: None)
    feasible, datasets = driven(signs, sd)
    found = _friction(feasible, datasets, None)
    assert [f.joint for f in found] == ([joints] if joints else [])
    assert not what or found[0].values == {"what": what}


def test_joints_at_rest_have_no_friction_law(monkeypatch):
    monkeypatch.setattr(module, "refitted", lambda *given: None)
    feasible, datasets = driven([1, -1, 1], travel=(1.0, 1e-3, 1.0))
    assert _friction(feasible, datasets, None) == []
    moving = driven([1, -1, 1])[1]
    assert len(_friction(feasible, (*datasets, *moving), None)) == 1


def test_reversed_torques_are_tried(monkeypatch):
    """With the signs turned: of the joints that drive, or of all where those are most."""
    trial, seen = Trial("held-out error", 5.0, 1.0, 4.0), []

    def again(error):
        def fitted(_again, model, datasets, fit):
            seen.append(datasets[0].tau[0].tolist())
            return None if error is None else SimpleNamespace(relative_error=error)

        return fitted

    monkeypatch.setattr(module, "tried", lambda *given: trial)
    for error, expected in ((4.9, trial), (5.0, None), (None, None)):
        monkeypatch.setattr(module, "refitted", again(error))
        (found,) = _friction(*driven([1, -1, 1]), lambda fit: fit)
        assert found.trial is expected
    _friction(*driven([-1, -1, 1]), lambda fit: fit)
    assert seen == [[1.0, -1.0, 1.0]] * 3 + [[-1.0, -1.0, -1.0]]


@pytest.mark.parametrize(("share", "what"), [(0.34, "weak"), (0.36, ""), (59.0, ""), (61.0, "strong")])
def test_torques_are_those_of_an_arm_of_this_size(share, what):
    """Largest torque over g and the fourth power of the reach, without the pedestal where it is small."""
    arm = chain()
    length = 1.2 if what in ("strong", "") and share > 1 else 0.8
    torque = share * 9.80665 * length**4
    tau = np.full((200, 3), 0.1 * torque)
    tau[::2, 1] = -torque
    tau[0, 0] = 100 * torque  # a spike is not the largest torque
    data = Dataset(np.arange(200.0), np.zeros((200, 3)), tau)
    small = replace(data, tau=1e-3 * tau)
    feasible: Any = SimpleNamespace(residual_ratio=1.0)
    found = _strength(arm, (small, data), feasible)
    assert [f.values["what"] for f in found] == ([what] if what else [])
    if what:
        assert found[0].values["torque"] == pytest.approx(torque) and found[0].values["reach"] == pytest.approx(length)
    sliding = replace(arm, joints=(*arm.joints[:2], replace(arm.joints[2], type="prismatic")))
    assert _strength(sliding, (data,), feasible) == []
    assert _strength(replace(arm, gravity=np.zeros(3)), (data,), feasible) == []


@pytest.mark.parametrize(
    ("low", "high", "mass", "ratio", "named"),
    [(10.0, 20.0, 10.0, 2.0, True), (10.0, 20.0, 20.0, 2.0, True), (10.0, 20.0, 15.0, 2.0, False),
     (10.0, 20.0, 10.0, 1.4, False), (0.0, 20.0, 20.0, 2.0, False)],
)  # fmt: skip
def test_a_known_mass_that_the_torques_contradict_is_named(low, high, mass, ratio, named):
    masses = np.zeros(30)
    masses[9::10] = mass / 3
    feasible: Any = SimpleNamespace(residual_ratio=ratio, standard_parameters=masses)
    found = _total_mass(replace(chain(), total_mass=(low, high)), feasible)
    assert [f.values for f in found] == ([{"low": low, "high": high}] if named else [])


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


def test_a_remedy_counts_by_each_joint_s_own_errors():
    """Five in a hundred, and beyond chance over the stretches (Student)."""
    rng = np.random.default_rng(0)
    before = np.column_stack([1.0 + 0.1 * rng.random(12), 50.0 + rng.random(12), 9.0 + rng.random(12)])
    torques = np.array([100.0, 9000.0, 50.0])
    for share in (0.5, 0.9, 0.95):
        after = before * [share, 1.0, 1.0] + 0.01 * rng.normal(size=(12, 3))
        own, other = before[:, :2].sum(axis=0), None
        gain = ((before - after)[:, :2] / own).mean(axis=1)  # the third joint is not predicted at all
        old = 100 * np.sqrt((own / torques[:2]).mean())
        new = old * np.sqrt(1 - gain.sum())
        sure = gain.sum() / (gain.std(ddof=1) * np.sqrt(12))
        other = compared(HeldOutErrors(before, torques), HeldOutErrors(after, torques))
        assert (other is not None) == (new < 0.95 * old and sure > t.ppf(0.975, 11))
        if other is not None:
            assert (other.before, other.after, other.sure) == pytest.approx((old, new, sure))
    assert compared(HeldOutErrors(before, torques), HeldOutErrors(before[:6], torques)) is None
    assert compared(None, HeldOutErrors(before, torques)) is None
    worse = HeldOutErrors(100 * before, torques)
    assert compared(worse, worse) is None
