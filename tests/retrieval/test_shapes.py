"""Cookbook builders and shapes: solved, certified, and re-checked by geometry in numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import linprog

import casid
from casid.errors import ProblemError
from casid.inertia import pseudo_inertia, to_standard
from casid.retrieval import (
    Constraint,
    Global,
    LinkVariables,
    axisymmetric_link,
    body_in_ellipsoid,
    com_in_cone,
    com_in_cylinder,
    com_in_ellipsoid,
    com_in_hull,
    com_in_sphere,
    either,
    equal_links,
    link_variables,
    symmetric_link,
)
from casid.testing import arm
from problems import cookbook


@pytest.fixture(scope="module")
def free(panda):
    return casid.solve(panda)


@pytest.mark.parametrize("recipe", list(cookbook.CONVEX))
def test_convex_recipes_are_certified(recipe, free):
    solution = casid.solve(casid.load_problem("cookbook", recipe=recipe))
    assert solution.certified
    assert solution.max_violation <= 1e-8
    assert solution.total >= 1.0005 * free.lower_bound  # it shows an effect


@pytest.mark.parametrize("recipe", list(cookbook.NONCONVEX))
def test_nonconvex_recipes_are_certified(recipe):
    """By the way that is chosen without an option; that it is over in 10 s is a row of the measurements."""
    solution = casid.solve(casid.load_problem("cookbook", recipe=recipe), method=Global(gap=0.0, seconds=60.0))
    assert solution.max_violation <= 1e-8
    assert 0 < solution.lower_bound <= solution.total and solution.certified


def test_recipes_hold_geometrically():
    """The shapes of the others are held below, and to their distance where they are soft."""
    solutions = {
        name: casid.solve(casid.load_problem("cookbook", recipe=name), throw=False)
        for name in ("revolution", "equal", "realisable", "tube")
    }
    first = solutions["revolution"].link_parameters[6]
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
    c = solutions["tube"].link_parameters[2].com
    assert np.hypot(c[0], c[1]) >= 0.1 - 1e-8


def test_either_takes_the_better_option(panda):
    links = panda.variables
    options = [com_in_sphere(links[3], [0.03, 0, 0], 0.03), com_in_sphere(links[3], [-0.1, 0, 0], 0.03)]
    best = min(casid.solve(panda.add(option)).objective for option in options)
    problem = panda.add(either("bolt", *options))
    solution = casid.solve(problem, method="branches")
    assert solution.certified
    assert solution.objective == pytest.approx(best, rel=1e-6)


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


START, END = np.array([0.1, -0.2, 0.05]), np.array([0.3, 0.1, 0.65])


#: Sixty degrees about x.
TURN = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, -np.sqrt(0.75)], [0.0, np.sqrt(0.75), 0.5]])


@pytest.fixture(scope="module")
def variables() -> LinkVariables:
    return link_variables(arm())


def check(variables: LinkVariables, shape: Sequence[Constraint]) -> Callable[[np.ndarray], bool]:
    """Whether a body with its centre of mass there meets the constraints."""
    values = ca.Function("values", [variables.x], [one.expression for one in shape])

    def meets(centre: np.ndarray) -> bool:
        found = values(to_standard(2.0, centre, 0.01 * np.eye(3)))
        return all(one.violation(value) <= 1e-12 for one, value in zip(shape, found, strict=True))

    return meets


def within_cone(centre: np.ndarray, radii: tuple[float, float]) -> bool:
    axis = END - START
    share = (centre - START) @ axis / (axis @ axis)
    away = np.linalg.norm(centre - START - share * axis)
    return bool(0 <= share <= 1 and away <= radii[0] + share * (radii[1] - radii[0]))


@pytest.mark.parametrize("radii", [(0.2, 0.05), (0.0, 0.3), (0.1, 0.1)])
def test_a_cone_holds_what_is_inside_of_it(variables: LinkVariables, radii: tuple[float, float]) -> None:
    shape = com_in_cone(variables[0], START, END, *radii)
    rng, meets = np.random.default_rng(0), check(variables, shape)
    places = START + rng.uniform(-0.2, 1.2, 300)[:, None] * (END - START) + rng.uniform(-0.2, 0.2, (300, 3))
    inside = [within_cone(place, radii) for place in places]
    assert [meets(place) for place in places] == inside and 20 < sum(inside) < 280
    unit = (END - START) / np.linalg.norm(END - START)
    across = np.linalg.svd(unit[None])[2][1:]
    angles = np.linspace(0.0, 2 * np.pi, 721)[:, None]
    ring = np.cos(angles) * across[0] + np.sin(angles) * across[1]
    rim = np.concatenate([START + radii[0] * ring, END + radii[1] * ring])
    np.testing.assert_allclose(shape[2].lower, rim.min(axis=0), atol=1e-5)
    np.testing.assert_allclose(shape[2].upper, rim.max(axis=0), atol=1e-5)


def test_an_ellipsoid_lies_along_the_columns_of_its_rotation(variables: LinkVariables) -> None:
    middle, axes = np.array([0.1, 0.2, -0.1]), np.array([0.3, 0.2, 0.05])
    shape = com_in_ellipsoid(variables[0], middle, axes, TURN)
    rng = np.random.default_rng(1)
    directions = rng.normal(size=(200, 3))
    surface = directions / np.linalg.norm(directions, axis=1)[:, None] * axes @ TURN.T
    meets = check(variables, shape)
    for way in surface:
        assert meets(middle + 0.999 * way) and not meets(middle + 1.001 * way)
    steps = np.linspace(0.0, np.pi, 200)
    grid = np.array([[np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)] for a in steps for b in 2 * steps])
    points = middle + (grid * axes) @ TURN.T
    np.testing.assert_allclose(shape[1].lower, points.min(axis=0), atol=2e-4)
    np.testing.assert_allclose(shape[1].upper, points.max(axis=0), atol=2e-4)
    for wrong in (2 * TURN, np.ones((3, 3)), np.eye(2)):
        with pytest.raises(ProblemError, match="orthogonal"):
            com_in_ellipsoid(variables[0], middle, axes, wrong)


def _ball(cells: int) -> np.ndarray:
    """Centres of equal cells that fill the unit ball, shape (K, 3)."""
    ticks = (np.arange(cells) + 0.5) / cells * 2 - 1
    points = np.stack(np.meshgrid(ticks, ticks, ticks), axis=-1).reshape(-1, 3)
    return np.asarray(points[(points**2).sum(axis=1) <= 1])


def _moments(masses: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Ten parameters of point masses."""
    com = masses @ points / masses.sum()
    away = points - com
    second = (masses[:, None] * away).T @ away
    return np.asarray(to_standard(masses.sum(), com, np.trace(second) * np.eye(3) - second))


