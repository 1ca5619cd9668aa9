"""Ranges of values over boxes, rounded outward, and what the rules of interval arithmetic share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
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
        """Whether zero is within the range."""
        return np.asarray((self.low <= 0) & (self.high >= 0))

    @property
    def may_hold(self) -> Flags:
        """Whether it can count as true: anything but zero does, NaN included."""
        return np.asarray((self.low != 0) | (self.high != 0) | self.undefined)

    @property
    def may_fail(self) -> Flags:
        """Whether it can count as false: zero."""
        return self.has_zero

    @property
    def infinite(self) -> Flags:
        """Whether a value can be infinite."""
        return np.asarray(np.isinf(self.low) | np.isinf(self.high))


def everything(*operands: Range) -> Range:
    """The range of which nothing is known."""
    shape = np.broadcast_shapes(*(np.shape(o.low) for o in operands)) if operands else ()
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
