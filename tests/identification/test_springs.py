"""Springs and counterbalances, found by held-out error."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.identification import Checks, ModelOptions, identify
from casid.testing import recording
from casid.testing._synthetic import blind

QUIET = Checks(verdict=False)


def recorded(robot, spring, **values):
    """A recording of an arm with friction, and with the springs of these terms."""
    model = Model(robot, ("viscous", "coulomb", "offset", "rotor", *spring))
    extras = {"fv": 2.0, "fc": 1.5, "fo": 0.2, "Ia": 0.3}
    named = [name for name in model.parameter_names if name[:2] in ("fv", "fc", "fo", "Ia", "ks")]
    terms = np.array([values.get(name, extras.get(name[:2], 0.0)) for name in named])
    x = model.parameters(robot.standard_parameters(), terms)
    data = recording(model, x, samples=500, seed=3, noise=0.5)
    size = np.sqrt((data.tau**2).mean(axis=0))
    return replace(data, tau=data.tau + 0.03 * size * np.tanh(3 * np.sin(2 * data.q) * data.dq / 0.5))


@pytest.fixture(scope="module")
def arm():
    return casid.load_robot("ur10e")


@pytest.mark.claim("springs and counterbalances are found and named")
def test_a_counterbalance_is_found_and_the_arm_is_not_lighter(arm):
    name = arm.coordinates[2].name
    data = recorded(arm, (f"gravity_spring@{name}",), kss3=60.0, ksc3=-80.0)
    found = identify(blind(arm), data, processing=False, checks=QUIET)
    assert name in {spring.joint for spring in found.springs}
    own = next(spring for spring in found.springs if spring.joint == name)
    assert own.kind == "counterbalance" and own.after < own.before and own.sure > 1 and own.torque > 30
    assert any("counterbalance" in note for note in found.notes) and found.record()["springs"][0]["joint"]
    assert found.parameters["kss3"] == pytest.approx(60.0, abs=30) and found.feasible.believable.certified
    off = identify(blind(arm), data, processing=False, checks=QUIET, model=ModelOptions(springs=False))
    assert off.springs == () and off.held_out.tested["consistent"].total > found.held_out.tested["consistent"].total


def test_none_is_found_where_there_is_none(arm):
    found = identify(blind(arm), recorded(arm, ()), processing=False, checks=QUIET)
    assert found.springs == () and "spring" not in " ".join(found.notes)
