"""Affine expressions, polynomials and quotients by powers of given entries, recognised by their structure.

An expression is affine where it is built of entries of x and constants by sums, differences, and multiplication and
division by constants. Nothing is sampled or differentiated: an if-else, a rounding, a sign, a comparison or a logical
operation of x has a derivative of zero almost everywhere and is not affine.

Sums, differences, products, integer powers, and division by constants and by products of the entries that are named
as denominators (a mass, say) give a sum of monomials ``c x_i^a x_j^b ...`` with integer exponents, negative ones only
of denominators. Coefficients are rational numbers, so that nothing is rounded and terms cancel exactly where they
cancel. Exponentials, saturations, roots and anything piecewise never pass; nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite

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
    function = as_function(expression, x)
    sums = walk(function, lambda value: _checked({}, value), lambda k: _Sum({k: 1.0}, 0.0), _apply, _affine_call)
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
        return _affine_unary(code, first)
    return _affine_binary(code, first, known[1])


def _affine_call(callee: ca.Function, operands: list[_Sum | None]) -> list[_Sum | None]:
    """An opaque function of constants is one; of anything else it is not known to be affine."""
    known = [o.offset for o in operands if o is not None and o.constant]
    if len(known) < len(operands):
        return [None] * sum(callee.nnz_out(k) for k in range(callee.n_out()))
    return [_checked({}, float(value)) for value in evaluate_call(callee, known)]


def _affine_unary(code: int, a: _Sum) -> _Sum | None:
    factor = {ca.OP_ASSIGN: 1.0, ca.OP_NEG: -1.0, ca.OP_TWICE: 2.0}.get(code)
    return None if factor is None else a.scaled(factor)


def _affine_binary(code: int, a: _Sum, b: _Sum) -> _Sum | None:
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


#: Entry and exponent (not zero) of each factor, in order of the entries.
Monomial = tuple[tuple[int, int], ...]
#: Beyond these, an expression is treated as none: readers of polynomials need low degrees.
_MOST_TERMS, _HIGHEST_POWER = 2_000, 16


@dataclass(frozen=True, eq=False)
class Polynomial:
    """Sum of monomials; exponents may be negative.

    Attributes
    ----------
    terms : mapping of tuple to Fraction
        Monomial, as ``((entry, exponent), ...)``, -> its coefficient, not zero. ``()`` is the constant's monomial.
    """

    terms: Mapping[Monomial, Fraction]

    @property
    def entries(self) -> frozenset[int]:
        """Entries of x that it depends on."""
        return frozenset(entry for monomial in self.terms for entry, _ in monomial)

    @property
    def degrees(self) -> frozenset[int]:
        """Total degrees of its monomials; one of them if it is homogeneous."""
        return frozenset(sum(power for _, power in monomial) for monomial in self.terms)

    @property
    def lowest_power(self) -> int:
        """Smallest exponent; negative if anything is divided by."""
        return min((power for monomial in self.terms for _, power in monomial), default=0)

    def times_power(self, entry: int, power: int) -> Polynomial:
        """``x[entry]^power`` times the polynomial."""
        return Polynomial({_product(m, ((entry, power),) if power else ()): c for m, c in self.terms.items()})

    @property
    def constant(self) -> Fraction | None:
        """Its value if it does not depend on x."""
        if not self.terms:
            return Fraction(0)
        return self.terms[()] if set(self.terms) == {()} else None


def polynomials(expression: ca.SX, x: ca.SX, denominators: Iterable[int] = ()) -> tuple[Polynomial | None, ...]:
    """The polynomial that every entry of an expression is, None for an entry that is none by its structure.

    Parameters
    ----------
    expression
        Any shape, read column by column.
    x
        Vector of the unknowns, shape (N,).
    denominators
        Entries of x that may be divided by. Where one is zero, an expression that divides by it has no value while
        its polynomial may have one, as in ``(x y) / y``.
    """
    below = frozenset(denominators)

    def apply(code: int, operands: list[Polynomial | None]) -> Polynomial | None:
        known = [o for o in operands if o is not None]
        if len(known) < len(operands) or not known:
            return None
        found = _unary(code, known[0], below) if len(known) == 1 else _binary(code, known[0], known[1], below)
        if found is not None:
            return None if len(found.terms) > _MOST_TERMS else found
        numbers = [o.constant for o in known]
        if any(n is None for n in numbers):
            return None
        return _number(fold(code, [float(n) for n in numbers if n is not None]))

    def entry(index: int) -> Polynomial | None:
        return Polynomial({((index, 1),): Fraction(1)})

    return tuple(walk(as_function(expression, x), _number, entry, apply, _call))


def _call(callee: ca.Function, operands: list[Polynomial | None]) -> list[Polynomial | None]:
    """An opaque function of constants is one; of anything else it is not known to be a polynomial."""
    known = [float(o.constant) for o in operands if o is not None and o.constant is not None]
    if len(known) < len(operands):
        return [None] * sum(callee.nnz_out(k) for k in range(callee.n_out()))
    return [_number(float(value)) for value in evaluate_call(callee, known)]


def _number(value: float) -> Polynomial | None:
    if not isfinite(value):
        return None
    return Polynomial({(): Fraction(value)} if value else {})


def _unary(code: int, a: Polynomial, below: frozenset[int]) -> Polynomial | None:
    if code == ca.OP_ASSIGN:
        return a
    if code == ca.OP_NEG:
        return _scaled(a, Fraction(-1))
    if code == ca.OP_TWICE:
        return _scaled(a, Fraction(2))
    if code == ca.OP_SQ:
        return _multiplied(a, a)
    if code == ca.OP_INV:
        return _inverse(a, below)
    return None


def _binary(code: int, a: Polynomial, b: Polynomial, below: frozenset[int]) -> Polynomial | None:
    if code == ca.OP_ADD:
        return _added(a, b, 1)
    if code == ca.OP_SUB:
        return _added(a, b, -1)
    if code == ca.OP_MUL:
        return _multiplied(a, b)
    if code == ca.OP_DIV:
        inverse = _inverse(b, below)
        return None if inverse is None else _multiplied(a, inverse)
    if code in (ca.OP_POW, ca.OP_CONSTPOW):
        return _power(a, b.constant, below)
    if code == ca.OP_IF_ELSE_ZERO and a.constant is not None:
        return b if a.constant != 0 else Polynomial({})
    return None


def _added(a: Polynomial, b: Polynomial, sign: int) -> Polynomial:
    terms = dict(a.terms)
    for monomial, coefficient in b.terms.items():
        terms[monomial] = terms.get(monomial, Fraction(0)) + sign * coefficient
    return Polynomial({m: c for m, c in terms.items() if c})


def _scaled(a: Polynomial, factor: Fraction) -> Polynomial:
    return Polynomial({m: factor * c for m, c in a.terms.items()} if factor else {})


def _multiplied(a: Polynomial, b: Polynomial) -> Polynomial | None:
    if len(a.terms) * len(b.terms) > 4 * _MOST_TERMS:
        return None
    terms: dict[Monomial, Fraction] = {}
    for m, c in a.terms.items():
        for n, d in b.terms.items():
            both = _product(m, n)
            terms[both] = terms.get(both, Fraction(0)) + c * d
    return Polynomial({m: c for m, c in terms.items() if c})


def _inverse(a: Polynomial, below: frozenset[int]) -> Polynomial | None:
    if len(a.terms) != 1:
        return None
    ((monomial, coefficient),) = a.terms.items()
    if any(entry not in below for entry, _ in monomial):
        return None
    return Polynomial({tuple((entry, -power) for entry, power in monomial): 1 / coefficient})


def _power(a: Polynomial, exponent: Fraction | None, below: frozenset[int]) -> Polynomial | None:
    if exponent is None or exponent.denominator != 1 or abs(exponent) > _HIGHEST_POWER:
        return None
    base = a if exponent >= 0 else _inverse(a, below)
    result: Polynomial | None = Polynomial({(): Fraction(1)})
    for _ in range(abs(int(exponent))):
        result = None if result is None or base is None else _multiplied(result, base)
    return result


def _product(m: Monomial, n: Monomial) -> Monomial:
    powers = dict(m)
    for entry, power in n:
        powers[entry] = powers.get(entry, 0) + power
    return tuple(sorted((entry, power) for entry, power in powers.items() if power))


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
