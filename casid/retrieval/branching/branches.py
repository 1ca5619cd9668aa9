"""If-else constraints: which branches there are, which one a point is on.

Also problems with the branches chosen or smoothed.

``casadi.if_else(condition, a, b)`` enters a graph as ``(condition ? a : 0) + (not condition ? b : 0)``. The
conditions are read off the graph, so a user's expression needs no annotation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.errors import ProblemError
from casid.expressions.interval_arithmetic import enclose
from casid.expressions.walk import COMPARISONS, operations, rebuild, walk
from casid.retrieval.bound.region import link_regions
from casid.retrieval.constraints import Constraint
from casid.retrieval.problem import Problem

Array = NDArray[np.float64]

#: A parameter's name with the number of its link: ``lz7``.
_LINK_NUMBER = re.compile(r"\b(L[xyz]{2}|l[xyz]|m)\d+\b")


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


@dataclass(frozen=True, eq=False)
class _Rows:
    """A minimum or maximum taken apart while the graph is walked: alternatives, each of rows that must all hold."""

    whole: ca.SX
    options: tuple[tuple[ca.SX, ...], ...]


def conditions(expression: ca.SX, x: ca.SX) -> tuple[Condition, ...]:
    """All comparisons of an expression, in order of appearance."""
    found: dict[str, Condition] = {}
    _rewrite(expression, x, found, None)
    return tuple(found.values())


def choose(expression: ca.SX, x: ca.SX, choices: Mapping[str, bool]) -> ca.SX:
    """The expression with conditions, by their text, decided."""
    return _rewrite(expression, x, {}, lambda condition: choices.get(condition.text))


def smooth(expression: ca.SX, x: ca.SX, width: float) -> ca.SX:
    """The expression with each condition blended.

    ``(1 + margin / sqrt(margin^2 + width^2)) / 2`` in place of 0 or 1.
    """
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
    """Conditions that tell branches apart, with the label of the first constraint that holds each.

    Equalities cannot be branched on.
    """
    found: dict[str, tuple[str, Condition]] = {}
    for constraint in problem.constraints:
        if not constraint.quantity and has_branches(constraint.expression, problem.variables.x):
            for condition in conditions(constraint.expression, problem.variables.x):
                if not condition.equality:
                    found.setdefault(condition.text, (constraint.label, condition))
    return tuple(found.values())


def alternatives(expression: ca.SX, x: ca.SX) -> tuple[ca.SX, ...]:
    """A scalar ``expression >= 0`` as alternatives, each a vector of rows that must all be >= 0.

    ``fmax(a, b) >= 0`` asks for a or b, ``fmin(a, b) >= 0`` for both; any nesting of the two is taken apart.
    """
    function = ca.Function("g", [x], [expression])

    def plain(value: Any) -> ca.SX:
        return value.whole if isinstance(value, _Rows) else value

    def apply(code: int, operands: list[Any]) -> Any:
        whole = rebuild(code, [plain(o) for o in operands])
        if code not in (ca.OP_FMAX, ca.OP_FMIN):
            return whole
        left, right = (o.options if isinstance(o, _Rows) else ((o,),) for o in operands)
        if code == ca.OP_FMAX:
            return _Rows(whole, (*left, *right))
        return _Rows(whole, tuple((*a, *b) for a in left for b in right))

    result = walk(function, lambda value: ca.SX(value), lambda index: x[index], apply)[0]
    if not isinstance(result, _Rows):
        return (result,)
    return tuple(ca.vertcat(*rows) for rows in result.options)


def branch_problems(problem: Problem, most: int = 64) -> Iterator[tuple[dict[str, str], Problem]]:
    """One problem a combination of branches: conditions become hard constraints, if-else and either-or are gone.

    Together they cover the original. Each comes with what was chosen: condition -> "true" or "false", constraint ->
    alternative.

    Raises
    ------
    ProblemError
        If there are more than ``most`` combinations.
    """
    x = problem.variables.x
    options: list[list[tuple[str, str]]] = [[(c.text, "true"), (c.text, "false")] for _, c in branched(problem)]
    either: dict[str, tuple[ca.SX, ...]] = {}
    for constraint in problem.constraints:
        if (
            constraint.size == 1
            and not constraint.quantity
            and constraint.lower[0] == 0
            and np.isinf(constraint.upper[0])
        ):
            either[constraint.label] = alternatives(constraint.expression, x)
            if len(either[constraint.label]) > 1:
                options.append(
                    [(constraint.label, f"alternative {k + 1}") for k in range(len(either[constraint.label]))]
                )
    total = int(np.prod([len(o) for o in options])) if options else 1
    if total > most:
        raise ProblemError(
            f"problem '{problem.name}': its if-else and either-or make {total} combinations of branches, more than "
            f"{most}; use "
            "smoothing, or fewer of them"
        )
    for combination in product(*options):
        chosen = dict(combination)
        yield chosen, replace(problem, constraints=(*_decided(problem, chosen, either), *problem.cones))  # type: ignore[arg-type]


def _decided(problem: Problem, chosen: Mapping[str, str], either: Mapping[str, tuple[ca.SX, ...]]) -> Any:
    x = problem.variables.x
    choices = {text: value == "true" for text, value in chosen.items() if value in ("true", "false")}
    constraints = []
    for constraint in problem.constraints:
        expression = constraint.expression
        if constraint.quantity:
            constraints.append(constraint)
            continue
        if constraint.label in either:
            picked = int(chosen.get(constraint.label, "alternative 1").split()[-1]) - 1
            expression = either[constraint.label][picked]
        decided = choose(expression, x, choices)
        keep = [i for i in range(decided.numel()) if ca.depends_on(decided[i], x)]
        if len(keep) == constraint.size:
            constraints.append(replace(constraint, expression=decided))
        elif keep:
            low, high = (b if b.size == 1 else b[keep] for b in (constraint.lower, constraint.upper))
            constraints.append(replace(constraint, expression=decided[keep], lower=low, upper=high))
    for _, condition in branched(problem):
        value = choices[condition.text]
        low, high = (0.0, np.inf) if value else (-np.inf, 0.0)
        label = f"{condition.text} is {chosen[condition.text]}"
        constraints.append(Constraint(label, condition.margin, low, high))
    return constraints


def smoothed(problem: Problem, width: float) -> Problem:
    """The problem with every if-else blended over a width of its condition's margin."""
    x = problem.variables.x
    constraints: Any = tuple(
        c if c.quantity or not has_branches(c.expression, x) else replace(c, expression=smooth(c.expression, x, width))
        for c in problem.constraints
    )
    return replace(problem, constraints=(*constraints, *problem.cones))  # type: ignore[arg-type]


def check_dead_branches(problem: Problem) -> None:
    """Refuse a condition that the problem's own bounds decide: one of its branches can never act.

    The same condition written for several links (one rule in a loop) is in order if any of them leaves it open.

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
    rules = [_LINK_NUMBER.sub(r"\1", condition.text) for _, condition in found]
    alive = {rule for rule, interval in zip(rules, ranges, strict=True) if interval.low <= 0 <= interval.high}
    for (label, condition), rule, interval in zip(found, rules, ranges, strict=True):
        if rule not in alive:
            always = "true" if interval.low > 0 else "false"
            raise ProblemError(
                f"constraint '{label}': the condition {condition.text} is always {always} within the problem's "
                "bounds, so that one of its branches is dead; correct the threshold (or the bounds), or write the "
                "live branch alone"
            )


def _rewrite(expression: ca.SX, x: ca.SX, found: dict[str, Condition], decide: Any) -> ca.SX:
    """Walk the graph; ``decide`` gives a condition's value (bool or SX), or None to keep it."""
    function = ca.Function("g", [x], [ca.densify(ca.vec(expression))])

    def symbolic(value: Any) -> Any:
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
    result: ca.SX = ca.vertcat(*[symbolic(o) for o in outputs])
    return result
