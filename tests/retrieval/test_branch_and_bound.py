"""Branching on boxes of the centres of mass."""

from __future__ import annotations

from casid.retrieval import solve
from casid.retrieval.methods._branch_and_bound import close_gap
from casid.testing._synthetic import BODY, nearest


def test_a_closed_gap_stays_closed() -> None:
    found = solve(nearest(BODY))
    again = close_gap(found, gap=1e-3, seconds=2.0)
    assert again.lower_bound >= found.lower_bound - 1e-12 and again.objective <= found.objective + 1e-12
