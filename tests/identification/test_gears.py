"""A joint's torque of another scale is named with its factor; right recordings and reversed readings are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from casid.dynamics import Model
from casid.identification import Checks, Choice, Constraints, ModelOptions, identify
from casid.identification._consistent_fits import ConsistentFits
from casid.identification.diagnosis._scales import ScalePosterior
from casid.regression import compress, wls

FRICTION = ("viscous", "coulomb", "offset")


def torques(robot, data, factors):
    """Findings about the torques where those of the joints are times these factors."""
    options = ModelOptions(FRICTION, "linear", springs=False)
    made = replace(data, tau=data.tau * factors)
    checks, choice = Checks(folds=0), Choice(believable=False)
    return identify(robot, made, processing=False, model=options, choice=choice, checks=checks).verdict


@pytest.mark.claim("a torque of another gear ratio or constant is called wrong, with its joint and its factor")
@pytest.mark.parametrize(
    ("joint", "gear"), [(1, 0.5), *(pytest.param(*one, marks=pytest.mark.slow) for one in ((1, 1.5), (2, 0.7)))]
)
def test_a_torque_of_another_scale_is_named(four, four_data, joint, gear):
    judged = torques(four, four_data, np.where(np.arange(4) == joint, gear, 1.0))
    (found,) = [f for f in judged.findings if f.cause == "torque of another scale"]
    assert found.joint == four.coordinates[joint].name and f"'{found.joint}' times" in judged.torques
    assert judged.torques.startswith("WRONG") and "gains times" in judged.torques
    assert found.values["factor"] == pytest.approx(1.0 / gear, rel=0.1)
    assert found.trial.after < found.trial.before


@pytest.mark.parametrize("gear", [0.9, 1.0, 1.1])
def test_tolerances_of_torque_constants_are_no_finding(four, four_data, gear):
    judged = torques(four, four_data, np.where(np.arange(4) == 1, gear, 1.0))
    assert not [f for f in judged.findings if f.about == "torques" and f.wrong] and judged.tried > 30


def posterior(arm, data, terms=FRICTION, springs=()):
    """The posterior of plausible links."""
    fits = ConsistentFits(arm, (data,), Constraints(), Choice(), springs=springs)
    fitted, note = fits.fitted(wls(compress(Model(arm, terms), data)))
    assert not note
    return ScalePosterior([data], fitted, fits)


def scale(arm, data, terms=FRICTION, springs=()):
    """What it says of the scales of torques."""
    return posterior(arm, data, terms, springs).found()


def scaled(data, joint, gear):
    return replace(data, tau=data.tau * np.where(np.arange(data.n) == joint, gear, 1.0))


@pytest.mark.parametrize(("joint", "gear"), [(1, 2.0), (2, 0.5)])
def test_plausible_links_tell_the_scale_of_a_short_motion(arm, arm_data, joint, gear):
    short = arm_data.rows(slice(0, 60), "short")
    found = scale(arm, scaled(short, joint, gear))
    assert found.sure and found.joint == joint and found.factor == pytest.approx(1.0 / gear, rel=0.15) and found.springs
    clean = scale(arm, short)
    assert clean is None or not clean.sure


@pytest.mark.claim("a constant torque that the model lacks, as of a counterbalance, is no gear")
@pytest.mark.parametrize(("joint", "share"), [(1, 1.0), (2, -1.0), (3, 0.5)])
def test_a_constant_torque_is_no_gear(four, four_data, joint, share):
    short = four_data.rows(slice(0, 60), "short")
    more = np.where(np.arange(4) == joint, share * np.abs(short.tau).max(axis=0), 0.0)
    found = scale(four, replace(short, tau=short.tau + more))
    assert found is None or not found.sure


def test_a_spring_does_not_take_the_place_of_a_gear(four, four_data):
    joint = four.coordinates[1].name
    terms, springs = (*FRICTION, f"spring_sine@{joint}", f"spring_cosine@{joint}"), ((joint, 100.0),)
    found = scale(four, scaled(four_data, 1, 0.5), terms, springs)
    assert found.sure and found.joint == 1 and found.factor == pytest.approx(2.0, rel=0.1) and not found.springs
    clean = scale(four, four_data, terms, springs)
    assert clean is None or not clean.sure


def test_the_posterior_of_a_scale_is_its_least_and_counts_what_the_right_scale_leaves(arm, arm_data):
    made = posterior(arm, scaled(arm_data, 3, 2.0))
    account, right = made._accounts[0], -np.log(2.0)
    as_recorded, rescaled = (made._independent(account, 3, log) for log in (0.0, right))
    assert rescaled[3] > 2.0 * as_recorded[3]  # white noise is what the right scale leaves
    value, _ = made._least(account, 3, 0.0)
    made._squares = made._squares * np.where(np.arange(6) == 3, 1e-2, 1.0)  # the search begins far off
    assert made._least(account, 3, 0.0)[0] == pytest.approx(value, abs=0.1)
