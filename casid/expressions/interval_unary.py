"""Ranges of the operations of one operand."""

from __future__ import annotations

import math
from collections.abc import Callable

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.expressions.interval_binary import quotient
from casid.expressions.ranges import Range, absolute, outward, truth, widened

Array = NDArray[np.float64]
Function = Callable[[Array], Array]
#: Beyond this argument the reduction by multiples of pi is not trusted.
_LARGEST_ANGLE = 1e6


def _same(a: Range) -> Range:
    return a


def _negated(a: Range) -> Range:
    return Range(-a.high, -a.low, a.undefined)


def _twice(a: Range) -> Range:
    return Range(2 * a.low, 2 * a.high, a.undefined)


def _square(a: Range) -> Range:
    size = absolute(a)
    low, high = outward(size.low**2, size.high**2)
    return Range(np.maximum(low, 0.0), high, a.undefined)


def _inverse(a: Range) -> Range:
    one = np.array(1.0)
    return quotient(Range(one, one, np.array(False)), a)


def _not(a: Range) -> Range:
    return truth(~a.may_hold, a.may_fail)


def _sign(a: Range) -> Range:
    return Range(np.sign(a.low), np.sign(a.high), a.undefined)


def _rounding(function: Function) -> Callable[[Range], Range]:
    return lambda a: Range(function(a.low), function(a.high), a.undefined)


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


def _arc_cosine(a: Range) -> Range:
    low, high = widened(np.arccos(np.clip(a.high, -1.0, 1.0)), np.arccos(np.clip(a.low, -1.0, 1.0)))
    return Range(np.maximum(low, 0.0), high, a.undefined | (a.low < -1) | (a.high > 1))


def _hyperbolic_cosine(a: Range) -> Range:
    size = absolute(a)
    low, high = widened(np.cosh(size.low), np.cosh(size.high))
    return Range(np.maximum(low, 1.0), high, a.undefined)


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
    """Whether ``at`` plus a multiple of the period lies within the range, or as good as."""
    slack = 1e-9 * (1.0 + np.maximum(np.abs(a.low), np.abs(a.high)))
    return np.asarray(np.floor((a.high + slack - at) / period) >= np.ceil((a.low - slack - at) / period))


def _error_function(values: Array) -> Array:
    return np.asarray(np.vectorize(math.erf, otypes=[float])(values))


UNARY: dict[int, Callable[[Range], Range]] = {
    ca.OP_ASSIGN: _same,
    ca.OP_LIFT: _same,
    ca.OP_PRINTME: _same,
    ca.OP_NEG: _negated,
    ca.OP_TWICE: _twice,
    ca.OP_SQ: _square,
    ca.OP_INV: _inverse,
    ca.OP_FABS: absolute,
    ca.OP_NOT: _not,
    ca.OP_SIGN: _sign,
    ca.OP_FLOOR: _rounding(np.floor),
    ca.OP_CEIL: _rounding(np.ceil),
    ca.OP_SQRT: _rising(np.sqrt, (0.0, np.inf), (0.0, np.inf)),
    ca.OP_EXP: _rising(np.exp, image=(0.0, np.inf)),
    ca.OP_EXPM1: _rising(np.expm1, image=(-1.0, np.inf)),
    ca.OP_LOG: _rising(np.log, (0.0, np.inf)),
    ca.OP_LOG1P: _rising(np.log1p, (-1.0, np.inf)),
    ca.OP_SINH: _rising(np.sinh),
    ca.OP_COSH: _hyperbolic_cosine,
    ca.OP_TANH: _rising(np.tanh, image=(-1.0, 1.0)),
    ca.OP_ASINH: _rising(np.arcsinh),
    ca.OP_ACOSH: _rising(np.arccosh, (1.0, np.inf), (0.0, np.inf)),
    ca.OP_ATANH: _rising(np.arctanh, (-1.0, 1.0)),
    ca.OP_ASIN: _rising(np.arcsin, (-1.0, 1.0)),
    ca.OP_ACOS: _arc_cosine,
    ca.OP_ATAN: _rising(np.arctan),
    ca.OP_SIN: _wave(np.sin, np.pi / 2),
    ca.OP_COS: _wave(np.cos, 0.0),
    ca.OP_TAN: _tangent,
    ca.OP_ERF: _rising(_error_function, image=(-1.0, 1.0)),
}
