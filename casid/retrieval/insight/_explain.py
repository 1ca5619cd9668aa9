"""Explanation of a solution: active bounds, the gain of relaxing each, branches, convexity, other objectives.

What a bound is worth is what the problem gains, solved again with the bound relaxed. A multiplier is that slope only
where it is unique: elsewhere (more bounds are active than the optimum needs) it lies between the slopes of both sides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from casid.arrays import Array
from casid.errors import ProblemError
from casid.inertia import Full, link_slice
from casid.retrieval._bound import Relaxation
from casid.retrieval._combinations import Branch, branches_at
from casid.retrieval._problem import Problem, Row, split_rows
from casid.retrieval._solution import Solution
from casid.retrieval._solver import PreparedProblem, SolveOptions
from casid.retrieval.constraints._constraint import FEASIBILITY, Constraint, Side, mass_bounds
from casid.retrieval.insight._intervals import Intervals, parameter_intervals

#: How exactly slopes are solved, and the shares that their step gains at most: the first whose gain is known to a
#: hundredth by the gaps. A longer step bends: 2e-5 of the Panda's fit is up to 6 % less than its slope.
_FINE, _SMALL, _KNOWN = SolveOptions(target_gap=1e-11), (1e-6, 2e-5), 0.01


@dataclass(frozen=True)
class ActiveBound:
    """A bound that the fit would gain from relaxing; an equality is moved to the side that gains.

    Attributes
    ----------
    text : str
        The bound in words.
    multiplier : float
        Decrease of the objective per unit of relaxation, >= 0, in the bound's own unit: one-sided, by a small step.
    unit : str
        kg, m, kg.m^2, or empty where it is not known.
    gain : float
        Improvement by ``step``, relative to the objective; NaN where that is no sum of squares.
    step : float
        0.1 kg, 1 cm, 0.01 kg.m^2; else a power of ten up to 1 that gains a tenth of the objective at most.
    first_order : bool
        The problem was not solved again: the solver's multiplier times the step.
    """

    text: str
    multiplier: float
    unit: str
    gain: float
    step: float
    first_order: bool = False

    def __str__(self) -> str:
        step = f"{self.step:g} {self.unit}".rstrip()
        known, verb = np.isfinite(self.gain), "moving" if " = " in self.text else "relaxing"
        size = f"the fit by {100 * self.gain:.3g} %" if known else f"the objective by {self.multiplier * self.step:.3g}"
        order = " (to first order)" if self.first_order or not known else ""
        return f"{self.text}: {verb} it by {step} would improve {size}{order}"


@dataclass(frozen=True)
class ActiveCone:
    """A link whose pseudo-inertia touches its margin: directions in which it has no extent."""

    link: str
    smallest_eigenvalues: tuple[float, ...]
    margin: float

    def __str__(self) -> str:
        count = len(self.smallest_eigenvalues)
        return (
            f"{self.link}: {count} eigenvalue(s) of its pseudo-inertia at the margin {self.margin:g}: a body "
            f"without extent in {count} direction(s)"
        )


@dataclass(frozen=True)
class Explanation:
    """Active bounds by what relaxing them would gain, active cones, branches, violated soft constraints, open ones."""

    bounds: tuple[ActiveBound, ...]
    cones: tuple[ActiveCone, ...]
    branches: tuple[Branch, ...]
    violated_soft: tuple[str, ...]
    open: tuple[str, ...]
    summary: str

    def __str__(self) -> str:
        lines = [self.summary]
        for title, entries in (
            ("active bounds", self.bounds),
            ("active consistency", self.cones),
            ("branches", self.branches),
            ("soft constraints that are violated", self.violated_soft),
            ("not known to be convex", self.open),
        ):
            if entries:
                lines += [f"{title}:", *(f"  {entry}" for entry in entries)]
        return "\n".join(lines)


def explain(solution: Solution, share: float = 1e-6) -> Explanation:
    """Explain a solution.

    Parameters
    ----------
    solution
        Feasible. For an infeasible problem, `casid.solve` raises `InfeasibleError` with the conflict and the smallest
        relaxation.
    share
        Bounds count as active if relaxing them by their step improves the objective by at least this share.
    """
    problem, x = solution.problem, solution.x
    linear, curved = split_rows(problem)
    rows, bounds = (*linear.rows, *curved.rows), []
    fine = PreparedProblem(problem, options=_FINE, tighten=False).solve(x, throw=False)
    same = fine.usable and abs(fine.total - solution.total) <= solution.tolerances.gap * abs(solution.total)
    solution, given = (fine if same else solution), solution
    total = max(abs(solution.total), 1e-8 * problem.objective.size)  # a perfect fit has nothing to gain
    for row, multiplier in zip(rows, solution.row_multipliers(rows), strict=True):
        bound = _bound(solution, row, multiplier, x, total, share) if multiplier and row.weight is None else None
        if bound is not None:
            bounds.append(bound)
    bounds.sort(key=lambda b: -b.multiplier * b.step)
    prices = problem.prices(x)
    soft = tuple(
        f"{c.label}: violated by {f'{solution.violations[c.label]:.3g} {c.unit_of(0)}'.rstrip()}, which costs "
        f"{prices[c.label]:.3g}"
        for c in problem.constraints
        if not c.hard and c.label not in problem.objective_labels and solution.violations[c.label] > FEASIBILITY
    )
    return Explanation(
        tuple(bounds),
        tuple(_cones(solution)),
        branches_at(problem, x),
        soft,
        Relaxation(problem).nonconvex,
        _summary(given),
    )


def _bound(solution: Solution, row: Row, multiplier: float, x: Array, total: float, share: float) -> ActiveBound | None:
    """A row's bound and its gain; None where the gain is no larger than the share."""
    constraint = solution.problem.constraints[row.constraint]
    slope = abs(multiplier) * row.unit_size(x)  # solver rows are m times the physical one
    step = constraint.step
    if step == 1.0 and slope > 0:
        step = float(min(step, 10.0 ** np.floor(np.log10(total / slope / 10))))  # gains a tenth of F at most
    if not slope * step >= share * total:  # more than this is not gained: what is relaxed gains least of all slopes
        return None
    side = row.side if row.side != "both" else "upper" if multiplier > 0 else "lower"
    if not np.isfinite(getattr(constraint, side)[row.entry]):  # a multiplier of the wrong sign is the solver's noise
        return None
    small = near = noise = 0.0
    for part in _SMALL:
        small = min(step, part * total / slope)
        near, noise = _gain(solution, row, side, small, _FINE)
        if noise <= _KNOWN * near:
            break
    if near / small * step < share * total:  # a longer step never gains more in proportion
        return None
    far, _ = _gain(solution, row, side, step)
    first_order = not np.isfinite(near + far)
    if first_order:
        near, far = slope * small, min(slope * step, total)
    if far < share * total:
        return None
    text, unit = constraint.bound_text(row.entry, side), constraint.unit_of(row.entry)
    if constraint.lower[row.entry] == constraint.upper[row.entry]:
        text = f"{constraint.entry_name(row.entry)} = {f'{constraint.upper[row.entry]:.6g} {unit}'.rstrip()}"
        text += f" ({'raised' if side == 'upper' else 'lowered'})"
    gain = np.nan if solution.problem.objective_labels else far / total
    return ActiveBound(text, near / small, unit, gain, step, first_order)


