"""Bounds of links: what a description's bounds become, secants, and rows for the solver."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from casid.description import Inertial, Joint, Link, LinkBounds, Robot
from casid.inertia import from_standard, to_standard
from casid.retrieval import Constraint, inertia_bounds, link_variables, mass_bounds
from casid.retrieval.constraints import robot_bounds, sensible_bounds
from casid.testing import BODY, arm, nearest

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


def test_bounds_of_an_inertia_stay_in_the_relaxation() -> None:
    """They are seldom active, and its solver takes them as they are."""
    link = link_variables(arm())[0]
    assert inertia_bounds(link, 0, 1).kept_in_relaxation and not mass_bounds(link, 0, 1).kept_in_relaxation


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


def test_a_total_mass_is_bounded_where_the_description_bounds_it() -> None:
    free = LinkBounds(np.array([-np.inf, np.inf]))
    bare = Robot("bare", (Joint("a", "revolute", -1, Link("one", bounds=free)),))
    assert robot_bounds(link_variables(bare)) == ()
    for total in ((0.0, 9.0), (2.0, np.inf)):
        (made,) = robot_bounds(link_variables(replace(bare, total_mass=total)))
        assert (made.label, made.lower[0], made.upper[0]) == ("total mass", *total)


def test_sensible_bounds_are_four_times_the_nominal_mass_and_twice_the_longest_placement() -> None:
    far = np.eye(4)
    far[:3, 3] = [0.0, 0.0, 1.5]
    near = np.eye(4)
    near[:3, 3] = [0.3, 0.0, 0.0]
    joints = (
        Joint("a", "revolute", -1, Link("one", Inertial(2.0, np.zeros(3), np.eye(3))), placement=far),
        Joint("b", "revolute", 0, Link("two", Inertial(0.1, np.zeros(3), np.eye(3))), placement=near),
        Joint("c", "revolute", 1, Link("three"), placement=near),
        Joint("d", "revolute", 2, Link("four", bounds=LinkBounds(np.array([-1.0, 3.0]))), placement=near),
    )
    made = {c.label: c for c in sensible_bounds(link_variables(Robot("four", joints)))}
    masses = [(made[f"{name} mass"].lower[0], made[f"{name} mass"].upper[0]) for name in ("one", "two", "three")]
    assert masses == [(0.0, 8.0), (0.0, 1.0), (0.0, 100.0)]
    assert (made["four mass"].lower[0], made["four mass"].upper[0]) == (-1.0, 3.0)
    assert made["one extent"].upper[0] == pytest.approx(9.0) and "total mass" not in made
    small = {c.label: c for c in sensible_bounds(link_variables(arm()))}
    assert small["link1 extent"].upper[0] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("lower", "upper", "side", "text"),
    [
        (1.0, np.inf, "both", "x >= 1"),
        (-np.inf, 2.0, "both", "x <= 2"),
        (1.0, 2.0, "both", "1 <= x <= 2"),
        (1.0, 2.0, "lower", "x >= 1"),
        (1.0, 2.0, "upper", "x <= 2"),
    ],
)
def test_a_bound_in_words(lower: float, upper: float, side: str, text: str) -> None:
    assert Constraint("x", ca.SX.sym("x"), lower, upper).bound_text(0, side) == text  # type: ignore[arg-type]


def test_the_violation_is_that_of_the_worst_entry() -> None:
    rows = Constraint("rows", ca.SX.sym("x", 3), [0.0, -np.inf, 1.0], [2.0, 5.0, np.inf])
    assert rows.violation([2.5, -1e9, 1.0]) == pytest.approx(0.5)
    assert rows.violation([1.0, 5.25, 0.9]) == pytest.approx(0.25)
    assert rows.violation([1.0, 0.0, 2.0]) == 0.0 and rows.violation([1.0, np.nan, 2.0]) == np.inf


def rows_of(expression: ca.SX, lower: float, upper: float) -> list[tuple[bool, float, float, str]]:
    problem = nearest(BODY)
    made = Constraint("row", ca.substitute(expression, X, problem.variables.x), lower, upper)
    return [(row.linear, row.lower, row.upper, row.side) for row in made.rows(problem.setting)]


X = ca.SX.sym("x", 10)
LINEAR, OTHER, CURVED = X[6] + X[9], X[7] - X[9], ca.tanh(X[8])


@pytest.mark.parametrize(
    ("expression", "lower", "upper", "rows"),
    [
        (LINEAR, 1.0, 2.0, [(True, 1.0, 2.0, "both")]),
        (CURVED, 0.1, 0.2, [(False, 0.1, 0.2, "both")]),
        (ca.fmin(LINEAR, OTHER), 1.0, np.inf, [(True, 1.0, np.inf, "lower")] * 2),
        (ca.fmax(LINEAR, OTHER), -np.inf, 2.0, [(True, -np.inf, 2.0, "upper")] * 2),
        (ca.fmin(LINEAR, OTHER), 1.0, 2.0, [(True, 1.0, np.inf, "lower")] * 2 + [(False, -np.inf, 2.0, "upper")]),
        (ca.fmin(LINEAR, OTHER), -np.inf, 2.0, [(False, -np.inf, 2.0, "both")]),
        (ca.fmin(LINEAR, CURVED), 1.0, np.inf, [(False, 1.0, np.inf, "both")]),
        (ca.fmin(LINEAR, 9.0), -np.inf, 2.0, [(True, -np.inf, 2.0, "upper")]),  # 9 is no way to be below 2
        (ca.fmin(LINEAR, 9.0), 1.0, np.inf, [(True, 1.0, np.inf, "lower")]),
        (ca.fmax(X[6] / X[9], OTHER), -np.inf, 2.0, [(True, 0.0, np.inf, "upper"), (True, -np.inf, 2.0, "upper")]),
    ],
)
def test_minima_and_maxima_are_taken_apart_where_their_parts_are_linear(expression, lower, upper, rows) -> None:
    assert rows_of(expression, lower, upper) == rows
