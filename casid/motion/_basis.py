"""Parametrisations of a motion that are linear in their coefficients: q_j(t) = B(t) x_j, the same B for every joint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.polynomial import polynomial as poly
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.errors import ProblemError
from casid.files import Table, numeric_array

#: Most harmonics, points, poses or periods of a file, and its largest number.
MOST, LARGEST = 10_000, 1e9


class LimitSamples(NamedTuple):
    """A part of a motion at which joint limits are asked for.

    Attributes
    ----------
    instants : ndarray
        [s]
    tightening : float
        Factor on the limits at these instants that makes them hold in between; 1: unknown.
    rate : float
        Bound of ``max|p'| / max|p|`` over all motions p about their mean [1/s]; infinite: unknown.
    """

    instants: Array
    tightening: float
    rate: float


class Basis(ABC):
    """Basis functions of time shared by all joints; a new one is a subclass, and an entry of `files.KINDS`.

    A motion is a matrix of coefficients X (n x size): ``q(t) = X B_0(t)', dq(t) = X B_1(t)', ...`` with the analytic
    derivatives ``B_d`` of the basis.
    """

    #: What the basis is called in files, and the keys of its settings there.
    kind: ClassVar[str] = ""
    keys: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of coefficients of one joint."""

    @property
    @abstractmethod
    def span(self) -> tuple[float, float]:
        """First and last instant of the motion [s]."""

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """Names of the coefficients of one joint."""

    @abstractmethod
    def matrix(self, t: ArrayLike, order: int = 0) -> Array:
        """The basis' ``order``-th time derivative at the instants ``t``, shape (len(t), size)."""

    def matrices(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """The basis and its first two time derivatives at the instants ``t``, each (len(t), size)."""
        return self.matrix(t, 0), self.matrix(t, 1), self.matrix(t, 2)

    @abstractmethod
    def derivative_bound(self, coefficients: Array, order: int) -> Array:
        """Return a rigorous bound of ``max_t |d^order q_j / dt^order|`` for every joint, shape (n, size) -> (n,)."""

    @abstractmethod
    def constant(self, value: float) -> Array:
        """Coefficients of a joint that stands still at ``value``, shape (size,)."""

    def record(self) -> dict[str, Any]:
        """``kind`` and settings of the basis, its ``keys``, as plain values."""
        return {"kind": self.kind, **{key: getattr(self, key) for key in self.keys}}

    @classmethod
    def from_table(cls, table: Table) -> Basis:
        """The basis from its settings in a file, inverse of `record`; DatasetError or ProblemError for bad ones."""
        table.fail(f"a motion of kind '{cls.kind}' is not read from files")

    def check(self) -> None:
        """ProblemError unless all functions of the basis return what the contract says, for two instants and joints."""
        t, size = np.array(self.span), self.size
        labels = [float(len(label)) for label in self.labels]
        given = {
            **{f"matrix, order {order}": (self.matrix(t, order), (len(t), size)) for order in range(3)},
            "derivative_bound": (self.derivative_bound(np.zeros((2, size)), 0), (2,)),
            "constant": (self.constant(0.0), (size,)),
            "labels": (labels, (size,)),
        }
        for name, (value, shape) in given.items():
            numeric_array(value, f"basis '{type(self).__name__}': `{name}`", ProblemError, shape=shape)

    @property
    def static(self) -> bool:
        """Is this a sequence of poses to hold one by one: no velocity, no time between them?"""
        return False

    @property
    def duration(self) -> float:
        """Length of the motion [s]."""
        return self.span[1] - self.span[0]

    @property
    def periodic(self) -> bool:
        """Does the motion end in the state it begins in?"""
        return False

    @property
    def breaks(self) -> tuple[float, ...]:
        """Instants inside the span at which a derivative of order 4 or less may jump [s]."""
        return ()

    def samples(self, count: int) -> Array:
        """``count`` uniform instants of the part that carries the information, shape (count,) [s].

        The last instant of a periodic motion is left out: it is the first one again.
        """
        start, end = self.span
        return start + (end - start) * np.arange(count) / (count if self.periodic else max(1, count - 1))

    def grid(self, count: int) -> Array:
        """About ``count`` uniform instants of the whole span, ramps included, both ends among them [s]."""
        return np.linspace(*self.span, count)

    def limit_samples(self, density: int) -> tuple[LimitSamples, ...]:
        """Where joint limits are asked for, part by part; ``density`` samples of the part with the information."""
        instants = self.samples(density)
        return (LimitSamples(instants, self.tightening(len(instants)), self.fastest_rate()),)

    def extremes(self, coefficients: Array, order: int, tolerance: float = 1e-7) -> tuple[float, float]:
        """Rigorous bounds of a joint's smallest and largest ``order``-th derivative over the whole motion.

        On an interval of length h, ``|p(t)| <= max of its ends + h^2 / 8 max|p''|``; with the rigorous bound of p''
        from the coefficients (`derivative_bound`), intervals that could hold the extreme value are halved until the
        bound is within ``tolerance`` (of the quantity's bound) of a value that is attained.

        Parameters
        ----------
        coefficients
            Of one joint, shape (size,).
        """
        x = np.asarray(coefficients, dtype=float)
        return -self._maximum(-x, order, tolerance), self._maximum(x, order, tolerance)

    def _maximum(self, x: Array, order: int, tolerance: float) -> float:
        edges = np.unique(np.concatenate([self.span, self.breaks, np.linspace(*self.span, 65)]))
        curvature = float(self.derivative_bound(x[None], order + 2)[0])
        allowed = tolerance * max(1e-12, float(self.derivative_bound(x[None], order)[0]))
        nudge = 1e-12 * self.duration  # a derivative that jumps at an edge is taken from inside the interval
        left, right = edges[:-1], edges[1:]
        found = -np.inf
        while True:
            ends = np.array([self.matrix(left + nudge, order) @ x, self.matrix(right - nudge, order) @ x])
            found = max(found, float(ends.max()))
            bound = ends.max(axis=0) + curvature * (right - left) ** 2 / 8
            open_ = bound > found + allowed
            if not open_.any():
                return max(found + allowed, float(bound.max()))
            middle = 0.5 * (left[open_] + right[open_])
            left, right = np.concatenate([left[open_], middle]), np.concatenate([middle, right[open_]])

    def random(self, rng: np.random.Generator) -> Array:
        """Coefficients of a random motion of arbitrary size about 0 of one joint, shape (size,)."""
        return rng.standard_normal(self.size)

    def fastest_rate(self) -> float:
        """Bound of ``max|p'| / max|p|`` over all motions p about their mean [1/s]; infinite: unknown."""
        return float("inf")

    def tightening(self, count: int) -> float:
        """Factor on bounds at ``count`` uniform samples that makes them hold in between; 1: unknown."""
        return 1.0


def check_order(order: int, highest: int) -> None:
    """Raise a ProblemError for a derivative that the basis does not have."""
    if not 0 <= order <= highest:
        raise ProblemError(f"derivative of order {order} asked for; orders 0 to {highest} are defined")


def positive(table: Table, key: str) -> float:
    """A positive number of seconds or rad/s that a motion can have."""
    number = table.number(key)
    if not 1 / LARGEST < number < LARGEST:
        table.fail(f"key '{key}': expected a number from {1 / LARGEST:g} to {LARGEST:g}, got {number:g}")
    return number


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
