"""Affine expressions, polynomials and quotients by powers of given entries, recognised by their structure.

Nothing is sampled or differentiated: an if-else, a rounding, a sign, a comparison or a logical operation of x has a
derivative of zero almost everywhere and is neither affine nor a polynomial.

Sums, differences, products, integer powers, and division by constants and by products of the entries that are named
as denominators (a mass, say) give a sum of monomials ``c x_i^a x_j^b ...`` with integer exponents, negative ones only
of denominators. Coefficients are rational numbers, so that nothing is rounded and terms cancel exactly where they
cancel. Exponentials, saturations, roots and anything piecewise never pass; nothing is sampled. Squares of affine terms
stay as they are written (`square_sum`): multiplied out, a residual is a small difference of large numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any, NamedTuple, TypeVar

import casadi as ca
import numpy as np

from casid.arrays import Array, read_only
from casid.expressions._walk import Rules, Walk, as_function, evaluate_call, fold, unknown

#: Entry and exponent (not zero) of each factor, in order of the entries.
Monomial = tuple[tuple[int, int], ...]
#: Beyond these, an expression is treated as none: readers of polynomials need low degrees.
_MOST_TERMS, _HIGHEST_POWER = 2_000, 16
#: Factor of an operation of one operand that only scales it.
_FACTORS = {ca.OP_ASSIGN: Fraction(1), ca.OP_NEG: Fraction(-1), ca.OP_TWICE: Fraction(2)}
T = TypeVar("T")


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
    def linear(self) -> dict[int, Fraction]:
        """Coefficient of each entry, of an affine one."""
        return {monomial[0][0]: coefficient for monomial, coefficient in self.terms.items() if monomial}

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
    apply = _where_known(lambda code, known: _operation(code, known, below))
    rules: Rules = {"constant": _number, "entry": _entry, "operation": apply, "call": _call}
    return tuple(_values(expression, x, rules))


def _values(expression: ca.SX, x: ca.SX, rules: Rules) -> list[Any]:
    """What every entry of an expression is in an arithmetic."""
    steps = Walk(as_function(expression, x))
    for step in steps:
        step.value = rules[step.kind](*step.given)
    return steps.values


def _where_known(operation: Callable[[int, list[T]], T | None]) -> Callable[[int, list[T | None]], T | None]:
    """The operation, None where an operand is."""

    def apply(code: int, operands: list[T | None]) -> T | None:
        known = [o for o in operands if o is not None]
        return operation(code, known) if len(known) == len(operands) else None

    return apply


@dataclass(frozen=True, eq=False)
class AffineForm:
    """``coefficients'x + offset``; coefficients of shape (N,), read-only: exact, rounded once."""

    coefficients: Array
    offset: float


def affine_rows(expression: ca.SX, x: ca.SX) -> tuple[AffineForm | None, ...]:
    """The affine form of every entry of an expression, None for an entry that is not affine by its structure.

    Parameters
    ----------
    expression
        Any shape, read column by column.
    x
        Vector of the unknowns, shape (N,).
    """
    return tuple(None if found is None else _affine(found, x.numel()) for found in polynomials(expression, x))


def _affine(form: Polynomial, size: int) -> AffineForm | None:
    if not form.degrees <= {0, 1}:
        return None
    coefficients = np.zeros(size)
    for entry, coefficient in form.linear.items():
        coefficients[entry] = _rounded(coefficient)
    offset = _rounded(form.terms.get((), Fraction(0)))
    return AffineForm(read_only(coefficients), offset) if np.isfinite([offset, *coefficients]).all() else None


def _entry(index: int) -> Polynomial:
    return Polynomial({((index, 1),): Fraction(1)})


def _operation(code: int, known: Sequence[Polynomial], below: frozenset[int] = frozenset()) -> Polynomial | None:
    """An operation on polynomials; on numbers any; None where it is no polynomial, or one of too many terms."""
    found = _rational(code, known, below)
    if found is not None:
        return None if len(found.terms) > _MOST_TERMS else found
    numbers = [o.constant for o in known]
    if any(n is None for n in numbers):
        return None
    return _number(fold(code, [float(n) for n in numbers if n is not None]))


def _call(callee: ca.Function, operands: list[Polynomial | None]) -> Sequence[Polynomial | None]:
    """An opaque function of constants is one; of anything else it is not known to be a polynomial."""
    known = [float(o.constant) for o in operands if o is not None and o.constant is not None]
    if len(known) < len(operands):
        return unknown(callee, operands)
    return [_number(float(value)) for value in evaluate_call(callee, known)]


def _number(value: float) -> Polynomial | None:
    if not isfinite(value):
        return None
    return Polynomial({(): Fraction(value)} if value else {})


