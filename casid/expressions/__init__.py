"""Reading CasADi expressions: what a graph computes, by its structure alone. Knows nothing of robots.

Every function takes an SX expression and the vector ``x`` of the unknowns, shape (N,), that it is written in. Nothing
here evaluates an expression at sample points: what is claimed of it follows from its operations.

Which kind it is
    ``affine_rows(expression, x) -> tuple[AffineForm | None, ...]``
        Coefficients and offset of every entry that is affine; ``is_affine(expression, x)`` asks it of all.
    ``polynomials(expression, x, denominators=()) -> tuple[Polynomial | None, ...]``
        Exact coefficients of every entry that is a sum of monomials, divided by named entries or not.
    ``quadratic_form(expression, x, entries, denominator) -> QuadraticForm | None``
        Of a scalar that is a quadratic form of ``x[entries]`` once it is multiplied by a power of ``x[denominator]``.

What values it takes
    ``enclose(function, low, high, quotients=None) -> list[Interval]``
        Rigorous ranges over boxes, of `as_function(expression, x)`.

If-else, logic, either-or
    ``conditions(expression, x) -> tuple[Condition, ...]``
        Each once; `Condition.text` is its identity, with exact constants.
    ``has_conditions(expression, x)``, ``decided(conditions, x, low, high) -> {text: bool}``
        Whether there are any; which of them a box settles.
    ``choose(expression, x, {text: bool})``, ``replace_conditions(expression, x, decide)``
        The expression with conditions decided, or replaced by anything.
    ``smooth(expression, x, width)``
        The expression with conditions and kinks blended.
    ``alternatives(expression, x)``
        ``expression >= 0`` without minima and maxima: any of some vectors must be >= 0.

Any other arithmetic
    ``walk(as_function(expression, x), constant, entry, apply)``
        Evaluates a graph in whatever arithmetic ``apply`` defines.
"""

from casid.expressions.affine import AffineForm, affine_rows, is_affine
from casid.expressions.alternatives import alternatives
from casid.expressions.conditions import (
    Condition,
    choose,
    conditions,
    decided,
    has_conditions,
    replace_conditions,
)
from casid.expressions.interval_arithmetic import Interval, enclose
from casid.expressions.polynomial import Polynomial, polynomials
from casid.expressions.quadratic import QuadraticForm, quadratic_form
from casid.expressions.smoothing import smooth, smooth_step
from casid.expressions.walk import as_function, operations, rebuild, walk

__all__ = [
    "AffineForm",
    "Condition",
    "Interval",
    "Polynomial",
    "QuadraticForm",
    "affine_rows",
    "alternatives",
    "as_function",
    "choose",
    "conditions",
    "decided",
    "enclose",
    "has_conditions",
    "is_affine",
    "operations",
    "polynomials",
    "quadratic_form",
    "rebuild",
    "replace_conditions",
    "smooth",
    "smooth_step",
    "walk",
]
