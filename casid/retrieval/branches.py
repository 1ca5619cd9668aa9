"""If-else constraints: which branches there are, which one a point is on, and problems with the branches chosen or smoothed.

``casadi.if_else(condition, a, b)`` enters a graph as ``(condition ? a : 0) + (not condition ? b : 0)``. The conditions are read off the graph,
so a user's expression needs no annotation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.errors import ProblemError
from casid.retrieval.constraints import Constraint
from casid.retrieval.graph import COMPARISONS, KINKED, operations, rebuild, walk
from casid.retrieval.interval_arithmetic import enclose
from casid.retrieval.problem import Problem
from casid.retrieval.region import link_regions

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Condition:
    """A comparison ``left < right`` (or <=, ==) that decides an if-else.

    Attributes
    ----------
    text : str
        As CasADi prints it; conditions of the same text are one.
    margin : SX
        ``right - left``: positive where the condition holds.
    equality : bool
        ``left == right`` or ``left != right``: no set with an interior.
    """

    text: str
    margin: ca.SX
    equality: bool


@dataclass(frozen=True)
class Branch:
    """Where a point stands with respect to a condition."""

    constraint: str
    condition: str
    taken: bool
    margin: float


@dataclass(frozen=True, eq=False)
class _Truth:
    """A condition's value while the graph is walked."""

    condition: Condition
    negated: bool


def conditions(expression: ca.SX, x: ca.SX) -> tuple[Condition, ...]:
    """All comparisons of an expression, in order of appearance."""
    found: dict[str, Condition] = {}
    _rewrite(expression, x, found, None)
    return tuple(found.values())


def choose(expression: ca.SX, x: ca.SX, choices: Mapping[str, bool]) -> ca.SX:
    """The expression with conditions, by their text, decided."""
    return _rewrite(expression, x, {}, lambda condition: choices.get(condition.text))


def smooth(expression: ca.SX, x: ca.SX, width: float) -> ca.SX:
    """The expression with each condition blended: ``(1 + margin / sqrt(margin^2 + width^2)) / 2`` in place of 0 or 1."""
    return _rewrite(
        expression, x, {}, lambda c: None if c.equality else (1 + c.margin / ca.sqrt(c.margin**2 + width**2)) / 2
    )


def has_branches(expression: ca.SX, x: ca.SX) -> bool:
    """Whether an expression compares anything."""
    return bool(operations(ca.Function("g", [x], [ca.densify(ca.vec(expression))])) & COMPARISONS)


def taken(problem: Problem, x: Array) -> tuple[Branch, ...]:
    """Branch of every condition of every constraint at a point, evaluated exactly."""
    result = []
    for constraint in problem.constraints:
        if constraint.quantity or not has_branches(constraint.expression, problem.variables.x):
            continue
        found = conditions(constraint.expression, problem.variables.x)
        margins = ca.Function("margins", [problem.variables.x], [ca.vertcat(*[c.margin for c in found])])
        for condition, margin in zip(found, np.array(margins(x)).reshape(-1), strict=True):
            result.append(Branch(constraint.label, condition.text, bool(margin > 0), float(margin)))
    return tuple(result)


def branched(problem: Problem) -> tuple[tuple[str, Condition], ...]:
    """Conditions that tell branches apart, with the label of the first constraint that holds each; equalities cannot be branched on."""
    found: dict[str, tuple[str, Condition]] = {}
    for constraint in problem.constraints:
        if not constraint.quantity and has_branches(constraint.expression, problem.variables.x):
            for condition in conditions(constraint.expression, problem.variables.x):
                if not condition.equality:
                    found.setdefault(condition.text, (constraint.label, condition))
    return tuple(found.values())


