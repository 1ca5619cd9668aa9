"""Evaluation of expressions by numpy; calls of CasADi that Ctrl-C interrupts."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.expressions._walk import as_function, fold


@contextmanager
def interruptible() -> Iterator[None]:
    """Call CasADi functions so that Ctrl-C ends them at once and goes on as `KeyboardInterrupt`.

    CasADi looks for Ctrl-C between evaluations; a solver then ends with an unspecific status (IPOPT's
    ``User_Requested_Stop`` or ``NonIpopt_Exception_Thrown``) and returns the point where it stood as if it were one.

    Raises
    ------
    KeyboardInterrupt
        On leaving, if Ctrl-C came meanwhile. In threads other than the main one, to which Python does not deliver it,
        nothing changes.
    """
    before: Any = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    pressed = False

    def remember(number: int, frame: Any) -> None:
        nonlocal pressed
        try:
            before(number, frame)
        except KeyboardInterrupt:
            pressed = True
            raise

    signal.signal(signal.SIGINT, remember)
    try:
        yield
    except Exception:
        if pressed:
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


Array = NDArray[np.float64]


class NumpyFunction:
    """The entries of an expression as a function of x, evaluated by numpy.

    Parameters
    ----------
    expression
        Any shape, read column by column.
    x
        Vector of the unknowns, shape (N,).
    """

    def __init__(self, expression: ca.SX, x: ca.SX) -> None:
        function = as_function(expression, x)
        self._size = int(function.numel_out(0))
        self._program = [
            (function.instruction_id(k), function.instruction_input(k), function.instruction_output(k))
            for k in range(function.n_instructions())
        ]
        self._constants = {
            k: np.float64(function.instruction_constant(k))
            for k, (code, _, _) in enumerate(self._program)
            if code == ca.OP_CONST
        }

    def __call__(self, point: Array) -> Array:
        """Values at a point of shape (N,); NaN where an operation has no value there."""
        work: dict[int, Any] = {}
        result = np.zeros(self._size)
        with np.errstate(all="ignore"):
            for k, (code, operands, places) in enumerate(self._program):
                if code == ca.OP_INPUT:
                    work[places[0]] = point[operands[1]]
                elif code == ca.OP_OUTPUT:
                    result[places[1]] = work[operands[0]]
                elif code == ca.OP_CONST:
                    work[places[0]] = self._constants[k]
                else:
                    work[places[0]] = _apply(code, [work[i] for i in operands])
        return result


def evaluate(expression: ca.SX, x: ca.SX, point: Array) -> Array:
    """Entries of an expression at a point of x, shape (N,); see `NumpyFunction`."""
    return NumpyFunction(expression, x)(np.asarray(point, dtype=float))


def _apply(code: int, operands: list[Any]) -> Any:
    rule = _RULES.get(code)
    if rule is not None:
        return rule(*operands)
    return np.float64(np.nan) if len(operands) > 2 else np.float64(fold(code, [float(o) for o in operands]))


def _truth(value: Any) -> Any:
    return np.float64(1.0 if value else 0.0)


def _erf(value: Any) -> Any:
    return np.float64(math.erf(value))


_RULES: dict[int, Callable[..., Any]] = {
    ca.OP_ASSIGN: lambda a: a,
    ca.OP_ADD: lambda a, b: a + b,
    ca.OP_SUB: lambda a, b: a - b,
    ca.OP_MUL: lambda a, b: a * b,
    ca.OP_DIV: lambda a, b: a / b,
    ca.OP_NEG: lambda a: -a,
    ca.OP_EXP: np.exp,
    ca.OP_LOG: np.log,
    ca.OP_POW: np.power,
    ca.OP_CONSTPOW: np.power,
    ca.OP_SQRT: np.sqrt,
    ca.OP_SQ: lambda a: a * a,
    ca.OP_TWICE: lambda a: 2.0 * a,
    ca.OP_SIN: np.sin,
    ca.OP_COS: np.cos,
    ca.OP_TAN: np.tan,
    ca.OP_ASIN: np.arcsin,
    ca.OP_ACOS: np.arccos,
    ca.OP_ATAN: np.arctan,
    ca.OP_LT: lambda a, b: _truth(a < b),
    ca.OP_LE: lambda a, b: _truth(a <= b),
    ca.OP_EQ: lambda a, b: _truth(a == b),
    ca.OP_NE: lambda a, b: _truth(a != b),
    ca.OP_NOT: lambda a: _truth(not a),
    ca.OP_AND: lambda a, b: _truth(a and b),
    ca.OP_OR: lambda a, b: _truth(a or b),
    ca.OP_FLOOR: np.floor,
    ca.OP_CEIL: np.ceil,
    ca.OP_FMOD: np.fmod,
    ca.OP_FABS: np.abs,
    ca.OP_SIGN: np.sign,
    ca.OP_COPYSIGN: np.copysign,
    ca.OP_IF_ELSE_ZERO: lambda a, b: b if a else np.float64(0.0),
    ca.OP_ERF: _erf,
    ca.OP_FMIN: np.fmin,
    ca.OP_FMAX: np.fmax,
    ca.OP_INV: lambda a: np.float64(1.0) / a,
    ca.OP_SINH: np.sinh,
    ca.OP_COSH: np.cosh,
    ca.OP_TANH: np.tanh,
    ca.OP_ASINH: np.arcsinh,
    ca.OP_ACOSH: np.arccosh,
    ca.OP_ATANH: np.arctanh,
    ca.OP_ATAN2: np.arctan2,
    ca.OP_LOG1P: np.log1p,
    ca.OP_EXPM1: np.expm1,
    ca.OP_HYPOT: np.hypot,
}
