"""Default bounds of an identification: scaled by the robot's size and torques."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.codegen import evaluate_batch
from casid.dynamics import Model
from casid.errors import ProblemError
from casid.identification import Checks, identify
from casid.identification._bounds import (
    LEAST_HELD,
    SINGLE,
    TOTAL,
    UNSEEN,
    default_bounds,
    largest_mass,
    largest_torques,
    mass_intervals,
    split_bounds,
    weighed_bodies,
    with_link_bounds,
)
from casid.measurement import Dataset
from casid.regression import compress, wls
from casid.retrieval import link_variables
from casid.retrieval.plausible._bodies import held_mass, plausible_bodies
from casid.testing import recording
from casid.testing._synthetic import blind


def test_masses_are_bounded_by_what_the_joints_hold(robot, noisy):
    torques, speeds = largest_torques([noisy])
    assert (torques == np.abs(noisy.tau).max(axis=0)).all() and (speeds > 0).all()
    assert largest_mass(robot) > max(robot.standard_parameters()[9::10])
    made = default_bounds(robot, torques)(link_variables(robot))
    assert len({constraint.label for constraint in made}) == len(made) >= 2 * len(robot.links)


def test_bounds_of_single_parameters(robot):
    links, terms = split_bounds({"m7": (0, 3), "fc2": (0, 1)})
    assert links == {"m7": (0, 3)} and terms == {"fc2": (0, 1)}
    assert with_link_bounds(None, {}) is None
    with pytest.raises(ProblemError, match="there is no parameter 'm9'"):
        with_link_bounds(None, {"m9": (0, 1)})(link_variables(robot))


TERMS = ("viscous", "coulomb", "offset", "rotor")


@pytest.fixture(scope="module")
def arm():
    return casid.load_robot("ur10e")


def recorded(robot, bodies):
    """A recording of these bodies with friction."""
    model = Model(robot, TERMS)
    data = recording(
        model, model.parameters(bodies, np.tile([2.0, 1.5, 0.2, 0.3], robot.n)), samples=400, seed=3, noise=0.05
    )
    return data, wls(compress(Model(blind(robot), TERMS), data))


@pytest.mark.claim("the masses of plausible bodies follow all torques")
def test_the_factor_of_the_bodies_is_the_one_that_explains_the_torques(arm):
    unknown = plausible_bodies(blind(arm))
    assert unknown.scaled.all()
    data, estimate = recorded(arm, 7.0 * unknown.parameters)
    found = weighed_bodies(unknown, estimate, np.abs(data.tau).max(axis=0))
    ratios = found.parameters[9::10] / unknown.parameters[9::10]
    assert np.ptp(ratios) < 1e-9 * ratios[0] and not found.scaled.any()
    assert 7.0 <= ratios[0] <= 1.3 * 7.0  # what makes no torque is added


def test_bodies_of_known_masses_are_kept(arm):
    known = plausible_bodies(arm)
    data, estimate = recorded(arm, arm.standard_parameters())
    assert weighed_bodies(known, estimate, np.abs(data.tau).max(axis=0)) is known


@pytest.mark.claim("a mass that torques leave open is stated with its interval, and the headline says so first")
def test_the_headline_of_the_links_names_open_masses(arm):
    data, _ = recorded(arm, arm.standard_parameters())
    found = identify(blind(arm), data, processing=False)
    total = float(found.standard_parameters[9::10].sum())
    low, high = found.total_mass_interval
    assert (low, high) == pytest.approx((TOTAL[0] * total, TOTAL[1] * total))
    assert low < float(arm.standard_parameters()[9::10].sum()) < high
    assert found.verdict.links.startswith("masses are not determined by these data")
    assert f"{low:.3g}" in found.verdict.links and found.verdict.right
    assert found.record()["masses"]["all links"] == pytest.approx([total, low, high])
    known = float(arm.standard_parameters()[9::10].sum())
    weighed = replace(blind(arm), total_mass=(0.99 * known, 1.01 * known))
    again = identify(weighed, data, processing=False, checks=Checks(verdict=False))
    assert again.total_mass_interval == pytest.approx((0.99 * known, 1.01 * known), rel=1e-6)
    assert not again.mass_intervals[0].open


def test_intervals_end_at_the_bounds_of_the_description(arm):
    bare = blind(arm)
    whole, *links = mass_intervals(bare, [2.0] * arm.n)
    assert (whole.name, whole.value, whole.open) == ("all links", 2.0 * arm.n, True)
    assert {(e.low, e.high) for e in links} == {(2.0 * SINGLE[0], 2.0 * SINGLE[1])}
    joint = bare.joints[-1]
    bounded = replace(joint.link, bounds=replace(joint.link.bounds, mass=np.array([1.9, 2.1])))
    *_, last = mass_intervals(replace(bare, joints=(*bare.joints[:-1], replace(joint, link=bounded))), [2.0] * arm.n)
    assert (last.low, last.high, last.open) == (1.9, 2.1, False)


@pytest.fixture(scope="module")
def heavy():
    """An arm whose bodies are 1.7 times the template's, with friction: its data, and the template's bodies."""
    model = Model(casid.load_robot("panda"), ("viscous", "coulomb"))
    bodies = plausible_bodies(model.robot, nominal=False)
    rng = np.random.default_rng(2)
    q, ddq = (scale * rng.normal(size=(800, 7)) for scale in (1.0, 2.0))
    still = np.zeros((800, 7))
    weight = evaluate_batch(model.inverse_dynamics, q, still, still, model.parameters(bodies.parameters))[:, :, 0]
    dq = 0.05 * weight + 0.3 * rng.normal(size=q.shape)  # upward more often than not: friction looks like weight
    truth = model.parameters(1.7 * bodies.parameters, np.tile([0.8, 0.4], 7))
    tau = evaluate_batch(model.inverse_dynamics, q, dq, ddq, truth)[:, :, 0]
    return model, Dataset(np.arange(800) * 0.01, q, tau + 0.01 * rng.normal(size=tau.shape), dq, ddq), bodies


def test_the_factor_is_that_of_the_torques_and_friction_does_not_count(heavy):
    model, data, bodies = heavy
    found = weighed_bodies(bodies, wls(compress(model, data)), np.full(7, 1e-3))
    assert found.parameters == pytest.approx(1.7 * UNSEEN * bodies.parameters, rel=2e-3)
    assert found.weighed


def test_what_a_counterbalance_holds_is_not_below_a_third_of_what_the_drives_hold(heavy):
    model, data, bodies = heavy
    light = replace(data, tau=0.01 * data.tau)
    torques = np.full(7, 60.0)
    found = weighed_bodies(bodies, wls(compress(model, light)), torques)
    assert found.parameters[9::10].sum() == pytest.approx(LEAST_HELD * held_mass(model.robot, torques))


def test_known_masses_are_kept(heavy):
    model, data, bodies = heavy
    known = bodies.weighing(12.0)
    if known.scaled.all():
        pytest.fail("bodies with a known mass are not scaled")
    assert weighed_bodies(known, wls(compress(model, data)), np.full(7, 60.0)) is known
