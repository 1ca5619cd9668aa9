"""If-else and either-or: branches chosen and enumerated."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from casid.retrieval import (
    Constraint,
    solve,
)
from casid.retrieval._combinations import branches_at, combinations, smoothed
from casid.retrieval.methods._branching import Branches
from casid.testing import BODY, nearest


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


@pytest.mark.claim("conditions that contradict each other make no combination")
def test_contradicting_thresholds_make_no_combination() -> None:
    def steps(limits, quantity):
        total = 0.0
        for limit in limits:
            total = total + ca.if_else(quantity < limit, 0.1, 0.0)
        return total

    limits = np.linspace(0.5, 4.0, 8)
    for quantity in (lambda v: v[0].mass, lambda v: v[0].com[1], lambda v: 3 * v[0].first_moment[0] - v[0].mass):
        problem = nearest(BODY, lambda v, of=quantity: Constraint("table", steps(limits, of(v)), upper=0.75))
        chosen = [tuple(word == "true" for word in c.chosen.values()) for c in combinations(problem)]
        assert sorted(sum(row) for row in chosen) == list(range(9))
        by_text = [
            dict(zip(combination.chosen, row, strict=True))
            for combination, row in zip(combinations(problem), chosen, strict=True)
        ]
        for row in by_text:
            ordered = [row[text] for text in sorted(row, key=lambda text: float(text.split("<")[1].strip(" )")))]
            assert ordered == sorted(ordered)


@pytest.mark.parametrize("quantity", ["mass", "com"])
def test_thresholds_of_either_direction_keep_what_is_possible(quantity) -> None:
    def build(v, low, high):
        size = v[0].mass if quantity == "mass" else v[0].com[2]
        return ca.if_else(size < low, 1.0, 0.0) + ca.if_else(size > high, 2.0, 0.0) + v[0].com[0]

    def found(low, high):
        problem = nearest(BODY, lambda v: Constraint("window", build(v, low, high), upper=1.0))
        return {tuple(c.chosen.values()) for c in combinations(problem)}

    true, false = "true", "false"
    assert found(1.0, 2.0) == {(true, false), (false, true), (false, false)}
    assert found(1.0, 1.0) == {(true, true), (true, false), (false, true), (false, false)}
    both_false = {(false, false)} if quantity == "com" else set()
    assert found(2.0, 1.0) == {(true, true), (true, false), (false, true)} | both_false


def test_a_table_of_many_thresholds_is_solved() -> None:
    limits = np.linspace(0.2, 6.0, 12)

    def build(v):
        allowed = 0.12 - 0.01 * sum(ca.if_else(v[0].mass > limit, 1.0, 0.0) for limit in limits)
        return Constraint("reach by mass", v[0].com[0] - allowed, upper=0.0)

    found = solve(nearest(BODY, build), method=Branches())
    allowed = 0.12 - 0.01 * np.sum(found["m1"] > limits)
    assert found.certified and found["lx1"] / found["m1"] <= allowed + 1e-8
