"""Sets of centres of mass without a quadratic form: their planes; which side of a bound a multiplier belongs to."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from casid.inertia import to_standard
from casid.retrieval import Constraint, com_box, inertia_bounds, mass_bounds, soften
from casid.retrieval._rows import split_rows
from casid.retrieval.bound._certificate import Dual, Search, dual_bound, lower_bound
from casid.retrieval.bound._cuts import ComSet, Cut, Relaxation, _alternatives, _away_from_hull
from casid.testing import BODY, nearest

X = ca.SX.sym("x", 10)
BOX = np.array([[-0.3, 0.5], [-0.4, 0.4], [-0.2, 0.6]])


def test_a_set_that_fills_its_box_ends_with_it() -> None:
    free = ca.Function("all", [X], [9.0 - ca.sumsqr(X[6:9] / X[9])])
    made = ComSet(0, BOX, (free,), 10)
    for axis, (low, high) in enumerate(BOX):
        way = np.eye(3)[axis]
        assert high <= made.support(way, made.cells(), 1e-3) <= high + 1e-3
        assert -low <= made.support(-way, made.cells(), 1e-3) <= -low + 1e-3
    assert made.support(np.array([1.0, -1.0, -1.0]), made.cells(), 1e-3) == pytest.approx(0.5 + 0.4 + 0.2, abs=1e-3)


def test_supports_far_from_the_origin_are_as_tight() -> None:
    centre = np.array([40.0, 30.0, -20.0])
    ball = ca.Function("ball", [X], [0.01 - ca.sumsqr(X[6:9] / X[9] - ca.DM(centre))])
    made = ComSet(0, centre[:, None] + np.array([-0.3, 0.3]), (ball,), 10)
    way = np.array([2.0, 1.0, -2.0]) / 3.0
    assert way @ centre + 0.1 <= made.support(way, made.cells(), 1e-3) <= way @ centre + 0.1 + 2e-3


def test_alternatives_hold_where_their_branch_is_taken() -> None:
    c = X[6:9] / X[9]
    row = ca.if_else(c[0] < 0.1, c[1], c[2] - 0.2)
    made = _alternatives(row, X)
    assert len(made) == 2
    for x in (-0.2, 0.05, 0.15, 0.3):
        for y, z in ((0.1, 0.1), (0.1, 0.3), (-0.1, 0.1), (-0.1, 0.3)):
            held = [bool((np.array(f([0] * 6 + [2 * x, 2 * y, 2 * z, 2])) >= 0).all()) for f in made]
            assert held == ([y > 0, False] if x < 0.1 else [False, z > 0.2])


def test_the_way_from_a_hull_is_of_unit_length() -> None:
    cube = np.array([[a, b, c] for a in (0.0, 0.2) for b in (0.0, 0.2) for c in (0.0, 0.2)])
    for point, way in (([0.5, 0.1, 0.1], [1, 0, 0]), ([0.1, -0.7, 0.05], [0, -1, 0]),
                       ([0.3, 0.3, 0.3], np.ones(3) / np.sqrt(3))):  # fmt: skip
        np.testing.assert_allclose(_away_from_hull(np.array(point), cube), way, atol=1e-3)
    assert _away_from_hull(np.array([0.1, 0.19, 0.01]), cube) is None


def test_a_cut_is_violated_beyond_the_rounding_of_all_of_its_terms() -> None:
    cut = Cut(np.array([1.0, -2.0]), 0.0, 0, 0, 1.0)
    assert not cut.violated(np.array([-4.0, -2.0 + 3e-7])) and cut.violated(np.array([-4.0, -2.0 + 6e-7]))


def superball(*more, soft: bool = False):
    """The centre of mass within ``|c|^4 <= 0.1^4``: convex, but of no quadratic form."""

    def build(v):
        quartic = Constraint("quartic", ca.sumsqr(v[0].com ** 2), upper=0.1**4)
        return (soften(quartic, 2.0) if soft else quartic, *(make(v) for make in more))

    return nearest(BODY, build)


def test_planes_of_a_set_cut_off_what_is_outside_and_nothing_else() -> None:
    problem = superball()
    relaxation = Relaxation(problem)
    (com_set,) = relaxation.com_sets
    assert com_set.link == 0 and relaxation.nonconvex == ("quartic",)
    rng = np.random.default_rng(0)
    inside = []
    while len(inside) < 200:
        c = rng.uniform(-0.1, 0.1, 3)
        if np.sum(c**4) <= 0.1**4:
            inside.append(to_standard(rng.uniform(0.5, 8.0), c, 0.01 * np.eye(3)))
    for centre, mass in (([0.2, 0.0, 0.0], 4.0), ([0.0, -0.25, 0.1], 0.6), ([0.2, 0.2, 0.2], 2.0)):
        x = to_standard(mass, centre, 0.01 * np.eye(3))
        (cut,) = relaxation.set_cuts(x)
        assert cut.violated(x) and all(cut.form @ one >= cut.low - 1e-9 for one in inside)
        assert cut.form @ x == pytest.approx(-mass * _beyond(np.array(centre)), rel=0.2)
        assert problem.constraints[cut.constraint].label == "quartic"
    assert relaxation.set_cuts(inside[0]) == []
    assert relaxation.set_cuts(np.append(BODY[:9], 0.0)) == []


def _beyond(centre: np.ndarray) -> float:
    """Distance of a point from the set."""
    from scipy.optimize import minimize

    ball = {"type": "ineq", "fun": lambda c: 1.0 - np.sum((c / 0.1) ** 4)}
    found = minimize(lambda c: 100 * np.sum((c - centre) ** 2), 0.3 * centre, constraints=[ball], method="SLSQP")
    return float(np.linalg.norm(found.x - centre))


def test_sets_are_of_one_link_with_a_box() -> None:
    two = nearest(np.tile(BODY, 2), lambda v: Constraint("both", ca.tanh(v[0].com[0] + v[1].com[0]), upper=0.1))
    assert Relaxation(two).com_sets == () and Relaxation(two).nonconvex == ("both",)
    mass = nearest(BODY, lambda v: Constraint("mass", ca.tanh(v[0].com[0] * v[0].mass), upper=0.1))
    assert Relaxation(mass).com_sets == ()
    free = nearest(
        BODY, lambda v: (mass_bounds(v[0], 0.5, 4.0), com_box(v[0], [-np.inf, -1, -1], [0.3, 1, 1]),
                         Constraint("curved", ca.tanh(v[0].com[0]), lower=-0.2)), bounded=False,
    )  # fmt: skip
    assert Relaxation(free).com_sets == ()
    assert len(Relaxation(superball()).com_sets) == 1


def test_soft_rows_that_are_curved_are_not_known_to_be_convex() -> None:
    assert Relaxation(superball(soft=True)).nonconvex == ("quartic",)
    inertia = nearest(BODY, lambda v: soften(inertia_bounds(v[0], 0.01, 0.02), 2.0))
    assert Relaxation(inertia).nonconvex == ()


def test_a_multiplier_belongs_to_the_side_that_acts() -> None:
    """Positive: the upper bound; and a cut's price is the row's, times the mass where the row is the expression."""
    problem = nearest(BODY, lambda v: Constraint("shell", ca.sumsqr(v[0].com), lower=0.05**2, upper=0.12**2))
    relaxation, (_, nonlinear) = Relaxation(problem), split_rows(problem)
    (row,) = [row for row in nonlinear.rows if row.label == "shell"]
    x = to_standard(2.0, [0.1, 0.05, 0.1], 0.01 * np.eye(3))
    for multiplier, sign in ((3.0, -1.0), (-3.0, 1.0)):
        found = relaxation.row_cut(row, multiplier, x)
        assert found is not None
        cut, price = found
        assert cut.sign == sign and price == pytest.approx(3.0 / 2.0)
        assert cut.violated(x) == (sign < 0)  # it lies outside of the larger sphere
    assert relaxation.row_cut(row, 0.0, x) is None and relaxation.row_cut(row, np.nan, x) is None


def test_terms_of_rows_count_without_their_signs() -> None:
    rows = Dual(np.array([[1.0, -2.0], [3.0, 4.0]]), np.array([0.0, -np.inf]), np.array([np.inf, 5.0]),
                np.array([-2.0, 0.5]), np.full(2, np.inf))  # fmt: skip
    assert rows.size_at(np.array([-1.0, 1.0])) == pytest.approx(2.0 * 3.0 + 0.5 * 7.0)
    assert rows.missed(np.array([-1.0, 1.0])) == pytest.approx(2.0 * 3.0)


def test_an_exact_certificate_has_no_leftover() -> None:
    """Of the slope of the mass alone: its bounds are all that is needed."""
    problem = nearest(BODY, lambda v: mass_bounds(v[0], 1.5, 4.0), bounded=False)
    linear, _ = split_rows(problem)
    slope = np.eye(10)[9]
    found = dual_bound(problem, slope, Dual.of(linear, -np.ones(len(linear.rows))), Search())
    assert found.value == pytest.approx(1.5, abs=1e-5) and found.leftover == 0.0
    sound = lower_bound(problem, BODY, linear, np.zeros(len(linear.rows)))
    assert sound.lower_bound <= 0.0
