"""Interval arithmetic on arrays of boxes: what values a user's expression can take over a set of bodies.

A centre of mass enters an expression as first moment over mass. That quotient is recognised and takes the range of
the centre of mass itself, which stays finite where the mass goes to zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.expressions.walk import walk

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Interval:
    """Ranges, one a box, shapes (K,) or scalar.

    ``entry`` names an untouched input, ``raw`` and ``links`` what it depends on.

    ``links`` are those whose centre of mass enters, ``raw`` the inputs that enter otherwise.
    """

    low: Array
    high: Array
    entry: int | None = None
    raw: frozenset[int] = frozenset()
    links: frozenset[int] = frozenset()


def enclose(function: ca.Function, low: Array, high: Array, com: dict[int, Array]) -> list[Interval]:
    """Ranges of a function of the unknowns x over boxes.

    Parameters
    ----------
    function
        Of one dense vector x.
    low, high
        Bounds of x, shape (N,).
    com
        Link -> boxes of its centre of mass, shape (K, 3, 2) or (3, 2).
    """
    links = len(low) // 10

    def constant(value: float) -> Interval:
        return Interval(np.array(value), np.array(value))

    def entry(index: int) -> Interval:
        return Interval(np.array(low[index]), np.array(high[index]), index, frozenset({index}))

    def apply(code: int, operands: list[Interval]) -> Interval:
        if code == ca.OP_DIV and operands[0].entry is not None and operands[1].entry is not None:
            link, place = divmod(operands[0].entry, 10)
            if link < links and 6 <= place <= 8 and operands[1].entry == 10 * link + 9 and link in com:
                box = com[link][..., place - 6, :]
                return Interval(box[..., 0], box[..., 1], None, frozenset(), frozenset({link}))
        with np.errstate(all="ignore"):
            bounds = _apply(code, operands)
        bottom, top = (
            np.asarray(np.where(np.isnan(b), fill, b)) for b, fill in zip(bounds, (-np.inf, np.inf), strict=True)
        )
        raw = frozenset().union(*(o.raw for o in operands))
        return Interval(bottom, top, None, raw, frozenset().union(*(o.links for o in operands)))

    return walk(function, constant, entry, apply)


def _apply(code: int, operands: list[Interval]) -> tuple[Any, Any]:
    a = operands[0]
    if len(operands) == 1:
        return _unary(code, a.low, a.high)
    return _binary(code, a, operands[1])


def _unary(code: int, low: Array, high: Array) -> tuple[Any, Any]:
    if code in (ca.OP_ASSIGN,):
        return low, high
    if code == ca.OP_NEG:
        return -high, -low
    if code == ca.OP_TWICE:
        return 2 * low, 2 * high
    if code == ca.OP_SQ:
        ends = np.maximum(low**2, high**2)
        return np.where((low <= 0) & (high >= 0), 0.0, np.minimum(low**2, high**2)), ends
    if code == ca.OP_SQRT:
        return np.sqrt(np.maximum(low, 0.0)), np.sqrt(np.maximum(high, 0.0))
    if code == ca.OP_FABS:
        ends = np.maximum(np.abs(low), np.abs(high))
        return np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high))), ends
    if code == ca.OP_INV:
        return _quotient(np.array(1.0), np.array(1.0), low, high)
    if code == ca.OP_NOT:
        return 1.0 - np.minimum(high != 0, 1.0), 1.0 - ((low > 0) | (high < 0))
    if code in (ca.OP_EXP, ca.OP_LOG, ca.OP_TANH, ca.OP_ATAN):
        f = {ca.OP_EXP: np.exp, ca.OP_LOG: np.log, ca.OP_TANH: np.tanh, ca.OP_ATAN: np.arctan}[code]
        return f(low), f(high)
    if code in (ca.OP_SIN, ca.OP_COS):
        shift = 0.0 if code == ca.OP_SIN else np.pi / 2
        a, b = low + shift, high + shift
        ends = np.stack([np.sin(a), np.sin(b)])
        top = np.floor((b - np.pi / 2) / (2 * np.pi)) >= np.ceil((a - np.pi / 2) / (2 * np.pi))
        bottom = np.floor((b + np.pi / 2) / (2 * np.pi)) >= np.ceil((a + np.pi / 2) / (2 * np.pi))
        return np.where(bottom, -1.0, ends.min(axis=0)), np.where(top, 1.0, ends.max(axis=0))
    return np.full(low.shape, -np.inf), np.full(low.shape, np.inf)


def _binary(code: int, a: Interval, b: Interval) -> tuple[Any, Any]:
    if code == ca.OP_ADD:
        return a.low + b.low, a.high + b.high
    if code == ca.OP_SUB:
        return a.low - b.high, a.high - b.low
    if code == ca.OP_MUL:
        return _product(a.low, a.high, b.low, b.high)
    if code == ca.OP_DIV:
        return _quotient(a.low, a.high, b.low, b.high)
    if code == ca.OP_FMIN:
        return np.minimum(a.low, b.low), np.minimum(a.high, b.high)
    if code == ca.OP_FMAX:
        return np.maximum(a.low, b.low), np.maximum(a.high, b.high)
    if code == ca.OP_LT:
        return (a.high < b.low) * 1.0, (a.low < b.high) * 1.0
    if code == ca.OP_LE:
        return (a.high <= b.low) * 1.0, (a.low <= b.high) * 1.0
    if code == ca.OP_IF_ELSE_ZERO:
        never, always = a.high == 0, (a.low > 0) | (a.high < 0)
        low = np.where(always, b.low, np.minimum(b.low, 0.0))
        high = np.where(always, b.high, np.maximum(b.high, 0.0))
        return np.where(never, 0.0, low), np.where(never, 0.0, high)
    if code in (ca.OP_POW, ca.OP_CONSTPOW) and b.low.shape == () and b.low == b.high:
        exponent = float(b.low)
        if exponent == int(exponent) and exponent > 0:
            ends = np.stack(np.broadcast_arrays(a.low**exponent, a.high**exponent))
            inside = (int(exponent) % 2 == 0) & (a.low <= 0) & (a.high >= 0)
            return np.where(inside, 0.0, ends.min(axis=0)), ends.max(axis=0)
    shape = np.broadcast_shapes(a.low.shape, b.low.shape)
    return np.full(shape, -np.inf), np.full(shape, np.inf)


def _product(a: Array, b: Array, c: Array, d: Array) -> tuple[Array, Array]:
    ends = np.stack(np.broadcast_arrays(a * c, a * d, b * c, b * d))
    ends = np.where(np.isnan(ends), 0.0, ends)  # 0 times infinity: a bound of 0 times anything is 0
    return ends.min(axis=0), ends.max(axis=0)


def _quotient(a: Array, b: Array, c: Array, d: Array) -> tuple[Array, Array]:
    through = (c <= 0) & (d >= 0)
    low, high = _product(a, b, np.where(through, 1.0, 1.0 / d), np.where(through, 1.0, 1.0 / c))
    return np.where(through, -np.inf, low), np.where(through, np.inf, high)
