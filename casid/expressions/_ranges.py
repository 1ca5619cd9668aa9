"""Ranges of values over boxes, rounded outward; exact ranges of lookup tables of one argument.

CasADi gives no access to the numbers of an interpolant but by its serialised form (`casadi.Function.serialize` with
``debug``), a stream of named and typed fields. What is read there is used only if the function has exactly these values
at these knots and halfway between them; otherwise nothing is known of it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.arrays import ROUNDING, Array

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
