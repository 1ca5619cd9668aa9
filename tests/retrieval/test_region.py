"""What hard constraints imply for links: regions, quadratic forms, secants; nominal and random bodies within them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import casadi as ca
import numpy as np
import pytest

import casid
from casid.errors import ProblemError
from casid.inertia import (
    consistency,
    from_standard,
    pseudo_inertia,
    to_standard,
)
from casid.retrieval import (
    InfeasibleError,
    LeastSquares,
    Problem,
    com_box,
    explain,
    inertia_bounds,
    least_squares,
    link_variables,
    mass_bounds,
    solve,
    total_mass,
)
from casid.retrieval._region import Facts, Quadric, find_quadric, link_regions
from casid.retrieval.constraints import PhysicalConsistency
from casid.retrieval.constraints._bounds import LinkConstraint
from casid.retrieval.constraints._constraint import ScalarRow, Setting
from casid.retrieval.program._starts import nominal_parameters, random_parameters
from casid.testing import BODY, arm, nearest


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
        rows = [*form.cuts(BOX, bodies[0])]
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


FREE = np.tile([-np.inf, np.inf], (3, 1))


def form(*diagonal: float, **given: np.ndarray) -> Quadric:
    made = Quadric(0, 2, np.zeros(6), np.array([0.3, -0.2, 0.1]), 0.5, np.diag(diagonal))
    return replace(made, **given)


def test_errors_of_the_secants_are_what_the_cut_lacks() -> None:
    quadric, com = form(1.0, 2.0, -1.0), BOX @ [0.7, 0.3]
    body = to_standard(2.0, com, 0.02 * np.eye(3))
    errors, lacking = quadric.secant_errors(BOX, com), next(quadric.cuts(BOX, body)) @ body - values(quadric, body)
    assert lacking > 0 and 2.0 * errors.sum() == pytest.approx(lacking)
    assert errors[2] == 0.0 < errors[:2].min()


@pytest.mark.parametrize("rounding", [1e-20, -1e-20, 0.0])
def test_curvature_by_rounding_costs_no_cut(rounding: float) -> None:
    """Without bounds of the centre of mass the tangent of a concave form holds, whatever rounding adds to it."""
    concave = form(-1.0, -2.0, rounding)
    (row,) = concave.cuts(FREE, BODY)
    assert row @ BODY == pytest.approx(values(concave, BODY), rel=1e-12)


@pytest.mark.parametrize("side", [0, 1])
def test_a_range_open_to_one_side_has_no_secant(side: int) -> None:
    box = np.tile([-0.3, 0.3], (3, 1))
    assert len([*form(1.0, 0.0, 0.0).cuts(box, BODY)]) == 1
    box[0, side] = [-np.inf, np.inf][side]
    assert not [*form(1.0, 0.0, 0.0).cuts(box, BODY)]


def test_the_cut_of_a_point_outside_a_cone_touches_it() -> None:
    cone = Quadric(0, 2, np.zeros(6), np.zeros(3), -0.03, np.diag([-3.0, -3.0, 3.0]))
    box = np.array([[-0.4, 0.4], [-0.4, 0.4], [0.05, 0.5]])
    Q = np.diag([-3.0, -3.0, 3.0, -0.03])
    for centre in ([0.3, 0.1, 0.2], [-0.2, 0.35, 0.05], [0.0, 0.1, 0.12]):
        body = np.append(BODY[:6], np.append(2.0 * np.array(centre), 2.0))
        (row,) = cone.cuts(box, body)
        touched = np.linalg.solve(Q, row[6:]) / 2
        inside = np.append(centre, 1.0) @ Q @ np.append(centre, 1.0) >= 0
        if inside:
            np.testing.assert_allclose(touched, np.append(centre, 1.0))
        else:
            assert touched @ Q @ touched == pytest.approx(0.0, abs=1e-8) and row @ body < 0


def test_nothing_times_anything_is_nothing() -> None:
    """A massless link has no first moment wherever its centre is, a centred one none whatever its mass."""
    variables = link_variables(arm())
    massless, centred = Facts(variables), Facts(variables)
    massless.mass_within(variables[0], 0.0, 0.0)
    np.testing.assert_array_equal(link_regions(massless, cones(1))[0].box[6:], np.zeros(4))
    centred.com_within(variables[0], np.zeros(3), np.zeros(3))
    np.testing.assert_array_equal(link_regions(centred, cones(1))[0].box[6:], [0.0, 0.0, 0.0, np.inf])
    assert massless.second_moment(0) == np.inf  # no body that is to be expected has no mass
    massless.com_within(variables[0], -np.ones(3), np.ones(3))
    assert massless.second_moment(0) == np.inf


def test_nominal_masses_share_the_total() -> None:
    def masses(*constraints, links: int = 3):
        v = link_variables(arm(links))
        problem = Problem("arm", v, least_squares(v, np.eye(10 * links), np.zeros(10 * links)),
                          tuple(make(v) for make in constraints))  # fmt: skip
        return nominal_parameters(problem)[9::10]

    np.testing.assert_allclose(masses(lambda v: total_mass(v, 0.0, 9.0)), 1.5)
    np.testing.assert_allclose(masses(lambda v: total_mass(v, 6.0, 9.0)), 2.5)
    np.testing.assert_allclose(masses(lambda v: total_mass(v, -np.inf, 9.0)), 1.5)
    np.testing.assert_allclose(masses(), 1.0)
    np.testing.assert_allclose(
        masses(lambda v: mass_bounds(v[0], 2.0, 3.0), lambda v: mass_bounds(v[1], 4.0, np.inf)), [2.5, 8.0, 1.0]
    )


def test_random_bodies_fill_their_bounds() -> None:
    problem = nearest(BODY)
    rng = np.random.default_rng(0)
    drawn = np.array([random_parameters(problem, rng) for _ in range(300)])
    mass, com = drawn[:, 9], drawn[:, 6:9] / drawn[:, 9:]
    assert mass.min() < 0.6 and mass.max() > 7.9 and (mass >= 0.5).all() and (mass <= 8.0).all()
    assert (com.min(axis=0) < -0.28).all() and (com.max(axis=0) > 0.28).all() and (np.abs(com) <= 0.3).all()
    assert all(np.linalg.eigvalsh(pseudo_inertia(x))[0] >= -1e-12 for x in drawn)


ENTRIES = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]


def test_forms_of_an_inertia_are_its_entries() -> None:
    problem = nearest(BODY)
    bounds = inertia_bounds(problem.variables[0], -np.ones(6), np.ones(6))
    inertia = from_standard(BODY)[2]
    for entry, (i, j) in enumerate(ENTRIES):
        form = bounds.quadric(entry, problem.setting)
        moment = BODY[6:9]
        value = form.inertia @ BODY[:6] + form.moment @ moment + form.mass * BODY[9]
        assert value + moment @ form.square @ moment / BODY[9] == pytest.approx(inertia[i, j], abs=1e-12)
        assert form.power == 1 and form.link == 0


def test_secants_meet_the_inertia_where_the_centre_is_at_a_corner_of_its_box() -> None:
    problem = nearest(BODY)
    x, box = problem.variables.x, np.array([[[-0.1, 0.2], [-0.3, 0.1], [0.05, 0.25]]])
    upper = np.array([0.1, np.inf, np.inf, np.inf, np.inf, 0.3])
    bounds = inertia_bounds(problem.variables[0], [0.01, -0.2, -0.2, 0.02, -0.2, 0.03], upper)
    kept, rows = bounds.with_secants(box)
    np.testing.assert_array_equal(kept.lower, [0.01, -np.inf, -np.inf, 0.02, -np.inf, 0.03])
    assert np.isinf(kept.upper).all() and len(rows) == 2
    values = ca.Function("rows", [x], list(rows))
    inertia = np.diag([0.07, 0.05, 0.09])
    for corner in np.stack(np.meshgrid(*box[0]), axis=-1).reshape(-1, 3):
        first, last = values(to_standard(2.0, corner, inertia))
        assert float(first) == pytest.approx(0.1 - 0.07) and float(last) == pytest.approx(0.3 - 0.09)
    first, _ = values(to_standard(2.0, box[0].mean(axis=1), inertia))
    assert float(first) > 0.1 - 0.07 + 1e-3  # inside of the box nothing is cut off
    open_box = box.copy()
    open_box[0, 1] = [-np.inf, 0.1]  # Ixx and Izz contain cy
    assert bounds.with_secants(open_box)[1] == ()
    free, _ = inertia_bounds(problem.variables[0], -np.inf, upper).with_secants(box)
    assert free.lower[0] == -1e6


@pytest.mark.claim("a problem about a link of grams has a nominal body that keeps the margin")
@pytest.mark.parametrize("mass", [1e-3, 1e-5, 5.0])
def test_nominal_bodies_keep_the_margin(links, mass):
    tiny = (mass_bounds(links[0], 0.0, 2 * mass), com_box(links[0], [-1e-3] * 3, [1e-3] * 3))
    problem = Problem("tiny", links, least_squares(links, np.eye(10), np.zeros(10)), tiny)
    nominal = nominal_parameters(problem)
    assert np.linalg.eigvalsh(pseudo_inertia(nominal))[0] > problem.cones[0].margin


@pytest.mark.claim("boxes of 1e8 m leave a nominal body; what double precision cannot hold is refused by name")
def test_nominal_bodies_in_boxes_of_any_size() -> None:
    links = link_variables(casid.load_robot("spatial_2r"))
    objective = LeastSquares(np.zeros((0, links.size)), np.zeros(0))

    def nominal(low: list[float], high: list[float]) -> np.ndarray:
        return nominal_parameters(Problem("box", links, objective, com_box(links["link1"], low, high)))

    for low, high in (([-1e5, -1e8, -0.3], [1e8, 1e8, 0.3]), ([-1.0, 90.0, 50.0], [1.0, 1e6, 1e6])):
        ten = nominal(low, high)[:10]
        assert consistency(ten).pseudo_inertia_margin > 1e-6
        assert (np.array(low) <= ten[6:9] / ten[9]).all() and (ten[6:9] / ten[9] <= high).all()
    with pytest.raises(ProblemError, match="link1: its centre of mass is bounded to about 1e\\+09 m"):
        nominal([1e9, 0.0, 0.0], [1e9 + 0.1, 0.1, 0.1])


@dataclass(frozen=True, eq=False)
class Spread(LinkConstraint):
    """``m <= most`` of a link, in a form of its own: everything about it is here."""

    unit: ClassVar[str] = "kg"

    def _quantity(self) -> ca.SX:
        return self.links[0].mass

    def rows(self, setting: Setting) -> Iterable[ScalarRow]:
        yield ScalarRow(3 * (self.upper[0] - self.links[0].mass), 0.0, np.inf, True, 0, "upper")

    def add_facts(self, facts: Facts) -> None:
        facts.mass_within(self.links[0], -np.inf, float(self.upper[0]))


@pytest.mark.claim("a new kind of constraint is one new class")
def test_a_new_kind_of_constraint() -> None:
    problem = nearest(BODY, lambda v: Spread("light", upper=1.5, links=(v[0],)), bounded=False)
    found = solve(problem)
    assert found["m1"] == pytest.approx(1.5, abs=1e-7) and found.objective == pytest.approx(0.25, rel=1e-5)
    assert problem.regions[0].mass[1] == 1.5
    assert any("light <= 1.5 kg" in str(bound) for bound in explain(found).bounds)
    with pytest.raises(InfeasibleError, match=r"light <= 0\.4 kg"):
        solve(nearest(BODY, lambda v: Spread("light", upper=0.4, links=(v[0],))))
