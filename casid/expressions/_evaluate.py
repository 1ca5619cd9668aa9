"""Values of expressions, NaN where they are undefined; calls of CasADi that Ctrl-C interrupts."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import casadi as ca
import numpy as np

from casid.arrays import ALIKE, Array
from casid.expressions._intervals import HIDING, enclose
from casid.expressions._walk import (
    BINARY,
    CALL,
    STRUCTURE,
    as_function,
    evaluate_call,
    fold,
    rebuild,
    rebuild_call,
    refused,
    walk,
)


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


class NumpyFunction:
    """The entries of an expression as a function of x: values by CasADi's own function, NaN where it is undefined.

    Where numpy's arithmetic gives another value, or a function is opaque, interval arithmetic at the point decides: a
    value that it excludes is none. (At a jump, rounding alone can make the two differ; the interval then holds both.)
    Whether a point has a value follows the rule of `casid.expressions._intervals`: numpy evaluates every operation, and
    NaN of one that counts is not lost in a comparison, a minimum or an opaque function.

    Parameters
    ----------
    expression
        Any shape, read column by column.
    x
        Vector of the unknowns, shape (N,).
    """

    def __init__(self, expression: ca.SX, x: ca.SX) -> None:
        self.function = as_function(expression, x)
        function = as_function(inlined(expression, x), x)
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
        called = [k for k, (code, _, _) in enumerate(self._program) if code == CALL]
        nodes = function.instructions_sx() if called else ca.SX()
        self._callees = {k: nodes[k].which_function() for k in called}
        self._rules = {code: _rule(code) for code, _, _ in self._program if code not in STRUCTURE and code != CALL}

    def __call__(self, point: Array) -> Array:
        """Values at a point of shape (N,); NaN where an operation has no value there."""
        point = np.asarray(point, dtype=float)
        mine = self.by_numpy(point)
        values = np.array(self.function(point), dtype=float).ravel()
        with np.errstate(all="ignore"):
            agree = np.abs(values - mine) <= ALIKE * (1.0 + np.abs(mine))
        if self._callees or not (agree | (values == mine) | np.isnan(mine)).all():
            ranges = enclose(self.function, point, point)
            outside = [not float(r.low) <= v <= float(r.high) for r, v in zip(ranges, values, strict=True)]
            values = np.where(outside, np.nan, values)
        return np.where(np.isnan(mine), np.nan, values)

    def by_numpy(self, point: Array) -> Array:
        """Values at a point of shape (N,) in numpy's arithmetic, CasADi's only for functions that are opaque."""
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
                elif code == CALL:
                    values = [work[i] for i in operands]
                    known = evaluate_call(self._callees[k], values)
                    for place, value in zip(places, known, strict=True):
                        work[place] = np.float64(np.nan) if np.isnan(values).any() else value
                else:
                    work[places[0]] = self._rules[code](*[work[i] for i in operands])
        return result


def evaluate(expression: ca.SX, x: ca.SX, point: Array) -> Array:
    """Entries of an expression at a point of x, shape (N,); see `NumpyFunction`."""
    return NumpyFunction(expression, x)(np.asarray(point, dtype=float))


def inlined(expression: ca.SX, x: ca.SX) -> ca.SX:
    """The expression, as a column, with every function that it calls inlined but the opaque ones."""
    function = as_function(expression, x)
    if all(function.instruction_id(k) != CALL for k in range(function.n_instructions())):
        return expression
    result: ca.SX = ca.vertcat(*walk(function, ca.SX, lambda k: x[k], rebuild, rebuild_call))
    return result


def _rule(code: int) -> Callable[..., Any]:
    """The operation of numpy that keeps NaN of any operand that counts, and has none where it has no real value."""
    if code == ca.OP_IF_ELSE_ZERO:
        return lambda test, value: test if np.isnan(test) else value if test else np.float64(0.0)
    rule = _RULES.get(code)
    if rule is None:
        raise refused(code, "evaluation", 2 if code in BINARY else 1)
    if code in _POLES:

        def bounded(*operands: Any, rule: Callable[..., Any] = rule, at_zero: int | None = _POLES[code]) -> Any:
            value = rule(*operands)
            pole = at_zero is None or operands[at_zero] == 0
            missing = np.isnan(operands).any() or (np.isinf(value) and pole and np.isfinite(operands).all())
            return np.float64(np.nan) if missing else value

        return bounded
    if code in HIDING:
        return lambda *operands, rule=rule: np.float64(np.nan) if np.isnan(operands).any() else rule(*operands)
    return rule


def _truth(value: Any) -> Any:
    return np.float64(1.0 if value else 0.0)


#: Operations with poles, where they have no value either; which operand is zero there, None: wherever it is infinite.
_POLES: dict[int, int | None] = {
    ca.OP_DIV: 1, ca.OP_INV: 0, ca.OP_POW: 0, ca.OP_CONSTPOW: 0, ca.OP_LOG: None, ca.OP_LOG1P: None, ca.OP_ATANH: None,
    ca.OP_ERFINV: None,
}  # fmt: skip
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
    ca.OP_ERF: lambda a: np.float64(math.erf(a)),
    ca.OP_ERFINV: lambda a: np.float64(fold(ca.OP_ERFINV, [float(a)])),
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
    ca.OP_REMAINDER: lambda a, b: np.float64(np.nan) if b == 0 or not np.isfinite(a) else math.remainder(a, b),
    ca.OP_PRINTME: lambda a, b: a,
    ca.OP_LIFT: lambda a, b: a,
}
