"""Constraints as data that another process can read: their expressions as one serialised function of the unknowns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import casadi as ca

from casid.retrieval._variables import LinkVariables, LinkView
from casid.retrieval.constraints._constraint import Constraint


@dataclass(frozen=True)
class _Expression:
    """Place of an expression in the list of all."""

    number: int


@dataclass(frozen=True)
class _View:
    """A link's view: that of the variables, or one of other expressions (a shifted body)."""

    index: int
    parameters: _Expression | None


def packed(
    constraints: tuple[Constraint, ...], others: Mapping[str, Any], variables: LinkVariables
) -> tuple[list[Any], dict[str, Any], str]:
    """Constraints and other values as picklable data, and their expressions as one function of the unknowns."""
    expressions: list[ca.SX] = []

    def store(value: Any) -> Any:
        if isinstance(value, ca.SX):
            expressions.append(value)
            return _Expression(len(expressions) - 1)
        if isinstance(value, LinkView):
            own = value is variables.links[value.index]
            return _View(value.index, None if own else store(value.parameters))
        return tuple(store(v) for v in value) if isinstance(value, tuple) else value

    kept = [(type(c), {f.name: store(getattr(c, f.name)) for f in fields(c) if f.init}) for c in constraints]
    plain = {name: store(value) for name, value in others.items()}
    return kept, plain, str(ca.Function("expressions", [variables.x], expressions).serialize())


def unpacked(
    kept: list[Any], plain: Mapping[str, Any], function: str, variables: LinkVariables
) -> tuple[tuple[Constraint, ...], dict[str, Any]]:
    """Inverse of `packed`, on new variables."""
    expressions = ca.Function.deserialize(function).call([variables.x])

    def fetch(value: Any) -> Any:
        if isinstance(value, _Expression):
            return expressions[value.number]
        if isinstance(value, _View):
            view = variables.links[value.index]
            if value.parameters is None:
                return view
            return LinkView(view.name, view.index, fetch(value.parameters), view.bounds)
        return tuple(fetch(v) for v in value) if isinstance(value, tuple) else value

    constraints = tuple(kind(**{name: fetch(value) for name, value in state.items()}) for kind, state in kept)
    return constraints, {name: fetch(value) for name, value in plain.items()}
