"""Ranges of the operations of one operand."""

from __future__ import annotations

import math
from collections.abc import Callable

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.arrays import Array
from casid.expressions._ranges import Range, absolute, outward, product, truth, widened

Function = Callable[[Array], Array]
#: Beyond this argument the reduction by multiples of pi is not trusted.
_LARGEST_ANGLE = 1e6


def _square(a: Range) -> Range:
    size = absolute(a)
    low, high = outward(size.low**2, size.high**2)
    return Range(np.maximum(low, 0.0), high, a.undefined)


def _rising(
    function: Function,
    domain: tuple[float, float] = (-np.inf, np.inf),
    image: tuple[float, float] = (-np.inf, np.inf),
) -> Callable[[Range], Range]:
    """A function that increases on its domain and has no value outside it."""

    def apply(a: Range) -> Range:
        start, end = np.clip(a.low, *domain), np.clip(a.high, *domain)
        low, high = widened(function(start), function(end))
        outside = (a.low < domain[0]) | (a.high > domain[1])
        return Range(np.maximum(low, image[0]), np.minimum(high, image[1]), a.undefined | outside)

    return apply


def _negated(a: Range) -> Range:
    return Range(-a.high, -a.low, a.undefined)


def _inverse(a: Range) -> Range:
    return quotient(Range(np.array(1.0), np.array(1.0), np.array(False)), a)


def _wave(function: Function, peak: float) -> Callable[[Range], Range]:
    """Sine or cosine, whose maximum is at ``peak``."""

    def apply(a: Range) -> Range:
        ends = np.stack([function(a.low), function(a.high)])
        top = _passes(a, peak, 2 * np.pi)
        bottom = _passes(a, peak + np.pi, 2 * np.pi)
        far = ~(np.maximum(np.abs(a.low), np.abs(a.high)) < _LARGEST_ANGLE)
        low, high = widened(ends.min(axis=0), ends.max(axis=0))
        low = np.where(bottom | far, -1.0, np.maximum(low, -1.0))
        high = np.where(top | far, 1.0, np.minimum(high, 1.0))
        return Range(low, high, a.undefined | a.infinite)

    return apply


def _tangent(a: Range) -> Range:
    far = ~(np.maximum(np.abs(a.low), np.abs(a.high)) < _LARGEST_ANGLE)
    pole = far | _passes(a, np.pi / 2, np.pi)
    low, high = widened(np.tan(a.low), np.tan(a.high))
    return Range(np.where(pole, -np.inf, low), np.where(pole, np.inf, high), a.undefined | a.infinite)


def _passes(a: Range, at: float, period: float) -> NDArray[np.bool_]:
    """Whether ``at`` plus a multiple of the period lies within the range, or nearly so."""
    slack = 1e-9 * (1.0 + np.maximum(np.abs(a.low), np.abs(a.high)))
    return np.asarray(np.floor((a.high + slack - at) / period) >= np.ceil((a.low - slack - at) / period))


def _inverse_error_function(a: Range) -> Range:
    # CasADi's own approximation is not accurate to rounding: only the sign is certain
    low, high = np.where(a.low >= 0, 0.0, -np.inf), np.where(a.high <= 0, 0.0, np.inf)
    return Range(low, high, a.undefined | (a.low < -1) | (a.high > 1))


UNARY: dict[int, Callable[[Range], Range]] = {
    ca.OP_ASSIGN: lambda a: a,
    ca.OP_NEG: _negated,
    ca.OP_TWICE: lambda a: Range(2 * a.low, 2 * a.high, a.undefined),
    ca.OP_SQ: _square,
    ca.OP_INV: _inverse,
    ca.OP_FABS: absolute,
    ca.OP_NOT: lambda a: truth(~a.may_hold, a.has_zero),
    ca.OP_SIGN: lambda a: Range(np.sign(a.low), np.sign(a.high), a.undefined),
    ca.OP_FLOOR: lambda a: Range(np.floor(a.low), np.floor(a.high), a.undefined),
    ca.OP_CEIL: lambda a: Range(np.ceil(a.low), np.ceil(a.high), a.undefined),
    ca.OP_SQRT: _rising(np.sqrt, (0.0, np.inf), (0.0, np.inf)),
    ca.OP_EXP: _rising(np.exp, image=(0.0, np.inf)),
    ca.OP_EXPM1: _rising(np.expm1, image=(-1.0, np.inf)),
    ca.OP_LOG: _rising(np.log, (0.0, np.inf)),
    ca.OP_LOG1P: _rising(np.log1p, (-1.0, np.inf)),
    ca.OP_SINH: _rising(np.sinh),
    ca.OP_COSH: lambda a: _rising(np.cosh, image=(1.0, np.inf))(absolute(a)),
    ca.OP_TANH: _rising(np.tanh, image=(-1.0, 1.0)),
    ca.OP_ASINH: _rising(np.arcsinh),
    ca.OP_ACOSH: _rising(np.arccosh, (1.0, np.inf), (0.0, np.inf)),
    ca.OP_ATANH: _rising(np.arctanh, (-1.0, 1.0)),
    ca.OP_ASIN: _rising(np.arcsin, (-1.0, 1.0)),
    ca.OP_ACOS: lambda a: _rising(lambda b: np.arccos(-b), (-1.0, 1.0), (0.0, np.inf))(_negated(a)),
    ca.OP_ATAN: _rising(np.arctan),
    ca.OP_SIN: _wave(np.sin, np.pi / 2),
    ca.OP_COS: _wave(np.cos, 0.0),
    ca.OP_TAN: _tangent,
    ca.OP_ERF: _rising(np.vectorize(math.erf, otypes=[float]), image=(-1.0, 1.0)),
    ca.OP_ERFINV: _inverse_error_function,
}


