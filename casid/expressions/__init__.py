"""Reading CasADi expressions: what a graph computes, by its structure alone. Independent of robots.

Every function takes an SX expression and the vector ``x`` of the unknowns, shape (N,), that it is written in. Nothing
here evaluates an expression at sample points: what is claimed of it follows from its operations.

Which shape it has
    ``shaped(value, (rows, columns), where, error) -> SX``
        What a function of a user returned, or an error that names the function; nothing is broadcast.

Which kind it is
    ``affine_rows(expression, x) -> tuple[AffineForm | None, ...]``
        Coefficients and offset of every entry that is affine; None for the others.
    ``polynomials(expression, x, denominators=()) -> tuple[Polynomial | None, ...]``
        Exact coefficients of every entry that is a sum of monomials, divided by named entries or not.
    ``quadratic_form(expression, x, entries, denominator) -> QuadraticForm | None``
        Of a scalar that is a quadratic form of ``x[entries]`` once it is multiplied by a power of ``x[denominator]``.

What values it takes
    ``enclose(function, low, high, quotients=None) -> list[Interval]``
        Rigorous ranges over boxes, of `as_function(expression, x)`.

If-else, logic, either-or
    ``conditions(expression, x) -> tuple[Condition, ...]``
        Each once; `Condition.key` is its identity, its text is for people.
    ``has_conditions(expression, x)``, ``decided(conditions, x, low, high) -> {key: bool}``
        Whether there are any; which of them a box settles.
    ``choose(expression, x, {key: bool})``, ``replace_conditions(expression, x, decide)``
        The expression with conditions decided, or replaced by anything.
    ``alternatives(expression, x)``
        ``expression >= 0`` without minima and maxima: any of some vectors must be >= 0.

Without kinks
    ``smoothed(expression, x, width)``
        Absolute values, minima, maxima, norms and tables rounded off over a width.

Where it has a value
    ``required_domains(expression, x)``
        Rows that are >= 0 wherever it is defined, of operations whose lack of a value another one would hide.
    ``NumpyFunction(expression, x)``
        Values by CasADi's own function; NaN where any operation that counts has no value.

Any other arithmetic
    ``Walk(as_function(expression, x))``
        The steps of a graph, each with what it does and a value to be filled in by whatever arithmetic.
"""

# which kind an expression is: if-else, logic, either-or
from casid.expressions._conditions import conditions as conditions

# which shape it has
from casid.expressions._walk import shaped as shaped

# which values it takes
from casid.expressions._intervals import enclose as enclose

# any other arithmetic
from casid.expressions._walk import as_function as as_function

# between rooms
from casid.expressions._walk import Rules as Rules
from casid.expressions._walk import refused as refused
from casid.expressions._walk import Walk as Walk
from casid.expressions._conditions import Condition as Condition
from casid.expressions._conditions import alternatives as alternatives
from casid.expressions._conditions import choose as choose
from casid.expressions._conditions import decided as decided
from casid.expressions._conditions import has_conditions as has_conditions
from casid.expressions._evaluate import NumpyFunction as NumpyFunction
from casid.expressions._evaluate import evaluate as evaluate
from casid.expressions._evaluate import interruptible as interruptible
from casid.expressions._intervals import may_hide as may_hide
from casid.expressions._intervals import required_domains as required_domains
from casid.expressions._kinks import Maximum as Maximum
from casid.expressions._kinks import affine_pieces as affine_pieces
from casid.expressions._kinks import convex_kinks as convex_kinks
from casid.expressions._polynomial import SquareSum as SquareSum
from casid.expressions._polynomial import affine_rows as affine_rows
from casid.expressions._polynomial import exact_value as exact_value
from casid.expressions._polynomial import polynomials as polynomials
from casid.expressions._polynomial import quadratic_form as quadratic_form
from casid.expressions._polynomial import square_sum as square_sum
from casid.expressions._kinks import smoothed as smoothed
from casid.expressions._walk import constants as constants
from casid.expressions._walk import rebuild as rebuild
