"""Results of identify on synthetic data: bounds, determined parameters, held-out errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid import identification
from casid.identification import Checks, Constraints, ModelOptions, identify
from casid.retrieval import sensible_bounds, total_mass
from casid.testing import blind, recording, with_friction
from tests.helpers import first_joints


@pytest.mark.claim("a joint that moves one way leaves no friction of 1e5 N.m, and no large offset")
def test_one_way_joints_keep_small_friction(robot, model):
    rng = np.random.default_rng(2)
    data = recording(model, model.parameters(robot.standard_parameters(), np.tile([0.4, 0.3, -0.1], 7)), samples=400)
    one_way = np.abs(data.dq[:, 2]) + 0.05
    dq = np.where(np.arange(7) == 2, one_way[:, None], data.dq)
    tau = data.tau + 0.05 * rng.normal(size=data.tau.shape)
    data = replace(data, dq=dq, tau=tau)
    result = identify(blind(robot), data, processing=False, checks=Checks(folds=0, verdict=False))
    largest = np.abs(tau).max()
    assert np.abs(list(result.feasible.extras.values())).max() <= 10 * largest
    assert abs(result.feasible.extras["fo3"]) < 0.05 * np.abs(tau[:, 2]).max()
    assert result.feasible.extras["fo6"] == pytest.approx(-0.1, abs=0.04)


def test_identify_lists_what_it_held_out_and_every_bound_it_reached(robot, model, truth):
    data = recording(model, truth, samples=500, noise=0.3)
    steps = []
    result = identify(robot, data, processing=False, progress=lambda *step: steps.append(step))
    assert result.held_out.tested["consistent"].total >= result.held_out.training["consistent"].total * 0.9
    assert result.held_out.tested["consistent"].joints.shape == (7,)
    assert len(steps) == 6 and [done for _, done, _ in steps] == sorted({done for _, done, _ in steps})
    assert {total for *_, total in steps} == {1.0}
    assert "certified" in repr(result) and len(repr(result)) < 250

    def light(variables):
        return (*sensible_bounds(variables), total_mass(variables, 0.0, 5.0))

    alone = Checks(folds=0, verdict=False)
    tight = identify(robot, data, processing=False, constraints=Constraints(build=light), checks=alone)
    assert any("total mass" in bound.text for bound in tight.feasible.active)
    assert any("bounds that are reached" in note for note in tight.notes)
    record = result.record()
    assert record["believable"]["certified"] and record["held_out"]["folds"] == 4
    assert record["active_bounds"] == [bound.text for bound in result.feasible.active]


@pytest.mark.claim("a value outside its own interval is not determined by the data")
def test_a_value_outside_its_interval_is_not_determined(robot, model, truth):
    data = recording(model, truth, samples=400, noise=0.3)
    result = identify(robot, data, processing=False, checks=Checks(folds=0, verdict=False))
    entry = next(one for one in result.determined if np.isfinite(one.high))
    assert replace(entry, value=1.0, low=0.9, high=1.1).by_data
    assert not replace(entry, value=1.2, low=0.9, high=1.1).by_data  # narrow, but the chosen value is not in it
    assert not replace(entry, value=1.0, low=-np.inf, high=np.inf).by_data


def test_the_six_steps_alone_give_what_identify_gives(robot):
    """Each from the result of the one before."""
    short = first_joints(robot, 3)
    data = recording(*with_friction(short), samples=400, noise=0.05)
    checks = Checks(folds=2)
    cleaned = identification.clean(identification.read(short, data), processing=False)
    chosen = identification.choose_model(identification.compress(cleaned), checks=checks)
    made = identification.judge(identification.fit_consistently(chosen), checks)
    whole = identify(short, data, processing=False, checks=checks)
    assert made.record() == whole.record() and made.notes == whole.notes
    assert "fit_consistently" in casid.identify.__doc__


def test_gravity_of_a_model_is_recorded_where_it_is_a_number(robot, model, truth):
    data = recording(model, truth, samples=300, noise=0.3)
    tilted = ModelOptions(gravity=(0.0, 1.0, -9.0), friction="linear", springs=False)
    made = identify(robot, data, processing=False, model=tilted, checks=Checks(folds=0, verdict=False))
    assert made.record()["gravity"] == [0.0, 1.0, -9.0]
