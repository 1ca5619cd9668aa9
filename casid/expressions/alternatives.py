"""Minima and maxima of a constraint, taken apart into alternatives."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from casid.expressions.walk import as_function, rebuild, walk


@dataclass(frozen=True, eq=False)
class _Rows:
    """An expression, and alternatives in place of its being >= 0, each of rows that must all be."""

    whole: ca.SX
    options: tuple[tuple[ca.SX, ...], ...]


def alternatives(expression: ca.SX, x: ca.SX, most: int = 1_000) -> tuple[ca.SX, ...]:
    """A scalar ``expression >= 0`` as alternatives, each a vector of rows that must all be >= 0.

    ``fmax(a, b) >= 0`` asks for a or b, ``fmin(a, b) >= 0`` for both; any nesting of the two is taken apart, unless
    it makes more than ``most`` alternatives: then it stays whole. A row may be a constant.
    """

    def apply(code: int, operands: list[_Rows]) -> _Rows:
        whole = rebuild(code, [o.whole for o in operands])
        options: tuple[tuple[ca.SX, ...], ...] = ((whole,),)
        if code == ca.OP_FMAX:
            options = operands[0].options + operands[1].options
        elif code == ca.OP_FMIN and len(operands[0].options) * len(operands[1].options) <= most:
            options = tuple((*a, *b) for a in operands[0].options for b in operands[1].options)
        return _Rows(whole, options if len(options) <= most else ((whole,),))

    def constant(value: float) -> _Rows:
        return _Rows(ca.SX(value), ((ca.SX(value),),))

    (result,) = walk(as_function(expression, x), constant, lambda k: _Rows(x[k], ((x[k],),)), apply)
    return tuple(ca.vertcat(*rows) for rows in result.options)