@pytest.mark.claim("a body of a density that a material can have is never excluded, one that none can have is")
def test_density_in_an_ellipsoid_bounds_the_second_moments(variables: LinkVariables) -> None:
    """Densities in cells of the ball, and the largest moments of them by linear programming."""
    middle, axes, density = np.array([0.1, 0.2, -0.1]), np.array([0.3, 0.2, 0.05]), 1000.0
    rows = body_in_ellipsoid(variables[0], middle, axes, TURN, density=density)
    ball = _ball(18)
    points = middle + (ball * axes) @ TURN.T
    full = density * 4 / 3 * np.pi * axes.prod()
    cell = full / len(ball)

    values = ca.Function("values", [variables.x], [row.expression for row in rows])

    def missed(body: np.ndarray) -> float:
        return max(row.violation(value) for row, value in zip(rows, values(body), strict=True))

    rng, grain = np.random.default_rng(5), 0.004  # cells are no points: shares of the full mass
    for k in range(60):
        quadratic = rng.normal(size=(4, 4)) * 10 ** rng.uniform(-1, 1, 4)
        ones = np.column_stack([ball, np.ones(len(ball))])
        filled = np.einsum("ki,ij,kj->k", ones, quadratic, ones) > 0  # the extreme densities
        share = rng.uniform(size=len(ball)) if k % 3 == 0 else rng.uniform(0.0, 1.0)
        masses = cell * np.where(filled, 1.0, 0.0) * share
        if masses.sum() > 0.01 * full:
            assert missed(_moments(masses, points)) <= grain
    surface = ball / np.linalg.norm(ball, axis=1)[:, None]
    for share in (0.3, 0.6, 1.0):
        shell = middle + (0.999 * surface * axes) @ TURN.T
        assert missed(_moments(np.full(len(ball), share * cell), shell)) > 3 * grain
        assert missed(_moments(np.full(len(ball), share * cell), middle + 0.3 * (points - middle))) > 3 * grain
    for share in (0.2, 0.5, 0.9):  # the largest moment about an axis: mass as far out as it finds room
        along = ((points - middle) @ TURN[:, :1])[:, 0] ** 2
        most = linprog(-along, A_eq=np.ones((1, len(ball))), b_eq=[share * full], bounds=(0, cell), method="highs")
        body = _moments(most.x, points)
        stretched = points - middle + 0.1 * ((points - middle) @ TURN[:, :1]) @ TURN[:, :1].T
        assert missed(body) <= grain < 2 * grain < missed(_moments(most.x, middle + stretched))


@pytest.mark.parametrize("plane", ["xy", "xz", "yz"])
def test_a_body_and_its_mirror_image_are_symmetric(variables: LinkVariables, plane: str) -> None:
    """About a plane shifted by 0.07 m: two point clouds, one the image of the other."""
    normal = "xyz".index(({*"xyz"} - {*plane}).pop())
    rows = symmetric_link(variables[0], plane, 0.07)  # type: ignore[arg-type]
    rng = np.random.default_rng(2)
    places = rng.normal(size=(5, 3))
    image = places.copy()
    image[:, normal] = 0.14 - image[:, normal]
    whole = _moments(np.ones(10), np.concatenate([places, image]))
    np.testing.assert_allclose(rows.value(variables.x, whole), 0.0, atol=1e-12)
    assert np.abs(rows.value(variables.x, _moments(np.ones(5), places))).min() > 1e-3
