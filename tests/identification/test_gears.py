"""A joint's torque of another scale is named with its factor; right recordings and reversed readings are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from casid.identification import Checks, Choice, ModelOptions, identify

FRICTION = ("viscous", "coulomb", "offset")


def torques(robot, data, factors):
    """Findings about the torques where those of the joints are times these factors."""
    options = ModelOptions(FRICTION, "linear", springs=False)
    made = replace(data, tau=data.tau * factors)
    checks, choice = Checks(folds=0), Choice(believable=False)
    return identify(robot, made, processing=False, model=options, choice=choice, checks=checks).verdict


@pytest.mark.claim("a torque of another gear ratio or constant is called wrong, with its joint and its factor")
@pytest.mark.parametrize(("joint", "gear"), [(1, 0.5), (1, 1.5), (2, 0.7)])
def test_a_torque_of_another_scale_is_named(arm, arm_data, joint, gear):
    judged = torques(arm, arm_data, np.where(np.arange(6) == joint, gear, 1.0))
    (found,) = [f for f in judged.findings if f.cause == "torque of another scale"]
    assert found.joint == arm.coordinates[joint].name and f"'{found.joint}' times" in judged.torques
    assert judged.torques.startswith("WRONG") and "gains times" in judged.torques
    assert found.values["factor"] == pytest.approx(1.0 / gear, rel=0.1)
    assert found.trial.after < found.trial.before


@pytest.mark.parametrize("gear", [0.9, 1.0, 1.1])
def test_tolerances_of_torque_constants_are_no_finding(arm, arm_data, gear):
    judged = torques(arm, arm_data, np.where(np.arange(6) == 1, gear, 1.0))
    assert not [f for f in judged.findings if f.about == "torques" and f.wrong] and judged.tried > 60
