"""Interval arithmetic on arrays of boxes: what values an expression can take over a set of points.

Rigorous in floating point: every bound is rounded outward, an operation without a rule is refused by its name, a called
function that is no scalar graph gives everything unless it is a piecewise linear table of one argument, and whether
an operation can fail to have a value (NaN) is kept beside its range. A quotient of two entries whose range
is known better than from its parts, a centre of mass as first moment over mass, is recognised and takes that range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.expressions._catalogue import refused
from casid.expressions._interval_rules import BINARY, UNARY
from casid.expressions._lookup import linear_table
from casid.expressions._ranges import Range, everything
from casid.expressions._walk import walk

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Interval:
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
    """

    low: Array
    high: Array
    undefined: NDArray[np.bool_]
    entries: frozenset[int] = frozenset()
    quotients: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True, eq=False)
class _Value:
    range: Range
    entry: int | None = None
    entries: frozenset[int] = frozenset()
    quotients: frozenset[tuple[int, int]] = frozenset()


def enclose(
    function: ca.Function,
    low: ArrayLike,
    high: ArrayLike,
    quotients: Mapping[tuple[int, int], Array] | None = None,
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
    lows, highs, known = np.asarray(low, dtype=float), np.asarray(high, dtype=float), quotients or {}

    def constant(value: float) -> _Value:
        return _Value(Range(np.array(value), np.array(value), np.array(np.isnan(value))))

    def entry(index: int) -> _Value:
        return _Value(
            Range(lows[index], highs[index], np.zeros(np.shape(lows[index]), dtype=bool)), index, frozenset({index})
        )

    def apply(code: int, operands: list[_Value]) -> _Value:
        if code == ca.OP_ASSIGN:
            return replace(operands[0])
        if code == ca.OP_DIV and operands[0].entry is not None and operands[1].entry is not None:
            pair = operands[0].entry, operands[1].entry
            if pair in known:
                bounds = np.asarray(known[pair], dtype=float)
                quotient = Range(bounds[..., 0], bounds[..., 1], np.zeros(bounds.shape[:-1], dtype=bool))
                return _Value(quotient, quotients=frozenset({pair}))
        entries = frozenset().union(*(o.entries for o in operands))
        return _Value(
            _apply(code, [o.range for o in operands]),
            None,
            entries,
            frozenset().union(*(o.quotients for o in operands)),
        )

    return [
        Interval(v.range.low, v.range.high, v.range.undefined, v.entries, v.quotients)
        for v in walk(function, constant, entry, apply, _call)
    ]


def _call(callee: ca.Function, operands: list[_Value]) -> list[_Value]:
    """The outputs of an opaque function: anything, or between the knots of a table."""
    entries = frozenset().union(*(o.entries for o in operands))
    quotients = frozenset().union(*(o.quotients for o in operands))
    table = linear_table(callee)
    if table is not None:
        return [_Value(table.range(operands[0].range), None, entries, quotients)]
    unknown = everything(*(o.range for o in operands))
    return [_Value(unknown, None, entries, quotients)] * sum(callee.nnz_out(k) for k in range(callee.n_out()))


def _apply(code: int, operands: list[Range]) -> Range:
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
