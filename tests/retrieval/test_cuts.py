"""Cuts of a relaxation: supports of sets of centres of mass, and rows that hold at every feasible body."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from casid.inertia import to_standard
from casid.retrieval import Constraint
from casid.retrieval.bound._cuts import ComSet, Cut, Relaxation, depends_on_com_only
from casid.testing import BODY, nearest

X = ca.SX.sym("x", 20)
BOX = np.array([[-0.3, 0.5], [-0.4, 0.4], [-0.2, 0.6]])


def com(link: int) -> ca.SX:
    return X[10 * link + 6 : 10 * link + 9] / X[10 * link + 9]


def ball(centre: tuple[float, ...], radius: float, link: int = 1) -> ca.Function:
    return ca.Function("ball", [X], [radius**2 - ca.sumsqr(com(link) - ca.DM(list(centre)))])


def unit(rng: np.random.Generator) -> np.ndarray:
    way = rng.normal(size=3)
    return np.asarray(way / np.linalg.norm(way))


ONE, TWO = ((0.1, 0.0, 0.2), 0.15), ((0.25, -0.1, 0.3), 0.1)


@pytest.mark.parametrize("balls", [(ONE,), (ONE, TWO)])
def test_the_support_of_balls_is_their_farthest_point(balls) -> None:
    """``max d'c0 + r`` over the alternatives: never less, and little more where cells become too many."""
    found = ComSet(1, BOX, tuple(ball(*one) for one in balls), 20)
    cells, rng = found.cells(), np.random.default_rng(0)
    for direction in (np.eye(3)[0], -np.eye(3)[2], unit(rng)):
        exact = max(direction @ np.array(centre) + radius for centre, radius in balls)
        assert exact - 1e-12 <= found.support(direction, cells, 2e-3) <= exact + 4e-3
    assert found.support(np.eye(3)[0], cells[:0], 1e-3) == -np.inf


def test_the_support_knows_what_is_cut_out() -> None:
    """Outside a ball in a corner of the box, the box's own corner is out of reach and its edges are not."""
    outside = ca.Function("outside", [X], [ca.sumsqr(com(1) - ca.DM(BOX[:, 1])) - 0.2**2])
    found, way = ComSet(1, BOX, (outside,), 20), np.ones(3) / np.sqrt(3)
    height = found.support(way, found.cells(), 1e-3)
    corner = float(way @ BOX[:, 1])
    assert corner - 0.2 / np.sqrt(3) - 1e-12 <= height <= corner - 0.2 / np.sqrt(3) + 1e-3  # 0.2 m down one edge
    assert found.support(np.array([1.0, 0, 0]), found.cells(), 1e-3) == pytest.approx(0.5, abs=1e-3)


def test_all_functions_of_an_alternative_hold_together() -> None:
    both = ca.Function("both", [X], [ca.vertcat(*(f(X) for f in (ball((0, 0, 0.2), 0.2), ball((0.2, 0, 0.2), 0.2))))])
    found = ComSet(1, BOX, (both,), 20)
    lens = 0.2 * np.sqrt(0.75)  # half height of the lens of two balls a radius apart
    assert found.support(np.array([1.0, 0, 0]), found.cells(), 1e-3) == pytest.approx(0.2, abs=1e-3)
    assert found.support(np.array([0, 1.0, 0]), found.cells(), 1e-3) == pytest.approx(lens, abs=1e-3)


def test_cells_cover_the_set_and_little_more() -> None:
    centre, radius = ONE
    found, rng = ComSet(1, BOX, (ball(*ONE),), 20), np.random.default_rng(1)
    cells = found.cells()
    points = np.array(centre) + radius * np.array([unit(rng) * rng.random() ** (1 / 3) for _ in range(500)])
    within = (cells[None, :, :, 0] <= points[:, None]) & (points[:, None] <= cells[None, :, :, 1])
    assert within.all(axis=2).any(axis=1).all()
    sides = np.ptp(cells, axis=2)
    np.testing.assert_allclose(sides, np.tile(np.ptp(BOX, axis=1) / 8, (len(cells), 1)))
    assert np.prod(sides, axis=1).sum() < 8 * 4 / 3 * np.pi * radius**3
    assert len({tuple(cell.ravel().round(9)) for cell in cells}) == len(cells)
    assert len(found.cells(0)) == 1 and len(ComSet(1, BOX, (), 20).cells()) == 0


