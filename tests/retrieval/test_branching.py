"""Methods that enumerate or smooth branches."""

from __future__ import annotations

import casadi as ca
import pytest

from casid.retrieval import Constraint, Global, solve
from casid.retrieval.methods._branching import Branches, Smoothed, close_gap
from casid.testing._synthetic import BODY, nearest


def curved():
    return nearest(BODY, lambda v: Constraint("rule", ca.if_else(v[0].mass > 3, v[0].com[0] - 0.1, -1.0), lower=0.0))


@pytest.mark.parametrize("method", [Branches(), Global(seconds=10.0), Smoothed()], ids=lambda m: m.name)
def test_methods_agree_where_a_branch_decides(method) -> None:
    found = solve(curved(), method=method)
    assert found["m1"] >= 3 - 1e-6 and found.objective == pytest.approx(1.0026, rel=0.05)


def test_a_closed_gap_stays_closed() -> None:
    found = solve(nearest(BODY))
    again = close_gap(found, gap=1e-3, seconds=2.0)
    assert again.lower_bound >= found.lower_bound - 1e-12 and again.objective <= found.objective + 1e-12
