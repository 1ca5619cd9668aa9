"""Cookbook builders: every recipe solved, certified, and re-checked by geometry in numpy."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import casid
from casid.errors import ProblemError
from casid.inertia import from_standard, pseudo_inertia
from casid.retrieval import (
    Constraint,
    Global,
    axisymmetric_link,
    body_in_ellipsoid,
    com_in_cone,
    com_in_cylinder,
    com_in_ellipsoid,
    com_in_hull,
    com_in_sphere,
    either,
    equal_links,
    symmetric_link,
)
from problems import cookbook


def com(solution, link):
    return solution.link_parameters[link].com


@pytest.fixture(scope="module")
def free(panda):
    return casid.solve(panda)


@pytest.mark.parametrize("recipe", list(cookbook.CONVEX))
def test_convex_recipes_are_certified(recipe, free):
    solution = casid.solve(casid.load_problem("cookbook", recipe=recipe))
    assert solution.certified
    assert solution.max_violation <= 1e-8
    assert solution.total >= free.lower_bound


@pytest.mark.parametrize("recipe", list(cookbook.NONCONVEX))
def test_nonconvex_recipes_have_a_tight_bound(recipe):
    solution = casid.solve(casid.load_problem("cookbook", recipe=recipe), method=Global(gap=0.01))
    assert solution.max_violation <= 1e-8
    assert 0 < solution.lower_bound <= solution.total
    assert solution.gap <= 0.01


def test_recipes_hold_geometrically():
    solutions = {
        name: casid.solve(casid.load_problem("cookbook", recipe=name), throw=False)
        for name in (
            "cylinder",
            "cone",
            "sphere",
            "ellipsoid",
            "symmetric",
            "revolution",
            "equal",
            "realisable",
            "tube",
        )
    }
    c = com(solutions["cylinder"], 3)
    assert np.hypot(c[0], c[1]) <= 0.03 + 1e-9 and abs(c[2]) <= 0.05 + 1e-9
    c, axis = com(solutions["cone"], 3) - [0, 0, -0.05], np.array([0.1, 0, 0.1])
    s = c @ axis / (axis @ axis)
    assert -1e-9 <= s <= 1 + 1e-9
    assert np.linalg.norm(c - s * axis) <= 0.03 - 0.02 * s + 1e-9
    assert np.linalg.norm(com(solutions["sphere"], 3)) <= 0.05 + 1e-9
    assert np.linalg.norm(com(solutions["ellipsoid"], 3) / [0.08, 0.05, 0.05]) <= 1 + 1e-9
    assert abs(com(solutions["symmetric"], 3)[2]) <= 1e-9
    first = solutions["revolution"].link_parameters[0]
    assert np.abs(first.com[:2]).max() <= 1e-9
    assert first.inertia_com[0, 0] == pytest.approx(first.inertia_com[1, 1], abs=1e-9)
    x = solutions["equal"].standard_parameters.reshape(7, 10)
    assert np.abs(x[4] - x[5]).max() <= 1e-9
    J = pseudo_inertia(solutions["realisable"].standard_parameters[60:])
    inverse = np.diag([0.07, 0.07, 0.08]) ** 2
    sigma = (
        J[:3, :3]
        - 0.06 * (np.outer(J[:3, 3], [0, 0, 1]) + np.outer([0, 0, 1], J[:3, 3]))
        + J[3, 3] * np.diag([0, 0, 0.06**2])
    )
    assert np.trace(np.linalg.solve(inverse, sigma)) <= J[3, 3] * (1 + 1e-9)
    c = com(solutions["tube"], 2)
    assert np.hypot(c[0], c[1]) >= 0.1 - 1e-8


def test_either_takes_the_better_option(panda):
    links = panda.variables
    options = [com_in_sphere(links[3], [0.03, 0, 0], 0.03), com_in_sphere(links[3], [-0.1, 0, 0], 0.03)]
    best = min(casid.solve(panda.with_constraints(option)).objective for option in options)
    problem = panda.with_constraints(either("bolt", *options))
    solution = casid.solve(problem, method="branches")
    assert solution.certified
    assert solution.objective == pytest.approx(best, rel=1e-6)


def test_symmetric_link_holds_for_a_symmetric_body():
    links = casid.retrieval.link_variables(casid.load_robot("panda"))
    points = np.random.default_rng(1).normal(size=(20, 3))
    mirrored = points * [1, -1, 1] + [0, 2 * 0.3, 0]  # about the plane y = 0.3
    J = sum(np.outer(np.append(p, 1), np.append(p, 1)) for p in np.concatenate([points, mirrored]))
    inertia = np.trace(J[:3, :3]) * np.eye(3) - J[:3, :3]
    ten = [inertia[0, 0], inertia[0, 1], inertia[0, 2], inertia[1, 1], inertia[1, 2], inertia[2, 2], *J[:3, 3], J[3, 3]]
    constraint = symmetric_link(links[0], "xz", offset=0.3)
    value = ca.Function("v", [links[0].parameters], [constraint.expression])(np.array(ten))
    assert np.abs(np.array(value)).max() <= 1e-10
    assert from_standard(np.array(ten))[1][1] == pytest.approx(0.3)


def test_bad_input(panda):
    link = panda.variables[3]
    for build, message in (
        (lambda: com_in_cylinder(link, [0, 0, 0], [0, 0, 0], 0.1), "no volume"),
        (lambda: com_in_cone(link, [0, 0, 0], [0, 0, 1], 0.1, -0.1), "non-negative"),
        (lambda: com_in_sphere(link, [0, 0], 0.1), "three finite numbers"),
        (lambda: com_in_sphere(link, [0, 0, 0], 0.0), "positive"),
        (lambda: com_in_ellipsoid(link, [0, 0, 0], [0.1, 0, 0.1]), "semi-axes"),
        (lambda: com_in_ellipsoid(link, [0, 0, 0], 0.1, rotation=np.ones((3, 3))), "orthogonal"),
        (lambda: com_in_hull(link, np.zeros((5, 3))), "no volume"),
        (lambda: either("bolt", com_in_sphere(link, [0, 0, 0], 0.1)), "two options"),
        (lambda: either("bolt", [], []), "no constraint"),
        (lambda: equal_links(link, link), "twice"),
        (lambda: symmetric_link(link, "zx"), "plane"),  # type: ignore[arg-type]
        (lambda: axisymmetric_link(link, "w"), "axis"),  # type: ignore[arg-type]
        (lambda: body_in_ellipsoid(link, [0, 0, 0], 0.1, density=-1.0), "density"),
        (lambda: Constraint("array", np.zeros(3)), "casadi.SX"),
        (lambda: casid.load_problem("cookbook", recipe="soup"), "unknown recipe"),
    ):
        with pytest.raises(ProblemError, match=message):
            build()
