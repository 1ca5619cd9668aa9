"""Lower bounds of problems with nonconvex constraints: convex relaxations with cuts.

The relaxation keeps everything that is convex and replaces the rest by linear rows that every feasible point obeys
(`casid.retrieval.bound.cuts`), made near the relaxation's own solution until nothing is cut off any more. Each
relaxation is solved and certified as any problem is, so its bound does not trust the solver.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.retrieval.bound.certificate import Certificate
from casid.retrieval.bound.cuts import Cut, Relaxation
from casid.retrieval.constraints import Constraint
from casid.retrieval.problem import Problem
from casid.retrieval.solver.options import SolveOptions
from casid.retrieval.solver.prepared import Prepared

Array = NDArray[np.float64]
_ROUNDS = 12
#: Rounds of cuts end where these have been collected and no longer improve the bound.
_MANY_CUTS = 40


@dataclass(frozen=True, eq=False)
class Relaxed:
    """Bound of a relaxation and its solution; the bound is infinite where the relaxation is proven to be empty."""

    bound: float
    x: Array | None
    search_region: dict[str, float]


def relaxed_bound(
    problem: Problem,
    near: Array,
    nominal: Array | None,
    options: SolveOptions,
    relaxation: Relaxation | None = None,
    enough: float = np.inf,
) -> Relaxed:
    """Lower bound of a problem by its convex relaxation with cuts.

    Parameters
    ----------
    near
        Point at which the first cuts are made: a solution of the problem, if there is one.
    enough
        Stop once the bound has reached this value.
    """
    relaxation = relaxation or Relaxation(problem)
    base = problem.without(*relaxation.nonconvex)
    plain = replace(options, restarts=min(options.restarts, 1))
    cuts = _cuts_at(relaxation, near)
    best, x, searched = -np.inf, None, dict[str, float]()
    for _ in range(_ROUNDS):
        found = Prepared(_with_cuts(base, cuts), nominal, plain).solve(throw=False)
        if found.status == "infeasible":
            return Relaxed(np.inf, None, {})
        improved = found.lower_bound > best + 1e-9 * abs(best)
        if found.lower_bound > best:
            best, searched = found.lower_bound, dict(found.search_region)
        x = found.x
        new = [cut for cut in _cuts_at(relaxation, x) if cut.violated(x)]
        stalled = bool(cuts) and not improved and len(cuts) > _MANY_CUTS
        if best >= enough or not new or not found.usable or stalled:
            break
        cuts += new
    return Relaxed(best, x, searched)


def tightened(prepared: Prepared, near: Array) -> Certificate:
    """`relaxed_bound` of a prepared problem as a certificate; the trivial bound where its constraints are convex."""
    if not prepared.relaxation.nonconvex:
        return Certificate(-np.inf, 0.0, {})
    found = relaxed_bound(prepared.problem, near, prepared.nominal, prepared.options, prepared.relaxation)
    return Certificate(found.bound if np.isfinite(found.bound) else -np.inf, 0.0, found.search_region)


def _cuts_at(relaxation: Relaxation, x: Array) -> list[Cut]:
    cuts = [cut for side in relaxation.open_sides for cut in relaxation.side_cuts(side, x)]
    return cuts + relaxation.set_cuts(x)


def _with_cuts(base: Problem, cuts: list[Cut]) -> Problem:
    if not cuts:
        return base
    forms = np.array([c.form for c in cuts])
    sizes = np.maximum(np.abs(forms).max(axis=1), 1e-12)
    rows = ca.sparsify(ca.DM(forms / sizes[:, None])) @ base.variables.x
    low = np.array([c.low for c in cuts]) / sizes
    return base.with_constraints(Constraint("cuts of the relaxation", rows, lower=low))
