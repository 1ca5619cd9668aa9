"""Limits of regions and cuts at the ends of their ranges: zero, infinite and one-sided bounds, vanishing curvature."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from casid.retrieval import Problem, least_squares, link_variables
from casid.retrieval._region import Facts, LinkRegion, Quadric, link_regions, region_box
from casid.retrieval.constraints import PhysicalConsistency
from casid.testing import BODY, arm

FREE = np.tile([-np.inf, np.inf], (3, 1))


def form(*diagonal: float, **given: np.ndarray) -> Quadric:
    made = Quadric(0, 2, np.zeros(6), np.array([0.3, -0.2, 0.1]), 0.5, np.diag(diagonal))
    return replace(made, **given)


def value(quadric: Quadric, x: np.ndarray) -> float:
    """Its left side at ten parameters."""
    moment, mass = x[6:9], x[9]
    return float(quadric.moment @ moment + quadric.mass * mass + moment @ quadric.square @ moment / mass)


@pytest.mark.parametrize("rounding", [1e-20, -1e-20, 0.0])
def test_curvature_by_rounding_costs_no_cut(rounding: float) -> None:
    """Without bounds of the centre of mass the tangent of a concave form holds, whatever rounding adds to it."""
    concave = form(-1.0, -2.0, rounding)
    (row,) = concave.cuts(FREE, BODY)
    assert row @ BODY == pytest.approx(value(concave, BODY), rel=1e-12)


def test_a_linear_form_is_its_own_cut() -> None:
    linear = form(0.0, 0.0, 0.0)
    (row,) = linear.cuts(FREE, BODY)
    np.testing.assert_array_equal(row, [0, 0, 0, 0, 0, 0, 0.3, -0.2, 0.1, 0.5])


@pytest.mark.parametrize("side", [0, 1])
def test_a_range_open_to_one_side_has_no_secant(side: int) -> None:
    box = np.tile([-0.3, 0.3], (3, 1))
    assert len(form(1.0, 0.0, 0.0).cuts(box, BODY)) == 1
    box[0, side] = [-np.inf, np.inf][side]
    assert form(1.0, 0.0, 0.0).cuts(box, BODY) == []


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


def regions(facts: Facts, free: bool = False) -> tuple[LinkRegion, ...]:
    variables = link_variables(arm())
    own = (PhysicalConsistency(variables[0].index, variables[0].name, "none", 0.0),) if free else ()
    problem = Problem("one", variables, least_squares(variables, np.eye(10), np.zeros(10)), own)
    return link_regions(facts, [entry.cone for entry in problem.cones])


def test_nothing_times_anything_is_nothing() -> None:
    """A massless link has no first moment wherever its centre is, a centred one none whatever its mass."""
    variables = link_variables(arm())
    massless, centred = Facts(variables), Facts(variables)
    massless.mass_within(variables[0], 0.0, 0.0)
    np.testing.assert_array_equal(regions(massless)[0].box[6:], np.zeros(4))
    centred.com_within(variables[0], np.zeros(3), np.zeros(3))
    np.testing.assert_array_equal(regions(centred)[0].box[6:], [0.0, 0.0, 0.0, np.inf])
    assert massless.second_moment(0) == np.inf  # no body that is to be expected has no mass
    massless.com_within(variables[0], -np.ones(3), np.ones(3))
    assert massless.second_moment(0) == np.inf


@pytest.mark.parametrize("entry", range(10))
def test_a_body_that_differs_in_one_parameter_is_another(entry: int) -> None:
    variables = link_variables(arm())
    own = variables[0]
    parameters = ca.SX(own.parameters)
    parameters[entry] += 1.0
    other, facts = replace(own, parameters=parameters), Facts(variables)
    facts.mass_within(other, 1.0, 2.0)
    assert np.isfinite(facts.mass).any() == (entry != 9)
    facts.com_within(other, -np.ones(3), np.ones(3))
    assert np.isfinite(facts.com).any() == (entry < 6)
    facts.inertia_within(other, -np.ones(6), np.ones(6))
    facts.reach_below(other, 1.0)
    assert np.isinf(facts.inertia_com).all() and np.isinf(facts.reach).all()


def test_a_box_of_all_unknowns() -> None:
    com = np.array([[-0.1, 0.2], [-0.3, 0.4], [-0.5, 0.6]])
    one = LinkRegion((0.5, 3.0), com, 9.0, np.arange(1.0, 11.0))
    two = LinkRegion((-np.inf, np.inf), FREE, np.inf, np.full(10, np.inf))
    low, high, quotients = region_box([one, two], [(-1.0, 4.0), (0.0, np.inf)], [0.7, 0.0])
    np.testing.assert_array_equal(low, [1.4, -2, -3, 1.4, -5, 1.4, -7, -8, -9, 0.7, *[-np.inf] * 10, -1.0, 0.0])
    np.testing.assert_array_equal(high, [1, 2, 3, 4, 5, 6, 7, 8, 9, 3.0, *[np.inf] * 10, 4.0, np.inf])
    assert set(quotients) == {(6, 9), (7, 9), (8, 9), (16, 19), (17, 19), (18, 19)}
    np.testing.assert_array_equal(quotients[8, 9], com[2])
    low, high, _ = region_box([one], [])
    np.testing.assert_array_equal(low, -np.arange(1.0, 11.0))
    np.testing.assert_array_equal(high, np.arange(1.0, 11.0))