def _sum(a: Range, b: Range) -> Range:
    low, high = a.low + b.low, a.high + b.high
    below, above = outward(low, high)
    low, high = np.where(low == 0, low, below), np.where(high == 0, high, above)  # a sum of zero is exact
    clash = (np.isposinf(a.high) & np.isneginf(b.low)) | (np.isneginf(a.low) & np.isposinf(b.high))
    return Range(low, high, a.undefined | b.undefined | clash)


def _times(a: Range, b: Range) -> Range:
    low, high = _signed(a, b, *outward(*product(a.low, a.high, b.low, b.high)))
    clash = (a.has_zero & b.infinite) | (b.has_zero & a.infinite)
    return Range(low, high, a.undefined | b.undefined | clash)


def quotient(a: Range, b: Range) -> Range:
    """``a / b``; everything where b can be zero, of whichever sign."""
    through = b.has_zero
    with np.errstate(all="ignore"):
        ends = np.stack(np.broadcast_arrays(a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high))
    clash = (through & (a.has_zero | a.infinite)) | (a.infinite & b.infinite)
    known = ~np.isnan(ends).any(axis=0) & ~through
    low, high = _signed(a, b, *outward(ends.min(axis=0), ends.max(axis=0)))
    return Range(np.where(known, low, -np.inf), np.where(known, high, np.inf), a.undefined | b.undefined | clash)


def _signed(a: Range, b: Range, low: Array, high: Array) -> tuple[Array, Array]:
    """Bounds of a product or quotient with the sign that its factors leave no doubt about."""
    positive = ((a.low >= 0) & (b.low >= 0)) | ((a.high <= 0) & (b.high <= 0))
    negative = ((a.low >= 0) & (b.high <= 0)) | ((a.high <= 0) & (b.low >= 0))
    return np.where(positive, np.maximum(low, 0.0), low), np.where(negative, np.minimum(high, 0.0), high)


def _minimum(a: Range, b: Range) -> Range:
    """The smaller one; if one of them is NaN, the other or NaN."""
    high = np.minimum(a.high, b.high)
    high = np.where(a.undefined, np.maximum(high, b.high), high)
    high = np.where(b.undefined, np.maximum(high, a.high), high)
    return Range(np.minimum(a.low, b.low), high, a.undefined | b.undefined)


def _equal(a: Range, b: Range) -> Range:
    same = (a.low == a.high) & (b.low == b.high) & (a.low == b.low)
    return truth(same & ~(a.undefined | b.undefined), (a.low <= b.high) & (b.low <= a.high))


def _not_equal(a: Range, b: Range) -> Range:
    equal = _equal(a, b)
    return truth(equal.high == 0, equal.low == 0)


def _if_else_zero(test: Range, value: Range) -> Range:
    """``value`` where the test is not zero, of whichever sign, else 0."""
    low = np.where(test.has_zero, np.minimum(value.low, 0.0), value.low)
    high = np.where(test.has_zero, np.maximum(value.high, 0.0), value.high)
    return Range(np.where(test.may_hold, low, 0.0), np.where(test.may_hold, high, 0.0), test.may_hold & value.undefined)


def _remainder_of_c(a: Range, b: Range) -> Range:
    """``fmod``: the sign of a, smaller than b, at most a; a itself where b is larger."""
    divisor = np.where(b.has_zero, 0.0, np.minimum(np.abs(b.low), np.abs(b.high)))
    size = np.minimum(np.maximum(np.abs(a.low), np.abs(a.high)), np.maximum(np.abs(b.low), np.abs(b.high)))
    itself = np.maximum(np.abs(a.low), np.abs(a.high)) < divisor
    low = np.where(itself, a.low, np.where(a.low < 0, -size, 0.0))
    high = np.where(itself, a.high, np.where(a.high > 0, size, 0.0))
    return Range(low, high, a.undefined | b.undefined | b.has_zero | a.infinite)


def _ieee_remainder(a: Range, b: Range) -> Range:
    """``remainder``: at most half of b, and at most a, of either sign."""
    size = np.minimum(np.maximum(np.abs(a.low), np.abs(a.high)), np.maximum(np.abs(b.low), np.abs(b.high)) / 2)
    low, high = outward(-size, size)
    return Range(low, high, a.undefined | b.undefined | b.has_zero | a.infinite)


def _copysign(a: Range, b: Range) -> Range:
    """The size of a with the sign of b, that of zero included."""
    size = absolute(a)
    positive, negative = (b.low > 0) & ~b.undefined, (b.high < 0) & ~b.undefined
    return Range(np.where(positive, size.low, -size.high), np.where(negative, -size.low, size.high), a.undefined)


