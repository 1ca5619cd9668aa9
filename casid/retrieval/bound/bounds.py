"""Lower bounds of problems with nonconvex constraints: convex relaxations, tightened by cuts and by branching.

The relaxation keeps everything that is convex and replaces the rest by linear rows that every feasible point obeys
(`cuts`), made near the relaxation's own solution until nothing is cut off any more. Each relaxation is solved and
certified as any problem is, so its bound does not trust the solver.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count
from time import perf_counter

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.retrieval.bound.certificate import Certificate, relative_gap
from casid.retrieval.bound.cuts import Cut, Relaxation
from casid.retrieval.constraints import Constraint, com_box
from casid.retrieval.problem import Problem
from casid.retrieval.solution import Solution
from casid.retrieval.solver import Prepared, SolveOptions

Array = NDArray[np.float64]
_ROUNDS = 12


@dataclass(frozen=True, eq=False)
class Relaxed:
    """Bound of a relaxation, its solution, and whether it was found infeasible (then the bound is infinite)."""

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
    base = _convex_part(problem, relaxation)
    plain = replace(options, restarts=min(options.restarts, 1))
    cuts = _cuts_at(relaxation, near)
    best, x, searched = -np.inf, None, dict[str, float]()
    for _ in range(_ROUNDS):
        prepared = Prepared(_with_cuts(base, cuts), nominal, plain)
        found = prepared.solve(throw=False)
        if found.status == "infeasible":
            return Relaxed(np.inf, None, {})
        improved = found.lower_bound > best + 1e-9 * abs(best)
        if found.lower_bound > best:
            best, searched = found.lower_bound, dict(found.search_region)
        x = found.standard_parameters
        new = [
            c for c in _cuts_at(relaxation, x) if float(c.form @ x) - c.low < -1e-7 * float(np.abs(c.form) @ np.abs(x))
        ]
        if best >= enough or not new or found.status == "failed" or (cuts and not improved and len(cuts) > 40):
            break
        cuts += new
    return Relaxed(best, x, searched)


def _convex_part(problem: Problem, relaxation: Relaxation) -> Problem:
    """The problem without its nonconvex constraints.

    Bounds of inertias stay, they have secants of their own (`relaxation`).
    """
    dropped = set(relaxation.nonconvex)
    kept = [c for c in problem.constraints if c.label not in dropped]
    return replace(problem, constraints=(*kept, *problem.cones))  # type: ignore[arg-type]


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
    return replace(base, constraints=(*base.constraints, Constraint("cuts", rows, lower=low), *base.cones))  # type: ignore[arg-type]


def close_gap(
    solution: Solution, gap: float = 0.01, nodes: int = 100, seconds: float = 60.0, options: SolveOptions | None = None
) -> Solution:
    """Tighten a solution's lower bound, and improve the solution, by branching on boxes of the centres of mass.

    Each node is the problem with smaller boxes: its relaxation is tighter. The node of smallest bound is split next,
    so that the smallest bound of all open nodes is a bound of the problem at any time.

    Parameters
    ----------
    solution
        A feasible solution of a problem whose constraints are not known to be convex.
    gap
        Stop at this relative gap.
    nodes, seconds
        Stop after so many relaxations, or so long.
    """
    problem, options = solution.problem, options or SolveOptions()
    best, started, order = solution, perf_counter(), count()
    nominal = None
    root = relaxed_bound(problem, solution.standard_parameters, nominal, options)
    heap: list[tuple[float, int, Problem, Relaxed]] = [(root.bound, next(order), problem, root)]
    used = 1
    while heap and used < nodes and perf_counter() - started < seconds:
        if relative_gap(best.total, heap[0][0], problem.objective) <= gap:
            break
        _, _, node, relaxed = heappop(heap)
        split = _where_to_split(node, relaxed)
        if split is None:
            heappush(heap, (relaxed.bound, next(order), node, relaxed))
            break
        link, axis, at = split
        for low, high in ((-np.inf, at), (at, np.inf)):
            box = np.tile([-np.inf, np.inf], (3, 1))
            box[axis] = low, high
            label = f"box {used}.{0 if np.isinf(low) else 1}"
            part = replace(com_box(problem.variables[link], box[:, 0], box[:, 1]), label=label)
            child = replace(node, constraints=(*node.constraints, part, *node.cones))  # type: ignore[arg-type]
            near = relaxed.x if relaxed.x is not None else solution.standard_parameters
            found = relaxed_bound(child, near, nominal, options, enough=best.total)
            used += 1
            bound = max(found.bound, relaxed.bound)
            if np.isfinite(bound) and relative_gap(best.total, bound, problem.objective) > gap:
                if found.x is not None:
                    tried = Prepared(problem, None, replace(options, restarts=0)).solve(start=found.x, throw=False)
                    if tried.rank() < best.rank():
                        best = tried
                heappush(heap, (bound, next(order), child, Relaxed(bound, found.x, found.search_region)))
            elif np.isfinite(bound):
                heappush(heap, (bound, next(order), child, Relaxed(bound, found.x, found.search_region)))
    bound = max(min((b for b, *_ in heap), default=best.total), best.lower_bound)
    closed = relative_gap(best.total, bound, problem.objective)
    certified = closed <= options.certified_gap
    return replace(
        best,
        lower_bound=bound,
        gap=closed,
        certified=certified,
        status="optimal" if certified else best.status,
        search_region=root.search_region,
    )


def _where_to_split(node: Problem, relaxed: Relaxed) -> tuple[int, int, float] | None:
    """Link, axis and place of the next split.

    The centre of mass whose constraints the relaxation's solution misses most, along its widest side.
    """
    if relaxed.x is None:
        return None
    relaxation = Relaxation(node)
    values = node.values(relaxed.x)
    worst: dict[int, float] = {}
    for side in relaxation.sides:
        if relaxation.is_convex(side):
            continue
        constraint = node.constraints[side.constraint]
        missed = max(0.0, side.sign * (side.bound - float(values[constraint.label][side.entry])))
        links = [side.quadric.link] if side.quadric is not None else [s.link for s in relaxation.com_sets]
        for link in links:
            scale = max(1e-6, abs(side.bound), float(np.abs(relaxed.x[10 * link : 10 * link + 6]).max()))
            worst[link] = max(worst.get(link, 0.0), missed / scale)
    worst = {k: v for k, v in worst.items() if v > 1e-9 and np.isfinite(relaxation.regions[k].com).all()}
    if not worst:
        return None
    link = max(worst, key=worst.__getitem__)
    box = relaxation.regions[link].com
    first = (
        Relaxation(replace(node, constraints=tuple(c for c in node.constraints if not c.label.startswith("box "))))
        .regions[link]
        .com
    )
    axis = int(np.argmax(np.ptp(box, axis=1) / np.ptp(first, axis=1)))
    middle = float(box[axis].mean())
    centre = float(relaxed.x[10 * link + 6 + axis] / max(relaxed.x[10 * link + 9], 1e-9))
    at = 0.5 * middle + 0.5 * float(np.clip(centre, *box[axis]))
    low, high = box[axis]
    return link, axis, float(np.clip(at, low + 0.2 * (high - low), high - 0.2 * (high - low)))


def bound_certificate(
    problem: Problem, near: Array, nominal: Array, options: SolveOptions, relaxation: Relaxation
) -> Certificate:
    """`relaxed_bound` as a certificate."""
    found = relaxed_bound(problem, near, nominal, options, relaxation)
    bound = found.bound if np.isfinite(found.bound) else -np.inf
    return Certificate(max(bound, problem.objective.constant), 0.0, found.search_region)
