"""Quintic B-splines with clamped ends: continuous up to the fourth derivative, polynomial between knots."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BSpline

from casid.errors import ProblemError
from casid.excitation.motions.basis import MOST, Array, Basis, check_order, positive
from casid.files._table import Table

DEGREE = 5


@dataclass(frozen=True)
class QuinticSpline(Basis):
    """Quintic B-spline on uniform knots.

    Attributes
    ----------
    length : float
        Duration [s].
    points : int
        Number of control points of one joint, at least 6; with rest at both ends at least 7.
    rest : bool
        Start and end at rest (velocity and acceleration zero): the first three control points are equal, and the last
        three; 4 coefficients less.
    """

    kind = "quintic-spline"
    keys = ("duration", "points", "rest")

    length: float
    points: int
    rest: bool = True

    def __post_init__(self) -> None:
        if not (np.isfinite(self.length) and self.length > 0):
            raise ProblemError(f"B-spline: the duration must be positive, got {self.length} s")
        least = DEGREE + 1 + int(self.rest)
        if self.points < least:
            raise ProblemError(f"quintic B-spline: at least {least} control points are needed, got {self.points}")

    @property
    def size(self) -> int:
        """Number of free control points of one joint."""
        return self.points - 4 * int(self.rest)

    @property
    def span(self) -> tuple[float, float]:
        """From 0 to the duration [s]."""
        return 0.0, self.length

    @property
    def labels(self) -> tuple[str, ...]:
        """``p_1 p_2 ...``."""
        return tuple(f"p_{k + 1}" for k in range(self.size))

    @cached_property
    def _spread(self) -> Array:
        """Control points of free coefficients, shape (points, size)."""
        if not self.rest:
            return np.eye(self.points)
        first = np.clip(np.arange(self.points) - 2, 0, self.size - 1)
        return np.eye(self.size)[first]

    @cached_property
    def _splines(self) -> tuple[BSpline, ...]:
        """Basis and its derivatives up to order 5."""
        inner = np.linspace(0.0, self.length, self.points - DEGREE + 1)
        knots = np.concatenate([np.zeros(DEGREE), inner, np.full(DEGREE, self.length)])
        basis = BSpline(knots, self._spread, DEGREE, extrapolate=False)
        return tuple(basis.derivative(k) if k else basis for k in range(6))

    def matrix(self, t: ArrayLike, order: int = 0) -> Array:
        """Basis or its time derivative at the instants ``t``, shape (len(t), size)."""
        check_order(order, 5)
        instants = np.clip(np.atleast_1d(np.asarray(t, dtype=float)), 0.0, self.length)
        return np.asarray(self._splines[order](instants), dtype=float)

    def derivative_bound(self, coefficients: Array, order: int) -> Array:
        """Largest absolute control point of the derivative: a spline stays in the convex hull of its control points."""
        check_order(order, 5)
        control = np.asarray(self._splines[order].c)[: self.points - order] @ np.asarray(coefficients, dtype=float).T
        return np.asarray(np.abs(control).max(axis=0))

    def constant(self, value: float) -> Array:
        """All control points at ``value``."""
        return np.full(self.size, float(value))

    def record(self) -> dict[str, Any]:
        """Kind, duration, control points and rest."""
        return {"kind": self.kind, "duration": self.length, "points": self.points, "rest": self.rest}

    @classmethod
    def from_table(cls, table: Table) -> QuinticSpline:
        """See `Basis.from_table`."""
        return cls(positive(table, "duration"), table.integer("points", upper=MOST), table.flag("rest"))
