"""One step of the classical Runge-Kutta method of order 4, for CasADi expressions and numpy arrays alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

#: State: anything with addition and multiplication by a number (``ca.SX``, ``ca.MX``, ``ca.DM``, numpy arrays).
State = TypeVar("State")


def rk4_step(f: Callable[[State, Any], State], x: State, u: Any, h: Any) -> State:
    """``x + h/6 (k1 + 2 k2 + 2 k3 + k4)`` of ``dx/dt = f(x, u)`` with constant u (Hairer et al. 1993, Table II.1.2).

    Parameters
    ----------
    f
        Right-hand side ``f(x, u)``.
    x
        State at the beginning of the step.
    u
        Input, held over the step; any object that ``f`` accepts.
    h
        Step size [s].

    Returns
    -------
    State
        Of the type of ``x``.
    """
    start: Any = x
    k1: Any = f(start, u)
    k2: Any = f(start + h / 2 * k1, u)
    k3: Any = f(start + h / 2 * k2, u)
    k4: Any = f(start + h * k3, u)
    new: State = start + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return new
