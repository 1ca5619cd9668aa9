"""Expressions that are, times a power of one entry, a quadratic form of a few entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.expressions.polynomial import Polynomial, polynomials

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class QuadraticForm:
    """``x[denominator]^power * expression = y' matrix y`` with ``y = x[entries]``.

    Attributes
    ----------
    power : int
        0, 1 or 2.
    matrix : ndarray, shape (k, k)
        Symmetric, read-only; its entries are the exact coefficients, rounded once.
    """

    power: int
    matrix: Array

    def __post_init__(self) -> None:
        self.matrix.setflags(write=False)


def quadratic_form(
    expression: ca.SX, x: ca.SX, entries: Sequence[int], denominator: int, powers: Sequence[int] = (2, 1, 0)
) -> QuadraticForm | None:
    """The quadratic form of a scalar expression, by its structure; None if it has none.

    Parameters
    ----------
    expression
        Scalar.
    x
        Vector of the unknowns, shape (N,).
    entries
        Entries of x that it may depend on.
    denominator
        The entry that may be divided by, one of ``entries``.
    powers
        Powers of the denominator to try.
    """
    (found,) = polynomials(expression, x, (denominator,))
    if found is None or not found.terms:
        return None
    for power in powers:
        matrix = _matrix(found.times_power(denominator, power), entries)
        if matrix is not None:
            return QuadraticForm(power, matrix)
    return None


def _matrix(polynomial: Polynomial, entries: Sequence[int]) -> Array | None:
    if polynomial.degrees != {2} or polynomial.lowest_power < 0 or not polynomial.entries <= set(entries):
        return None
    place = {entry: k for k, entry in enumerate(entries)}
    matrix = np.zeros((len(entries), len(entries)))
    for monomial, coefficient in polynomial.terms.items():
        if len(monomial) == 1:
            ((entry, _),) = monomial
            matrix[place[entry], place[entry]] = _rounded(coefficient)
        else:
            (one, _), (other, _) = monomial
            matrix[place[one], place[other]] = matrix[place[other], place[one]] = _rounded(coefficient / 2)
    return matrix if np.isfinite(matrix).all() else None


def _rounded(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf
