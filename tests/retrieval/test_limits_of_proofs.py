"""Where proofs and searches end: prices of zero, points outside a search region."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from casid.errors import BoundWarning
from casid.retrieval import Constraint, SolveOptions, solve
from casid.retrieval.insight._level_set import LevelSet
from casid.retrieval.plausible._tolerance import sensitivity
from casid.testing._synthetic import BODY, nearest
from tests.retrieval.test_tolerance import IMPOSSIBLE
from tests.retrieval.test_tolerance import problem as coefficients


@pytest.mark.claim("the sensitivity of fitted coefficients holds for bodies on the boundary of what can exist")
def test_the_fit_of_a_body_on_the_boundary_follows_its_coefficients() -> None:
    exact = SolveOptions(target_gap=1e-10)
    fitted = solve(coefficients(IMPOSSIBLE), options=exact)
    stated, S = fitted.problem, sensitivity(fitted)
    shift = 1e-3 * np.random.default_rng(2).normal(size=12)
    moved = replace(stated, objective=replace(stated.objective, target=stated.objective.target + shift))
    change = stated.objective.matrix @ (np.array(solve(moved, options=exact).x) - fitted.x)
    assert np.linalg.norm(change - S @ shift) <= 0.02 * np.linalg.norm(change)


@pytest.mark.claim("a bound within a search region is not called wrong by a point outside it")
def test_a_point_outside_the_search_region_contradicts_no_bound() -> None:
    stated = nearest(BODY, lambda v: Constraint("light", v[0].mass, upper=40.0))
    search = LevelSet(stated, solve(stated), 1e-3, SolveOptions())
    form = np.eye(10)[9]
    with pytest.warns(BoundWarning, match="an interval's end"):
        assert search._sound(form, 9.0, 5.0, 1.0, BODY) == search.prior(form)[0]
    search.search_region = {stated.variables[0].name: 1e-3}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert search._sound(form, 9.0, 5.0, 1.0, BODY) == search.prior(form)[0]
    search.search_region = {stated.variables[0].name: 1e6}
    with pytest.warns(BoundWarning):
        search._sound(form, 9.0, 5.0, 1.0, BODY)
