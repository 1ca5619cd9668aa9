"""Solver forms of the constraints: scalar rows, linear ones as numbers, the others as well-behaved expressions.

A bound on a physical quantity has equivalent forms that a solver likes better: ``l - m lower >= 0`` (linear) for a
centre of mass, ``m (Lxx - upper) <= ly^2 + lz^2`` (no division) for an inertia about it.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.expressions import affine_rows
from casid.inertia import TENSOR_INDEX
from casid.retrieval.constraints import Constraint
from casid.retrieval.problem import Problem

Array = NDArray[np.float64]
AXES = "xyz"


@dataclass(frozen=True)
class Row:
    """Where a scalar row comes from: for messages, relaxations and soft weights.

    ``text`` says the bound in words ("total mass >= 30 kg"); ``entry`` is the entry of the constraint's expression.
    """

    constraint: int
    entry: int
    weight: float | None
    text: str


@dataclass(frozen=True, eq=False)
class LinearRows:
    """``lower <= matrix x <= upper``, shapes (k, N), (k,), (k,)."""

    matrix: Array
    lower: Array
    upper: Array
    rows: tuple[Row, ...]


@dataclass(frozen=True, eq=False)
class NonlinearRows:
    """``lower <= expression(x) <= upper``, k scalar SX expressions."""

    expression: ca.SX
    lower: Array
    upper: Array
    rows: tuple[Row, ...]

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.rows)

    def values(self, symbols: ca.SX, x: Array) -> Array:
        """Values at x, shape (k,)."""
        if not self.rows:
            return np.zeros(0)
        return np.array(ca.Function("rows", [symbols], [self.expression])(x)).reshape(-1)


def bound_text(constraint: Constraint, entry: int, side: str) -> str:
    """A bound in words: ``link3 mass <= 4 kg``."""
    name, unit = constraint.label, ""
    if constraint.quantity in ("mass", "total_mass"):
        unit = " kg"
    elif constraint.quantity == "com":
        name, unit = f"{constraint.label} {AXES[entry]}", " m"
    elif constraint.quantity == "inertia_com":
        i, j = TENSOR_INDEX[entry]
        name, unit = f"{constraint.label} {AXES[i]}{AXES[j]}", " kg.m^2"
    elif constraint.size > 1:
        name = f"{constraint.label}[{entry}]"
    lower, upper = constraint.lower[entry], constraint.upper[entry]
    if side == "lower":
        return f"{name} >= {lower:.6g}{unit}"
    if side == "upper":
        return f"{name} <= {upper:.6g}{unit}"
    return f"{lower:.6g} <= {name} <= {upper:.6g}{unit}"


def split_rows(problem: Problem) -> tuple[LinearRows, NonlinearRows]:
    """All constraints of a problem as scalar rows, linear and nonlinear; rows implied by consistency are left out."""
    x = problem.variables.x
    size = problem.variables.size
    linear: list[tuple[Array, float, float, Row]] = []
    curved: list[tuple[ca.SX, float, float, Row]] = []
    for index, constraint in enumerate(problem.constraints):
        if constraint.quantity == "com":
            linear += _com_rows(constraint, index, size)
        elif constraint.quantity == "gyration":
            linear += _gyration_rows(constraint, index, size)
        elif constraint.quantity == "inertia_com":
            curved += _inertia_rows(problem, constraint, index)
        else:
            forms = affine_rows(constraint.expression, x)
            for i in range(constraint.size):
                if not (np.isfinite(constraint.lower[i]) or np.isfinite(constraint.upper[i])):
                    continue
                row = Row(index, i, constraint.weight, bound_text(constraint, i, "both"))
                form = forms[i]
                if form is None:
                    curved.append((constraint.expression[i], constraint.lower[i], constraint.upper[i], row))
                else:
                    low, high = constraint.lower[i] - form.offset, constraint.upper[i] - form.offset
                    linear.append((form.coefficients, low, high, row))
    standard = 10 * len(problem.variables)
    for k, (name, (low, high)) in enumerate(problem.variables.extras.items()):
        if np.isfinite(low) or np.isfinite(high):
            text = f"{low:.6g} <= {name} <= {high:.6g}"
            linear.append((np.eye(size)[standard + k], low, high, Row(-1, k, None, text)))
    return _stack_linear(linear, size), NonlinearRows(
        ca.vertcat(*[c[0] for c in curved]) if curved else ca.SX(0, 1),
        np.array([c[1] for c in curved]),
        np.array([c[2] for c in curved]),
        tuple(c[3] for c in curved),
    )


def _stack_linear(entries: list[tuple[Array, float, float, Row]], size: int) -> LinearRows:
    matrix = np.array([e[0] for e in entries]).reshape(len(entries), size)
    return LinearRows(
        matrix,
        np.array([e[1] for e in entries], dtype=float),
        np.array([e[2] for e in entries], dtype=float),
        tuple(e[3] for e in entries),
    )


def _com_rows(constraint: Constraint, index: int, size: int) -> list[tuple[Array, float, float, Row]]:
    """``l - m lower >= 0`` and ``m upper - l >= 0``, axis by axis [kg.m]."""
    rows = []
    start = 10 * constraint.links[0]
    for axis in range(3):
        for bound, sign, side in ((constraint.lower[axis], 1.0, "lower"), (constraint.upper[axis], -1.0, "upper")):
            if np.isfinite(bound):
                form = np.zeros(size)
                form[start + 6 + axis], form[start + 9] = sign, -sign * bound
                rows.append(
                    (form, 0.0, np.inf, Row(index, axis, constraint.weight, bound_text(constraint, axis, side)))
                )
    return rows


def _gyration_rows(constraint: Constraint, index: int, size: int) -> list[tuple[Array, float, float, Row]]:
    """``radius^2 m - tr(L)/2 >= 0`` [kg.m^2]."""
    form = np.zeros(size)
    start = 10 * constraint.links[0]
    form[[start, start + 3, start + 5]] = -0.5
    form[start + 9] = constraint.upper[0]
    return [(form, 0.0, np.inf, Row(index, 0, constraint.weight, bound_text(constraint, 0, "upper")))]


def _inertia_rows(problem: Problem, constraint: Constraint, index: int) -> list[tuple[ca.SX, float, float, Row]]:
    """``m (L - bound) - steiner``, >= 0 or <= 0; bounds that full consistency implies are skipped.

    With J > 0 the diagonal of I is positive and ``|Ixy| <= Izz / 2``, so that non-positive lower bounds of the
    diagonal, and bounds of ``Ixy`` beyond half the upper bound of ``Izz``, say nothing new.
    """
    link = problem.variables.links[constraint.links[0]]
    full = problem.cones[link.index].kind == "full" and constraint.weight is None
    mass, moment, inertia = link.mass, link.first_moment, link.inertia
    diagonal = {0: 0, 1: 3, 2: 5}
    rows = []
    for entry, (i, j) in enumerate(TENSOR_INDEX):
        if i == j:
            steiner = sum((moment[a] ** 2 for a in range(3) if a != i), ca.SX(0))
        else:
            steiner = -moment[i] * moment[j]
        reach = np.inf if i == j else constraint.upper[diagonal[3 - i - j]] / 2
        for bound, side in ((constraint.lower[entry], "lower"), (constraint.upper[entry], "upper")):
            implied = (
                (bound <= 0 if side == "lower" else False)
                if i == j
                else abs(bound) >= reach and (bound <= 0 if side == "lower" else bound >= 0)
            )
            if not np.isfinite(bound) or (full and implied):
                continue
            expression = mass * (inertia[i, j] - bound) - steiner
            low, high = (0.0, np.inf) if side == "lower" else (-np.inf, 0.0)
            rows.append(
                (expression, low, high, Row(index, entry, constraint.weight, bound_text(constraint, entry, side)))
            )
    return rows
