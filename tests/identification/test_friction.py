"""Friction of an identification: chosen only where it predicts better, refused where bounds name what it lacks."""

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.errors import ProblemError
from casid.identification import Checks, Constraints, ModelOptions, identify
from casid.identification._friction import _laws
from casid.testing._synthetic import recording

LINEAR = ("viscous", "coulomb", "offset")


@pytest.fixture(scope="module")
def robot():
    return casid.load_robot("ur10e")


@pytest.fixture(scope="module")
def data(robot):
    model = Model(robot, LINEAR)
    return recording(model, model.parameters(robot.standard_parameters(), np.tile([4.0, 6.0, -0.5], 6)), noise=0.5)


@pytest.mark.claim("bounds of a parameter that the friction lacks are refused before the work")
def test_bounds_that_the_law_lacks_are_refused(robot, data, monkeypatch):
    monkeypatch.setattr("casid.identification._friction.fit_jointly", lambda *given: pytest.fail("was computed"))
    options = ModelOptions(friction="sigmoid")
    with pytest.raises(ProblemError, match="'sigmoid' has no parameter fo1; it has the symbols fp"):
        identify(robot, data, processing=False, model=options, constraints=Constraints(bounds={"fo1": (-1, 1)}))


def test_bounded_amplitudes_are_in_every_law_that_is_tried(robot):
    laws = _laws(Model(robot), "auto", {"fs2": (0, 1), "fo1": (-1, 1)})
    assert laws and all("stribeck" in name for name in laws)


@pytest.mark.claim("automatic friction is linear where a choice does not predict better")
def test_linear_friction_is_kept_in_doubt(robot, data, monkeypatch):
    monkeypatch.setattr("casid.identification._friction.CANDIDATES", ("linear", "stribeck"))
    result = identify(robot, data, processing=False, model=ModelOptions(friction="auto"), checks=Checks(verdict=False))
    assert result.law is None and any(note.startswith("linear friction is kept") for note in result.notes)
    assert result.held_out is not None and result.held_out.tested["consistent"].total < 20.0
    assert all(row.chosen == (row.law == "linear") for row in result.candidates)


@pytest.mark.claim("bounds of a parameter that the terms lack are refused before the recording is processed")
def test_bounds_that_no_term_has_are_refused_first(robot, data, monkeypatch):
    monkeypatch.setattr("casid.identification._identify.prepare", lambda *_: pytest.fail("the work has begun"))
    options = ModelOptions(terms=("viscous", "coulomb"))
    with pytest.raises(ProblemError, match="no term parameter 'fo1'"):
        identify(robot, data, model=options, constraints=Constraints(bounds={"fo1": (-1, 1)}))
