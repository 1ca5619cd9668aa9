"""Expressions without kinks: absolute values, minima, maxima, norms and tables of one argument, rounded off or settled.

A kink is settled near a point: where the point is farther from it than a width, by the branch that it is on; else by a
tie, an expression that is zero on the kink.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from casid.arrays import Array
from casid.expressions._ranges import LinearTable, linear_table
from casid.expressions._walk import Rules, Walk, as_function, evaluate_call, fold, rebuild, rebuild_call


@dataclass(frozen=True, eq=False)
class _Node:
    """An expression, and its number at the point near which it is settled, if it is."""

    value: ca.SX
    at: float


@dataclass
class _Kinks:
    """The arithmetic: of kinks that are rounded off, or settled."""

    width: float
    settle: bool
    ties: list[ca.SX]
    count: int = 0

    def length(self, *sides: ca.SX) -> ca.SX:
        """Of a vector, rounded off where it is zero."""
        return ca.sqrt(sum((side * side for side in sides), ca.SX(self.width**2))) - self.width

    def size(self, a: ca.SX, at: float) -> ca.SX:
        """``|a|``."""
        if not self.settle:
            return self.length(a)
        if abs(at) > self.width:
            return a if at > 0 else -a
        self.ties.append(a)
        return ca.SX(0)

    def apply(self, code: int, operands: list[_Node]) -> _Node:
        """An operation."""
        values = [o.value for o in operands]
        at = fold(code, [o.at for o in operands]) if self.settle else 0.0
        self.count += code in (ca.OP_FABS, ca.OP_HYPOT, ca.OP_FMAX, ca.OP_FMIN, ca.OP_SQRT)
        if code == ca.OP_FABS:
            return _Node(self.size(values[0], operands[0].at), at)
        if code in (ca.OP_FMAX, ca.OP_FMIN):
            (a, b), sign = values, 1 if code == ca.OP_FMAX else -1
            return _Node((a + b + sign * self.size(a - b, operands[0].at - operands[1].at)) / 2, at)
        if code == ca.OP_HYPOT:
            if not self.settle:
                return _Node(self.length(*values), at)
            if abs(at) <= self.width:
                self.ties += values
                return _Node(ca.SX(0), at)
        if code == ca.OP_SQRT and not (self.settle and at > self.width):
            return _Node(ca.sqrt(values[0] + self.width**2) - self.width, at)
        return _Node(rebuild(code, values), at)

    def call(self, callee: ca.Function, operands: list[_Node]) -> list[_Node]:
        """A called function."""
        at, table = evaluate_call(callee, [o.at for o in operands]), linear_table(callee)
        if table is None:
            values = rebuild_call(callee, [o.value for o in operands])
            return [_Node(value, float(number)) for value, number in zip(values, at, strict=True)]
        self.count += 1
        return [_Node(self.table(table, operands[0]), float(at[0]))]

    def table(self, table: LinearTable, argument: _Node) -> ca.SX:
        """A table: its first piece and what it bends at every knot, or the piece or the knot that is near."""
        a, slopes = argument.value, np.diff(table.values) / np.diff(table.knots)
        nearest = int(np.argmin(np.abs(table.knots[1:-1] - argument.at))) if len(slopes) > 1 else -1
        value: ca.SX = table.values[0] + slopes[0] * (a - table.knots[0])
        for k, (bend, knot) in enumerate(zip(np.diff(slopes), table.knots[1:-1], strict=True)):
            at = argument.at - knot
            near = self.settle and k != nearest and abs(at) <= self.width
            size = (a - knot) * float(np.sign(at)) if near else self.size(a - knot, at)
            value += float(bend) / 2 * (size + a - knot)
        return value


def smoothed(expression: ca.SX, x: ca.SX, width: float, near: Array | None = None) -> tuple[ca.SX, list[ca.SX]]:
    """The expression, as a column, with its kinks rounded off over a width of their argument, or settled near a point.

    Rounded off ``|a|`` is ``sqrt(a^2 + width^2) - width``, as are hypotenuses; minima, maxima and piecewise linear
    tables are sums of absolute values; ``sqrt(a)`` is ``sqrt(a + width^2) - width``. Each is right on the kink, and off
    by at most ``width`` times its slopes.
    If-else, signs and rounding stay as they are.

    Parameters
    ----------
    expression, x, width
    near
        Point of x: settle the kinks instead, but those of roots.

    Returns
    -------
    expression : SX
        The given one where it has no kinks.
    ties : list of SX
        What is zero on the kinks that are nearer than the width; there the new expression is the given one.
    """
    point = np.zeros(x.numel()) if near is None else near
    kinks = _Kinks(width, near is not None, [])
    rules: Rules = {"operation": kinks.apply, "call": kinks.call}
    rules |= {"constant": lambda v: _Node(ca.SX(v), v), "entry": lambda k: _Node(x[k], float(point[k]))}
    steps = Walk(as_function(expression, x))
    for step in steps:
        step.value = rules[step.kind](*step.given)
    return (ca.vertcat(*[node.value for node in steps.values]) if kinks.count else expression), kinks.ties
