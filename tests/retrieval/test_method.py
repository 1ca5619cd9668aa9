"""The contract of methods: each uses its start, and none raises for a solve that failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import pytest

from casid.retrieval import Constraint, Global, solve
from casid.retrieval.methods._branch_and_bound import close_gap
from casid.retrieval.methods._branches import Branches, Smoothed
from casid.retrieval.methods._global_search import SimulatedAnnealing
from casid.retrieval.methods._method import Direct, Method, Start
from casid.testing._synthetic import BODY, nearest


@dataclass(frozen=True)
class Counted(Method):
    """A user's own method: the direct one, with the starts that it was given."""

    starts: list
    name: ClassVar[str] = "counted"

    def solve(self, problem, start):
        self.starts.append(start)
        return Direct().solve(problem, start)


def test_a_method_of_a_user_is_one_class() -> None:
    problem, method = nearest(BODY), Counted([])
    found = solve(problem, method=method, seed=3)
    assert found.certified and [start.seed for start in method.starts] == [3]
    assert isinstance(method.starts[0], Start)


def curved():
    return nearest(BODY, lambda v: Constraint("rule", ca.if_else(v[0].mass > 3, v[0].com[0] - 0.1, -1.0), lower=0.0))


@pytest.mark.parametrize("method", [Branches(), Global(seconds=10.0), Smoothed()], ids=lambda m: m.name)
def test_methods_agree_where_a_branch_decides(method) -> None:
    found = solve(curved(), method=method)
    assert found["m1"] >= 3 - 1e-6 and found.objective == pytest.approx(1.0026, rel=0.05)


def test_annealing_finds_a_point_that_obeys() -> None:
    problem = nearest(BODY)
    found = solve(problem, method=SimulatedAnnealing(), seed=0, throw=False)
    assert found.objective >= solve(problem).objective - 1e-9


def test_a_closed_gap_stays_closed() -> None:
    found = solve(nearest(BODY))
    again = close_gap(found, gap=1e-3, seconds=2.0)
    assert again.lower_bound >= found.lower_bound - 1e-12 and again.objective <= found.objective + 1e-12
