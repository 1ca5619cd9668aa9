"""The mass that links are expected to have: the factor of the template bodies that explains the torques best."""

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.codegen import evaluate_batch
from casid.dynamics import Model
from casid.identification._expected_mass import LEAST_HELD, UNSEEN, weighed_bodies
from casid.measurement import Dataset
from casid.regression import compress, wls
from casid.retrieval.plausible._bodies import held_mass, plausible_bodies


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