def _arc_tangent(y: Range, x: Range) -> Range:
    """``atan2(y, x)``: monotone in each argument where the box does not touch the cut y = 0, x <= 0."""
    ends = np.stack(np.broadcast_arrays(*(np.arctan2(v, u) for v in (y.low, y.high) for u in (x.low, x.high))))
    low, high = widened(ends.min(axis=0), ends.max(axis=0))
    cut = y.has_zero & (x.low <= 0)
    low, high = np.where(cut, -4.0, low), np.where(cut, 4.0, high)
    return Range(low, high, y.undefined | x.undefined)


def _hypot(a: Range, b: Range) -> Range:
    one, other = absolute(a), absolute(b)
    low, high = widened(np.hypot(one.low, other.low), np.hypot(one.high, other.high))
    return Range(np.maximum(low, 0.0), high, a.undefined | b.undefined)


def _power(a: Range, b: Range) -> Range:
    """``a ^ b``: an integer power of anything, or any power of what is not negative."""
    if np.ndim(b.low) == 0 and b.low == b.high and float(b.low) == np.floor(b.low) and abs(float(b.low)) <= 2**53:
        return _integer_power(a, int(b.low))
    negative = a.low < 0
    base_low, base_high = np.maximum(a.low, 0.0), np.maximum(a.high, 0.0)
    ends = np.stack(np.broadcast_arrays(*(np.power(v, e) for v in (base_low, base_high) for e in (b.low, b.high))))
    low, high = widened(ends.min(axis=0), ends.max(axis=0))
    # a power of zero jumps at the exponent zero, one of infinity too: the corners hold both sides
    jump = b.has_zero & ((base_low == 0) | np.isinf(base_high))
    low, high = np.where(jump, np.minimum(low, 0.0), low), np.where(jump, np.maximum(high, 1.0), high)
    whole = np.asarray(np.floor(b.high) >= np.ceil(b.low))  # an integer exponent gives negative bases a value
    high = np.where(np.isneginf(a.low), np.inf, high)  # minus infinity has powers of any exponent: infinity, or 0
    low = np.where(np.isneginf(a.low), np.minimum(low, 0.0), low)
    free = np.asarray(negative & whole)
    low, high = np.where(free, -np.inf, np.maximum(low, 0.0)), np.where(free, np.inf, high)
    undefined = a.undefined | b.undefined | negative
    # NaN to the power of zero, and one to the power of NaN, are one
    odd = a.undefined | b.undefined
    return Range(np.where(odd, np.minimum(low, 1.0), low), np.where(odd, np.maximum(high, 1.0), high), undefined)


def _integer_power(a: Range, exponent: int) -> Range:
    if exponent == 0:
        one = np.ones(np.shape(a.low))
        return Range(one, one, np.zeros(np.shape(a.low), dtype=bool))
    if exponent < 0:
        return _inverse(_widen(_integer_power(a, -exponent)))
    ends = np.stack([np.power(a.low, float(exponent)), np.power(a.high, float(exponent))])
    low, high = widened(ends.min(axis=0), ends.max(axis=0))
    if exponent % 2 == 0:
        low = np.where(a.has_zero, 0.0, np.maximum(low, 0.0))
    return Range(low, high, a.undefined)


def _widen(a: Range) -> Range:
    low, high = widened(a.low, a.high)
    low = np.where(a.low >= 0, np.maximum(low, 0.0), low)
    return Range(low, high, a.undefined)


BINARY: dict[int, Callable[[Range, Range], Range]] = {
    ca.OP_ADD: _sum,
    ca.OP_SUB: lambda a, b: _sum(a, _negated(b)),
    ca.OP_MUL: _times,
    ca.OP_DIV: quotient,
    ca.OP_POW: _power,
    ca.OP_CONSTPOW: _power,
    ca.OP_FMIN: _minimum,
    ca.OP_FMAX: lambda a, b: _negated(_minimum(_negated(a), _negated(b))),
    ca.OP_LT: lambda a, b: truth((a.high < b.low) & ~(a.undefined | b.undefined), a.low < b.high),
    ca.OP_LE: lambda a, b: truth((a.high <= b.low) & ~(a.undefined | b.undefined), a.low <= b.high),
    ca.OP_EQ: _equal,
    ca.OP_NE: _not_equal,
    ca.OP_AND: lambda a, b: truth(~a.has_zero & ~b.has_zero, a.may_hold & b.may_hold),
    ca.OP_OR: lambda a, b: truth(~a.has_zero | ~b.has_zero, a.may_hold | b.may_hold),
    ca.OP_IF_ELSE_ZERO: _if_else_zero,
    ca.OP_FMOD: _remainder_of_c,
    ca.OP_REMAINDER: _ieee_remainder,
    ca.OP_COPYSIGN: _copysign,
    ca.OP_ATAN2: _arc_tangent,
    ca.OP_HYPOT: _hypot,
    ca.OP_PRINTME: lambda a, b: a,
    ca.OP_LIFT: lambda a, b: a,
}
