"""Interval arithmetic on arrays of boxes: what values an expression can take, and where it has one.

Rigorous in floating point: every bound is rounded outward, an operation without a rule is refused by its name, a called
function that is no scalar graph gives everything unless it is a piecewise linear table of one argument, and whether
an operation can fail to have a value (NaN) is kept beside its range. A quotient of two entries whose range
is known better than from its parts, a centre of mass as first moment over mass, is recognised and takes that range.

**Rule.** An expression is undefined at a point where any operation that counts has no real value there: the root of a
negative number, a logarithm of zero or less, a division by zero, an arc sine beyond [-1, 1], NaN from a called
function.
Every operation counts except those in the branch of an if-else that is not taken: a comparison, a logical operation, a
minimum or a maximum of something undefined is undefined itself, whatever CasADi returns for it. A point where a
constraint's expression is undefined does not meet the constraint.

`casid.expressions._evaluate.NumpyFunction` follows the rule. Where the value itself would be NaN, a bound on it says
the same; `required_domains` are the rows that the rule adds: arguments of operations whose lack of a value a
comparison,
a minimum or a maximum hides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.expressions._interval_rules import BINARY, UNARY
from casid.expressions._ranges import Range, everything, linear_table
from casid.expressions._walk import (
    CALL,
    COMPARISONS,
    Rules,
    Walk,
    as_function,
    rebuild,
    rebuild_call,
    refused,
    unknown,
)


@dataclass(frozen=True, eq=False)
class Interval(Range):
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
    entry : int or None
        The entry of x that it is.
    """

    entries: frozenset[int] = frozenset()
    quotients: frozenset[tuple[int, int]] = frozenset()
    entry: int | None = None


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
    lows, highs = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    known: Mapping[Any, Array] = quotients or {}

    def constant(value: float) -> Interval:
        return Interval(np.array(value), np.array(value), np.array(np.isnan(value)))

    def entry(index: int) -> Interval:
        defined = np.zeros(np.shape(lows[index]), dtype=bool)
        return Interval(lows[index], highs[index], defined, frozenset({index}), entry=index)

    def apply(code: int, operands: list[Interval]) -> Interval:
        if code == ca.OP_ASSIGN:
            return operands[0]
        pair = operands[0].entry, operands[-1].entry
        if code == ca.OP_DIV and pair in known:
            bounds = np.asarray(known[pair], dtype=np.float64)
            defined = np.zeros(bounds.shape[:-1], dtype=bool)
            return Interval(bounds[..., 0], bounds[..., 1], defined, quotients=frozenset[Any]({pair}))
        return _interval(_apply(code, operands), operands)

    rules: Rules = {"constant": constant, "entry": entry, "operation": apply, "call": _call}
    steps = Walk(function)
    for step in steps:
        step.value = rules[step.kind](*step.given)
    return steps.values


def _interval(found: Range, operands: Sequence[Interval]) -> Interval:
    """The range as one that depends on what the operands depend on."""
    entries = frozenset().union(*(o.entries for o in operands))
    quotients = frozenset().union(*(o.quotients for o in operands))
    return Interval(found.low, found.high, found.undefined, entries, quotients)


def _call(callee: ca.Function, operands: list[Interval]) -> list[Interval]:
    """The outputs of an opaque function: anything, or between the knots of a table."""
    table = linear_table(callee)
    found = everything(*operands) if table is None else table.range(operands[0])
    return [_interval(found, operands) for _ in unknown(callee, operands)]


def _apply(code: int, operands: Sequence[Range]) -> Range:
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


#: Operations of which CasADi may return a number although an operand is undefined.
HIDING = frozenset({*COMPARISONS, ca.OP_NOT, ca.OP_AND, ca.OP_OR, ca.OP_FMIN, ca.OP_FMAX, ca.OP_COPYSIGN, ca.OP_LIFT})
HIDING_ANY = HIDING | {ca.OP_IF_ELSE_ZERO}
#: Rows that are >= 0 where an operation of one operand has a value (for a logarithm: or is -infinity).
_ROWS: dict[int, Callable[[ca.SX], list[ca.SX]]] = {
    ca.OP_SQRT: lambda a: [a],
    ca.OP_LOG: lambda a: [a],
    ca.OP_LOG1P: lambda a: [1 + a],
    ca.OP_ACOSH: lambda a: [a - 1],
    ca.OP_ASIN: lambda a: [1 - a, 1 + a],
    ca.OP_ACOS: lambda a: [1 - a, 1 + a],
    ca.OP_ATANH: lambda a: [1 - a, 1 + a],
    ca.OP_ERFINV: lambda a: [1 - a, 1 + a],
}


