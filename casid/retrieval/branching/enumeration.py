"""Solving problems with if-else and either-or.

Every combination of branches, or a smooth approximation driven to the exact one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from casid.errors import ProblemError, SolveError
from casid.retrieval.bound.bounds import close_gap
from casid.retrieval.bound.certificate import relative_gap
from casid.retrieval.bound.recheck import hard_violation, violations
from casid.retrieval.branching.branches import branch_problems, smoothed
from casid.retrieval.problem import Problem
from casid.retrieval.solution import Solution
from casid.retrieval.solver import Prepared, SolveOptions, solve


@dataclass(frozen=True, eq=False)
class BranchSolution:
    """One combination of branches and its solution, a failed one if the combination is infeasible."""

    chosen: dict[str, str]
    solution: Solution


def solve_branches(
    problem: Problem, options: SolveOptions | None = None, most: int = 64, gap: float | None = None
) -> tuple[Solution, tuple[BranchSolution, ...]]:
    """Solve every combination of the branches of if-else and of either-or alternatives.

    The best of them, and all of them.

    The combinations cover the problem, so the smallest of their lower bounds is one of the problem: where each is
    convex, the gap closes although the problem is not convex. A combination that the elastic solve finds infeasible
    does not count.

    Parameters
    ----------
    most
        Largest number of combinations.
    gap
        Where a combination is not convex itself, tighten its bound to this relative gap.

    Raises
    ------
    ProblemError
        If there are too many combinations.
    SolveError
        If none has a feasible point.
    """
    options = options or SolveOptions()
    found = []
    for chosen, part in branch_problems(problem, most):
        prepared = Prepared(part, None, options)
        solution = prepared.solve(throw=False)
        if gap is not None and solution.status == "feasible" and solution.gap > gap:
            solution = close_gap(solution, gap, options=options)
        found.append(BranchSolution(chosen, solution))
    usable = [b for b in found if b.solution.status in ("optimal", "feasible")]
    if not usable:
        raise SolveError(
            f"problem '{problem.name}': none of {len(found)} combinations of branches has a feasible point: "
            + "; ".join(", ".join(f"{k}: {v}" for k, v in b.chosen.items()) for b in found[:4]),
            found[0].solution,
        )
    best = min(usable, key=lambda b: b.solution.total).solution
    bound = min(b.solution.lower_bound for b in found if b.solution.status != "infeasible")
    return _as_solution_of(problem, best, bound, options), tuple(found)


def solve_globally(
    problem: Problem,
    gap: float = 0.01,
    nodes: int = 60,
    seconds: float = 30.0,
    options: SolveOptions | None = None,
    most: int = 16,
) -> Solution:
    """Solve, and bring the proven gap down to ``gap`` where the constraints are not convex.

    Branches of if-else and either-or are enumerated if there are at most ``most`` combinations; what stays open is
    tightened by branching on boxes of the centres of mass (`close_gap`), within the given number of relaxations and
    time.
    """
    options = options or SolveOptions()
    try:
        combinations = sum(1 for _ in branch_problems(problem, most))
    except ProblemError:
        combinations = 1
    if combinations > 1:
        return solve_branches(problem, options, most, gap)[0]
    solution = solve(problem, options=options)
    return (
        close_gap(solution, gap, nodes, seconds, options)
        if solution.gap > max(gap, options.certified_gap)
        else solution
    )


def solve_smoothed(
    problem: Problem,
    widths: Sequence[float] = (1e-1, 1e-2, 1e-3, 1e-4),
    start: ArrayLike | None = None,
    options: SolveOptions | None = None,
) -> Solution:
    """Solve with every if-else blended over a width that shrinks, each from the solution before.

    And last with the exact if-else.

    For if-else on which the direct solve does not converge: where the branches do not meet, or a start is on the
    wrong side.

    Parameters
    ----------
    widths
        In units of the conditions' margins (``right - left``).
    """
    options = options or SolveOptions()
    point = None if start is None else np.asarray(start, dtype=float)
    for width in widths:
        found = Prepared(smoothed(problem, width), None, options).solve(start=point, throw=False)
        if found.status in ("optimal", "feasible"):
            point = found.standard_parameters
    exact = solve(problem, start=point, options=options, throw=False)
    if exact.status in ("optimal", "feasible") or point is None:
        return exact
    # the last smoothed point, if it holds exactly
    candidate = _as_solution_of(problem, replace(exact, standard_parameters=point), exact.lower_bound, options)
    return candidate if candidate.status != "failed" else exact


def _as_solution_of(problem: Problem, solution: Solution, bound: float, options: SolveOptions) -> Solution:
    """A solution of one branch as one of the problem.

    Re-checked against the exact if-else, with the bound of all branches.
    """
    x = solution.standard_parameters
    amounts = violations(problem, x)
    worst = hard_violation(problem, amounts)
    objective = problem.objective(x)
    gap = relative_gap(objective + solution.penalty, bound, problem.objective)
    feasible = worst <= options.feasibility
    certified = feasible and gap <= options.certified_gap
    multipliers = {
        c.label: solution.multipliers[c.label] for c in problem.constraints if c.label in solution.multipliers
    }
    return replace(
        solution,
        problem=problem,
        status="optimal" if certified else "feasible" if feasible else "failed",
        objective=objective,
        lower_bound=bound,
        gap=gap,
        certified=certified,
        violations=amounts,
        max_violation=worst,
        multipliers=multipliers,
    )