def branch_problems(problem: Problem, most: int = 64) -> Iterator[tuple[dict[str, bool], Problem]]:
    """One problem a combination of branches: conditions become hard constraints, if-else is gone; together they cover the original.

    Raises
    ------
    ProblemError
        If there are more than ``most`` combinations.
    """
    found = branched(problem)
    if 2 ** len(found) > most:
        raise ProblemError(
            f"problem '{problem.name}': {len(found)} conditions make {2 ** len(found)} combinations of branches, more than {most}; "
            "use smoothing, or fewer if-else"
        )
    x = problem.variables.x
    for values in product((True, False), repeat=len(found)):
        choices = {condition.text: value for (_, condition), value in zip(found, values, strict=True)}
        decided = [
            c if c.quantity else replace(c, expression=choose(c.expression, x, choices)) for c in problem.constraints
        ]
        sides = [
            Constraint(f"{c.text} is {value}", c.margin, *((0.0, np.inf) if value else (-np.inf, 0.0)))  # type: ignore[arg-type]
            for (_, c), value in zip(found, values, strict=True)
        ]
        kept = [c for c in decided if _bounds_something(c, x)]
        yield choices, replace(problem, constraints=(*kept, *sides, *problem.cones))  # type: ignore[arg-type]


def smoothed(problem: Problem, width: float) -> Problem:
    """The problem with every if-else blended over a width of its condition's margin."""
    x = problem.variables.x
    constraints: Any = tuple(
        c if c.quantity or not has_branches(c.expression, x) else replace(c, expression=smooth(c.expression, x, width))
        for c in problem.constraints
    )
    return replace(problem, constraints=(*constraints, *problem.cones))


def check_dead_branches(problem: Problem) -> None:
    """Refuse a condition that the problem's own bounds decide: one of its branches can never act.

    Raises
    ------
    ProblemError
        Naming the constraint, the condition and which way it always goes.
    """
    found = branched(problem)
    if not found:
        return
    x = problem.variables.x
    regions = link_regions(problem)
    function = ca.Function("margins", [x], [ca.vertcat(*[c.margin for _, c in found])])
    box = np.concatenate([*(r.box for r in regions), np.full(problem.variables.size - 10 * len(regions), np.inf)])
    ranges = enclose(function, -box, box, {k: r.com for k, r in enumerate(regions)})
    for (label, condition), interval in zip(found, ranges, strict=True):
        if interval.low > 0 or interval.high < 0:
            always = "true" if interval.low > 0 else "false"
            raise ProblemError(
                f"constraint '{label}': the condition {condition.text} is always {always} within the problem's bounds, so that one of "
                "its branches is dead; correct the threshold (or the bounds), or write the live branch alone"
            )


def _bounds_something(constraint: Constraint, x: ca.SX) -> bool:
    return constraint.size > 1 or ca.depends_on(constraint.expression, x)


def _rewrite(expression: ca.SX, x: ca.SX, found: dict[str, Condition], decide: Any) -> ca.SX:
    """Walk the graph; ``decide`` gives a condition's value (bool or SX), or None to keep it."""
    function = ca.Function("g", [x], [ca.densify(ca.vec(expression))])

    def symbolic(value: Any) -> ca.SX:
        if not isinstance(value, _Truth):
            return value
        decided = None if decide is None else decide(value.condition)
        if decided is None:
            holds = ca.if_else(value.condition.margin > 0, 1, 0)
        else:
            holds = ca.SX(decided)
        return 1 - holds if value.negated else holds

    def apply(code: int, operands: list[Any]) -> Any:
        if code in COMPARISONS:
            left, right = (symbolic(o) for o in operands)
            text = str(rebuild(code, [left, right]))
            condition = Condition(text, right - left, code in (ca.OP_EQ, ca.OP_NE))
            found.setdefault(text, condition)
            if condition.equality:
                return rebuild(code, [left, right])
            return _Truth(found[text], False)
        if code == ca.OP_NOT and isinstance(operands[0], _Truth):
            return _Truth(operands[0].condition, not operands[0].negated)
        if code == ca.OP_IF_ELSE_ZERO and isinstance(operands[0], _Truth):
            decided = None if decide is None else decide(operands[0].condition)
            if decided is None:
                margin = operands[0].condition.margin
                test = margin <= 0 if operands[0].negated else margin > 0
                return rebuild(code, [test, symbolic(operands[1])])
            return symbolic(operands[0]) * symbolic(operands[1])
        return rebuild(code, [symbolic(o) for o in operands])

    outputs = walk(function, lambda value: ca.SX(value), lambda index: x[index], apply)
    return ca.vertcat(*[symbolic(o) for o in outputs])


__all__ = [
    "Branch", "Condition", "branch_problems", "branched", "check_dead_branches", "choose", "conditions", "has_branches", "smooth",
    "smoothed", "taken", "KINKED",
]
