"""Contradictions of linear constraints, tiny bodies, soft shapes, and what relaxing a bound is worth."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import casid
from casid.inertia import to_standard
from casid.retrieval import (
    Constraint,
    InfeasibleError,
    Problem,
    Solution,
    com_box,
    com_in_cone,
    com_in_cylinder,
    com_in_ellipsoid,
    com_in_hull,
    com_in_sphere,
    equal_links,
    explain,
    least_squares,
    link_variables,
    sensible_bounds,
    soften,
)
from casid.testing import BODY, arm, blind
from tests.helpers import nearest


@pytest.mark.claim("a plain linear contradiction is proven, whatever its size")
@pytest.mark.parametrize("amount", [1e-3, 0.01, 0.35])
def test_linear_contradictions_are_proven(panda, amount) -> None:
    """The description bounds the centre of mass of link 4 by y <= 0.15 m."""
    far = com_box(panda.variables[3], [-1, 0.15 + amount, -1], [1, 2, 1], label="far")
    with pytest.raises(InfeasibleError) as caught:
        casid.solve(replace(panda, constraints=(*panda.constraints, far)))
    assert caught.value.relaxation == pytest.approx({f"far y >= {0.15 + amount:.6g} m": amount}, rel=1e-3)


def test_a_contradiction_of_what_nothing_bounds_is_proven() -> None:
    def near(v):
        x, y, _ = ca.vertsplit(v[0].com)
        return Constraint("sum", x + y, upper=0.1), Constraint("x", x, lower=0.06), Constraint("y", y, lower=0.06)

    problem = nearest(np.zeros(10), near, bounded=False)
    with pytest.raises(InfeasibleError) as caught:
        casid.solve(problem)
    assert {text.split(" ")[0] for text in caught.value.conflicting} == {"sum", "x", "y"}
    assert casid.solve(problem.without("y")).feasible


@pytest.mark.claim("a body of 0.1 g and 1 mm is never proven to be infeasible")
@pytest.mark.parametrize("seed", range(4))
def test_tiny_bodies_of_known_extent_are_feasible(seed) -> None:
    rng = np.random.default_rng(seed)
    variables = link_variables(blind(arm()))
    mass, size = 10 ** rng.uniform(-5, -3), 10 ** rng.uniform(-3.5, -2.5)
    ten = to_standard(mass, size * rng.normal(size=3), mass * size**2 * np.diag(rng.uniform(0.5, 0.7, 3)))
    truth, plane = np.tile(ten, len(variables)), rng.normal(size=3)
    known = sensible_bounds(variables, heaviest=2 * mass, radius=5 * size)
    known = (*known, Constraint("plane", ca.dot(ca.DM(plane), variables[0].com), lower=plane @ truth[6:9] / mass))
    scale = np.maximum(np.abs(truth), 1e-3 * np.abs(truth).max())
    problem = Problem("tiny", variables, least_squares(variables, np.diag(1 / scale), truth / scale), known)
    found = casid.solve(problem)
    assert problem.met(problem.violations(truth), 1e-8) and found.objective <= 1e-6


CORNERS = np.array([[x, y, z] for x in (-0.09, 0.0) for y in (0.0, 0.1) for z in (-0.04, 0.04)])
#: Each shape, and the distance of a point outside its farthest face, by geometry [m].
SHAPES = {
    "sphere": (lambda k: com_in_sphere(k, [0.0, 0.0, 0.0], 0.03), lambda c: np.linalg.norm(c) - 0.03),
    "cylinder": (
        lambda k: com_in_cylinder(k, [0, 0, -0.05], [0, 0, 0.05], 0.03),
        lambda c: max(np.hypot(c[0], c[1]) - 0.03, abs(c[2]) - 0.05),
    ),
    "cone": (
        lambda k: com_in_cone(k, [0.2, 0, 0], [0.1, 0, 0], 0.05, 0.0),
        lambda c: max((np.hypot(c[1], c[2]) - 0.5 * (c[0] - 0.1)) / np.sqrt(1.25), c[0] - 0.2, 0.1 - c[0]),
    ),
    "ellipsoid": (
        lambda k: com_in_ellipsoid(k, [0, 0, 0], [0.08, 0.05, 0.05]),
        lambda c: 0.05 * (np.linalg.norm(c / [0.08, 0.05, 0.05]) - 1.0),
    ),
    "hull": (lambda k: com_in_hull(k, CORNERS), lambda c: np.max([CORNERS.min(axis=0) - c, c - CORNERS.max(axis=0)])),
}


@pytest.mark.claim("a soft shape prices one distance, once, and is certified")
@pytest.mark.parametrize("weight", [1e-5, 1e-3])
@pytest.mark.parametrize("shape", SHAPES)
def test_soft_shapes_are_convex_and_price_one_distance(panda, shape, weight) -> None:
    build, outside = SHAPES[shape]
    soft = soften(build(panda.variables[3]), weight)
    solution = casid.solve(replace(panda, constraints=(*panda.constraints, *soft)))
    body = solution.link_parameters[3]
    distance = max(float(outside(body.com)), 0.0)
    assert len(soft) == 1 and soft[0].unit_of(0) == "m"
    assert solution.violations[soft[0].label] == pytest.approx(distance, abs=1e-6)
    assert solution.penalty == pytest.approx(weight * body.mass * distance, rel=1e-3, abs=1e-6 * weight * body.mass)
    assert solution.certified and solution.gap <= 1e-7


@pytest.mark.claim("a soft cone has one nappe")
def test_a_soft_cone_has_no_second_nappe(panda) -> None:
    (soft,) = soften(com_in_cone(panda.variables[3], [0.2, 0, 0], [0.1, 0, 0], 0.05, 0.0), 0.01)
    x = np.array(casid.solve(panda).x)
    x[36:39] = x[39] * np.array([-0.15, 0.033, 0.05])  # 25 cm beyond the tip, within the mirrored cone
    problem = replace(panda, constraints=(*panda.constraints, soft))
    assert problem.violations(x)[soft.label] == pytest.approx(0.25, rel=1e-3)
    assert problem.penalty(x) == pytest.approx(0.01 * x[39] * 0.25, rel=1e-3)


@pytest.mark.claim("the bound of soft shapes is below the value of every point")
def test_the_bound_of_several_soft_shapes_is_sound(panda) -> None:
    rng = np.random.default_rng(0)
    soft = [one for k, name in zip((1, 2, 3, 3, 5), SHAPES, strict=True)
            for one in soften(SHAPES[name][0](panda.variables[k]), 10 ** rng.uniform(-5, -2))]  # fmt: skip
    problem = replace(panda, constraints=(*panda.constraints, *soft))
    found = casid.solve(problem)
    assert found.certified
    for other in (casid.solve(panda), casid.solve(replace(panda, constraints=problem.constraints[:-2]))):
        for share in (0.0, 0.5, 0.9):
            x = (1 - share) * other.x + share * found.x
            assert problem.met(problem.violations(x), 1e-8)
            assert found.lower_bound <= problem.objective(x) + problem.penalty(x)


def relaxed_total(problem: Problem, label: str, entry: int, lower: bool, step: float) -> float:
    """Objective with one bound looser by a step."""
    (old,) = (c for c in problem.constraints if c.label == label)
    ends = {"lower": old.lower.copy(), "upper": old.upper.copy()}
    ends["lower" if lower else "upper"][entry] += -step if lower else step
    others = [c for c in problem.constraints if c.label != label]
    return casid.solve(replace(problem, constraints=(*others, replace(old, **ends)))).total


@pytest.mark.claim("a price is the one-sided gain, also where more bounds are active than the optimum needs")
def test_prices_of_equalities_are_one_sided(panda) -> None:
    equal = equal_links(panda.variables[4], panda.variables[5])
    problem = replace(panda, constraints=(*panda.constraints, equal))
    solution = casid.solve(problem)
    bounds = [b for b in explain(solution).bounds if "equals" in b.text]
    assert len(bounds) >= 3
    for bound in bounds:
        entry, lower = int(bound.text.split("[")[1][0]), "lowered" in bound.text
        step = 1e-5 * solution.total / bound.multiplier  # another than that of the price
        price = (solution.total - relaxed_total(problem, equal.label, entry, lower, step)) / step
        assert bound.multiplier == pytest.approx(price, rel=0.02)
        gained = solution.total - relaxed_total(problem, equal.label, entry, lower, bound.step)
        assert bound.gain == pytest.approx(gained / solution.total, rel=1e-3, abs=1e-6)
        assert 0 < bound.gain <= 1 and bound.unit.startswith("kg") and " = 0 " in bound.text


@pytest.mark.claim("a bound that consistency makes void has no price")
def test_void_bounds_have_no_price(panda) -> None:
    shape = com_in_cylinder(panda.variables[3], [0, 0, -0.05], [0, 0, 0.05], 0.03)
    bounds = explain(casid.solve(replace(panda, constraints=(*panda.constraints, *shape)))).bounds
    assert not any("mass >= 0" in bound.text for bound in bounds)
    assert bounds and all(0 < bound.gain <= 1 and bound.unit for bound in bounds)


def test_a_multiplier_of_the_wrong_sign_prices_no_bound(monkeypatch) -> None:
    """A curved row with one bound, where no solve says what it is worth: the solver's noise is none of the other."""
    found = casid.solve(nearest(BODY, lambda v: Constraint("ball", ca.sumsqr(v[0].com), upper=1e-4)))
    known = Solution.row_multipliers
    monkeypatch.setattr("casid.retrieval.insight._explain._gain", lambda *a: (np.nan, np.nan))
    assert any(bound.text.startswith("ball <=") for bound in explain(found).bounds)
    monkeypatch.setattr(Solution, "row_multipliers", lambda self, rows: [-abs(m) for m in known(self, rows)])
    assert not explain(found).bounds
