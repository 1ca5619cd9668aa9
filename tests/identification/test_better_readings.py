"""Other readings of a recording: the one that was applied is found, and its trial improves the held-out error."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.dynamics.terms import friction_terms
from casid.identification import Checks, ModelOptions, identify
from casid.identification.diagnosis._better_readings import Trials, better_readings
from casid.identification.diagnosis._readings import Readings, without_held
from casid.identification.diagnosis._trial import (
    HeldOutErrors,
    compared,
    held_out_errors,
    later,
    signed,
)
from casid.identification.diagnosis._verdict import _friction, _nominal
from casid.measurement import Processing
from casid.regression import compress, wls
from casid.testing import recording, with_friction


@pytest.fixture(scope="module")
def arm():
    whole = casid.load_robot("kuka_iiwa")
    return replace(whole, joints=whole.joints[:3], limits=type(whole.limits).unlimited(3))


@pytest.fixture(scope="module")
def data(arm):
    return recording(*with_friction(arm), samples=300, noise=0.05)


def found_in(arm, data, gravity=None):
    model, steps = Model(arm, ("viscous", "coulomb", "offset"), gravity), []
    findings, tried = better_readings(
        Readings(model, data), data, Trials(model, [data]), lambda done, total: steps.append((done, total))
    )
    assert steps[-1][0] <= steps[-1][1] and tried > 20
    return findings


def test_a_right_recording_has_no_better_reading(arm, data):
    assert found_in(arm, data) == []


def test_a_reversed_torque_is_found_and_tried(arm, data):
    (finding,) = found_in(arm, signed(data, [1, -1, 1], torques_only=True))
    assert (finding.cause, finding.joint, finding.values["what"]) == ("reversed joint", arm.joints[1].name, "torque")
    assert finding.trial.measure == "held-out error" and finding.trial.after < 0.97 * finding.trial.before


def test_gravity_along_another_axis_is_found(arm, data):
    (finding,) = found_in(arm, data, (float(np.linalg.norm(arm.gravity)), 0.0, 0.0))
    assert finding.cause == "gravity direction"
    direction = finding.values["direction"]
    towards = np.array([float(x) for x in direction.split(",")]) if "," in direction else direction
    assert (isinstance(towards, str) and towards == "-z") or towards @ arm.gravity > 0.99 * arm.gravity @ arm.gravity


@pytest.mark.claim("a delay is advised only where taking it out improves the held-out error")
@pytest.mark.parametrize("filtered", [False, True])
def test_the_trial_of_a_delay(arm, data, filtered):
    def moved(seconds):
        late = later(data, -seconds)
        return Processing(cutoff=5.0).apply(late) if filtered else late

    model = Model(arm, ("viscous", "coulomb", "offset"))
    late, lag = moved(0.04), 0.04
    trial = Trials(model, [late]).later(lag)
    assert trial is not None and trial.measure == "held-out error" and trial.after < 0.9 * trial.before
    assert Trials(model, [late]).later(-lag) is None
    assert Trials(model, [moved(0.0)]).later(lag) is None


def test_a_delay_is_tried_with_the_friction_of_the_fit(arm):
    """Errors of linear friction, where the fit has another, would hide what a small delay adds."""
    dry = friction_terms("stribeck", [[0.02, 0.15]] * arm.n)
    model = Model(arm, dry)
    sizes = {"fs": 6.0, "fc": 1.0, "fv": 0.4}
    values = [sizes.get(name.rstrip("0123456789"), 0.0) for name in model.parameter_names]
    values[: len(arm.standard_parameters())] = arm.standard_parameters()
    late = later(recording(model, np.array(values), samples=1200, noise=0.02), -0.01)
    plainly, trial = (
        Trials(made, [late]).later(0.01) for made in (Model(arm, ("viscous", "coulomb", "offset")), model)
    )
    assert trial is not None and plainly is not None and trial.after < 0.3 * trial.before
    assert plainly.after > 0.5 * plainly.before


@pytest.mark.slow
@pytest.mark.claim("by default a delay that held-out motion proves is taken out, and the verdict states it")
def test_a_proven_delay_is_taken_out_by_default(arm):
    def raw(seconds):
        data = recording(*with_friction(arm), samples=600, noise=0.05)
        return later(replace(data, dq=None, ddq=None), -seconds)

    def identified(data, **options):
        return identify(arm, data, model=ModelOptions(friction="linear", springs=False), **options)

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


@pytest.mark.claim("a link whose description is refused makes no wrong unit of right torques")
def test_torques_against_a_description_in_which_a_link_is_refused(arm):
    data = recording(*with_friction(arm), samples=400, noise=0.05)
    feasible = identify(
        arm, data, model=ModelOptions(friction="linear", springs=False), checks=Checks(0, False)
    ).feasible
    nominal = arm.standard_parameters()
    first, last = (np.where(np.arange(nominal.size) // 10 == k, 0.0, nominal) for k in (0, 2))
    for partly in (first, last):
        assert _nominal(arm, partly, data, feasible) == []
    (finding,) = _nominal(arm, first, replace(data, tau=4.0 * data.tau), feasible)
    assert finding.cause == "torques of nominal bodies" and finding.values["ratio"] == pytest.approx(4.0, rel=0.1)
    (finding,) = _nominal(arm, first, replace(data, tau=-data.tau), feasible)
    assert finding.cause == "opposite torques"
    assert _nominal(arm, last, replace(data, tau=4.0 * data.tau), feasible) == []  # the last link could weigh as much
    assert _nominal(arm, 0.0 * nominal, data, feasible) == []


def test_errors_of_an_estimate_predict_every_stretch_from_the_others(arm, data):
    model = Model(arm, ("viscous", "coulomb", "offset"))
    free, weights = held_out_errors(model, [data]), np.ones(arm.n)
    same = held_out_errors(model, [data], weights=weights, estimate=lambda fit: fit.beta)
    zero = held_out_errors(model, [data], weights=weights, estimate=lambda fit: 0.0 * fit.beta)
    np.testing.assert_allclose(zero.squares.sum(axis=0), same.torques, rtol=1e-9)
    assert same.squares.shape == free.squares.shape and (same.squares.sum(axis=0) < 0.1 * same.torques).all()
    trial = compared(zero, same)
    assert trial is not None and trial.after < trial.before


@pytest.mark.claim("a joint that no reading predicts does not decide between readings")
def test_a_joint_that_neither_reading_predicts_does_not_count():
    torques, stretches = np.array([4.0, 4.0]), np.ones((4, 1))
    before = HeldOutErrors(stretches * [0.1, 5.0], torques)
    assert compared(before, HeldOutErrors(stretches * [0.1, 3.0], torques)) is None
    trial = compared(before, HeldOutErrors(stretches * [0.1, 0.5], torques))  # it is predicted now: it counts
    assert trial is not None and trial.after < trial.before


@pytest.mark.claim("torques of a joint that is held do not decide between readings")
def test_a_held_joint_does_not_count(arm, data):
    held = replace(data, q=np.where(np.arange(3) == 2, 1e-4 * data.q, data.q))
    np.testing.assert_array_equal(without_held(held, arm).mask.all(axis=0), [True, True, False])
    assert without_held(data, arm) is data
    errors = Trials(Model(arm, ("viscous", "coulomb", "offset")), [held]).here
    assert (errors.torques > 0).tolist() == [True, True, False]


@pytest.mark.claim("a joint that is held has no friction that drives")
@pytest.mark.parametrize("moves", [True, False])
def test_friction_of_a_held_joint_is_not_judged(arm, data, moves):
    model = Model(arm, ("viscous", "coulomb", "offset"))
    turned = signed(data, [1, 1, -1], torques_only=True)
    fit = wls(compress(model, turned))
    held = turned if moves else replace(turned, q=np.where(np.arange(3) == 2, 1e-4 * data.q, data.q))
    found = _friction(SimpleNamespace(fit=fit, model=model), (held,), None)
    assert [f.joint for f in found] == ([arm.joints[2].name] if moves else [])
