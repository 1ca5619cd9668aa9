"""Limits of feasible bodies."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import casid
from casid.description import Joint, Link, Robot
from casid.inertia import from_standard, pseudo_inertia, to_standard
from casid.retrieval import (
    Problem,
    com_box,
    least_squares,
    link_variables,
    mass_bounds,
    solve,
)
from casid.retrieval._region import Facts, Quadric, com_quotients, find_quadric, link_regions
from casid.retrieval.constraints import PhysicalConsistency
from casid.testing import BODY, arm, nearest


@pytest.mark.claim("without consistency and with negative masses a box of the centre of mass is not flipped")
def test_negative_mass_keeps_the_box() -> None:
    target = -BODY
    problem = nearest(
        target,
        lambda v: (PhysicalConsistency(v[0].index, v[0].name, "none", 0.0), com_box(v[0], -0.3, 0.3)),
        bounded=False,
    )
    inside = from_standard(target)[1]
    assert (np.abs(inside) < 0.3).all()
    found = solve(problem, start=target)
    assert found.max_violation <= 1e-8 and found.objective == pytest.approx(0.0, abs=1e-9)
    assert found.lower_bound <= 1e-9


@pytest.mark.claim("a search region never excludes the solution it belongs to")
def test_enormous_extras() -> None:
    target = np.append(BODY, 1e12)
    problem = nearest(target, lambda v: (), extras={"fv1": (0.0, np.inf)})
    found = solve(problem, throw=False)
    assert found.lower_bound <= problem.objective(target) + 1e-6
    assert all(found.extras[name] <= factor for name, factor in found.search_region.items() if name in found.extras)


@pytest.mark.claim("links of grams and millimetres keep their inertia")
def test_small_links_keep_their_inertia() -> None:
    truth = to_standard(2e-3, [1e-3, 0.0, 2e-3], np.diag([2e-9, 3e-9, 2.5e-9]))
    variables = link_variables(Robot("toy", (Joint("joint1", "revolute", -1, Link("link1")),)))
    own = mass_bounds(variables[0], 0.0, 1e-2), com_box(variables[0], -5e-3, 5e-3)
    problem = Problem("toy", variables, least_squares(variables, np.eye(10), truth), own)
    found = solve(problem)
    assert np.abs(found.x - truth)[:6].max() <= 0.02 * truth[3]
    assert problem.cones[0].margin < 1e-10
    assert casid.load_problem("panda_retrieval").cones[0].margin == 1e-6
    assert np.linalg.eigvalsh(pseudo_inertia(found.x))[0] >= problem.cones[0].margin


def test_regions_follow_from_bounds_and_totals() -> None:
    problem = nearest(BODY, lambda v: (mass_bounds(v[0], 0.5, 4.0), com_box(v[0], -0.3, 0.2)), bounded=False)
    (region,) = link_regions(problem.facts, [entry.cone for entry in problem.cones])
    assert region.mass == (0.5, 4.0)
    np.testing.assert_array_equal(region.com, np.tile([-0.3, 0.2], (3, 1)))
    ranges = com_quotients(0, region.com)
    assert set(ranges) == {(6, 9), (7, 9), (8, 9)} and ranges[6, 9].tolist() == [-0.3, 0.2]


def test_the_form_of_a_sphere_is_its_expression() -> None:
    variables = link_variables(arm())
    link, x = variables[0], variables.x
    form = find_quadric(0.2**2 - ca.sumsqr(link.com - ca.DM([0.1, 0.0, 0.05])), x, len(variables))
    assert form is not None and form.link == 0 and form.power == 2 and not form.linear
    moment, mass = BODY[6:9], BODY[9]
    value = form.moment @ moment + form.mass * mass + moment @ form.square @ moment / mass
    c = moment / mass
    expected = mass * (0.2**2 - np.sum((c - [0.1, 0.0, 0.05]) ** 2))
    np.testing.assert_allclose(value + form.inertia @ BODY[:6], expected, rtol=1e-12)
    box = np.array([[-1.0, 1.0]] * 3)
    assert form.is_convex_set(box)
    for cut in form.cuts(box, BODY):
        assert cut @ BODY >= expected - 1e-12  # a tangent of a concave form lies above it


def test_saturating_and_mixed_expressions_have_no_form() -> None:
    variables = link_variables(arm(2))
    first, second = variables
    assert find_quadric(ca.tanh(first.mass), variables.x, 2) is None
    assert find_quadric(first.mass * second.mass, variables.x, 2) is None


def cloud(rng: np.random.Generator) -> np.ndarray:
    """Ten parameters of some point masses: a physical body."""
    masses, places = rng.uniform(0.1, 1.0, 6), rng.normal(size=(6, 3)) * rng.uniform(0.05, 0.5, 3)
    centre = masses @ places / masses.sum()
    arms = places - centre
    inertia = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms, strict=True))
    return np.asarray(to_standard(masses.sum(), centre, inertia))


def cones(links: int, *, free: bool = False) -> list:
    variables = link_variables(arm(links))
    own = tuple(PhysicalConsistency(link.index, link.name, "none", 0.0) for link in variables) if free else ()
    problem = Problem("arm", variables, least_squares(variables, np.eye(10 * links), np.zeros(10 * links)), own)
    return [entry.cone for entry in problem.cones]


def test_every_body_within_bounds_lies_in_the_region_of_its_bounds() -> None:
    """Of point clouds, with bounds around their own quantities, of which some are left out."""
    rng, variables, consistent = np.random.default_rng(2), link_variables(arm()), cones(1)
    for _ in range(300):
        x = cloud(rng)
        mass, centre, inertia = from_standard(x)
        facts, link = Facts(variables), variables[0]
        if rng.random() < 0.8:
            facts.mass_within(link, 0.5 * mass, mass * rng.uniform(1, 1.3))
        if rng.random() < 0.8:
            facts.com_within(link, centre - rng.uniform(0, 0.1, 3), centre + rng.uniform(0, 0.1, 3))
        if rng.random() < 0.7:
            six = inertia[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
            facts.inertia_within(link, six - rng.uniform(0, 0.1, 6), six + rng.uniform(0, 0.1, 6))
        spread = (x[0] + x[3] + x[5]) / 2
        if rng.random() < 0.7:
            facts.reach_below(link, spread / mass * rng.uniform(1, 1.3))
        (region,) = link_regions(facts, consistent)
        assert (np.abs(x) <= region.box * (1 + 1e-12)).all() and region.positive_mass
        assert spread + mass <= region.trace * (1 + 1e-12)
        assert region.mass[0] <= mass <= region.mass[1]


def test_a_region_is_no_larger_than_its_bounds_say() -> None:
    variables = link_variables(arm())
    link, facts = variables[0], Facts(variables)
    facts.mass_within(link, 0.5, 2.0)
    facts.com_within(link, [-0.1, -0.2, -0.1], [0.05, 0.1, 0.3])
    facts.inertia_within(link, [-1.5, -0.05, -0.01, 0.0, 0.0, 0.0], [1.0, 0.02, 0.03, 0.4, 0.04, 0.5])
    c = np.array([0.1, 0.2, 0.3])
    most = np.array([0.9, 0.4, 0.5])  # Ixx <= Iyy + Izz
    diagonal = most + 2.0 * np.array([0.2**2 + 0.3**2, 0.1**2 + 0.3**2, 0.1**2 + 0.2**2])
    off = np.array([0.05 + 2 * 0.1 * 0.2, 0.03 + 2 * 0.1 * 0.3, 0.04 + 2 * 0.2 * 0.3])
    expected = [diagonal[0], off[0], off[1], diagonal[1], off[2], diagonal[2], *(2.0 * c), 2.0]
    (region,) = link_regions(facts, cones(1))
    np.testing.assert_allclose(region.box, expected, rtol=1e-12)
    assert region.trace == pytest.approx(most.sum() / 2 + 2.0 + 2.0 * (c @ c))
    (loose,) = link_regions(facts, cones(1, free=True))  # without consistency a moment of inertia may be negative
    assert loose.box[0] == pytest.approx(1.5 + 2.0 * (0.2**2 + 0.3**2)) and loose.trace == np.inf
    facts.reach_below(link, 0.01)
    (near,) = link_regions(facts, cones(1))
    np.testing.assert_allclose(near.box[[0, 3, 5]], 0.04)  # tr L = 2 tr Sigma
    np.testing.assert_allclose(near.box[[1, 2, 4]], 0.02)
    np.testing.assert_allclose(near.box[6:], [0.2, 0.2, 0.2, 2.0])  # |c| <= 0.1
    assert near.trace == pytest.approx(2.02)
    facts.reach_below(link, 1.0)
    assert link_regions(facts, cones(1))[0].trace == pytest.approx(2.02)  # the smaller of two


def test_products_of_inertia_are_bounded_by_the_moments() -> None:
    variables = link_variables(arm())
    facts = Facts(variables)
    facts.mass_within(variables[0], 0.0, 1.0)
    facts.com_within(variables[0], np.zeros(3), np.zeros(3))
    facts.inertia_within(variables[0], [0, -9, -9, 0, -9, 0], [0.2, 9, 9, 0.3, 9, 0.4])
    (region,) = link_regions(facts, cones(1))
    np.testing.assert_allclose(region.box[[1, 2, 4]], [0.25, 0.3, 0.35])


def test_a_total_leaves_each_link_what_the_others_need_not() -> None:
    variables = link_variables(arm(3))
    facts = Facts(variables)
    for k, least in enumerate((1.0, 0.5, 2.0)):
        facts.mass_within(variables[k], least, 10.0)
    facts.total_within([variables[0], variables[2]], 0.0, 7.0)
    regions = link_regions(facts, cones(3))
    assert [region.mass for region in regions] == [(1.0, 5.0), (0.5, 10.0), (2.0, 6.0)]
    assert facts.second_moment(0) == np.inf  # nothing is known of its size
    facts.com_within(variables[0], [-0.1, 0.0, -0.3], [0.1, 0.4, 0.3])
    assert facts.second_moment(0) == pytest.approx(7.0 * (0.2**2 + 0.4**2 + 0.6**2) / 12)  # a uniform box
    facts.com_within(variables[1], [-0.1, 0.2, -0.3], [0.1, 0.2, 0.3])
    assert facts.second_moment(1) == np.inf  # a plane


def test_facts_about_a_view_of_another_body_are_ignored() -> None:
    variables, other = link_variables(arm(2)), link_variables(arm(3))
    facts = Facts(variables)
    for link in (other[0], other[2]):
        facts.mass_within(link, 0.0, 1.0)
        facts.total_within([variables[0], link], 0.0, 1.0)
    assert np.isinf(facts.mass).all() and not facts.totals


BOX = np.array([[-0.2, 0.3], [-0.1, 0.4], [0.05, 0.5]])


def values(form, x: np.ndarray) -> float:
    return float(form.inertia @ x[:6] + form.moment @ x[6:9] + form.mass * x[9] + x[6:9] @ form.square @ x[6:9] / x[9])


@pytest.mark.parametrize("kind", ["concave", "convex", "mixed", "pair", "cone"])
def test_cuts_hold_at_every_point_that_meets_the_bound(kind: str) -> None:
    """Of bodies with their centre of mass in the box; at the point that they are made at, a concave form's is tight."""
    rng, met = np.random.default_rng(6), 0
    for _ in range(40):
        A = rng.normal(size=(3, 3))
        square = {"concave": -A @ A.T, "convex": A @ A.T, "mixed": A + A.T, "pair": np.zeros((3, 3)),
                  "cone": np.diag([-1.0, -1.0, 1.0])}[kind]  # fmt: skip
        if kind == "pair":
            square[0, 2] = square[2, 0] = rng.normal()
        cone = kind == "cone"
        scale = 0.0 if cone else 0.3
        inertia, moment = scale * rng.normal(size=6), scale * rng.normal(size=3)
        form = Quadric(0, 2, inertia, moment, -0.01 if cone else 0.1 * rng.normal(), square)
        assert (form.lorentz(BOX) is not None) == cone
        assert form.is_concave() == (np.linalg.eigvalsh(square).max() <= 1e-12)
        bodies = []
        for _ in range(60):
            x = cloud(rng)
            x[6:9] = x[9] * rng.uniform(BOX[:, 0], BOX[:, 1])
            bodies.append(x)
        rows = form.cuts(BOX, bodies[0])
        for x in bodies:
            if values(form, x) >= 0:
                met += 1
                assert all(row @ x >= -1e-9 for row in rows)
        if kind == "concave":
            assert min(row @ bodies[0] for row in rows) == pytest.approx(values(form, bodies[0]))
        if cone and values(form, bodies[0]) < 0:
            assert min(row @ bodies[0] for row in rows) < 0  # it is cut off
    assert met > 100


