"""Relations as CasADi users write them: ``mass <= 3``, ``0.1 <= e``, ``a == b``, ``logic_and(a <= b, c <= d)``.

They are read off the graph, entry by entry. ``<`` counts as ``<=``: a closed set has the same optimum.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import casadi as ca
import numpy as np

from casid.arrays import Array
from casid.errors import ProblemError

#: Expression, lower and upper bound.
_Bounds: TypeAlias = "tuple[ca.SX, float, float]"
#: Operations that compare, and what to write in place of those that bound nothing.
_ORDERED, _EQUAL = (ca.OP_LE, ca.OP_LT), (ca.OP_EQ,)
_REFUSED = {
    ca.OP_NE: "'!=' leaves out a single value, which no solver can see; write either(label, a <= b - gap, "
    "a >= b + gap)",
    ca.OP_OR: "'or' joins no bounds; write either(label, here, there)",
    ca.OP_NOT: "'not' bounds nothing; write the opposite relation",
}
_LOGIC = (*_ORDERED, *_EQUAL, *_REFUSED, ca.OP_AND)
#: Longest label made of an expression.
_LONGEST = 60


def relation(expression: ca.SX, what: str) -> tuple[ca.SX, Array, Array] | None:
    """Expressions with lower and upper bounds that a relation is, shapes (k, 1), (k,), (k,); None if it is no relation.

    A number on either side becomes the bound; of two expressions their difference is bounded by 0. Relations of one
    expression are joined.

    Raises
    ------
    ProblemError
        For a relation that bounds nothing (``!=``, a disjunction, a negation), that does not depend on anything, or
        that is part of arithmetic.
    """
    function = ca.Function("relation", ca.symvar(expression), [expression])
    if not expression.is_constant() and not any(
        function.instruction_id(k) in _LOGIC for k in range(function.n_instructions())
    ):
        return None
    joined: dict[int, _Bounds] = {}
    for entry in range(expression.numel()):
        for side, low, high in _read(expression[entry], what):
            _, lower, upper = joined.get(side.element_hash(), (side, -np.inf, np.inf))
            joined[side.element_hash()] = side, max(lower, low), min(upper, high)
    sides, lows, highs = zip(*joined.values(), strict=True)
    return ca.vertcat(*sides), np.array(lows), np.array(highs)


def _read(entry: ca.SX, what: str) -> Iterator[_Bounds]:
    if entry.is_constant():
        raise ProblemError(
            f"{what}: a relation is always {bool(float(entry))}, whatever the unknowns are: leave it out"
        )
    operation = entry.op()
    if operation in _REFUSED:
        raise ProblemError(f"{what}: {_REFUSED[operation]}")
    if operation == ca.OP_AND:
        yield from _read(entry.dep(0), what)
        yield from _read(entry.dep(1), what)
        return
    if operation not in (*_ORDERED, *_EQUAL):
        raise ProblemError(
            f"{what}: a comparison within arithmetic bounds nothing; compare the whole expression "
            "(a <= casadi.if_else(condition, b, c)), or write either(label, here, there)"
        )
    left, right = entry.dep(0), entry.dep(1)
    if left.is_constant():
        yield right, float(left), float(left) if operation in _EQUAL else np.inf
    elif right.is_constant():
        yield left, float(right) if operation in _EQUAL else -np.inf, float(right)
    else:
        yield left - right, 0.0 if operation in _EQUAL else -np.inf, 0.0


def label_of(expression: ca.SX) -> str:
    """A label that is the relation as it reads, its first entry where there are several, cut where it is long."""
    text = " ".join(str(expression[0]).split()).removeprefix("(").removesuffix(")")
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}...{text[-_LONGEST // 2 + 3 :]}"
    return text if expression.numel() == 1 else f"{text} and {expression.numel() - 1} more"
