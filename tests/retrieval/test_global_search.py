"""Global search and simulated annealing."""

from __future__ import annotations

from casid.retrieval import Global, solve
from casid.retrieval.methods._global_search import SimulatedAnnealing
from casid.testing import BODY, nearest


def test_annealing_finds_a_point_that_obeys() -> None:
    problem = nearest(BODY)
    found = solve(problem, method=SimulatedAnnealing(), seed=0, throw=False)
    assert found.objective >= solve(problem).objective - 1e-9


def test_a_convex_problem_needs_no_branching() -> None:
    found = solve(nearest(BODY), method=Global(seconds=5.0))
    assert found.certified and found.gap <= 1e-6
