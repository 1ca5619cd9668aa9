"""Smooth expressions in place of piecewise ones, exact in the limit of a width of zero."""

from __future__ import annotations

import casadi as ca

from casid.expressions._conditions import Condition, replace_conditions
from casid.expressions._walk import as_function, rebuild, rebuild_call, walk


def smooth_step(margin: ca.SX, width: float) -> ca.SX:
    """``(1 + margin / sqrt(margin^2 + width^2)) / 2``: 0 to 1 over a few widths, 1/2 at a margin of zero."""
    return (1 + margin / ca.sqrt(margin**2 + width**2)) / 2


def smooth(expression: ca.SX, x: ca.SX, width: float) -> ca.SX:
    """The expression, as a column, without jumps and kinks that a smooth function can follow.

    Conditions are blended by `smooth_step` of their margins, the logic on top of them follows; a sign becomes
    ``a / sqrt(a^2 + width^2)``, an absolute value, a minimum and a maximum hyperbolas
    (``|a| -> sqrt(a^2 + width^2)``). Equalities, tested numbers and roundings stay as they are: no width makes them
    anything else.

    Parameters
    ----------
    expression
        Any shape, read column by column.
    x
        Vector of the unknowns.
    width
        > 0, in the unit of what is compared.
    """

    def blend(condition: Condition) -> ca.SX | None:
        return None if condition.equality else smooth_step(condition.margin, width)

    return _round_kinks(replace_conditions(expression, x, blend), x, width)


def _round_kinks(expression: ca.SX, x: ca.SX, width: float) -> ca.SX:
    def size(value: ca.SX) -> ca.SX:
        hyperbola: ca.SX = ca.sqrt(value**2 + width**2)
        return hyperbola

    def apply(code: int, operands: list[ca.SX]) -> ca.SX:
        a, b = operands[0], operands[-1]
        result: ca.SX = rebuild(code, operands)
        if code == ca.OP_FABS:
            result = size(a)
        elif code == ca.OP_SIGN:
            result = a / size(a)
        elif code == ca.OP_FMAX:
            result = (a + b + size(a - b)) / 2
        elif code == ca.OP_FMIN:
            result = (a + b - size(a - b)) / 2
        return result

    result: ca.SX = ca.vertcat(*walk(as_function(expression, x), ca.SX, lambda k: x[k], apply, rebuild_call))
    return result
