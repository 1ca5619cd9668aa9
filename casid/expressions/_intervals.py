"""Interval arithmetic on arrays of boxes: what values an expression can take, and where it has one.

CasADi gives no access to the numbers of an interpolant but by its serialised form (`casadi.Function.serialize` with
``debug``), a stream of named and typed fields. What is read there is used only if the function has exactly these values
at these knots and halfway between them; otherwise nothing is known of it.

Rigorous in floating point: every bound is rounded outward, an operation without a rule is refused by its name, a called
function that is no scalar graph gives everything unless it is a piecewise linear table of one argument, and whether
an operation can fail to have a value (NaN) is kept beside its range. A quotient of two entries whose range
is known better than from its parts, a centre of mass as first moment over mass, is recognised and takes that range.

**Rule.** An expression is undefined at a point where any operation that counts has no real value there: the root of a
negative number, a logarithm of zero or less, a division by zero, an arc sine beyond [-1, 1], NaN from a called
function.
Every operation counts except those in the branch of an if-else that is not taken: a comparison, a logical operation, a
minimum or a maximum of something undefined is undefined itself, whatever CasADi returns for it. A point where a
constraint's expression is undefined does not meet the constraint.

`casid.expressions._evaluate.NumpyFunction` follows the rule. Where the value itself would be NaN, a bound on it says
the same; `required_domains` are the rows that the rule adds: arguments of operations whose lack of a value a
comparison,
a minimum or a maximum hides.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.arrays import ROUNDING, Array, Flags
from casid.expressions._walk import (
    CALL,
    COMPARISONS,
    Rules,
    Walk,
    as_function,
    rebuild,
    rebuild_call,
    refused,
    unknown,
)

# ------------------------------------------------------------------ ranges

#: Units in the last place by which elementary functions (not + - * / sqrt, which round correctly) may be off.
_ULPS = 8


@dataclass(frozen=True, eq=False)
class Range:
    """``low <= value <= high`` wherever there is a value; ``undefined`` where there may be none (NaN).

    Arrays of one shape, or shapes that broadcast: (K,) for K boxes, () for the same in all.
    """

    low: Array
    high: Array
    undefined: Flags

    @property
    def has_zero(self) -> Flags:
        """Whether zero is within the range, so that it can count as false."""
        return np.asarray((self.low <= 0) & (self.high >= 0))

    @property
    def may_hold(self) -> Flags:
        """Whether it can count as true: anything but zero does, NaN included."""
        return np.asarray((self.low != 0) | (self.high != 0) | self.undefined)

    @property
    def infinite(self) -> Flags:
        """Whether a value can be infinite."""
        return np.asarray(np.isinf(self.low) | np.isinf(self.high))


def everything(*operands: Range) -> Range:
    """The range of which nothing is known."""
    shape = np.broadcast_shapes(*(np.shape(o.low) for o in operands))
    return Range(np.full(shape, -np.inf), np.full(shape, np.inf), np.ones(shape, dtype=bool))


def outward(low: ArrayLike, high: ArrayLike) -> tuple[Array, Array]:
    """Bounds one unit in the last place further out: for operations that round correctly."""
    return np.asarray(np.nextafter(low, -np.inf)), np.asarray(np.nextafter(high, np.inf))


def widened(low: ArrayLike, high: ArrayLike) -> tuple[Array, Array]:
    """Bounds a few units in the last place further out: for functions of the C library."""
    numbers = np.finfo(float)
    step = _ULPS * numbers.eps
    # a bound that overflowed inward (a lower one of infinity) is the largest number
    bottom, top = np.minimum(low, numbers.max), np.maximum(high, -numbers.max)
    bottom = np.where(np.isinf(bottom), bottom, bottom - step * np.abs(bottom) - numbers.tiny)
    top = np.where(np.isinf(top), top, top + step * np.abs(top) + numbers.tiny)
    return np.asarray(bottom), np.asarray(top)


def product(a: Array, b: Array, c: Array, d: Array) -> tuple[Array, Array]:
    """Bounds of ``[a, b] [c, d]``, not rounded; zero times infinity is zero here: an infinite bound is no value."""
    ends = np.stack(np.broadcast_arrays(a * c, a * d, b * c, b * d))
    ends = np.where(np.isnan(ends), 0.0, ends)
    return np.asarray(ends.min(axis=0)), np.asarray(ends.max(axis=0))


def absolute(a: Range) -> Range:
    """Range of the absolute value."""
    low, high = np.abs(a.low), np.abs(a.high)
    return Range(np.where(a.has_zero, 0.0, np.minimum(low, high)), np.maximum(low, high), a.undefined)


def truth(certain: ArrayLike, possible: ArrayLike) -> Range:
    """A comparison's or a logical operation's value: 1 where certain, 0 where impossible, else between."""
    low, high = np.asarray(certain) * 1.0, np.asarray(possible) * 1.0
    return Range(low, high, np.zeros(np.broadcast_shapes(low.shape, high.shape), dtype=bool))


@dataclass(frozen=True, eq=False)
class LinearTable:
    """A piecewise linear function of one argument; its first and last pieces go on beyond the knots.

    Attributes
    ----------
    knots, values : ndarray, shape (K,)
        Increasing, and the values there.
    """

    knots: Array
    values: Array

    def at(self, points: Array) -> Array:
        """Values at points of any shape."""
        slopes = np.diff(self.values) / np.diff(self.knots)
        piece = np.clip(np.searchsorted(self.knots, points, side="right") - 1, 0, len(slopes) - 1)
        with np.errstate(all="ignore"):
            step = slopes[piece] * (points - self.knots[piece])
        return np.asarray(self.values[piece] + np.where(slopes[piece] == 0, 0.0, step))

    def range(self, a: Range) -> Range:
        """Its range over that of its argument: of the ends and of the knots between them."""
        low, high = np.asarray(a.low), np.asarray(a.high)
        ends = np.stack([self.at(low), self.at(high)])
        inside = (self.knots > low[..., None]) & (self.knots < high[..., None])
        bottom = np.minimum(ends.min(axis=0), np.where(inside, self.values, np.inf).min(axis=-1))
        top = np.maximum(ends.max(axis=0), np.where(inside, self.values, -np.inf).max(axis=-1))
        slopes = np.abs(np.diff(self.values) / np.diff(self.knots)).max()
        with np.errstate(all="ignore"):
            reach = slopes * np.maximum(np.abs(low - self.knots[0]), np.abs(high - self.knots[0]))
        reach = np.where(np.isfinite(reach), reach, 0.0)  # an end that is infinite has an infinite value, or none
        slack = ROUNDING * (np.abs(self.values).max() + reach + slopes * np.abs(self.knots).max())
        return Range(bottom - slack, top + slack, np.asarray(a.undefined | a.infinite))


@lru_cache(maxsize=256)
def _read(content: str) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """Knots and values of the fields ``Interpolant::grid`` and ``Interpolant::values``, if there is one argument."""
    numbers = np.frombuffer(content.encode("ascii"), dtype=np.uint8).astype(np.int64) - ord("a")
    numbers = numbers[: len(numbers) // 2 * 2].reshape(-1, 2)
    data = (numbers[:, 0] + 16 * numbers[:, 1]).astype(np.uint8).tobytes()
    found = []
    for name in ("Interpolant::grid", "Interpolant::values"):
        mark = b"si" + struct.pack("<i", len(name)) + name.encode() + b"VJ"
        place = data.find(mark)
        if place < 0 or data.find(mark, place + 1) >= 0:
            return None
        place += len(mark)
        (count,) = struct.unpack_from("<q", data, place)
        entries = data[place + 8 : place + 8 + 9 * count]
        if not 2 <= count <= 1_000_000 or len(entries) < 9 * count:
            return None
        found.append(tuple(struct.unpack_from("<d", entries, 9 * k + 1)[0] for k in range(count)))
    return (found[0], found[1]) if len(found[0]) == len(found[1]) else None


@lru_cache(maxsize=256)
def linear_table(callee: ca.Function) -> LinearTable | None:
    """The table that a function is, if it is a piecewise linear one of one argument; None if it is not, or unknown."""
    if callee.class_name() != "LinearInterpolant" or (callee.n_in(), callee.nnz_in(0), callee.nnz_out(0)) != (1, 1, 1):
        return None
    read = _read(callee.serialize({"debug": True}))
    if read is None:
        return None
    table = LinearTable(np.array(read[0]), np.array(read[1]))
    if not (np.isfinite(table.knots).all() and np.isfinite(table.values).all() and (np.diff(table.knots) > 0).all()):
        return None
    between = (table.knots[1:] + table.knots[:-1]) / 2
    beyond = np.array([2 * table.knots[0] - table.knots[1], 2 * table.knots[-1] - table.knots[-2]])
    points = np.concatenate([table.knots, between, beyond])
    values = np.array(callee.map(len(points))(points.reshape(1, -1))).ravel()
    size = np.abs(table.values).max() + np.abs(table.at(beyond)).max()
    return table if (np.abs(values - table.at(points)) <= ROUNDING * size).all() else None


# ------------------------------------------------------------------ operations of one operand

Function = Callable[[Array], Array]
#: Beyond this argument the reduction by multiples of pi is not trusted.
_LARGEST_ANGLE = 1e6


def _square(a: Range) -> Range:
    size = absolute(a)
    low, high = outward(size.low**2, size.high**2)
    return Range(np.maximum(low, 0.0), high, a.undefined)


def _rising(
    function: Function, domain: tuple[float, float] = (-np.inf, np.inf), image: tuple[float, float] = (-np.inf, np.inf)
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
        far = ~(absolute(a).high < _LARGEST_ANGLE)
        low, high = widened(ends.min(axis=0), ends.max(axis=0))
        low = np.where(bottom | far, -1.0, np.maximum(low, -1.0))
        high = np.where(top | far, 1.0, np.minimum(high, 1.0))
        return Range(low, high, a.undefined | a.infinite)

    return apply


def _tangent(a: Range) -> Range:
    far = ~(absolute(a).high < _LARGEST_ANGLE)
    pole = far | _passes(a, np.pi / 2, np.pi)
    low, high = widened(np.tan(a.low), np.tan(a.high))
    return Range(np.where(pole, -np.inf, low), np.where(pole, np.inf, high), a.undefined | a.infinite)


def _passes(a: Range, at: float, period: float) -> NDArray[np.bool_]:
    """Whether ``at`` plus a multiple of the period lies within the range, or nearly so."""
    slack = 1e-9 * (1.0 + absolute(a).high)
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
    of_a, of_b = absolute(a), absolute(b)
    size, itself = np.minimum(of_a.high, of_b.high), of_a.high < of_b.low
    low = np.where(itself, a.low, np.where(a.low < 0, -size, 0.0))
    high = np.where(itself, a.high, np.where(a.high > 0, size, 0.0))
    return Range(low, high, a.undefined | b.undefined | b.has_zero | a.infinite)


def _ieee_remainder(a: Range, b: Range) -> Range:
    """``remainder``: at most half of b, and at most a, of either sign."""
    size = np.minimum(absolute(a).high, absolute(b).high / 2)
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


# ------------------------------------------------------------------ expressions


@dataclass(frozen=True, eq=False)
class Interval(Range):
    """Range of an expression over boxes, one a box.

    Attributes
    ----------
    low, high : ndarray, shape (K,) or ()
        No value lies outside, infinite ones and rounding errors included.
    undefined : ndarray of bool, shape (K,) or ()
        Whether the expression can be NaN at a point of the box.
    entries : frozenset of int
        Entries of x that it depends on other than through a known quotient.
    quotients : frozenset of (int, int)
        Known quotients that it depends on: numerator and denominator.
    entry : int or None
        The entry of x that it is.
    """

    entries: frozenset[int] = frozenset()
    quotients: frozenset[tuple[int, int]] = frozenset()
    entry: int | None = None


def enclose(
    function: ca.Function, low: ArrayLike, high: ArrayLike, quotients: Mapping[tuple[int, int], Array] | None = None
) -> list[Interval]:
    """Ranges of a function's outputs over boxes.

    Parameters
    ----------
    function
        Of one dense vector x of N entries (`casid.expressions._walk.as_function`).
    low, high
        Bounds of x, shape (N,), or (N, K) for K boxes at once; infinite where there are none.
    quotients
        ``(i, j)`` -> range of ``x[i] / x[j]``, shape (..., 2), for quotients whose range is known.

    Returns
    -------
    list of Interval
        One an output entry.
    """
    lows, highs = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    known: Mapping[Any, Array] = quotients or {}

    def constant(value: float) -> Interval:
        return Interval(np.array(value), np.array(value), np.array(np.isnan(value)))

    def entry(index: int) -> Interval:
        defined = np.zeros(np.shape(lows[index]), dtype=bool)
        return Interval(lows[index], highs[index], defined, frozenset({index}), entry=index)

    def apply(code: int, operands: list[Interval]) -> Interval:
        if code == ca.OP_ASSIGN:
            return operands[0]
        pair = operands[0].entry, operands[-1].entry
        if code == ca.OP_DIV and pair in known:
            bounds = np.asarray(known[pair], dtype=np.float64)
            defined = np.zeros(bounds.shape[:-1], dtype=bool)
            return Interval(bounds[..., 0], bounds[..., 1], defined, quotients=frozenset[Any]({pair}))
        return _interval(_apply(code, operands), operands)

    rules: Rules = {"constant": constant, "entry": entry, "operation": apply, "call": _call}
    steps = Walk(function)
    for step in steps:
        step.value = rules[step.kind](*step.given)
    return steps.values


def _interval(found: Range, operands: Sequence[Interval]) -> Interval:
    """The range as one that depends on what the operands depend on."""
    entries = frozenset().union(*(o.entries for o in operands))
    quotients = frozenset().union(*(o.quotients for o in operands))
    return Interval(found.low, found.high, found.undefined, entries, quotients)


def _call(callee: ca.Function, operands: list[Interval]) -> list[Interval]:
    """The outputs of an opaque function: anything, or between the knots of a table."""
    table = linear_table(callee)
    found = everything(*operands) if table is None else table.range(operands[0])
    return [_interval(found, operands) for _ in unknown(callee, operands)]


def _apply(code: int, operands: Sequence[Range]) -> Range:
    with np.errstate(all="ignore"):
        if len(operands) == 1 and code in UNARY:
            found = UNARY[code](operands[0])
        elif len(operands) == 2 and code in BINARY:
            found = BINARY[code](operands[0], operands[1])
        else:
            raise refused(code, "interval", len(operands))
    # a bound that could not be computed (infinity less infinity) bounds nothing
    low = np.asarray(np.where(np.isnan(found.low), -np.inf, found.low))
    high = np.asarray(np.where(np.isnan(found.high), np.inf, found.high))
    low, high, undefined = np.broadcast_arrays(low, high, found.undefined)
    return Range(low, high, undefined)


#: Operations of which CasADi may return a number although an operand is undefined.
HIDING = frozenset({*COMPARISONS, ca.OP_NOT, ca.OP_AND, ca.OP_OR, ca.OP_FMIN, ca.OP_FMAX, ca.OP_COPYSIGN, ca.OP_LIFT})
#: Rows that are >= 0 where an operation of one operand has a value (for a logarithm: or is -infinity).
_ROWS: dict[int, Callable[[ca.SX], list[ca.SX]]] = {
    ca.OP_SQRT: lambda a: [a],
    ca.OP_LOG: lambda a: [a],
    ca.OP_LOG1P: lambda a: [1 + a],
    ca.OP_ACOSH: lambda a: [a - 1],
    ca.OP_ASIN: lambda a: [1 - a, 1 + a],
    ca.OP_ACOS: lambda a: [1 - a, 1 + a],
    ca.OP_ATANH: lambda a: [1 - a, 1 + a],
    ca.OP_ERFINV: lambda a: [1 - a, 1 + a],
}


@dataclass(frozen=True, eq=False)
class _Node:
    """A value; rows that are >= 0 where it is defined: those that its own NaN shows, and those that are hidden."""

    value: ca.SX
    shown: dict[int, ca.SX] = field(default_factory=dict)
    hidden: dict[int, ca.SX] = field(default_factory=dict)


def required_domains(expression: ca.SX, x: ca.SX) -> tuple[ca.SX, ...]:
    """Scalar rows that are >= 0 wherever an expression is defined and that its values alone do not demand.

    A row within a branch of an if-else is zero where the branch is not taken. Rows that hold everywhere are left out.
    Divisions by zero and powers of negative numbers with an exponent that is no constant give no row: the re-check
    alone excludes such points.

    Parameters
    ----------
    expression
        Any shape, read column by column.
    x
        Vector of the unknowns, shape (N,).
    """
    function = as_function(expression, x)
    if not may_hide(function):
        return ()
    rules: Rules = {"operation": _apply_domain, "call": _call_domain}
    rules |= {"constant": lambda v: _Node(ca.SX(v)), "entry": lambda k: _Node(x[k])}
    steps = Walk(function)
    for step in steps:
        step.value = rules[step.kind](*step.given)
    rows = list(_united([o.hidden for o in steps.values]).values())
    if not rows:
        return ()
    free = np.full(x.numel(), np.inf)
    ranges = enclose(as_function(ca.vertcat(*rows), x), -free, free)
    return tuple(row for row, found in zip(rows, ranges, strict=True) if not float(found.low) >= 0)


def may_hide(function: ca.Function) -> bool:
    """Whether a function has an operation that can be undefined and one that can hide it."""
    codes = {function.instruction_id(k) for k in range(function.n_instructions())}
    hiding, partial = HIDING | {ca.OP_IF_ELSE_ZERO}, {*_ROWS, ca.OP_POW, ca.OP_CONSTPOW}
    return CALL in codes or bool(codes & hiding and codes & partial)


def _apply_domain(code: int, operands: list[_Node]) -> _Node:
    value = rebuild(code, [o.value for o in operands])
    shown, hidden = _united([o.shown for o in operands]), _united([o.hidden for o in operands])
    if code == ca.OP_IF_ELSE_ZERO:
        test, chosen = operands
        guarded = [_guarded(test.value, rows) for rows in (chosen.shown, chosen.hidden)]
        return _Node(value, guarded[0], _united([test.shown, test.hidden, guarded[1]]))
    if code in HIDING:
        return _Node(value, {}, _united([hidden, shown]))
    rows: list[ca.SX] = []
    if code in _ROWS:
        rows = _ROWS[code](operands[0].value)
    elif code in (ca.OP_POW, ca.OP_CONSTPOW) and operands[1].value.is_constant():
        exponent = float(operands[1].value)
        rows = [operands[0].value] if exponent != np.floor(exponent) else []
        if exponent == 0:  # CasADi's one, of NaN too
            return _Node(value, {}, _united([hidden, shown]))
    return _Node(value, _united([shown, _by_hash(row for row in rows if not row.is_constant())]), hidden)


def _call_domain(callee: ca.Function, operands: list[_Node]) -> list[_Node]:
    """What an opaque function does with NaN is not known."""
    hidden = _united([*(o.hidden for o in operands), *(o.shown for o in operands)])
    return [_Node(value, {}, hidden) for value in rebuild_call(callee, [o.value for o in operands])]


def _guarded(test: ca.SX, rows: dict[int, ca.SX]) -> dict[int, ca.SX]:
    if test.is_constant():
        return rows if float(test) else {}
    return _by_hash(ca.if_else(test, row, 0) for row in rows.values())


def _by_hash(rows: Iterable[ca.SX]) -> dict[int, ca.SX]:
    return {row.element_hash(): row for row in rows}


def _united(groups: list[dict[int, ca.SX]]) -> dict[int, ca.SX]:
    return {key: row for group in groups for key, row in group.items()}
