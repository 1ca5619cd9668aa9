"""A small part of the attack, in every run of the tests; `python -m tests.attack.run` makes it any size."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from casid.retrieval import Constraint, Problem
from tests.attack.parts import false_parts
from tests.attack.points import EXACT, drawn_back, feasible_points, slsqp
from tests.attack.problems import KINDS, make
from tests.attack.run import attack


def test_the_truth_meets_every_problem_and_every_kind_is_there():
    for seed in range(2 * len(KINDS)):
        made = make(seed)
        assert made.violations(made.truth[:, None])[0] <= 1e-9 * max(1.0, float(np.abs(made.truth).max()))
        assert made.kind == KINDS[seed % len(KINDS)]
        assert isinstance(made.problem, Problem)


def test_the_attackers_numbers_are_those_of_the_library_at_any_point():
    for seed in range(len(KINDS), 2 * len(KINDS)):
        made = make(seed)
        rng = np.random.default_rng(seed)
        x = made.truth + 0.1 * made.scale * rng.normal(size=len(made.truth))
        mine, theirs = made.values(x[:, None]), made.problem.values(x)
        for constraint in made.problem.constraints:
            if constraint.label in mine and type(constraint) is Constraint:
                assert theirs[constraint.label] == pytest.approx(mine[constraint.label], rel=1e-9, abs=1e-12)
        prices = made.problem.prices(x)
        price = sum(prices[label] for label in made.problem.objective_labels)
        own = float(made.squares(x[:, None])[0])
        assert made.problem.objective(x) + price == pytest.approx(own, rel=1e-9, abs=1e3 * made.rounding)


def test_the_attacker_finds_better_points_than_the_truth():
    better = 0
    for seed in (0, 1, 5, 12):
        made = make(seed)
        points = feasible_points(made, np.random.default_rng(seed))
        totals = made.totals(points)
        better += bool(totals.min() < 0.9 * totals[0])
        assert (made.violations(points) <= EXACT).all()
        at = drawn_back(made, slsqp(made, made.truth, 20), made.truth)
        assert made.totals(at[:, None])[0] <= totals[0] * (1 + 1e-12) + 1e-20
    assert better >= 2


@pytest.mark.claim("regions, rows, cuts and bounds of arbitrary multipliers hold at every feasible point")
@pytest.mark.parametrize("first", [330, pytest.param(331, marks=pytest.mark.slow)])
def test_the_parts_of_proofs_hold(first):
    for seed in range(first, 330 + len(KINDS), 2):
        assert false_parts(make(seed), np.random.default_rng([11, seed])) == []


@pytest.mark.claim("no bound above a feasible value, no 'optimal' that is violated, no interval end that is passed")
@pytest.mark.slow
def test_no_claim_is_false():
    tally = attack(range(len(KINDS)), seconds=20.0)
    assert not tally.findings
    assert tally.bounds >= 1


@pytest.mark.slow
@pytest.mark.claim("no bound is discarded on slivers between branches (multipliers of 1e21) or on links of grams")
@pytest.mark.parametrize(
    "seed, kind, method", [(970, "piecewise", "penalty"), (976, "units", "branches"), (1399, "piecewise", "global")]
)
def test_hard_cases_of_the_past(seed: int, kind: str, method: str):
    assert not attack([seed], kind=kind, methods=["direct", method]).findings


@pytest.mark.slow
@pytest.mark.claim("the same, on more problems and by all methods")
def test_no_claim_is_false_on_more_problems():
    command = [sys.executable, "-m", "tests.attack.run", "--first", "100", "--problems", "40", "--jobs", "1"]
    done = subprocess.run(
        [*command, "--seconds", "40", "--each", "15", "--json"],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    tally = json.loads(done.stdout)
    assert not tally["findings"]
    assert tally["problems"] >= 2
