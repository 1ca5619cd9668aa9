"""If-else and either-or: branches chosen and enumerated."""

from __future__ import annotations

import casadi as ca
import pytest

from casid.retrieval import (
    Constraint,
    solve,
)
from casid.retrieval._combinations import branches_at, combinations, smoothed
from casid.retrieval.methods._branching import Branches
from casid.testing._synthetic import BODY, nearest


@pytest.mark.claim("constant rows of a branch are not dropped")
def test_constant_rows_of_a_branch_decide() -> None:
    def build(v):
        rows = ca.if_else(v[0].mass > 3, v[0].com[0] - 0.1, -1.0)
        return Constraint("heavy or nothing", rows, lower=0.0)

    problem = nearest(BODY, build)
    found = solve(problem, method=Branches())
    assert found["m1"] >= 3 - 1e-8 and found.max_violation <= 1e-8 and found.certified
    empty = [branch for branch in found.trace if branch.empty]
    assert len(empty) == 1 and empty[0].solution is None


@pytest.mark.claim("fmin(e, 1) >= 0 is e >= 0")
def test_a_minimum_with_a_constant() -> None:
    plain = nearest(BODY, lambda v: Constraint("e", v[0].com[0] - 0.1, lower=0.0))
    other = nearest(BODY, lambda v: Constraint("e", ca.fmin(v[0].com[0] - 0.1, 1.0), lower=0.0))
    found = solve(other, method=Branches())
    assert found.certified and found.objective == pytest.approx(solve(plain).objective, rel=1e-6)


def test_branches_of_a_point_and_all_their_combinations() -> None:
    problem = nearest(BODY, lambda v: Constraint("rule", ca.if_else(v[0].mass > 1, v[0].com[0], 1.0), lower=0.0))
    (branch,) = branches_at(problem, BODY)
    assert branch.constraint == "rule" and branch.holds == (BODY[9] > 1)
    assert len(list(combinations(problem))) == 2
    near = smoothed(problem, 1e-9).violations(BODY)
    assert near == pytest.approx(problem.violations(BODY), abs=1e-6)