def _gain(
    solution: Solution, row: Row, side: Side, step: float, options: SolveOptions | None = None
) -> tuple[float, float]:
    """What the problem gains with a bound relaxed by the step, and what the gaps leave open of it; NaN without one."""
    problem = solution.problem
    constraint = problem.constraints[row.constraint]
    moved = getattr(constraint, side).copy()
    moved[row.entry] += step if side == "upper" else -step
    every = list(problem.constraints)
    every[row.constraint] = replace(constraint, **{side: moved})
    relaxed = PreparedProblem(replace(problem, constraints=tuple(every)), options=options, tighten=False)
    found = relaxed.solve(solution.x, throw=False)
    open_ = abs(solution.total - solution.lower_bound) + abs(found.total - found.lower_bound)
    return (solution.total - found.total if found.usable else np.nan), open_


def _cones(solution: Solution) -> list[ActiveCone]:
    found = []
    for entry in solution.problem.cones:
        if entry.cone == Full():
            matrix = entry.cone.matrix(solution.x[link_slice(entry.link)])
            values = np.linalg.eigvalsh(matrix)
            small = values[values <= max(2 * entry.margin, FEASIBILITY)]
            if len(small):
                found.append(ActiveCone(entry.name, tuple(float(v) for v in small), entry.margin))
    return found