@dataclass(frozen=True, eq=False)
class _Node:
    """A value; rows that are >= 0 where it is defined: those that its own NaN shows, and those that are hidden."""

    value: ca.SX
    shown: dict[int, ca.SX] = field(default_factory=dict)
    hidden: dict[int, ca.SX] = field(default_factory=dict)


def required_domains(expression: ca.SX, x: ca.SX) -> tuple[ca.SX, ...]:
    """Scalar rows that are >= 0 wherever an expression is defined and that its values alone do not demand.

    A row within a branch of an if-else is zero where the branch is not taken. Rows that hold everywhere are left out.
    Divisions by zero and powers of negative numbers with an exponent that is no constant give no row: the re-check
    alone excludes such points.

    Parameters
    ----------
    expression
        Any shape, read column by column.
    x
        Vector of the unknowns, shape (N,).
    """
    function = as_function(expression, x)
    if not may_hide(function):
        return ()
    rules: Rules = {"operation": _apply_domain, "call": _call_domain}
    rules |= {"constant": lambda v: _Node(ca.SX(v)), "entry": lambda k: _Node(x[k])}
    steps = Walk(function)
    for step in steps:
        step.value = rules[step.kind](*step.given)
    rows = list(_united([o.hidden for o in steps.values]).values())
    if not rows:
        return ()
    free = np.full(x.numel(), np.inf)
    ranges = enclose(as_function(ca.vertcat(*rows), x), -free, free)
    return tuple(row for row, found in zip(rows, ranges, strict=True) if not float(found.low) >= 0)


def may_hide(function: ca.Function) -> bool:
    """Whether a function has an operation that can be undefined and one that can hide it."""
    codes = {function.instruction_id(k) for k in range(function.n_instructions())}
    partial = {*_ROWS, ca.OP_POW, ca.OP_CONSTPOW}
    return CALL in codes or bool(codes & HIDING_ANY and codes & partial)


def _apply_domain(code: int, operands: list[_Node]) -> _Node:
    value = rebuild(code, [o.value for o in operands])
    shown, hidden = _united([o.shown for o in operands]), _united([o.hidden for o in operands])
    if code == ca.OP_IF_ELSE_ZERO:
        test, chosen = operands
        guarded = [_guarded(test.value, rows) for rows in (chosen.shown, chosen.hidden)]
        return _Node(value, guarded[0], _united([test.shown, test.hidden, guarded[1]]))
    if code in HIDING:
        return _Node(value, {}, _united([hidden, shown]))
    rows: list[ca.SX] = []
    if code in _ROWS:
        rows = _ROWS[code](operands[0].value)
    elif code in (ca.OP_POW, ca.OP_CONSTPOW) and operands[1].value.is_constant():
        exponent = float(operands[1].value)
        rows = [operands[0].value] if exponent != np.floor(exponent) else []
        if exponent == 0:  # CasADi's one, of NaN too
            return _Node(value, {}, _united([hidden, shown]))
    return _Node(value, _united([shown, _by_hash(row for row in rows if not row.is_constant())]), hidden)


def _call_domain(callee: ca.Function, operands: list[_Node]) -> list[_Node]:
    """What an opaque function does with NaN is not known."""
    hidden = _united([*(o.hidden for o in operands), *(o.shown for o in operands)])
    return [_Node(value, {}, hidden) for value in rebuild_call(callee, [o.value for o in operands])]


def _guarded(test: ca.SX, rows: dict[int, ca.SX]) -> dict[int, ca.SX]:
    if test.is_constant():
        return rows if float(test) else {}
    return _by_hash(ca.if_else(test, row, 0) for row in rows.values())


def _by_hash(rows: Iterable[ca.SX]) -> dict[int, ca.SX]:
    return {row.element_hash(): row for row in rows}


def _united(groups: list[dict[int, ca.SX]]) -> dict[int, ca.SX]:
    return {key: row for group in groups for key, row in group.items()}
