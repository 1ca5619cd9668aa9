"""Convex kinks of a sum: ``f(x) = g(x) + sum_i w_i max_j a_ij(x)`` with weights w_i > 0 and affine a_ij.

``|a| = max(a, -a)``, ``min(a, b) = -max(-a, -b)``, and a maximum of such sums is the maximum over all choices of their
pieces (Boyd and Vandenberghe 2004, Sec. 4.3.1). In epigraph form, ``t_i >= a_ij``, each is linear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product

import casadi as ca

from casid.expressions._polynomial import affine_rows
from casid.expressions._walk import Rules, Walk, as_function, operations, rebuild, rebuild_call

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