def test_a_cone_has_one_side_in_the_box() -> None:
    form = Quadric(0, 2, np.zeros(6), np.zeros(3), -0.01, np.diag([-1.0, -1.0, 1.0]))
    assert form.lorentz(BOX) is not None and form.lorentz(-BOX[:, ::-1]) is not None
    assert form.lorentz(np.array([*BOX[:2], [-0.1, 0.5]])) is None  # both nappes
    assert form.lorentz(np.array([*BOX[:2], [0.05, np.inf]])) is None
    assert replace(form, offset=1.0).lorentz(BOX) is None and replace(form, inertia=np.ones(6)).lorentz(BOX) is None
    assert form.negated().lorentz(BOX) is None  # two positive directions


def test_a_bound_has_its_place_in_the_form() -> None:
    form = Quadric(0, 2, np.zeros(6), np.ones(3), 3.0, np.zeros((3, 3)))
    assert form.minus(0.0) is form and form.minus(2.0).mass == 1.0 and form.linear
    one = replace(form, power=1)
    assert one.minus(2.0).offset == 2.0 and one.minus(2.0).mass == 3.0 and not one.minus(2.0).linear
    assert replace(form, power=3).minus(2.0) is None
    turned = replace(one, offset=2.0, square=np.eye(3)).negated()
    assert (turned.mass, turned.offset) == (-3.0, -2.0) and (turned.square == -np.eye(3)).all()


def test_forms_of_extras_and_of_two_links_are_none() -> None:
    variables = link_variables(arm(2), extras={"fv1": (0.0, 1.0)})
    assert find_quadric(variables.x[20], variables.x, 2) is None
    assert find_quadric(variables.x[20] + variables[1].mass, variables.x, 2) is None
    last = find_quadric(variables[1].mass * 2, variables.x, 2)
    assert last is not None and last.link == 1 and last.mass == 2.0 and last.linear
