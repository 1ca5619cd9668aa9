"""Friction of an identification: chosen only where it predicts better, refused where bounds name what it lacks."""

from dataclasses import replace

import numpy as np
import pytest

from casid.dynamics import Model
from casid.dynamics.terms import friction_model
from casid.errors import ProblemError
from casid.identification import Checks, Constraints, ModelOptions, identify, load_model
from casid.identification._joint_terms import CHOSEN, _laws
from casid.regression.friction import STATIC
from casid.testing import recording, with_friction
from tests.identification.conftest import HEAVY

LINEAR = ("viscous", "coulomb", "offset")


@pytest.mark.claim("bounds of a parameter that the friction lacks are refused before the work")
def test_bounds_that_the_law_lacks_are_refused(arm, arm_data, monkeypatch):
    monkeypatch.setattr("casid.identification._joint_terms.fit_jointly", lambda *given: pytest.fail("was computed"))
    options = ModelOptions(friction="sigmoid")
    with pytest.raises(ProblemError, match="'sigmoid' has no parameter fo1; it has the symbols fp"):
        identify(arm, arm_data, processing=False, model=options, constraints=Constraints(bounds={"fo1": (-1, 1)}))


def test_bounded_amplitudes_are_in_every_law_that_is_tried(arm):
    laws = _laws(Model(arm), "auto", {"fs2": (0, 1), "fo1": (-1, 1)})
    assert laws and all("stribeck" in name for name in laws)


@pytest.mark.claim("automatic friction is linear where a choice does not predict better")
def test_linear_friction_is_kept_in_doubt(arm, arm_data, monkeypatch):
    monkeypatch.setitem(CHOSEN, "static", ("linear", "stribeck"))
    result = identify(arm, arm_data, processing=False, checks=Checks(verdict=False))
    assert result.law is None and any(note.startswith("linear friction is kept") for note in result.notes)
    assert result.friction == "linear" and load_model(result.record(), arm)[0].parameter_names[-1] == "Ia6"
    assert result.held_out is not None and result.held_out.tested["consistent"].total < 20.0
    assert all(row.chosen == (row.law == "linear") for row in result.candidates)


@pytest.mark.claim("bounds of a parameter that the terms lack are refused before the recording is processed")
def test_bounds_that_no_term_has_are_refused_first(arm, arm_data, monkeypatch):
    monkeypatch.setattr("casid.identification._identify.prepare", lambda *_: pytest.fail("the work has begun"))
    options = ModelOptions(terms=("viscous", "coulomb"))
    with pytest.raises(ProblemError, match="no term parameter 'fo1'"):
        identify(arm, arm_data, model=options, constraints=Constraints(bounds={"fo1": (-1, 1)}))


@pytest.mark.claim("a bound of an amplitude that linear friction lacks does not end the comparison with it")
@pytest.mark.parametrize("kept", [False, True])
def test_bounds_of_chosen_friction_leave_linear_friction_out(arm, arm_data, kept, monkeypatch):
    monkeypatch.setitem(CHOSEN, "static", ("linear", "stribeck+load"))
    given = Constraints(bounds={"fs3": (0.0, 5.0), "m3": (0.0, 20.0)})
    own = arm_data if kept else stick_slip(arm)
    result = identify(arm, own, processing=False, model=ModelOptions(springs=False), constraints=given,
                      checks=Checks(verdict=False))  # fmt: skip
    assert (result.law is None) == kept
    notes = [note for note in result.notes if "friction" in note]
    assert [note.endswith("it has no fs3, whose bound has no effect") for note in notes] == [kept]
    if not kept:
        assert 4.0 < result.feasible.extras["fs3"] <= 5.0 + 1e-6  # 12 N.m without the bound


def stick_slip(arm, seed=0):
    """A recording with friction that falls with speed and grows with the load at the second joint."""
    plain = recording(*with_friction(arm, HEAVY), noise=0.3, seed=seed)
    load = Model(arm).inverse_dynamics(plain.q, plain.dq, plain.ddq, arm.standard_parameters())
    v, more = plain.dq, np.zeros_like(plain.tau)
    more[:, 1] = 0.1 * np.abs(load[:, 1]) * np.sign(v[:, 1])
    more[:, 2] = 12.0 * np.exp(-((v[:, 2] / 0.3) ** 2)) * np.sign(v[:, 2])
    return replace(plain, tau=plain.tau + more)


@pytest.mark.claim("friction is chosen by default where parts of the motion that are held out are predicted better")
def test_friction_is_chosen_by_default(arm):
    data = stick_slip(arm)
    result = identify(arm, data, processing=False, checks=Checks(verdict=False))
    assert result.friction == "static" and result.law is not None
    names = [joint.law.name for joint in result.law.joints]
    assert names[1].endswith("load") and names[0] == "linear"
    assert {"fv3", "fc3", "fo3"} <= set(result.parameters.names)
    linear = identify(arm, data, processing=False, model=ModelOptions(friction="linear"), checks=Checks(verdict=False))
    assert linear.law is None and linear.held_out is not None and result.held_out is not None
    assert result.held_out.tested["consistent"].total < 0.7 * linear.held_out.tested["consistent"].total
    other = stick_slip(arm, seed=3)
    assert result.predict(other).relative_error < 0.7 * linear.predict(other).relative_error
    model, values = load_model(result.record(), arm)
    found = dict(zip(result.model.parameter_names, result.feasible.values, strict=True))
    assert dict(zip(model.parameter_names, values, strict=True)) == pytest.approx(found)


@pytest.mark.claim("no default friction has a negative amplitude, and all have viscous, Coulomb and offset")
def test_laws_of_the_default_have_positive_amplitudes():
    for name in STATIC:
        amplitudes = friction_model(name).amplitudes
        assert {"fv", "fc", "fo"} <= {a.symbol for a in amplitudes}
        assert all(a.nonnegative for a in amplitudes if a.symbol != "fo")


def test_given_terms_and_nothing_held_out_mean_linear_friction():
    assert ModelOptions().decided(True).friction == "static"
    assert ModelOptions().decided(False).friction == "linear"
    assert ModelOptions(terms=LINEAR).decided(True).friction == "linear"
    assert ModelOptions(terms=LINEAR, friction="auto").decided(False).friction == "auto"


def test_friction_is_chosen_with_masks_and_several_recordings(arm):
    first, second = stick_slip(arm), stick_slip(arm, seed=5)
    result = identify(
        arm, [first.only([1, 2, 3]), second], processing=False, model=ModelOptions(springs=False),
        checks=Checks(verdict=False),
    )  # fmt: skip
    assert result.law is not None and result.law.joints[1].law.name.endswith("load")
