"""Values of expressions, NaN where they are undefined; calls of CasADi that Ctrl-C interrupts."""

from __future__ import annotations

import math
import operator
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import casadi as ca
import numpy as np

from casid.arrays import ALIKE, Array
from casid.expressions._intervals import HIDING, enclose
from casid.expressions._walk import BINARY, Walk, as_function, evaluate_call, fold, refused, unknown


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
        #: Every value has a place of its own: those of x come first, those of constants are there.
        self._values: list[Any] = []
        self._steps, self._calls = list[tuple[Callable[..., Any], list[int], Any]](), False
        steps = Walk(self.function)
        for step in steps:
            place = len(self._values)
            step.value = place
            if step.kind == "call":
                callee, operands = step.given
                step.value = [place + k for k in range(len(unknown(callee, operands)))]
                self._calls = True
                self._steps.append((_called(callee), operands, slice(place, place + len(step.value))))
                self._values += [None] * len(step.value)
                continue
            self._values.append(np.float64(step.given[0]) if step.kind == "constant" else None)
            if step.kind == "operation":
                self._steps.append((_rule(step.given[0]), step.given[1], place))
        self._outputs = steps.values

    def __call__(self, point: Array) -> Array:
        """Values at a point of shape (N,); NaN where an operation has no value there."""
        point = np.asarray(point, dtype=float)
        mine = self.by_numpy(point)
        values = np.array(self.function(point), dtype=float).ravel()
        with np.errstate(all="ignore"):
            agree = np.abs(values - mine) <= ALIKE * (1.0 + np.abs(mine))
        if self._calls or not (agree | (values == mine) | np.isnan(mine)).all():
            ranges = enclose(self.function, point, point)
            outside = [not float(r.low) <= v <= float(r.high) for r, v in zip(ranges, values, strict=True)]
            values = np.where(outside, np.nan, values)
        return np.where(np.isnan(mine), np.nan, values)

    def by_numpy(self, point: Array) -> Array:
        """Values at a point of shape (N,) in numpy's arithmetic, CasADi's only for functions that are opaque."""
        values = [*point, *self._values[len(point) :]]
        with np.errstate(all="ignore"):
            for rule, operands, place in self._steps:
                values[place] = rule(*[values[i] for i in operands])
        return np.array([values[place] for place in self._outputs], dtype=float)


def _called(callee: ca.Function) -> Callable[..., Any]:
    """All outputs of an opaque function; NaN of any operand is NaN of all."""

    def values(*operands: Any) -> list[Any]:
        known = evaluate_call(callee, operands)
        return [np.float64(np.nan)] * len(known) if _nan(operands) else [*known]

    return values


def evaluate(expression: ca.SX, x: ca.SX, point: Array) -> Array:
    """Entries of an expression at a point of x, shape (N,); see `NumpyFunction`."""
    return NumpyFunction(expression, x)(np.asarray(point, dtype=float))


@cache
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
            missing = _nan(operands) or (math.isinf(value) and pole and all(map(math.isfinite, operands)))
            return np.float64(np.nan) if missing else value

        return bounded
    if code in HIDING:
        return lambda *operands, rule=rule: np.float64(np.nan) if _nan(operands) else rule(*operands)
    return rule


def _nan(operands: Sequence[Any]) -> bool:
    return any(map(math.isnan, operands))


def _truth(value: Any) -> Any:
    return np.float64(1.0 if value else 0.0)


#: Operations with poles, where they have no value either; which operand is zero there, None: wherever it is infinite.
_POLES: dict[int, int | None] = {
    ca.OP_DIV: 1, ca.OP_INV: 0, ca.OP_POW: 0, ca.OP_CONSTPOW: 0, ca.OP_LOG: None, ca.OP_LOG1P: None, ca.OP_ATANH: None,
    ca.OP_ERFINV: None,
}  # fmt: skip
#: numpy's functions that are called in CasADi as there, `arcsin` and so on without the "rc".
_NUMPY = (
    "exp", "log", "sqrt", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "floor", "ceil", "fmod", "sign",
    "copysign", "fmin", "fmax", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "arctan2", "log1p", "expm1",
    "hypot",
)  # fmt: skip
_RULES: dict[int, Callable[..., Any]] = {
    **{int(getattr(ca, f"OP_{name.replace('arc', 'a').upper()}")): getattr(np, name) for name in _NUMPY},
    ca.OP_ASSIGN: lambda a: a,
    ca.OP_ADD: operator.add,
    ca.OP_SUB: operator.sub,
    ca.OP_MUL: operator.mul,
    ca.OP_DIV: operator.truediv,
    ca.OP_NEG: operator.neg,
    ca.OP_POW: np.power,
    ca.OP_CONSTPOW: np.power,
    ca.OP_SQ: lambda a: a * a,
    ca.OP_TWICE: lambda a: 2.0 * a,
    ca.OP_LT: lambda a, b: _truth(a < b),
    ca.OP_LE: lambda a, b: _truth(a <= b),
    ca.OP_EQ: lambda a, b: _truth(a == b),
    ca.OP_NE: lambda a, b: _truth(a != b),
    ca.OP_NOT: lambda a: _truth(not a),
    ca.OP_AND: lambda a, b: _truth(a and b),
    ca.OP_OR: lambda a, b: _truth(a or b),
    ca.OP_FABS: np.abs,
    ca.OP_ERF: lambda a: np.float64(math.erf(a)),
    ca.OP_ERFINV: lambda a: np.float64(fold(ca.OP_ERFINV, [float(a)])),
    ca.OP_INV: lambda a: np.float64(1.0) / a,
    ca.OP_REMAINDER: lambda a, b: np.float64(np.nan) if b == 0 or not np.isfinite(a) else math.remainder(a, b),
    ca.OP_PRINTME: lambda a, b: a,
    ca.OP_LIFT: lambda a, b: a,
}