def _summary(solution: Solution) -> str:
    if solution.certified:
        return (
            f"{solution.problem.name}: the optimum, {solution.total:.6g}; no feasible set is better by more than "
            f"{solution.gap:.1e} of it"
        )
    if solution.status == "feasible":
        return (
            f"{solution.problem.name}: feasible, {solution.total:.6g}; the best feasible set lies between "
            f"{solution.lower_bound:.6g} and this (gap {100 * solution.gap:.3g} %)"
        )
    if solution.status == "stopped":
        return f"{solution.problem.name}: {solution.total:.6g} is feasible, but the solver stopped before an optimum"
    return f"{solution.problem.name}: {solution.status}; largest violation {solution.max_violation:.3g}"


@dataclass(frozen=True)
class WhatIf:
    """Effect of one candidate.

    Attributes
    ----------
    candidate : str
    reduction : float
        Mean over the quantities of ``1 - width after / width before``: 0 helps nothing, 1 settles everything.
    most_helped : tuple of (str, float)
        The quantities it helps most, with their own reduction.
    """

    candidate: str
    reduction: float
    most_helped: tuple[tuple[str, float], ...]


def weigh_each_link(problem: Problem, values: Intervals, accuracy: float = 0.01) -> dict[str, Constraint]:
    """Candidates: each link's mass becomes known, to ``accuracy`` of it, at the middle of its present interval."""
    candidates: dict[str, Constraint] = {}
    for link in problem.variables:
        entry = values[f"m{link.index + 1}"]
        middle = (entry.attained_low + entry.attained_high) / 2
        weighed = mass_bounds(link, middle * (1 - accuracy), middle * (1 + accuracy))
        candidates[f"weigh {link.name}"] = replace(weighed, label=f"weighed {link.name}")
    return candidates


def what_if(
    intervals: Intervals,
    candidates: Mapping[str, Constraint],
    quantities: Sequence[str] | None = None,
    options: SolveOptions | None = None,
) -> tuple[WhatIf, ...]:
    """Solve the intervals again with each candidate added to the problem, at the same limit of the sum of squares.

    Parameters
    ----------
    intervals
        Of the problem as it is; of standard parameters or extras.
    candidates
        Name -> hard constraint that would become known.
    quantities
        Names of the intervals to look at; default: the masses, which decide most else.

    Returns
    -------
    tuple of WhatIf, the most helpful first.
    """
    problem = intervals.problem
    names = list(quantities or [e.name for e in intervals.entries if e.name[0] == "m" and e.name[1:].isdigit()])
    unknown = [n for n in names if n not in problem.variables.names]
    if unknown or not names:
        raise ProblemError(f"what-if: quantities must be unknowns of problem '{problem.name}', got {unknown or names}")
    wanted = {n: ca.SX(problem.variables.x[list(problem.variables.names).index(n)]) for n in names}
    limit = intervals.optimum + intervals.tolerance
    found = []
    for candidate, constraint in candidates.items():
        extended = problem.add(constraint)
        try:
            solved = parameter_intervals(extended, wanted, limit=limit, options=options)
        except ProblemError as error:
            raise ProblemError(f"what-if '{candidate}': {error}") from None
        shares = {n: 1.0 - solved[n].width / max(intervals[n].width, 1e-300) for n in names}
        ranked = sorted(shares.items(), key=lambda item: -item[1])
        found.append(WhatIf(candidate, float(np.mean([max(s, 0.0) for s in shares.values()])), tuple(ranked[:5])))
    return tuple(sorted(found, key=lambda w: -w.reduction))
