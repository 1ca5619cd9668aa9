"""Conditions of if-else and of logic: which there are, what a box decides about them, some decided.

``casadi.if_else(condition, a, b)`` enters a graph as ``(condition ? a : 0) + (not condition ? b : 0)``. The conditions
are read off the graph, so that a user's expression needs no annotation. Two conditions are one where their structure
is the same with exactly the same constants: thresholds that print alike are still two, and one rule that is used in
several places, or built twice, is one. `Condition.key` is that identity; the text is for people.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.arrays import Array
from casid.expressions._intervals import enclose
from casid.expressions._walk import (
    COMPARISONS,
    Rules,
    Walk,
    as_function,
    call_identity,
    operations,
    rebuild,
    rebuild_call,
)

#: What takes a truth value, in whichever operand.
_LOGIC = frozenset({ca.OP_NOT, ca.OP_AND, ca.OP_OR})
_COMMUTATIVE = frozenset({ca.OP_ADD, ca.OP_MUL, ca.OP_EQ, ca.OP_NE, ca.OP_AND, ca.OP_OR, ca.OP_FMIN, ca.OP_FMAX})
_LONGEST = 200
_LEFT, _RIGHT = "\x01", "\x02"


@dataclass(frozen=True, eq=False)
class Condition:
    """A comparison ``left < right`` (or <=, ==, !=), or a number that is tested for not being zero.

    Attributes
    ----------
    key : str
        Its identity: a digest of its structure with exact constants. Conditions of the same key are one.
    text : str
        For people; long ones are cut, and two conditions may read alike.
    margin : SX
        ``right - left``: positive where the condition holds. The number itself where one is tested.
    equality : bool
        Whether the condition is that the margin is zero, or is not zero: one of its sides is a set without interior.
    code : int
        `casadi.OP_LT`, `OP_LE`, `OP_EQ` or `OP_NE` (also where a number is tested).
    """

    key: str
    text: str
    margin: ca.SX
    equality: bool
    code: int

    def holds(self, margin: ArrayLike) -> NDArray[np.bool_]:
        """Whether it holds at points where the margin has these values; never where it is NaN."""
        value = np.asarray(margin, dtype=float)
        if self.code == ca.OP_LT:
            return np.asarray(value > 0)
        if self.code == ca.OP_LE:
            return np.asarray(value >= 0)
        return np.asarray(value == 0 if self.code == ca.OP_EQ else np.abs(value) > 0)


#: A condition's value: decided, or None to leave it as it is.
Decide = Callable[[Condition], "bool | None"]


@dataclass(frozen=True, eq=False)
class _Node:
    """An expression with its identity; ``logical`` where it is 0 or 1."""

    value: ca.SX
    key: str
    text: str
    logical: bool = False


def conditions(expression: ca.SX, x: ca.SX) -> tuple[Condition, ...]:
    """All conditions of an expression's entries, in order of appearance, each once."""
    found: dict[str, Condition] = {}

    def note(condition: Condition) -> None:
        found.setdefault(condition.key, condition)

    replace_conditions(expression, x, note)
    return tuple(found.values())


def has_conditions(expression: ca.SX, x: ca.SX) -> bool:
    """Whether an expression compares anything, or tests a number."""
    return bool(operations(as_function(expression, x)) & {*COMPARISONS, *_LOGIC, ca.OP_IF_ELSE_ZERO})


def choose(expression: ca.SX, x: ca.SX, choices: Mapping[str, bool]) -> ca.SX:
    """The expression, as a column, with the conditions of these keys decided."""
    return replace_conditions(expression, x, lambda condition: choices.get(condition.key))


def decided(
    found: Sequence[Condition],
    x: ca.SX,
    low: ArrayLike,
    high: ArrayLike,
    quotients: Mapping[tuple[int, int], Array] | None = None,
) -> dict[str, bool]:
    """Conditions that are the same everywhere in a box, by their key; arguments as in `enclose`."""
    if not found:
        return {}
    ranges = enclose(as_function(ca.vertcat(*[c.margin for c in found]), x), low, high, quotients)
    result = {}
    for condition, interval in zip(found, ranges, strict=True):
        if np.any(interval.undefined):
            continue
        ends = np.array([condition.holds(interval.low), condition.holds(interval.high)])
        passes_zero = condition.equality and np.any(interval.has_zero & (interval.low != interval.high))
        if not passes_zero and (ends.all() or not ends.any()):
            result[condition.key] = bool(ends.all())
    return result