def test_functions_of_one_centre_of_mass_are_recognised() -> None:
    of = {
        "one": com(1)[0] + com(1)[2] ** 2, "two": com(0)[0] + com(1)[0], "mass": com(1)[0] * X[19],
        "moment": X[16], "other": com(0)[1] - 0.2,
    }  # fmt: skip
    found = {name: depends_on_com_only(ca.Function("g", [X], [e]), 20, 2) for name, e in of.items()}
    assert found == {"one": 1, "two": None, "mass": None, "moment": None, "other": 0}


def test_a_cut_is_violated_beyond_rounding() -> None:
    form = np.array([1.0, -2.0])
    x = np.array([1.0, 1.0])
    for low, violated in ((-1.0, False), (-1.0 + 1e-8, False), (-1.0 + 1e-6, True), (-2.0, False)):
        assert Cut(form, low, 0, 0, 1.0).violated(x) == violated


def sphere_problem(lower: float = -np.inf, upper: float = np.inf):
    """A body whose centre of mass must be inside (upper) or outside (lower) a sphere about (0.05, 0, 0.1) [m]."""

    def build(v):
        square = ca.sumsqr(v[0].com - ca.DM([0.05, 0.0, 0.1]))
        return (Constraint("sphere", square, lower=lower, upper=upper),)

    return nearest(BODY, build)


def bodies(rng: np.random.Generator, count: int = 200) -> list[np.ndarray]:
    found = []
    for _ in range(count):
        A = rng.normal(size=(3, 3)) * 0.1
        J = A @ A.T
        found.append(to_standard(rng.uniform(0.5, 5), rng.uniform(-0.25, 0.25, 3), np.trace(J) * np.eye(3) - J))
    return found


@pytest.mark.parametrize(("lower", "upper"), [(-np.inf, 0.15**2), (0.15**2, np.inf)])
def test_cuts_of_a_sphere_hold_inside_and_outside_of_it(lower: float, upper: float) -> None:
    problem = sphere_problem(lower, upper)
    relaxation = Relaxation(problem)
    (side,) = relaxation.sides
    assert side.sign == (1.0 if np.isfinite(lower) else -1.0) and side.bound == 0.15**2
    assert relaxation.is_convex(side) == np.isfinite(upper) == (not relaxation.open_sides)
    assert relaxation.nonconvex == (() if np.isfinite(upper) else ("sphere",))
    rng = np.random.default_rng(3)
    every = bodies(rng)
    box = problem.regions[0].com
    square = [np.sum((x[6:9] / x[9] - [0.05, 0.0, 0.1]) ** 2) for x in every]
    feasible = [x for x, s in zip(every, square, strict=True) if lower <= s <= upper and (
        (box[:, 0] <= x[6:9] / x[9]) & (x[6:9] / x[9] <= box[:, 1])).all()]  # fmt: skip
    assert len(feasible) > 5
    for near in every[:20]:
        for cut in relaxation.side_cuts(side, near):
            assert all(cut.form @ x >= cut.low - 1e-9 for x in feasible)
    if np.isfinite(upper):
        far = next(x for x, s in zip(every, square, strict=True) if s > 2 * upper)
        assert relaxation.side_cuts(side, far)[0].violated(far)
        assert side.missed(problem.constraints[side.constraint], problem.values(far)) == pytest.approx(
            np.sum((far[6:9] / far[9] - [0.05, 0.0, 0.1]) ** 2) - upper
        )
    assert side.missed(problem.constraints[side.constraint], problem.values(feasible[0])) == 0.0
    weightless = BODY.copy()
    weightless[9] = 0.0
    assert relaxation.side_cuts(side, weightless) == []


def test_linear_constraints_need_no_cuts() -> None:
    assert Relaxation(nearest(BODY)).sides == ()
