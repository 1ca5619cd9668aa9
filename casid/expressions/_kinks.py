"""Kinks: convex ones of a sum, ``f(x) = g(x) + sum_i w_i max_j a_ij(x)``, and expressions without any.

``|a| = max(a, -a)``, ``min(a, b) = -max(-a, -b)``, and a maximum of such sums is the maximum over all choices of their
pieces (Boyd and Vandenberghe 2004, Sec. 4.3.1). In epigraph form, ``t_i >= a_ij``, each is linear.

A kink is settled near a point: where the point is farther from it than a width, by the branch that it is on; else by a
tie, an expression that is zero on the kink.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product

import casadi as ca
import numpy as np

from casid.arrays import Array
from casid.expressions._intervals import LinearTable, linear_table
from casid.expressions._polynomial import affine_rows
from casid.expressions._walk import Rules, Walk, as_function, evaluate_call, fold, operations, rebuild, rebuild_call

# ------------------------------------------------------------------ convex kinks

_KINKS = frozenset({ca.OP_FABS, ca.OP_FMAX, ca.OP_FMIN})
#: Most pieces of one maximum: sums of maxima within a maximum multiply.
_PIECES = 256


@dataclass(frozen=True, eq=False)
class Maximum:
    """``weight max_j pieces_j``."""

    weight: float
    pieces: tuple[ca.SX, ...]

    @property
    def expression(self) -> ca.SX:
        """The greatest piece, without the weight."""
        return reduce(ca.fmax, self.pieces)


@dataclass(frozen=True, eq=False)
class _Sum:
    smooth: ca.SX
    kinks: tuple[Maximum, ...] = ()

    @property
    def whole(self) -> ca.SX:
        return sum((kink.weight * kink.expression for kink in self.kinks), self.smooth)

    def plus(self, other: _Sum) -> _Sum:
        return _Sum(self.smooth + other.smooth, self.kinks + other.kinks)

    def times(self, factor: float) -> _Sum:
        return _Sum(factor * self.smooth, tuple(Maximum(factor * k.weight, k.pieces) for k in self.kinks if factor))

    def pieces(self) -> list[ca.SX] | None:
        """Expressions whose maximum it is; None where it is none, or one of too many."""
        count = reduce(lambda n, kink: n * len(kink.pieces), self.kinks, 1)
        if count > _PIECES or any(kink.weight < 0 for kink in self.kinks):
            return None
        choices = product(*[[kink.weight * piece for piece in kink.pieces] for kink in self.kinks])
        return [sum(choice, self.smooth) for choice in choices]


def _greatest(a: _Sum, b: _Sum) -> _Sum:
    first, second = a.pieces(), b.pieces()
    if first is None or second is None or len(first) + len(second) > _PIECES:
        return _Sum(ca.fmax(a.whole, b.whole))
    return _Sum(ca.SX(0), (Maximum(1.0, (*first, *second)),))


def _apply(code: int, operands: list[_Sum]) -> _Sum:
    a, b = operands[0], operands[-1]
    if code in (ca.OP_ADD, ca.OP_SUB):
        return a.plus(b if code == ca.OP_ADD else b.times(-1.0))
    if code in (ca.OP_NEG, ca.OP_TWICE):
        return a.times(-1.0 if code == ca.OP_NEG else 2.0)
    for one, factor in ((a, b), (b, a)):
        if code == ca.OP_MUL and factor.whole.is_constant():
            return one.times(float(factor.whole))
    if code == ca.OP_DIV and b.whole.is_constant() and float(b.whole) != 0.0:
        return a.times(1.0 / float(b.whole))
    if code == ca.OP_FABS:
        return _greatest(a, a.times(-1.0))
    if code == ca.OP_FMAX:
        return _greatest(a, b)
    if code == ca.OP_FMIN:
        return _greatest(a.times(-1.0), b.times(-1.0)).times(-1.0)
    return _Sum(rebuild(code, [operand.whole for operand in operands]))


def _call(callee: ca.Function, operands: Sequence[_Sum]) -> list[_Sum]:
    return [_Sum(value) for value in rebuild_call(callee, [operand.whole for operand in operands])]


def convex_kinks(expression: ca.SX, x: ca.SX) -> tuple[ca.SX, tuple[Maximum, ...]]:
    """A scalar expression of x, shape (N, 1), as a sum of what is left and maxima of affine pieces.

    Returns
    -------
    left : SX
        The expression itself where it has no such kinks; what is concave, or no maximum of affine pieces, stays here.
    kinks : tuple of Maximum
        Weights > 0.
    """
    function = as_function(expression, x)
    if not operations(function) & _KINKS:
        return expression, ()
    rules: Rules = {"operation": _apply, "call": _call}
    rules |= {"constant": lambda value: _Sum(ca.SX(value)), "entry": lambda k: _Sum(x[k])}
    steps = Walk(function)
    for step in steps:
        step.value = rules[step.kind](*step.given)
    (found,) = steps.values
    taken = [k for k in found.kinks if k.weight > 0 and None not in affine_rows(ca.vertcat(*k.pieces), x)]
    rest = tuple(kink for kink in found.kinks if kink not in taken)
    return (_Sum(found.smooth, rest).whole, tuple(taken)) if taken else (expression, ())


def affine_pieces(expression: ca.SX, x: ca.SX) -> tuple[ca.SX, ...] | None:
    """Affine expressions whose maximum a scalar expression of x is; None where it is none, or one of very many."""
    left, kinks = convex_kinks(expression, x)
    pieces = _Sum(left, kinks).pieces() if kinks else None
    return None if pieces is None or None in affine_rows(ca.vertcat(*pieces), x) else tuple(pieces)


# ------------------------------------------------------------------ expressions without kinks


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
