"""If-else and either-or constraints: which branch a point is on, and problems with the branches chosen.

``casadi.if_else(condition, a, b)`` enters a graph as ``(condition ? a : 0) + (not condition ? b : 0)``. The conditions
are read off the graph (`casid.expressions.conditions`), so a user's expression needs no annotation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations as pairs
from itertools import islice

import casadi as ca
import numpy as np

from casid.arrays import ROUNDING, Array
from casid.errors import ProblemError
from casid.expressions import (
    Condition,
    affine_rows,
    alternatives,
    as_function,
    choose,
    conditions,
    decided,
    evaluate,
    has_conditions,
    may_hide,
)
from casid.retrieval._problem import Problem, numbered
from casid.retrieval._region import find_quadric, region_box
from casid.retrieval.constraints._constraint import FEASIBILITY, Constraint, constant_rows, domain_rows, missed_by

#: A parameter's name with the number of its link: ``lz7``.
_LINK_NUMBER = re.compile(r"\b(L[xyz]{2}|l[xyz]|m)\d+\b")


@dataclass(frozen=True)
class Branch:
    """State of a condition at a point: whether it holds, and by which margin."""

    constraint: str
    condition: str
    holds: bool
    margin: float

    def __str__(self) -> str:
        return f"{self.constraint}: {self.condition} is {str(self.holds).lower()} (by {abs(self.margin):.3g})"


def branches_at(problem: Problem, x: Array) -> tuple[Branch, ...]:
    """Branch of every condition of every constraint at a point, evaluated exactly."""
    result = []
    for constraint in problem.constraints if problem.conditions else ():
        for condition in conditions(constraint.expression, problem.variables.x):
            margin = float(evaluate(condition.margin, problem.variables.x, x)[0])
            result.append(Branch(constraint.label, condition.text, bool(condition.holds(margin)), margin))
    return tuple(result)


@dataclass(frozen=True, eq=False)
class Combination:
    """One choice of every branch.

    Attributes
    ----------
    chosen : dict of str to str
        In words: condition -> "true" or "false", constraint -> alternative; what reads alike is numbered.
    problem : Problem or None
        With conditions as hard constraints, if-else and either-or gone; None where a row that the choice makes constant
        does not hold: the combination is empty.
    """

    chosen: dict[str, str]
    problem: Problem | None


def combinations(problem: Problem, most: int = 64, tolerance: float = FEASIBILITY) -> Iterator[Combination]:
    """Every combination of branches that does not contradict itself; together they cover the problem.

    Conditions of equality cannot be branched on and stay as they are. Two conditions whose margins differ by a number,
    or add up to one, contradict each other in one of their four combinations (x < 1, and not x < 2), which is left out:
    k thresholds of one quantity make k + 1 combinations.

    Parameters
    ----------
    problem
    most
        Largest number of combinations.
    tolerance
        Of feasibility: a row that the choice makes constant excludes nothing if it misses its bound by no more.

    Raises
    ------
    ProblemError
        If there are more than ``most`` combinations.
    """
    problem = _one_sided(_with_domains(problem))
    branched = [condition for _, condition in problem.conditions if not condition.equality]
    either = _either(problem)
    names = numbered([*(c.text for c in branched), *either])
    sizes = [2] * len(branched) + [len(rows) for rows in either.values()]
    states = list(islice(_states(sizes, _contradictions(problem, branched)), most + 1))
    if len(states) > most:
        raise ProblemError(
            f"problem '{problem.name}': its if-else and either-or make more than {most} combinations of branches; use "
            "smoothing, or fewer of them"
        )
    for state in states:
        holds = {c.key: place == 0 for c, place in zip(branched, state, strict=False)}
        picked = dict(zip(either, state[len(branched) :], strict=True))
        words = ["true" if place == 0 else "false" for place in state[: len(branched)]]
        words += [f"alternative {place + 1}" for place in picked.values()]
        left = _chosen(problem, holds, picked, branched, either, tolerance)
        yield Combination(dict(zip(names, words, strict=True)), left)


def _states(
    sizes: Sequence[int], barred: Mapping[tuple[int, int], tuple[int, int]], fixed: tuple[int, ...] = ()
) -> Iterator[tuple[int, ...]]:
    """The places of conditions (0 true, 1 false) and alternatives that begin as fixed and contradict nothing."""
    j = len(fixed)
    if j == len(sizes):
        yield fixed
        return
    for place in range(sizes[j]):
        if all(barred.get((i, j)) != (fixed[i], place) for i in range(j)):
            yield from _states(sizes, barred, (*fixed, place))


def _contradictions(problem: Problem, branched: Sequence[Condition]) -> dict[tuple[int, int], tuple[int, int]]:
    """For pairs of conditions, the places (0 true, 1 false) that they cannot have together.

    Where the margins differ by a number, the one with the larger margin holds if the other does; where they add up to
    one, both hold nowhere or, for numbers above zero, one of them does wherever both are defined. Rounding decides
    nothing: numbers up to 1e-12 count as zero.
    """
    x, found = problem.variables.x, dict[tuple[int, int], tuple[int, int]]()

    def constant(expression: ca.SX) -> tuple[float, bool]:
        """The number that an expression is wherever it is defined, 0 for others, and whether that is everywhere."""
        form = affine_rows(expression, x)[0]
        if form is not None:
            return (0.0 if form.coefficients.any() else float(form.offset)), True
        quadric = find_quadric(expression, x, len(problem.variables))
        if quadric is None or quadric.power != 2:
            return 0.0, False
        rest = quadric.form[:9].any() or quadric.square.any()
        return (0.0 if rest else float(quadric.form[9])), False

    for i, j in pairs(range(len(branched)), 2):
        difference, _ = constant(branched[i].margin - branched[j].margin)
        total, everywhere = constant(branched[i].margin + branched[j].margin)
        if abs(difference) > ROUNDING:
            found[i, j] = (1, 0) if difference > 0 else (0, 1)
        elif total < -ROUNDING:
            found[i, j] = (0, 0)
        elif total > ROUNDING and everywhere:
            found[i, j] = (1, 1)
    return found


def _with_domains(problem: Problem) -> Problem:
    """The problem with a constraint more for each hard one that is undefined where its value does not show it.

    A choice of branches can leave out the operation that is undefined, not its domain.
    """
    x = problem.variables.x
    for constraint in problem.constraints:
        if not constraint.hard or not may_hide(as_function(constraint.expression, x)):
            continue
        rows = [row.expression for row in domain_rows(constraint.expression, 0, x)]
        if rows:
            label = problem.free_label(f"domain of {constraint.label}")
            problem = problem.add(Constraint(label, ca.vertcat(*rows), 0.0))
    return problem


def _either(problem: Problem) -> dict[str, tuple[ca.SX, ...]]:
    """Hard scalar constraints with one bound that are alternatives, or several rows at once, by their label."""
    found = {}
    for constraint in problem.constraints:
        if constraint.hard and constraint.size == 1 and np.isinf([constraint.lower[0], constraint.upper[0]]).any():
            upper = bool(np.isfinite(constraint.upper[0]))
            rows = alternatives(constraint.expression, problem.variables.x, upper=upper)
            if len(rows) > 1 or rows[0].numel() > 1:
                found[constraint.label] = rows
    return found


def _one_sided(problem: Problem) -> Problem:
    """The problem with hard scalar constraints of two bounds as two of one, where a minimum or maximum is in them."""
    constraints: list[Constraint] = []
    for constraint in problem.constraints:
        both = constraint.hard and constraint.size == 1 and np.isfinite([*constraint.lower, *constraint.upper]).all()
        expression, label, x = constraint.expression, constraint.label, problem.variables.x
        if both and any(len(alternatives(expression, x, upper=upper)) > 1 for upper in (False, True)):
            (low,), (high,) = constraint.lower, constraint.upper
            taken = [c.label for c in (*problem.constraints, *constraints)]
            above, below = numbered([f"{label} >= {low:.9g}", f"{label} <= {high:.9g}"], taken)
            constraints += [Constraint(above, expression, lower=low), Constraint(below, expression, upper=high)]
        else:
            constraints.append(constraint)
    return problem if len(constraints) == len(problem.constraints) else replace(problem, constraints=tuple(constraints))


def _chosen(
    problem: Problem,
    choices: Mapping[str, bool],
    picked: Mapping[str, int],
    branched: list[Condition],
    either: Mapping[str, tuple[ca.SX, ...]],
    tolerance: float,
) -> Problem | None:
    """The problem of one choice; None where a row that the choice makes constant does not hold."""
    x = problem.variables.x

    def rows_left(constraint: Constraint) -> ca.SX | None:
        """What the choice makes of a constraint's rows; None where it stays as it is."""
        if constraint.label in either:
            return choose(either[constraint.label][picked[constraint.label]], x, choices)
        decides = choices and has_conditions(constraint.expression, x)
        return choose(constraint.expression, x, choices) if decides else None

    changed = [(constraint, rows_left(constraint)) for constraint in problem.constraints]
    words = [f"{c.text} is {'true' if choices[c.key] else 'false'}" for c in branched]
    for condition, label in zip(branched, numbered(words, [c.label for c in problem.constraints]), strict=True):
        ends = (0.0, np.inf) if choices[condition.key] else (-np.inf, 0.0)  # the condition, or its contrary, closed
        side = Constraint(label, condition.margin, *ends)
        changed.append((side, side.expression))
    constraints: list[Constraint] = []
    price = beside = 0.0  # of rows that are constant: all, and those that are no part of the objective
    for constraint, rows in changed:
        live, missed = (constraint, 0.0) if rows is None else _live_rows(constraint, rows, x, tolerance)
        if missed > 0 and constraint.weight is None:
            return None
        price += missed * (constraint.weight or 0.0)
        if live is not None:
            constraints.append(live)
        if constraint.label not in problem.objective_labels:
            beside += missed * (constraint.weight or 0.0)
    objective = replace(problem.objective, constant=problem.objective.constant + price) if price else problem.objective
    stated = None if problem.stated is None else choose(problem.stated, x, choices) + beside
    labels = {c.label for c in constraints}
    parts = tuple(label for label in problem.objective_labels if label in labels)
    return replace(problem, constraints=tuple(constraints), objective=objective, objective_labels=parts, stated=stated)


