"""Where an expression has a value: the rule, and rows that follow from it.

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

from collections.abc import Callable
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from casid.expressions._catalogue import CALL
from casid.expressions._intervals import enclose
from casid.expressions._walk import COMPARISONS, as_function, rebuild, rebuild_call, walk

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
    outputs = walk(function, lambda v: _Node(ca.SX(v)), lambda k: _Node(x[k]), _apply, _call)
    rows = list(_united([o.hidden for o in outputs]).values())
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


def _apply(code: int, operands: list[_Node]) -> _Node:
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
    own = {row.element_hash(): row for row in rows if not row.is_constant()}
    return _Node(value, _united([shown, own]), hidden)


def _call(callee: ca.Function, operands: list[_Node]) -> list[_Node]:
    """What an opaque function does with NaN is not known."""
    hidden = _united([*(o.hidden for o in operands), *(o.shown for o in operands)])
    return [_Node(value, {}, hidden) for value in rebuild_call(callee, [o.value for o in operands])]


def _guarded(test: ca.SX, rows: dict[int, ca.SX]) -> dict[int, ca.SX]:
    found = [ca.if_else(test, row, 0) if not test.is_constant() else row for row in rows.values()]
    if test.is_constant() and float(test) == 0:
        found = []
    return {row.element_hash(): row for row in found}


def _united(groups: list[dict[int, ca.SX]]) -> dict[int, ca.SX]:
    return {key: row for group in groups for key, row in group.items()}
