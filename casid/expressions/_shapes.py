"""Shapes of expressions that functions of users return."""

from __future__ import annotations

import casadi as ca

from casid.errors import CasidError


def shaped(value: object, shape: tuple[int, int], where: str, error: type[CasidError]) -> ca.SX:
    """An expression of a shape; nothing is broadcast.

    Parameters
    ----------
    value
        SX, DM, or numbers.
    shape
        Rows and columns.
    where
        What it is, for messages.
    error
        Class of the error to raise.

    Raises
    ------
    CasidError
        Of the class ``error``: another shape, or something that is no SX expression.
    """
    try:
        found: ca.SX = ca.SX(value)  # type: ignore[call-overload]
    except (NotImplementedError, TypeError, ValueError, RuntimeError):
        raise error(f"{where}: expected a casadi.SX of shape {shape}, got {type(value).__name__}") from None
    if found.shape != shape:
        raise error(f"{where}: expected shape {shape}, got {found.shape}")
    return found
