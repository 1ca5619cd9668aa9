"""What results share: parameters, gaps, checked bounds."""

from __future__ import annotations

import numpy as np
import pytest

from casid.errors import BoundWarning
from casid.inertia import Parameters, to_standard
from casid.retrieval import (
    Problem,
    least_squares,
    link_variables,
    mass_bounds,
    solve,
)
from casid.retrieval._result import ParameterResult
from casid.retrieval._solution import assess
from casid.testing._synthetic import BODY, arm, nearest


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