def _live_rows(constraint: Constraint, rows: ca.SX, x: ca.SX, tolerance: float) -> tuple[Constraint | None, float]:
    """The constraint on those of the rows that depend on x, and by how much the others, which are constant, miss it.

    A hard one is missed by more than the tolerance only.
    """
    low, high = (np.broadcast_to(b, (rows.numel(),)) for b in (constraint.lower, constraint.upper))
    live, still, values = constant_rows(rows, x)
    excess = missed_by(values, low[still], high[still])
    missed = float(excess[excess > tolerance].sum() if constraint.hard else excess.sum())
    if not live:
        return None, missed
    return Constraint(constraint.label, rows[live], low[live], high[live], constraint.weight), missed


def check_dead_branches(problem: Problem) -> None:
    """Refuse a condition that the problem's own bounds decide: one of its branches can never act.

    The same condition written for several links (one rule in a loop) is in order if any of them leaves it open.

    Raises
    ------
    ProblemError
        Naming the constraint, the condition and which way it always goes.
    """
    found = [(label, condition) for label, condition in problem.conditions if not condition.equality]
    if not found:
        return
    box = region_box(problem.regions, tuple(problem.variables.extras.values()))
    settled = decided([c for _, c in found], problem.variables.x, *box)
    rules = [_LINK_NUMBER.sub(r"\1", condition.text) for _, condition in found]
    alive = {rule for rule, (_, condition) in zip(rules, found, strict=True) if condition.key not in settled}
    for (label, condition), rule in zip(found, rules, strict=True):
        if rule not in alive:
            always = "true" if settled[condition.key] else "false"
            raise ProblemError(
                f"constraint '{label}': the condition {condition.text} is always {always} within the problem's "
                "bounds, so that one of its branches is dead; correct the threshold (or the bounds), or write the "
                "live branch alone"
            )
