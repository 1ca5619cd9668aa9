"""Consistent fits with one set of constraints: bounds, the choice of plausible links, torques that springs hold."""

from __future__ import annotations

import numpy as np
import pytest

import casid
from casid.identification import Choice, Constraints
from casid.identification._consistent_fits import ConsistentFits
from casid.identification._springs import FoundSpring
from casid.inertia import pseudo_inertia
from casid.regression import compress, wls
from casid.retrieval import total_mass
from casid.testing import blind, recording, with_friction


@pytest.fixture(scope="module")
def case():
    robot = casid.load_robot("three_link")
    if any(joint.link.inertial is None for joint in robot.joints):
        body = [0.3, 0.01, 0.02, 0.3, 0.01, 0.2, 0.1, 0.05, 0.1, 2.0]
        robot = robot.with_parameters(body * 3)
    model, truth = with_friction(robot)
    data = recording(model, truth, samples=400, noise=0.3)
    return robot, data, wls(compress(model, data))


def test_a_fit_obeys_the_constraints_and_is_of_real_bodies(case):
    robot, data, fit = case
    given = Constraints(lambda v: total_mass(v, 0.0, 4.0), {"fv1": (0.0, 0.2)})
    found, note = ConsistentFits(blind(robot), (data,), given, Choice(believable=False)).fitted(fit)
    links = found.standard_parameters.reshape(3, 10)
    assert links[:, 9].sum() <= 4.0 + 1e-6 and found.extras["fv1"] <= 0.2 + 1e-9 and note == ""
    assert min(np.linalg.eigvalsh(pseudo_inertia(link))[0] for link in links) > 0
    free, _ = ConsistentFits(blind(robot), (data,), Constraints(), Choice(believable=False)).fitted(fit)
    assert free.residual_ratio < found.residual_ratio and free.standard_parameters[9::10].sum() > 4.0


def test_the_choice_keeps_the_residual_within_its_share(case):
    robot, data, fit = case
    fits = ConsistentFits(robot, (data,), Constraints(), Choice(), share=0.01)
    steps = []
    chosen, note = fits.fitted(fit, between=lambda: steps.append("best"))
    best, _ = ConsistentFits(robot, (data,), Constraints(), Choice(believable=False)).fitted(fit)
    assert fits.choosing and note == "" and steps == ["best"]
    assert best.residual_ratio <= chosen.residual_ratio <= 1.01 * best.residual_ratio * (1 + 1e-6)
    nominal = robot.standard_parameters()
    assert np.linalg.norm(chosen.standard_parameters - nominal) < np.linalg.norm(best.standard_parameters - nominal)
    path = fits.path(fit, (0.001, 0.05))
    assert list(path) == [0.05, 0.001] and path[0.05].residual_ratio > path[0.001].residual_ratio


def test_nothing_is_chosen_with_a_prior_or_weak_consistency(case):
    robot, data, _ = case
    semi = Constraints(consistency="semi")
    assert not ConsistentFits(robot, (data,), semi, Choice()).choosing
    assert not ConsistentFits(robot, (data,), Constraints(), Choice(believable=False)).choosing


def test_joints_with_springs_hold_what_the_links_make(case):
    robot, data, _ = case
    plain = ConsistentFits(robot, (data,), Constraints(), Choice())
    name = robot.coordinates[1].name
    spring = FoundSpring(name, "spring", 5.0, 2.0, 3.0, 10.0, 1.5)
    held = ConsistentFits(robot, (data,), Constraints(), Choice(), springs=(spring,))._held
    assert held[1] == 1.5 and held[[0, 2]] == pytest.approx(plain._held[[0, 2]])
