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
from casid.expressions import (
    Condition,
    alternatives,
    choose,
    conditions,
    decided,
    has_conditions,
    smooth,
)
from casid.retrieval.bound.com_set import com_quotients
from casid.retrieval.bound.region import link_regions
from casid.retrieval.constraints import Constraint
from casid.retrieval.problem import Problem

Array = NDArray[np.float64]

#: A parameter's name with the number of its link: ``lz7``.
_LINK_NUMBER = re.compile(r"\b(L[xyz]{2}|l[xyz]|m)\d+\b")


@dataclass(frozen=True)
class Branch:
    """Where a point stands with respect to a condition."""

    constraint: str
    condition: str
    taken: bool
    margin: float


def taken(problem: Problem, x: Array) -> tuple[Branch, ...]:
    """Branch of every condition of every constraint at a point, evaluated exactly."""
    result = []
    for constraint in problem.constraints:
        found = () if constraint.quantity else conditions(constraint.expression, problem.variables.x)
        if not found:
            continue
        margins = ca.Function("margins", [problem.variables.x], [ca.vertcat(*[c.margin for c in found])])
        for condition, margin in zip(found, np.array(margins(x)).reshape(-1), strict=True):
            result.append(Branch(constraint.label, condition.text, bool(condition.holds(margin)), float(margin)))
    return tuple(result)


def branched(problem: Problem) -> tuple[tuple[str, Condition], ...]:
    """Conditions that tell branches apart, with the label of the first constraint that holds each.

    Equalities cannot be branched on.
    """
    found: dict[str, tuple[str, Condition]] = {}
    for constraint in problem.constraints:
        if not constraint.quantity and has_conditions(constraint.expression, problem.variables.x):
            for condition in conditions(constraint.expression, problem.variables.x):
                if not condition.equality:
                    found.setdefault(condition.text, (constraint.label, condition))
    return tuple(found.values())


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
        chosen_rows = choose(expression, x, choices)
        keep = [i for i in range(chosen_rows.numel()) if ca.depends_on(chosen_rows[i], x)]
        if len(keep) == constraint.size:
            constraints.append(replace(constraint, expression=chosen_rows[keep]))
        elif keep:
            low, high = (b if b.size == 1 else b[keep] for b in (constraint.lower, constraint.upper))
            constraints.append(replace(constraint, expression=chosen_rows[keep], lower=low, upper=high))
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
        c
        if c.quantity or not has_conditions(c.expression, x)
        else replace(c, expression=smooth(c.expression, x, width))
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
    extras = np.array(list(problem.variables.extras.values())).reshape(-1, 2)
    box = np.concatenate([r.box for r in regions])
    quotients = {pair: com for k, r in enumerate(regions) for pair, com in com_quotients(k, r.com).items()}
    settled = decided([c for _, c in found], x, np.append(-box, extras[:, 0]), np.append(box, extras[:, 1]), quotients)
    rules = [_LINK_NUMBER.sub(r"\1", condition.text) for _, condition in found]
    alive = {rule for rule, (_, condition) in zip(rules, found, strict=True) if condition.text not in settled}
    for (label, condition), rule in zip(found, rules, strict=True):
        if rule not in alive:
            always = "true" if settled[condition.text] else "false"
            raise ProblemError(
                f"constraint '{label}': the condition {condition.text} is always {always} within the problem's "
                "bounds, so that one of its branches is dead; correct the threshold (or the bounds), or write the "
                "live branch alone"
            )
