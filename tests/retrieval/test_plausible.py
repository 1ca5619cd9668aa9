"""Plausible links: chosen within what the data allow, and proven to be the most plausible there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import casid
from casid.description import Joint, Link, Robot
from casid.dynamics import Model
from casid.errors import ProblemError
from casid.identification import RegressionProblem
from casid.identification._bounds import default_bounds
from casid.inertia import Divergence, consistency, pseudo_inertia, to_standard
from casid.regression import compress, wls
from casid.retrieval import LeastSquares, Problem, link_variables, solve, total_mass
from casid.retrieval.plausible import (
    PlausibleBodies,
    believable,
    coefficient_tolerance,
    noise_share,
    plausible_bodies,
    robot_bodies,
)
from casid.retrieval.plausible._bodies import skeleton_boxes
from casid.testing import blind, recording, with_friction
from problems import panda_retrieval, spatial_2r

FRICTION = ("viscous", "coulomb", "offset")


@pytest.fixture(scope="module")
def robot():
    return casid.load_robot("kuka_iiwa")


@pytest.fixture(scope="module")
def truth(robot):
    return with_friction(robot)


@pytest.fixture(scope="module")
def problem(robot, truth):
    data = recording(*truth, samples=600, noise=0.5)
    return RegressionProblem(wls(compress(Model(blind(robot), FRICTION), data)), constraints=default_bounds(robot))


@pytest.fixture(scope="module")
def best(problem):
    return problem.solve()


@pytest.fixture(scope="module")
def chosen(problem, best):
    return problem.choose(best)


@pytest.mark.claim("links are believable, not only consistent")
def test_needles_become_bodies_at_the_same_fit(best, chosen, robot):
    assert chosen.believable.certified and chosen.certified
    assert chosen.objective <= best.objective * 1.005**2 * (1 + 1e-9)
    true = robot.standard_parameters()

    def mass_errors(fit):
        return np.abs(fit.standard_parameters[9::10] / true[9::10] - 1.0)

    assert np.median(mass_errors(chosen)) < 0.4
    assert np.median(mass_errors(chosen)) < np.median(mass_errors(best))
    thinnest = [min(link.principal_moments[0] for link in fit.link_parameters) for fit in (best, chosen)]
    assert thinnest[1] > 10 * thinnest[0]
    assert all(consistency(ten).full for ten in chosen.standard_parameters.reshape(-1, 10))


def test_scale_is_free_and_a_known_total_mass_is_kept(problem, robot, truth):
    data = recording(*truth, samples=600, noise=0.5)
    total = float(robot.standard_parameters()[9::10].sum())
    build = default_bounds(robot)
    known = RegressionProblem(
        wls(compress(Model(blind(robot), FRICTION), data)),
        constraints=lambda v: (*build(v), total_mass(v, 0.999 * total, 1.001 * total)),
    )
    fit = known.choose(known.solve())
    assert fit.believable.certified
    assert fit.standard_parameters[9::10].sum() == pytest.approx(total, rel=2e-3)
    doubled = replace(fit.believable.bodies, parameters=2.0 * fit.believable.bodies.parameters)
    again = known.choose(known.solve(), doubled).believable
    assert again.scale == pytest.approx(fit.believable.scale / 2, rel=1e-3)
    np.testing.assert_allclose(again.x, fit.believable.x, rtol=1e-2, atol=1e-4)


def test_bodies_come_from_description_boxes_or_skeleton(robot):
    assert set(plausible_bodies(robot).origins) == {"description"}
    assert set(plausible_bodies(blind(robot)).origins) == {"skeleton"}
    panda = casid.load_robot("panda")
    assert robot_bodies(panda).repaired  # a retrieved set, one of its links longer than the arm
    assert set(plausible_bodies(panda, nominal=False).origins) == {"box of its centre of mass"}
    first = robot.joints[0].link
    copies = tuple(replace(j, link=replace(j.link, inertial=first.inertial)) for j in robot.joints)
    assert robot_bodies(replace(robot, joints=copies)) is None
    for made in (robot, blind(robot), panda):
        assert all(consistency(ten).full for ten in plausible_bodies(made).parameters.reshape(-1, 10))


def test_noise_explains_at_most_half_a_percent():
    assert noise_share(50, 60) == 0.005
    assert noise_share(1000, 60) == 0.005
    assert 0 < noise_share(200_000, 60) < 0.001


def test_what_cannot_be_chosen_is_refused(problem, best):
    with pytest.raises(ProblemError, match="share"):
        believable(problem.problem, best.solution, share=-1.0)
    with pytest.raises(ProblemError, match="not both"):
        believable(problem.problem, best.solution, share=0.1, tolerance=1.0)
    with pytest.raises(ProblemError, match="failed"):
        believable(problem.problem, replace(best.solution, x=-best.solution.x))


@pytest.mark.claim("the masses of boxes follow the torques that were measured")
def test_masses_follow_the_torques(robot):
    bare, torques = blind(robot), np.array([10.0, 60.0, 20.0, 20.0, 5.0, 2.0, 1.0])
    masses = [float(plausible_bodies(bare, torques=t).parameters[9::10].sum()) for t in (torques, 2 * torques)]
    assert masses[1] == pytest.approx(2 * masses[0])
    assert 10 < masses[0] < 30  # 17.5 kg, 53 N.m of gravity when stretched
    assert not plausible_bodies(bare, torques=torques).scaled.any() and plausible_bodies(bare).scaled.all()


@pytest.mark.claim("the plausible step never fails")
def test_path_of_shares_is_proven_at_every_step(problem, best, robot):
    bodies = plausible_bodies(blind(robot), torques=[5.0, 60.0, 30.0, 30.0, 5.0, 5.0, 1.0])
    path = problem.path(best, (0.3, 0.05, 0.01), bodies)
    assert len(path) == 3 and all(step.believable.certified for step in path)
    divergences = [step.believable.divergence for step in path]
    assert divergences == sorted(divergences)  # the more the data count, the less plausible
    for step, share in zip(path, (0.3, 0.05, 0.01), strict=True):
        assert step.believable.share == pytest.approx(share, rel=1e-3) and step.believable.share <= share * (1 + 1e-4)
    again = problem.choose(best, bodies, 0.05)  # from anywhere the same answer
    np.testing.assert_allclose(again.values, path[1].values, atol=1e-5)


@pytest.fixture(scope="module")
def published():
    return casid.solve(panda_retrieval.build())


@pytest.mark.claim("coefficients alone give a tolerance that follows from their errors")
def test_the_tolerance_of_coefficients_is_what_their_errors_make(published):
    problem = published.problem
    tolerance = coefficient_tolerance(published)
    sd = problem.coefficients.sd[problem.coefficients.used]
    assert tolerance.given and tolerance.ratio > 10  # the best fit misses them by far more than their deviations
    assert published.objective + tolerance.value == pytest.approx(tolerance.ratio**2 * np.sum(sd**2))
    honest = replace(
        problem, coefficients=replace(problem.coefficients, sd=0.02 * np.ones(len(problem.coefficients.sd)))
    )
    known = coefficient_tolerance(replace(published, problem=honest))
    assert known.ratio == 1.0 and known.value == pytest.approx(0.02**2 * len(sd) - published.objective)
    bare = replace(problem, coefficients=replace(problem.coefficients, sd=None))
    assert 0.001 < coefficient_tolerance(replace(published, problem=bare)).ratio < 0.02
    with pytest.raises(ProblemError, match="give a share"):
        coefficient_tolerance(casid.solve(spatial_2r.build()))


@pytest.mark.claim("the bodies of README's first picture lie within the arm")
def test_published_coefficients_give_links_within_the_arm(published):
    tolerance = coefficient_tolerance(published)
    choice = believable(published.problem, published, tolerance=tolerance.value)
    assert choice.certified and choice.objective <= published.objective + tolerance.value * (1 + 1e-9)
    boxes = skeleton_boxes(published.problem.variables.robot)
    for link, box in zip(choice.link_parameters, boxes, strict=True):
        second = np.trace(link.inertia_com) / 2 * np.eye(3) - link.inertia_com
        semi = np.sqrt(5 * np.linalg.eigvalsh(second) / link.mass)
        assert semi[-1] < 1.75 * np.linalg.norm(box[:, 1] - box[:, 0]) / 2 and semi[0] > 0.05 * semi[-1], link.name
    first = choice.link_parameters[0]
    assert first.com[2] - np.sqrt(5 * first.principal_moments[-1] / first.mass) > -0.333  # above the table


# ---------------------------------------------------------------------- exact fits


@pytest.mark.claim("the choice on an exact fit (F* = 0) is made and proven, not 'Invalid_Number_Detected'")
@pytest.mark.parametrize("rows", [8, 20])
@pytest.mark.parametrize("how", [{}, {"share": 0.05}, {"tolerance": 1e-300}])
def test_choice_on_an_exact_fit(rows: int, how: dict[str, float]):
    robot = Robot("two", (Joint("a", "revolute", -1, Link("A")), Joint("b", "revolute", 0, Link("B"))))
    truth = np.concatenate(
        [to_standard(2.0, [0.1, 0.02, 0.03], np.diag([0.02, 0.03, 0.025])),
         to_standard(1.0, [0.05, 0.0, 0.1], np.diag([0.01, 0.012, 0.009]))]
    )  # fmt: skip
    matrix = np.random.default_rng(rows).normal(size=(rows, 20))
    exact = Problem("exact", link_variables(robot), LeastSquares(matrix, matrix @ truth))
    cube = to_standard(1.0, [0.0, 0.0, 0.0], 0.01 * np.eye(3))
    found = believable(exact, solve(exact), PlausibleBodies(np.tile(cube, 2), ("description", "description")), **how)
    assert found.certified
    assert np.linalg.norm(matrix @ (found.x - truth)) <= 1.1e-6 * np.linalg.norm(matrix @ truth)
    if rows == 20:
        np.testing.assert_allclose(found.x, truth, atol=1e-4)
    else:
        assert found.divergence < sum(
            float(Divergence(pseudo_inertia(cube)).value(pseudo_inertia(ten))) for ten in truth.reshape(2, 10)
        )
