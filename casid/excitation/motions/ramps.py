"""Ramps that lead from rest into a motion and back to rest, still linear in the motion's coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.polynomial import polynomial as poly
from numpy.typing import ArrayLike

from casid.errors import ProblemError
from casid.excitation.motions.basis import Array, Basis, LimitSamples, check_order

#: Velocity of a ramp in s = t / T_r from 0 to 1, starting at rest: powers of s for unit final velocity ...
_VELOCITY = np.array([0.0, 0.0, 3.0, -2.0])
#: ... and for unit final acceleration times T_r.
_ACCELERATION = np.array([0.0, 0.0, -1.0, 1.0])


@dataclass(frozen=True)
class Ramped(Basis):
    """A motion with a ramp of ``ramp`` seconds before it and after it.

    The ramp's velocity is the cubic that starts with velocity and acceleration zero and ends with those of the motion's
    first instant (mirrored at the end), so that position, velocity and acceleration are continuous.

    Attributes
    ----------
    motion : Basis
    ramp : float
        Duration of each ramp [s].
    """

    motion: Basis
    ramp: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.ramp) and self.ramp > 0):
            raise ProblemError(f"ramps: the duration must be positive, got {self.ramp} s")
        if isinstance(self.motion, Ramped):
            raise ProblemError("ramps: the motion has ramps already")

    @property
    def size(self) -> int:
        """Number of coefficients of one joint: the motion's."""
        return self.motion.size

    @property
    def span(self) -> tuple[float, float]:
        """From the first ramp's start (before 0) to the last one's end [s]."""
        start, end = self.motion.span
        return start - self.ramp, end + self.ramp

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the motion's coefficients."""
        return self.motion.labels

    @property
    def breaks(self) -> tuple[float, ...]:
        """Both ends of the motion: the jerk jumps there."""
        return (*self.motion.breaks, *self.motion.span)

    def samples(self, count: int) -> Array:
        """Uniform instants of the motion between the ramps, shape (count,) [s]."""
        return self.motion.samples(count)

    def limit_samples(self, density: int) -> tuple[LimitSamples, ...]:
        """Return the motion's, and a quarter as many in each ramp."""
        start, end = self.span
        away = self.ramp * np.linspace(0.0, 1.0, max(4, density // 4), endpoint=False)
        ramps = LimitSamples(np.concatenate([start + away, end - away]), 1.0, float("inf"))
        return (*self.motion.limit_samples(density), ramps)

    @cached_property
    def _ends(self) -> tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]]:
        """Rows of the basis for position, velocity and acceleration at both ends of the motion."""
        rows = [[self.motion.matrix([instant], order)[0] for order in range(3)] for instant in self.motion.span]
        return (rows[0][0], rows[0][1], rows[0][2]), (rows[1][0], rows[1][1], rows[1][2])

    def _ramp(self, s: Array, order: int, row: tuple[Array, Array, Array], sign: float) -> Array:
        """A ramp at s in [0, 1] (0: rest), into (+1) or, mirrored in time, out of (-1) the state ``row``."""
        T = self.ramp
        result = np.zeros((len(s), self.size))
        for shape, weight in ((_VELOCITY, row[1]), (_ACCELERATION, sign * T * row[2])):
            if order == 0:
                integral = poly.polyint(shape) * T
                value = poly.polyval(s, integral) - integral.sum()
                result += sign * np.outer(value, weight)
            else:
                derivative = poly.polyder(shape, order - 1) if order > 1 else shape
                result += (sign / T) ** (order - 1) * np.outer(poly.polyval(s, derivative), weight)
        return result + (row[0] if order == 0 else 0.0)

    def matrix(self, t: ArrayLike, order: int = 0) -> Array:
        """Basis or its time derivative at the instants ``t``, shape (len(t), size)."""
        check_order(order, 99)
        instants = np.atleast_1d(np.asarray(t, dtype=float))
        start, end = self.motion.span
        result = self.motion.matrix(np.clip(instants, start, end), order)
        for before, row, sign in ((True, self._ends[0], 1.0), (False, self._ends[1], -1.0)):
            out = instants < start if before else instants > end
            away = (start - instants[out] if before else instants[out] - end) / self.ramp
            if out.any():
                result[out] = self._ramp(np.clip(1.0 - away, 0.0, 1.0), order, row, sign)
        return result

    def derivative_bound(self, coefficients: Array, order: int) -> Array:
        """Larger of the motion's bound and the ramps', whose polynomials in s are bounded by their powers' sizes."""
        X = np.asarray(coefficients, dtype=float)
        bound = self.motion.derivative_bound(X, order)
        for position, velocity, acceleration in self._ends:
            total = np.abs(X @ position) if order == 0 else np.zeros(len(X))
            for shape, weight in ((_VELOCITY, velocity), (_ACCELERATION, self.ramp * acceleration)):
                if order == 0:
                    size = np.abs(poly.polyint(shape)).sum() * self.ramp
                else:
                    size = np.abs(poly.polyder(shape, order - 1)).sum() / self.ramp ** (order - 1)
                total = total + 2 * size * np.abs(X @ weight)
            bound = np.maximum(bound, total)
        return np.asarray(bound)

    def constant(self, value: float) -> Array:
        """Return the motion's coefficients of standing still at ``value``."""
        return self.motion.constant(value)

    def random(self, rng: np.random.Generator) -> Array:
        """Return random coefficients of the motion."""
        return self.motion.random(rng)

    def record(self) -> dict[str, Any]:
        """Return the motion's settings and the ramps' duration."""
        return {**self.motion.record(), "ramp": self.ramp}
