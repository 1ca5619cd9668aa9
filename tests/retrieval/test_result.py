"""What results share: parameters, gaps, checked bounds, conflicts."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from casid.errors import BoundWarning
from casid.inertia import Parameters, to_standard
from casid.retrieval import (
    Constraint,
    InfeasibleError,
    ParameterResult,
    Problem,
    com_box,
    least_squares,
    link_variables,
    mass_bounds,
    solve,
)
from casid.retrieval._solution import assess
from casid.retrieval.constraints import gyration_bound
from casid.retrieval.program._starts import random_parameters
from casid.testing import BODY, arm, nearest


@pytest.mark.claim("a result's parameters are Parameters; links, extras and standard parameters follow from them")
def test_a_solution_is_its_parameters() -> None:
    found = solve(nearest(np.append(np.tile(BODY, 2), 0.3), lambda v: (), extras={"fv1": (0.0, 1.0)}))
    assert isinstance(found, ParameterResult) and isinstance(found.parameters, Parameters)
    np.testing.assert_array_equal(found.parameters.values, found.x)
    np.testing.assert_array_equal(found.standard_parameters, found.parameters.standard)
    assert found.extras == dict(found.parameters.terms)
    assert [link.name for link in found.link_parameters] == list(found.links) == ["link1", "link2"]


@pytest.mark.claim("a bound above the point's own value voids itself, loudly")
def test_a_contradicted_bound_is_given_up() -> None:
    problem = nearest(BODY)
    value = problem.objective(1.1 * BODY)
    with pytest.warns(BoundWarning, match="discarded"):
        found = assess(problem, 1.1 * BODY, 3 * value)
    assert found.lower_bound == 0.0 and not found.certified and found.gap == pytest.approx(1.0)
    slightly = assess(problem, 1.1 * BODY, value * (1 + 1e-9))
    assert slightly.gap == 0.0


@pytest.mark.claim("a light link beside a heavy one counts")
def test_the_gap_sees_light_links() -> None:
    heavy = to_standard(1e6, [0.0, 0.0, 0.1], np.diag([1e4, 1e4, 1e4]))
    light = to_standard(1.0, [0.0, 0.0, 0.0], np.diag([0.02, 0.02, 0.03]))
    variables = link_variables(arm(2))
    objective = least_squares(variables, np.eye(20), np.concatenate([heavy, light]))
    problem = Problem("two", variables, objective, (mass_bounds(variables[1], 0.0, 0.5),))
    best, poor = (np.concatenate([heavy, light]) for _ in range(2))
    best[19], poor[19] = 0.5, 0.45
    bound = problem.objective(best)
    found = assess(problem, poor, bound)
    assert bound == pytest.approx(0.25) and found.feasible
    assert found.gap == pytest.approx(1 - 0.25 / 0.3025) and not found.certified
    assert assess(problem, best, bound).certified


@pytest.mark.claim("no set that has feasible points is called infeasible")
@pytest.mark.parametrize("seed", range(6))
def test_no_false_infeasible(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def build(v):
        c, w = v[0].com, rng.normal(size=3)
        wave = ca.sin(30 * ca.dot(ca.DM(w), c) + rng.uniform(0, 6))
        return Constraint("wave", wave - 0.95, lower=0.0)

    problem = nearest(BODY, build)
    points = [random_parameters(problem, rng) for _ in range(400)]
    assert any(problem.hard_violation(problem.violations(x)) == 0.0 for x in points)
    for start in range(3):
        assert solve(problem, seed=start, throw=False).status != "infeasible"


@pytest.mark.claim("one constraint that cannot be met is named with the smallest relaxation")
def test_a_single_impossible_constraint_is_named() -> None:
    variables = link_variables(arm())
    link = variables[0]
    own = com_box(link, -0.05, 0.05), mass_bounds(link), Constraint("reach", link.com[0], lower=0.2)
    problem = Problem("reach", variables, least_squares(variables, np.eye(10), BODY), own)
    with pytest.raises(InfeasibleError, match=r"reach >= 0\.2") as caught:
        solve(problem)
    assert sum(caught.value.relaxation.values()) == pytest.approx(0.15, abs=1e-4)


@pytest.mark.claim("a conflict that is proven only within a search region says so, and names the unit that leads there")
def test_the_region_of_a_proof_is_stated() -> None:
    variables = link_variables(arm())
    link = variables[0]
    heavy = Constraint("mass", link.mass, lower=10.0)
    own = (heavy, mass_bounds(link, 0, 5), com_box(link, -1, 1))
    problem = Problem("units", variables, least_squares(variables, np.eye(10), BODY), own)
    found = solve(problem, throw=False)
    assert found.status == "infeasible"
    assert found.conflict is not None
    assert list(found.conflict.region) == [link.name]
    assert f"holds for {link.name} up to 1e+06 times" in found.conflict.words()
    assert "g.mm^2" in found.conflict.words()
    bounded = solve(problem.with_constraints(gyration_bound(link, 1.0)), throw=False).conflict
    assert bounded is not None
    assert bounded.proven
    assert not bounded.region
    assert "proof holds" not in bounded.words()
