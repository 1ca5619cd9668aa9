"""Expression graphs, walked instruction by instruction with any arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import casadi as ca

T = TypeVar("T")

#: Comparisons: what decides an if-else.
COMPARISONS = frozenset({ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE})


def as_function(expression: ca.SX, x: ca.SX) -> ca.Function:
    """The entries of an expression, column by column, as a function of one dense vector that `walk` can read."""
    return ca.Function("expression", [x], [ca.densify(ca.vec(expression))])


def operations(function: ca.Function) -> frozenset[int]:
    """Codes of the operations that a function uses."""
    return frozenset(function.instruction_id(k) for k in range(function.n_instructions()))


def walk(
    function: ca.Function,
    constant: Callable[[float], T],
    entry: Callable[[int], T],
    apply: Callable[[int, list[T]], T],
) -> list[T]:
    """Evaluate an SX function of one dense vector in another arithmetic.

    Parameters
    ----------
    function
        One input, one dense output vector (`as_function`).
    constant, entry
        Value of a constant, and of an entry of the input vector.
    apply
        Value of an operation (`casadi.OP_ADD`, ...) on its operands: one or two, any number where the code is
        `casadi.OP_CALL`, a call of another function.

    Returns
    -------
    list
        One value an output entry.
    """
    work: dict[int, T] = {}
    outputs: dict[int, T] = {}
    for k in range(function.n_instructions()):
        code = function.instruction_id(k)
        operands, results = function.instruction_input(k), function.instruction_output(k)
        if code == ca.OP_CONST:
            work[results[0]] = constant(float(function.instruction_constant(k)))
        elif code == ca.OP_INPUT:
            work[results[0]] = entry(int(operands[1]))
        elif code == ca.OP_OUTPUT:
            outputs[int(results[1])] = work[operands[0]]
        else:
            value = apply(code, [work[i] for i in operands if i in work])
            for result in results:
                work[result] = value
    return [outputs[i] for i in range(len(outputs))]


def rebuild(code: int, operands: Sequence[Any]) -> ca.SX:
    """The operation itself, on SX operands."""
    if len(operands) == 1:
        return ca.SX.unary(code, operands[0])
    return ca.SX.binary(code, operands[0], operands[1])


def fold(code: int, operands: Sequence[float]) -> float:
    """The operation on numbers, as CasADi computes it."""
    return float(ca.DM(rebuild(code, [ca.SX(value) for value in operands])))
