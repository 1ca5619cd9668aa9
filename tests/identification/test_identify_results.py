"""Results of identify on synthetic data: bounds, determined parameters, held-out errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.identification import Checks, Constraints, identify
from casid.identification._bounds import default_bounds, largest_mass, term_bounds
from casid.identification._feasible_fit import Determined
from casid.measurement import Processing
from casid.retrieval import total_mass
from casid.testing import blind, recording, with_friction

FRICTION = ("viscous", "coulomb", "offset")


AS_IT_IS = Processing(
    rate=None, cutoff=None, velocity="measured", acceleration="measured", trim=0.0, every=1, filter_columns=False
)


@pytest.fixture(scope="module")
def robot():
    return casid.load_robot("kuka_iiwa")


@pytest.fixture(scope="module")
def truth(robot):
    return with_friction(robot)


def test_default_bounds_scale_with_the_robot(robot):
    assert largest_mass(robot) > 4 * robot.standard_parameters()[9::10].max()
    small = replace(blind(robot), limits=replace(robot.limits, effort=robot.limits.effort / 20))
    assert largest_mass(small) == pytest.approx(largest_mass(robot) / 20)


@pytest.mark.claim("a joint that moves one way leaves no friction of 1e5 N.m")
def test_one_way_joints_keep_small_friction(robot):
    model = Model(blind(robot), FRICTION)
    rng = np.random.default_rng(2)
    data = recording(Model(robot, FRICTION), Model(robot, FRICTION).parameters(
        robot.standard_parameters(), np.tile([0.4, 0.3, -0.1], 7)), samples=400)  # fmt: skip
    one_way = np.abs(data.dq[:, 2]) + 0.05
    dq = np.where(np.arange(7) == 2, one_way[:, None], data.dq)
    tau = data.tau + 0.05 * rng.normal(size=data.tau.shape)
    data = replace(data, dq=dq, tau=tau)
    result = identify(blind(robot), data, processing=AS_IT_IS, checks=Checks(folds=0, verdict=False))
    largest = np.abs(tau).max()
    assert np.abs(list(result.feasible.extras.values())).max() <= 10 * largest
    fit = result.unconstrained
    assert "fc3" in term_bounds(fit, np.abs(tau).max(axis=0), np.abs(dq).max(axis=0)) or fit.sd[
        list(fit.data.base.names).index("fc3")] < largest  # fmt: skip
    assert model.n == 7


def test_identify_lists_what_it_held_out_and_every_bound_it_reached(robot, truth):
    model, values = truth
    data = recording(model, values, samples=500, noise=0.3)
    steps = []
    result = identify(robot, data, processing=AS_IT_IS, progress=lambda *step: steps.append(step))
    assert result.held_out.tested["consistent"].total >= result.held_out.training["consistent"].total * 0.9
    assert result.held_out.tested["consistent"].joints.shape == (7,)
    assert {"processing", "compressing", "held-out error"} <= {text for text, _, _ in steps}
    assert "certified" in repr(result) and len(repr(result)) < 250

    def light(variables):
        return (*default_bounds(robot)(variables), total_mass(variables, 0.0, 5.0))

    alone = Checks(folds=0, verdict=False)
    tight = identify(robot, data, processing=AS_IT_IS, constraints=Constraints(build=light), checks=alone)
    assert any("total mass" in bound.text for bound in tight.feasible.active)
    assert any("bounds that are reached" in note for note in tight.notes)
    record = result.record()
    assert record["believable"]["certified"] and record["held_out"]["folds"] == 4
    assert record["active_bounds"] == [bound.text for bound in result.feasible.active]


@pytest.mark.claim("a value outside its own interval is not determined by the data")
def test_a_value_outside_its_interval_is_not_determined():
    assert Determined("m7", 1.0, 0.9, 1.1).by_data
    assert not Determined("m7", 1.2, 0.9, 1.1).by_data  # narrow, but the chosen value is not in it
    assert not Determined("m7", 1.0, -np.inf, np.inf).by_data