def _rational(code: int, known: Sequence[Polynomial], below: frozenset[int]) -> Polynomial | None:
    """Sums, products, quotients and powers, exactly; None for any other operation."""
    a, b = known[0], known[-1]
    if code in _FACTORS:
        return _scaled(a, _FACTORS[code])
    if code in (ca.OP_ADD, ca.OP_SUB):
        return _added(a, b, 1 if code == ca.OP_ADD else -1)
    if code in (ca.OP_MUL, ca.OP_SQ):
        return _multiplied(a, b)
    if code in (ca.OP_DIV, ca.OP_INV):
        inverse = _inverse(b, below)
        return None if inverse is None else inverse if code == ca.OP_INV else _multiplied(a, inverse)
    if code in (ca.OP_POW, ca.OP_CONSTPOW):
        return _power(a, b.constant, below)
    if code == ca.OP_IF_ELSE_ZERO and a.constant is not None:
        return b if a.constant != 0 else Polynomial({})
    return None


def _added(a: Polynomial, b: Polynomial, sign: int) -> Polynomial:
    terms = dict(a.terms)
    for monomial, coefficient in b.terms.items():
        total = terms.pop(monomial, 0) + sign * coefficient
        if total:
            terms[monomial] = total
    return Polynomial(terms)


def _scaled(a: Polynomial, factor: Fraction) -> Polynomial:
    return Polynomial({m: factor * c for m, c in a.terms.items()} if factor else {})


def _multiplied(a: Polynomial, b: Polynomial) -> Polynomial | None:
    for one, other in ((a, b), (b, a)):
        if one.constant is not None:
            return _scaled(other, one.constant)
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


class QuadraticForm(NamedTuple):
    """``x[denominator]^power * expression = y' matrix y`` with ``y = x[entries]``.

    Attributes
    ----------
    power : int
        0, 1 or 2.
    matrix : ndarray, shape (k, k)
        Symmetric; its entries are the exact coefficients, rounded once.
    """

    power: int
    matrix: Array


def quadratic_form(expression: ca.SX, x: ca.SX, entries: Sequence[int], denominator: int) -> QuadraticForm | None:
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
    """
    (found,) = polynomials(expression, x, (denominator,))
    if found is None or not found.terms:
        return None
    for power in (2, 1, 0):
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
        one, other = place[monomial[0][0]], place[monomial[-1][0]]
        matrix[one, other] = matrix[other, one] = _rounded(coefficient if one == other else coefficient / 2)
    return matrix if np.isfinite(matrix).all() else None


def _rounded(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf


#: Squares multiplied out at most, times the square of the number of entries.
_MOST_PRODUCTS = 2_000_000


@dataclass(frozen=True, eq=False)
class SquareSum:
    """``sum_i weights_i squares_i^2 + rest``, with nothing rounded.

    Attributes
    ----------
    weights : tuple of Fraction
        Not zero; of any sign.
    squares : tuple of Polynomial
        Affine.
    rest : Polynomial
        Of any degree.
    """

    weights: tuple[Fraction, ...]
    squares: tuple[Polynomial, ...]
    rest: Polynomial

    @property
    def settled(self) -> bool:
        """Whether it is convex as it is written: no weight is negative, the rest is affine."""
        return self.rest.degrees <= {0, 1} and all(weight > 0 for weight in self.weights)

    def curvatures(self, size: int) -> list[float]:
        """Half the second derivative in each of so many entries."""
        return [
            float(
                self.rest.terms.get(((k, 2),), 0)
                + sum(w * s.terms.get(((k, 1),), 0) ** 2 for w, s in zip(self.weights, self.squares, strict=True))
            )
            for k in range(size)
        ]

    def completed(self, shift: float = 0.0) -> SquareSum | None:
        """The same with every square completed: at most one an entry, and an affine rest that no square can take.

        Parameters
        ----------
        shift
            Share of each entry's own curvature that is added to it: for coefficients that were rounded.

        Returns
        -------
        SquareSum or None
            None where it is not a convex quadratic (decided without rounding), or too large to be examined.
        """
        entries = sorted(self.rest.entries.union(*(square.entries for square in self.squares)))
        if not self.rest.degrees <= {0, 1, 2} or len(self.squares) * len(entries) ** 2 > _MOST_PRODUCTS:
            return None
        total: Polynomial | None = self.rest
        for weight, square in zip(self.weights, self.squares, strict=True):
            product = _multiplied(square, square)
            total = None if total is None or product is None else _added(total, _scaled(product, weight), 1)
        if total is None:
            return None
        pure = {((k, 2),): c for k in entries if (c := total.terms.get(((k, 2),), Fraction(0)))}
        total = _added(total, Polynomial({m: c * Fraction(shift) for m, c in pure.items()}), 1) if shift else total
        weights, squares = [], []
        for k in entries:
            pivot = total.terms.get(((k, 2),), Fraction(0))
            own = {tuple(f for f in m if f[0] != k): c for m, c in total.terms.items() if (k, 1) in m}
            if pivot < 0 or (pivot == 0 and set(own) - {()}):
                return None
            if pivot:
                square = Polynomial({((k, 1),): Fraction(1), **{m: c / (2 * pivot) for m, c in own.items()}})
                taken = _multiplied(square, square)
                if taken is None:
                    return None
                weights.append(pivot)
                squares.append(square)
                total = _added(total, _scaled(taken, pivot), -1)
        return SquareSum(tuple(weights), tuple(squares), total)


@dataclass(frozen=True, eq=False)
class _Squares:
    """A polynomial plus weighted squares; ``parts``: factors, each of an affine polynomial's square or of another."""

    rest: Polynomial
    parts: tuple[tuple[Fraction, Polynomial | _Squares], ...] = ()

    def scaled(self, factor: Fraction) -> _Squares:
        return _Squares(_scaled(self.rest, factor), ((factor, self),) if self.parts and factor else ())

    def plus(self, other: _Squares, sign: int) -> _Squares:
        parts = [(Fraction(f), form) for f, form in ((1, self), (sign, other)) if form.parts]
        return _Squares(_added(self.rest, other.rest, sign), tuple(parts))

    def flat(self) -> SquareSum:
        weights, squares = [], []
        open_parts: list[tuple[Fraction, Polynomial | _Squares]] = list(reversed(self.parts))
        while open_parts:
            factor, part = open_parts.pop()
            if isinstance(part, Polynomial):
                weights.append(factor)
                squares.append(part)
            else:
                open_parts += [(factor * f, p) for f, p in reversed(part.parts)]
        return SquareSum(tuple(weights), tuple(squares), self.rest)


