"""Insight: linear functions over the level set, and what a further measurement would settle."""

from __future__ import annotations

import numpy as np
import pytest

from casid.retrieval import SolveOptions, parameter_intervals, solve
from casid.retrieval.insight import weigh_each_link, what_if
from casid.retrieval.insight._level_set import LevelSet, with_secants
from casid.testing import BODY, nearest


def test_convex_problems_are_their_own_outer_set() -> None:
    problem = nearest(BODY)
    assert with_secants(problem) is problem
    level = LevelSet(problem, solve(problem), 1e-4, SolveOptions())
    assert level.exact is level.outer and level.limit == pytest.approx(1e-4, rel=1e-3)


def test_a_weighed_link_has_a_known_mass() -> None:
    problem = nearest(np.tile(BODY, 2))
    found = parameter_intervals(problem, {f"m{k + 1}": problem.variables[k].mass for k in range(2)}, tolerance=0.1)
    candidates = weigh_each_link(problem, found)
    assert set(candidates) == {"weigh link1", "weigh link2"}
    (effect,) = what_if(found, {"weigh link2": candidates["weigh link2"]})
    assert effect.most_helped[0][0] == "m2" and effect.reduction > 0.0
