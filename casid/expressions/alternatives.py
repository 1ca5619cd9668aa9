"""Minima and maxima of a constraint, taken apart into alternatives."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from casid.expressions.walk import as_function, rebuild, walk


@dataclass(frozen=True, eq=False)
class _Rows:
    """An expression, and alternatives in place of its bound, each of rows that must all obey it."""

    whole: ca.SX
    options: tuple[tuple[ca.SX, ...], ...]


def alternatives(expression: ca.SX, x: ca.SX, most: int = 1_000, upper: bool = False) -> tuple[ca.SX, ...]:
    """A scalar ``expression >= bound`` as alternatives, each a vector of rows that must all be >= the bound.

    ``fmax(a, b) >= bound`` asks for a or b, ``fmin(a, b) >= bound`` for both; any nesting of the two is taken apart,
    unless it makes more than ``most`` alternatives: then it stays whole. A row may be a constant.

    Parameters
    ----------
    expression, x
        Scalar, and the unknowns.
    most
        Largest number of alternatives.
    upper
        The same for ``expression <= bound``: there fmax asks for both and fmin for one.
    """
    one, both = (ca.OP_FMIN, ca.OP_FMAX) if upper else (ca.OP_FMAX, ca.OP_FMIN)

    def apply(code: int, operands: list[_Rows]) -> _Rows:
        whole = rebuild(code, [o.whole for o in operands])
        options: tuple[tuple[ca.SX, ...], ...] = ((whole,),)
        if code == one:
            options = operands[0].options + operands[1].options
        elif code == both and len(operands[0].options) * len(operands[1].options) <= most:
            options = tuple((*a, *b) for a in operands[0].options for b in operands[1].options)
        return _Rows(whole, options if len(options) <= most else ((whole,),))

    def constant(value: float) -> _Rows:
        return _Rows(ca.SX(value), ((ca.SX(value),),))

    (result,) = walk(as_function(expression, x), constant, lambda k: _Rows(x[k], ((x[k],),)), apply)
    return tuple(ca.vertcat(*rows) for rows in result.options)
