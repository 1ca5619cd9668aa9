"""Every operation of CasADi: which a scalar graph can hold, with how many operands, and how one is refused by name.

A reader that has no rule for an operation refuses it, or treats it as unknown; none takes it for another one.
"""

from __future__ import annotations

import casadi as ca

from casid.errors import ProblemError

#: Name of every operation, ``{code: "OP_ADD"}``, as the installed CasADi numbers them.
NAMES: dict[int, str] = {int(getattr(ca, name)): name for name in sorted(dir(ca)) if name.startswith("OP_")}
#: What the instructions of a function hold beside operations.
STRUCTURE = frozenset({ca.OP_CONST, ca.OP_INPUT, ca.OP_OUTPUT})
#: Operations of one scalar.
UNARY = frozenset(
    {
        ca.OP_ASSIGN, ca.OP_NEG, ca.OP_EXP, ca.OP_LOG, ca.OP_SQRT, ca.OP_SQ, ca.OP_TWICE, ca.OP_SIN, ca.OP_COS,
        ca.OP_TAN, ca.OP_ASIN, ca.OP_ACOS, ca.OP_ATAN, ca.OP_NOT, ca.OP_FLOOR, ca.OP_CEIL, ca.OP_FABS, ca.OP_SIGN,
        ca.OP_ERF, ca.OP_ERFINV, ca.OP_INV, ca.OP_SINH, ca.OP_COSH, ca.OP_TANH, ca.OP_ASINH, ca.OP_ACOSH,
        ca.OP_ATANH, ca.OP_LOG1P, ca.OP_EXPM1,
    }
)  # fmt: skip
#: Operations of two scalars.
BINARY = frozenset(
    {
        ca.OP_ADD, ca.OP_SUB, ca.OP_MUL, ca.OP_DIV, ca.OP_POW, ca.OP_CONSTPOW, ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE,
        ca.OP_AND, ca.OP_OR, ca.OP_FMOD, ca.OP_COPYSIGN, ca.OP_IF_ELSE_ZERO, ca.OP_FMIN, ca.OP_FMAX, ca.OP_ATAN2,
        ca.OP_HYPOT, ca.OP_REMAINDER, ca.OP_PRINTME, ca.OP_LIFT,
    }
)  # fmt: skip
#: A function that is called: inlined where it is a scalar graph itself, else evaluated by CasADi.
CALL = int(ca.OP_CALL)
#: Operations that only graphs of matrices hold; no reader takes them.
MATRIX = frozenset(NAMES) - UNARY - BINARY - STRUCTURE - {CALL}


class OperationError(ProblemError):
    """An operation that a reader of expressions does not know."""


def refused(code: int, reader: str, operands: int | None = None) -> OperationError:
    """The error of a reader that does not know an operation, which it names."""
    count = "" if operands is None else f" of {operands} operand{'' if operands == 1 else 's'}"
    name = NAMES.get(code, f"number {code}")
    return OperationError(
        f"{reader}: the operation {name}{count} of CasADi is not known here; write the expression with scalar "
        "operations (casadi.SX), or put it into a casadi.Function and call that"
    )


def check_operation(code: int, operands: int, reader: str) -> None:
    """Refuse by name what is no operation of so many scalars.

    Raises
    ------
    OperationError
    """
    if not ((operands == 1 and code in UNARY) or (operands == 2 and code in BINARY)):
        raise refused(code, reader, operands)
