"""Springs and counterbalances, found by held-out error."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.description import Inertial, Joint, Link, Robot
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


@pytest.mark.claim("a counterbalanced lift does not make the arm light")
def test_a_counterbalanced_lift_has_its_weight(arm):
    body = Inertial(8.0, np.array([0.0, 0.0, 0.1]), np.diag([0.2, 0.2, 0.1]))
    up = np.array([0.0, 0.0, 1.0])
    lift = Joint("lift", "prismatic", -1, Link("column", inertial=body), placement=np.eye(4), axis=up)
    robot = Robot("lifted", (lift, *(replace(j, parent=j.parent + 1) for j in arm.joints)), gravity=arm.gravity)
    total = float(robot.standard_parameters()[9::10].sum())
    data = recorded(robot, (), fo1=-9.80665 * total, Ia1=0.0)  # it holds the whole arm
    found = identify(blind(robot), data, processing=False, checks=QUIET)
    assert found.standard_parameters[9::10].sum() == pytest.approx(total, rel=0.25)  # 9 kg where the offset is bounded
    assert found.parameters["fo1"] < -2.0 * np.abs(data.tau[:, 0]).max()


def test_none_is_looked_for_where_that_is_asked(arm):
    found = identify(blind(arm), recorded(arm, ()), processing=False, checks=QUIET, model=ModelOptions(springs=False))
    assert found.springs == () and "spring" not in " ".join(found.notes)
    again = identify(blind(arm), recorded(arm, ()), processing=False, checks=QUIET)
    assert again.springs == () and np.array_equal(found.feasible.values, again.feasible.values)