def replace_conditions(expression: ca.SX, x: ca.SX, decide: Decide) -> ca.SX:
    """The expression, as a column, with each condition as ``decide`` returns it."""

    def entry(index: int) -> _Node:
        return _Node(x[index], f"x{index}", str(x[index]))

    def constant(value: float) -> _Node:
        return _Node(ca.SX(value), value.hex(), repr(value).removesuffix(".0"))

    def truth(node: _Node) -> _Node:
        """A number that is tested, as a logical value."""
        if node.logical or node.value.is_constant():
            return node
        condition = Condition(_digest("tested", node.key), f"{node.text}!=0", node.value, True, ca.OP_NE)
        return _settled(node, decide(condition))

    def apply(code: int, operands: list[_Node]) -> _Node:
        key, text = _identity(code, operands)
        if code in COMPARISONS:
            left, right = operands
            whole = _Node(rebuild(code, [left.value, right.value]), key, text, True)
            if whole.value.is_constant():
                return whole
            condition = Condition(key, text, right.value - left.value, code in (ca.OP_EQ, ca.OP_NE), code)
            return _settled(whole, decide(condition))
        if code in _LOGIC:
            return _Node(rebuild(code, [truth(o).value for o in operands]), key, text, True)
        if code == ca.OP_IF_ELSE_ZERO:
            return _Node(_chosen(truth(operands[0]).value, operands[1].value), key, text)
        return _Node(rebuild(code, [o.value for o in operands]), key, text)

    def call(callee: ca.Function, operands: list[_Node]) -> list[_Node]:
        values = rebuild_call(callee, [o.value for o in operands])
        key = _digest(call_identity(callee), *(o.key for o in operands))
        text = f"{callee.name()}({','.join(o.text for o in operands)})"
        return [_Node(value, _digest(key, str(k)), _cut(f"{text}{{{k}}}", key)) for k, value in enumerate(values)]

    rules: Rules = {"constant": constant, "entry": entry, "operation": apply, "call": call}
    steps = Walk(as_function(expression, x))
    for step in steps:
        step.value = rules[step.kind](*step.given)
    result: ca.SX = ca.vertcat(*[o.value for o in steps.values]) if steps.values else ca.SX(0, 1)
    return result


def _settled(node: _Node, decision: bool | None) -> _Node:
    value = node.value if decision is None else ca.SX(float(decision))
    return _Node(value, node.key, node.text, True)


def _chosen(test: ca.SX, value: ca.SX) -> ca.SX:
    if test.is_constant():
        return value if float(test) != 0 else ca.SX(0)
    return rebuild(ca.OP_IF_ELSE_ZERO, [test, value])


def _identity(code: int, operands: Sequence[_Node]) -> tuple[str, str]:
    """The structure's digest, and the structure in words, with exact constants; cut where it is long."""
    nodes = sorted(operands, key=lambda o: o.key) if code in _COMMUTATIVE else list(operands)
    key = _digest(str(code), *(o.key for o in nodes))
    texts = [o.text for o in nodes]
    text = re.sub(f"{_LEFT}|{_RIGHT}", lambda m: texts[m.group() == _RIGHT], _pattern(code, len(nodes)))
    return key, _cut(text, key)


def _digest(*parts: str) -> str:
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def _cut(text: str, key: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}...#{key[:16]}"


@cache
def _pattern(code: int, operands: int) -> str:
    """How CasADi prints an operation, with marks for its operands."""
    return str(rebuild(code, [ca.SX.sym(mark) for mark in (_LEFT, _RIGHT)[:operands]]))


@dataclass(frozen=True, eq=False)
class _Rows:
    """An expression, and alternatives in place of its bound, each of rows that must all obey it."""

    whole: ca.SX
    options: tuple[tuple[ca.SX, ...], ...]


def alternatives(expression: ca.SX, x: ca.SX, most: int = 1_000, upper: bool = False) -> tuple[ca.SX, ...]:
    """A scalar ``expression >= bound`` as alternatives, each a vector of rows that must all be >= the bound.

    ``fmax(a, b) >= bound`` requires a or b, ``fmin(a, b) >= bound`` both; any nesting of the two is taken apart,
    unless it makes more than ``most`` alternatives: then it stays whole. A row may be a constant.

    Parameters
    ----------
    expression, x
        Scalar, and the unknowns.
    most
        Largest number of alternatives.
    upper
        The same for ``expression <= bound``: there fmax requires both and fmin one.
    """
    one, both = (ca.OP_FMIN, ca.OP_FMAX) if upper else (ca.OP_FMAX, ca.OP_FMIN)

    def apply(code: int, operands: list[_Rows]) -> _Rows:
        whole = rebuild(code, [o.whole for o in operands])
        options: tuple[tuple[ca.SX, ...], ...] = ((whole,),)
        if code == one:
            options = operands[0].options + operands[1].options
        elif code == both and len(operands[0].options) * len(operands[1].options) <= most:
            options = tuple((*a, *b) for a in operands[0].options for b in operands[1].options)
        return _Rows(whole, options if len(options) <= most else ((whole,),))

    def constant(value: float) -> _Rows:
        return _Rows(ca.SX(value), ((ca.SX(value),),))

    def call(callee: ca.Function, operands: list[_Rows]) -> list[_Rows]:
        return [_Rows(value, ((value,),)) for value in rebuild_call(callee, [o.whole for o in operands])]

    rules: Rules = {"constant": constant, "entry": lambda k: _Rows(x[k], ((x[k],),)), "operation": apply, "call": call}
    steps = Walk(as_function(expression, x))
    for step in steps:
        step.value = rules[step.kind](*step.given)
    return tuple(ca.vertcat(*rows) for rows in steps.values[0].options)
