"""Methods that enumerate or smooth branches."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from casid.retrieval import Constraint, Global, SolveOptions, solve
from casid.retrieval.methods._branching import Branches, Smoothed, close_gap
from casid.testing import BODY, nearest


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


#: What is left of a bound by the rounding of a sum: 0.1 + 0.2 is above 0.3.
_MOST = 0.1 + 0.2
#: Constraint that BODY meets but for a rounding; its bounds, and whether the direct solve can see that.
_ROUNDED = {
    "if-else": (lambda v: ca.if_else(v.com[0] > 0, _MOST, v.mass + 0.3), -np.inf, 0.3, True),
    "if-else >=": (lambda v: ca.if_else(v.com[0] > 0, 0.3, _MOST - 1 - v.mass), _MOST, np.inf, False),
    "either": (lambda v: ca.fmin(_MOST - 0.3, v.mass - 0.6), -np.inf, 0.0, True),
    "both": (lambda v: ca.fmax(_MOST, v.mass - 100), -np.inf, 0.3, True),
    "of the centre": (lambda v: ca.if_else(v.com[0] > 0, 0.3 - _MOST, -1 - v.com[1] ** 2), 0.0, np.inf, False),
    "large": (lambda v: ca.if_else(v.com[0] > 0, 1e12 * _MOST, 1e14 * v.mass), -np.inf, 0.3e12, True),
}


@pytest.mark.claim("a constant that misses its bound by a rounding excludes nothing")
@pytest.mark.parametrize("method", ["direct", "branches"])
@pytest.mark.parametrize("kind", _ROUNDED)
def test_a_constant_within_rounding_of_its_bound_is_feasible(kind: str, method: str) -> None:
    expression, lower, upper, seen = _ROUNDED[kind]
    problem = nearest(BODY, lambda v: Constraint("own", expression(v[0]), lower, upper))
    found = solve(problem, method=method, throw=False)
    if method == "branches" or seen:
        assert found.certified and found.objective == pytest.approx(0.0, abs=1e-9)
    assert found.status != "infeasible" and found.lower_bound <= 1e-12


def test_a_constant_is_judged_by_the_tolerance_of_feasibility() -> None:
    """A ten-millionth above its bound: feasible to 1e-6, not to 1e-8; a soft one is priced in full."""
    problem = nearest(BODY, lambda v: Constraint("rule", ca.if_else(v[0].com[0] > 0, 1 + 1e-7, 2 + v[0].mass), upper=1))
    assert solve(problem, method="branches", options=SolveOptions(feasibility=1e-6)).status == "optimal"
    assert solve(problem, method="branches", throw=False).status in ("infeasible", "failed")
    soft = nearest(BODY, lambda v: Constraint("rule", ca.if_else(v[0].com[0] > 0, 3.0, 9.0), upper=1, weight=0.1))
    assert solve(soft, method="branches").penalty == pytest.approx(0.2)
