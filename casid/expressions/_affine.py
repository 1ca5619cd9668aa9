"""Affine expressions, recognised by their structure.

An expression is affine where it is built of entries of x and constants by sums, differences, and multiplication and
division by constants. Nothing is sampled or differentiated: an if-else, a rounding, a sign, a comparison or a logical
operation of x has a derivative of zero almost everywhere and is not affine.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.expressions._walk import as_function, evaluate_call, fold, walk

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AffineForm:
    """``coefficients'x + offset``; coefficients of shape (N,), read-only.

    Sums and products of constants are rounded as numpy rounds them, nothing else is approximated.
    """

    coefficients: Array
    offset: float

    def __post_init__(self) -> None:
        self.coefficients.setflags(write=False)


@dataclass(frozen=True, eq=False)
class _Sum:
    """Coefficients by entry, and the offset."""

    terms: dict[int, float]
    offset: float

    @property
    def constant(self) -> bool:
        return not self.terms

    def scaled(self, factor: float) -> _Sum | None:
        return _checked({k: factor * c for k, c in self.terms.items()}, factor * self.offset)

    def plus(self, other: _Sum, sign: float) -> _Sum | None:
        terms = dict(self.terms)
        for k, c in other.terms.items():
            terms[k] = terms.get(k, 0.0) + sign * c
        return _checked(terms, self.offset + sign * other.offset)


def affine_rows(expression: ca.SX, x: ca.SX) -> tuple[AffineForm | None, ...]:
    """The affine form of every entry of an expression, None for an entry that is not affine by its structure.

    Parameters
    ----------
    expression
        Any shape, read column by column.
    x
        Vector of the unknowns, shape (N,).
    """
    sums = walk(
        as_function(expression, x), lambda value: _checked({}, value), lambda k: _Sum({k: 1.0}, 0.0), _apply, _call
    )
    return tuple(None if s is None else _dense(s, x.numel()) for s in sums)


def is_affine(expression: ca.SX, x: ca.SX) -> bool:
    """Whether every entry of an expression is affine by its structure."""
    return all(row is not None for row in affine_rows(expression, x))


def _apply(code: int, operands: list[_Sum | None]) -> _Sum | None:
    known = [o for o in operands if o is not None]
    if len(known) < len(operands) or not known:
        return None
    if all(o.constant for o in known):
        return _checked({}, fold(code, [o.offset for o in known]))
    first = known[0]
    if len(known) == 1:
        return _unary(code, first)
    return _binary(code, first, known[1])


def _call(callee: ca.Function, operands: list[_Sum | None]) -> list[_Sum | None]:
    """An opaque function of constants is one; of anything else it is not known to be affine."""
    known = [o.offset for o in operands if o is not None and o.constant]
    if len(known) < len(operands):
        return [None] * sum(callee.nnz_out(k) for k in range(callee.n_out()))
    return [_checked({}, float(value)) for value in evaluate_call(callee, known)]


def _unary(code: int, a: _Sum) -> _Sum | None:
    factor = {ca.OP_ASSIGN: 1.0, ca.OP_NEG: -1.0, ca.OP_TWICE: 2.0}.get(code)
    return None if factor is None else a.scaled(factor)


def _binary(code: int, a: _Sum, b: _Sum) -> _Sum | None:
    if code == ca.OP_ADD:
        return a.plus(b, 1.0)
    if code == ca.OP_SUB:
        return a.plus(b, -1.0)
    if code == ca.OP_MUL and (a.constant or b.constant):
        return b.scaled(a.offset) if a.constant else a.scaled(b.offset)
    if code == ca.OP_DIV and b.constant and b.offset != 0:
        return _checked({k: c / b.offset for k, c in a.terms.items()}, a.offset / b.offset)
    if code in (ca.OP_POW, ca.OP_CONSTPOW) and b.constant and b.offset == 1:
        return a
    if code == ca.OP_IF_ELSE_ZERO and a.constant:
        return b if a.offset != 0 else _Sum({}, 0.0)
    return None


def _checked(terms: dict[int, float], offset: float) -> _Sum | None:
    """The sum without its zeros; None where a number is not finite."""
    if not np.isfinite([offset, *terms.values()]).all():
        return None
    return _Sum({k: c for k, c in terms.items() if c != 0}, offset)


def _dense(form: _Sum, size: int) -> AffineForm:
    coefficients = np.zeros(size)
    coefficients[list(form.terms)] = list(form.terms.values())
    return AffineForm(coefficients, form.offset)