def square_sum(expression: ca.SX, x: ca.SX) -> SquareSum | None:
    """A scalar expression as the squares of affine terms that are written in it, and the rest; None if no polynomial.

    Parameters
    ----------
    expression
        Scalar.
    x
        Vector of the unknowns, shape (N,).
    """

    def number(value: float) -> _Squares | None:
        found = _number(value)
        return None if found is None else _Squares(found)

    def apply(code: int, known: list[_Squares]) -> _Squares | None:
        if any(o.parts for o in known):
            return _of_squares(code, known)
        rests = [o.rest for o in known]
        if _is_square(code, rests):
            return _Squares(Polynomial({}), ((Fraction(1), rests[0]),))
        found = _operation(code, rests)
        return None if found is None else _Squares(found)

    def call(callee: ca.Function, operands: list[_Squares | None]) -> list[_Squares | None]:
        plain = [None if o is None or o.parts else o.rest for o in operands]
        return [None if p is None else _Squares(p) for p in _call(callee, plain)]

    rules: Rules = {"constant": number, "entry": lambda k: _Squares(_entry(k)), "operation": _where_known(apply)}
    (found,) = _values(expression, x, {**rules, "call": call})
    return None if found is None else found.flat()


def _is_square(code: int, operands: Sequence[Polynomial]) -> bool:
    """Whether an operation squares an affine term that is no constant."""
    a, b = operands[0], operands[-1]
    if a.constant is not None or not a.degrees <= {0, 1}:
        return False
    if code in (ca.OP_POW, ca.OP_CONSTPOW):
        return b.constant == 2
    return code == ca.OP_SQ or (code == ca.OP_MUL and a.terms == b.terms)


def _of_squares(code: int, operands: list[_Squares]) -> _Squares | None:
    """An operation that keeps squares: sums, differences, and products and quotients with numbers."""
    a, b = operands[0], operands[-1]
    if code in (ca.OP_ADD, ca.OP_SUB):
        return a.plus(b, 1 if code == ca.OP_ADD else -1)
    if code in _FACTORS:
        return a.scaled(_FACTORS[code])
    first, second = (None if o.parts else o.rest.constant for o in (a, b))
    if code == ca.OP_MUL and first is not None:
        return b.scaled(first)
    if code == ca.OP_MUL and second is not None:
        return a.scaled(second)
    return a.scaled(1 / second) if code == ca.OP_DIV and second else None


def exact_value(expression: ca.SX, x: ca.SX, point: Array) -> Fraction | None:
    """Value of a scalar expression at a point, with nothing rounded; None where an operation is not rational."""
    apply = _where_known(lambda code, known: _rational(code, known, frozenset()))
    rules: Rules = {"constant": _number, "entry": lambda k: _number(float(point[k])), "operation": apply}
    (found,) = _values(expression, x, {**rules, "call": unknown})
    return None if found is None else found.constant
