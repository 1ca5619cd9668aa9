"""Plausible links: chosen within what the data allow, and proven to be the most plausible there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import NonlinearConstraint, minimize

import casid
from casid.description import Joint, Link, Robot
from casid.dynamics import Model
from casid.errors import ProblemError
from casid.identification import RegressionProblem
from casid.identification._bounds import default_bounds
from casid.inertia import Divergence, consistency, pseudo_inertia, to_standard
from casid.measurement import Processing
from casid.regression import compress, wls
from casid.retrieval import LeastSquares, Problem, link_variables, solve, total_mass
from casid.retrieval.plausible import (
    DivergenceProgram,
    PlausibleBodies,
    believable,
    coefficient_tolerance,
    noise_share,
    plausible_bodies,
    polished,
    robot_bodies,
)
from casid.retrieval.plausible._bodies import skeleton_boxes
from casid.retrieval.plausible._tolerance import sensitivity
from casid.testing import blind, recording, with_friction
from problems import panda_retrieval, spatial_2r
from problems.spatial_2r import true_parameters

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


def test_no_feasible_point_is_more_plausible_than_the_bound(problem, best, chosen):
    choice = chosen.believable
    program = DivergenceProgram(problem.problem, choice.bodies.parameters, choice.bodies.scaled)
    rng = np.random.default_rng(5)
    lowest = choice.choice.lower_bound
    x, start = choice.x, best.solution.x
    tried = 0
    for _ in range(300):
        point = x + rng.uniform(0, 1) * (start - x) + 10 ** rng.uniform(-6, -1) * rng.normal(size=len(x)) * np.abs(x)
        linear = program.linear
        values = linear.matrix @ point
        feasible = (values >= linear.lower - 1e-12).all() and (values <= linear.upper + 1e-12).all()
        if feasible and problem.problem.objective(point) <= choice.limit:
            tried += 1
            assert program.divergence(point, choice.scale) >= lowest
    assert tried > 20
    for noise in (0.0, 1e-3, 1.0, 1e3):  # the bound holds whatever the multipliers
        wrong = choice.choice.multipliers + noise * rng.normal(size=len(choice.choice.multipliers))
        bound = program.lower_bound(x, choice.scale, choice.choice.price * (1 + noise), wrong, choice.limit)
        assert bound <= choice.divergence * (1 + 1e-9)


def test_a_small_problem_agrees_with_another_solver():
    """Two links, the mass of both measured: SLSQP in Cholesky coordinates finds the same choice."""
    robot = blind(casid.load_robot("spatial_2r"))
    model = Model(robot, ())
    given = true_parameters()
    data = recording(model, given, samples=200, noise=0.02)
    made = RegressionProblem(wls(compress(model, data)), constraints=default_bounds(robot, [20.0, 20.0]))
    best = made.solve()
    bodies = plausible_bodies(robot)
    bodies = replace(bodies, origins=("description", "description"))  # no free scale
    choice = believable(made.problem, best.solution, bodies, share=0.005)
    lower = [(i, j) for i in range(4) for j in range(i + 1)]
    from casid.inertia import from_pseudo_inertia

    def parameters(t):
        links = []
        for k in range(2):
            T = np.zeros((4, 4))
            for value, (i, j) in zip(t[10 * k : 10 * k + 10], lower, strict=True):
                T[i, j] = value
            links.append(from_pseudo_inertia(T @ T.T + made.problem.cones[k].margin * np.eye(4)))
        return np.concatenate(links)

    program = DivergenceProgram(made.problem, bodies.parameters, bodies.scaled)
    start = []
    for k in range(2):
        factor = np.linalg.cholesky(pseudo_inertia(choice.x[10 * k : 10 * k + 10]) * 1.02)
        start += [factor[i, j] for i, j in lower]
    size = made.problem.objective(choice.x)
    ball = NonlinearConstraint(lambda t: made.problem.objective(parameters(t)) / size, -np.inf, choice.limit / size)
    found = minimize(
        lambda t: program.divergence(parameters(t), 1.0), start, method="SLSQP", constraints=[ball],
        options={"maxiter": 500, "ftol": 1e-12},
    )  # fmt: skip
    assert choice.certified
    beyond = max(made.problem.objective(parameters(found.x)) - choice.limit, 0.0)  # SLSQP ends outside of the ball
    assert found.fun + choice.choice.price * beyond >= choice.choice.lower_bound - 1e-6
    assert found.fun == pytest.approx(choice.divergence, rel=2e-3)


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


def test_skeleton_boxes_hold_the_joints_of_their_link(robot):
    boxes = skeleton_boxes(robot)
    assert (boxes[:, :, 0] < boxes[:, :, 1]).all()
    for child in robot.joints:
        if child.parent < 0:
            continue
        origin, axis = child.placement[:3, 3], child.placement[:3, :3] @ child.axis
        foot = origin - (axis @ origin) * axis  # where the joint's axis passes the link
        low, high = boxes[child.parent, :, 0], boxes[child.parent, :, 1]
        assert (foot >= low - 1e-12).all() and (foot <= high + 1e-12).all()


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


@pytest.mark.claim("one impossible link of a description is repaired, the others are used")
def test_an_impossible_link_is_named_and_the_others_are_used(robot):
    heavy = replace(robot.links[2].inertial, mass=1e4 * robot.links[2].inertial.mass)
    joints = list(robot.joints)
    place = next(k for k, joint in enumerate(joints) if joint.link is robot.links[2])
    joints[place] = replace(joints[place], link=replace(joints[place].link, inertial=heavy))
    found = robot_bodies(replace(robot, joints=tuple(joints)))
    assert found is not None and found.repaired == (2,) and found.reasons[0]
    origins = plausible_bodies(replace(robot, joints=tuple(joints))).origins
    assert origins[2] == "skeleton" and origins.count("description") == len(origins) - 1


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
    problem, objective = published.problem, published.problem.objective
    shift = 1e-5 * np.random.default_rng(0).normal(size=len(objective.target))
    moved = casid.solve(replace(problem, objective=replace(objective, target=objective.target + shift)))
    change = objective.matrix @ (moved.x - published.x)
    assert np.linalg.norm(change - sensitivity(published) @ shift) < 0.05 * np.linalg.norm(change)
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


@pytest.mark.claim("a best fit that the solver leaves without proof is proven by Newton's method")
def test_a_best_fit_without_proof_is_polished(best):
    solution = best.solution
    loose = replace(solution, x=solution.x, lower_bound=solution.objective * (1 - 1e-4))
    assert not loose.certified
    made = polished(loose)
    assert made.certified and made.gap <= 1e-6 and made.lower_bound <= solution.total
    assert made.total <= loose.total and made.max_violation <= solution.tolerances.feasibility
    assert polished(solution) is solution or not solution.certified


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
