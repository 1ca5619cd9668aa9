"""Parametrisations of a motion that are linear in their coefficients: q_j(t) = B(t) x_j, the same B for every joint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, cast

import numpy as np
from numpy.polynomial import polynomial as poly
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.errors import ProblemError
from casid.files import Table, numeric_array

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

# ------------------------------------------------------------------ contract

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
    tightening: float = 1.0
    rate: float = float("inf")


class Basis(ABC):
    """Basis functions of time shared by all joints; a new one is a subclass, and an entry of `files.KINDS`.

    A motion is a matrix of coefficients X (n x size): ``q(t) = X B_0(t)', dq(t) = X B_1(t)', ...`` with the analytic
    derivatives ``B_d`` of the basis.
    """

    #: What the basis is called in files, and the keys of its settings there.
    kind: ClassVar[str] = ""
    keys: ClassVar[tuple[str, ...]] = ()
    #: Is this a sequence of poses to hold one by one: no velocity, no time between them?
    static: ClassVar[bool] = False
    #: Does the motion end in the state it begins in?
    periodic: ClassVar[bool] = False

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
    def duration(self) -> float:
        """Length of the motion [s]."""
        return self.span[1] - self.span[0]

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
        return (LimitSamples(self.samples(density)),)

    def extremes(self, coefficients: Array, order: int, tolerance: float = 1e-7) -> tuple[Array, Array]:
        """Rigorous bounds of each joint's smallest and largest ``order``-th derivative over the whole motion.

        On an interval of length h, ``|p(t)| <= max of its ends + h^2 / 8 max|p''|``; with the rigorous bound of p''
        from the coefficients (`derivative_bound`), intervals that could hold the extreme value are halved until the
        bound is within ``tolerance`` (of the quantity's bound) of a value that is attained.

        Parameters
        ----------
        coefficients
            Shape (n, size).

        Returns
        -------
        smallest, largest : ndarray, shape (n,)
        """
        X = np.asarray(coefficients, dtype=float)
        below, above = np.split(self._maxima(np.vstack([-X, X]), order, tolerance), 2)
        return -below, above

    def _maxima(self, X: Array, order: int, tolerance: float) -> Array:
        """Rigorous bounds of the largest values, shape (n,); all joints' intervals are halved together."""
        edges = np.unique(np.concatenate([self.span, self.breaks, np.linspace(*self.span, 65)]))
        curvature = self.derivative_bound(X, order + 2)
        allowed = tolerance * np.maximum(1e-12, self.derivative_bound(X, order))
        nudge = 1e-12 * self.duration  # a derivative that jumps at an edge is taken from inside the interval
        joint = np.repeat(np.arange(len(X)), len(edges) - 1)
        left, right = np.tile(edges[:-1], len(X)), np.tile(edges[1:], len(X))
        found = np.full(len(X), -np.inf)
        while len(left):
            ends = [np.einsum("ij,ij->i", self.matrix(t, order), X[joint]) for t in (left + nudge, right - nudge)]
            largest = np.maximum(*ends)
            np.maximum.at(found, joint, largest)
            open_ = largest + curvature[joint] * (right - left) ** 2 / 8 > (found + allowed)[joint]
            middle = 0.5 * (left[open_] + right[open_])
            left, right = np.concatenate([left[open_], middle]), np.concatenate([middle, right[open_]])
            joint = np.tile(joint[open_], 2)
        return np.asarray(found + allowed)

    def random(self, rng: np.random.Generator) -> Array:
        """Coefficients of a random motion of arbitrary size about 0 of one joint, shape (size,)."""
        return rng.standard_normal(self.size)


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


#: Velocity of a ramp in s = t / T_r from 0 to 1, starting at rest: powers of s for unit final velocity, and for unit
#: final acceleration times T_r.
_RAMP = np.array([[0.0, 0.0, 3.0, -2.0], [0.0, 0.0, -1.0, 1.0]])


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
        ramps = LimitSamples(np.concatenate([start + away, end - away]))
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
        for shape, weight in zip(_RAMP, (row[1], sign * T * row[2]), strict=True):
            if order == 0:
                integral = poly.polyint(shape) * T
                value = poly.polyval(s, integral) - integral.sum()
                result += sign * np.outer(value, weight)
            else:
                derivative = poly.polyder(shape, order - 1)
                result += (sign / T) ** (order - 1) * np.outer(poly.polyval(s, derivative), weight)
        return result + (row[0] if order == 0 else 0.0)

    def matrix(self, t: ArrayLike, order: int = 0) -> Array:
        """Basis or its time derivative at the instants ``t``, shape (len(t), size)."""
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
            for shape, weight in zip(_RAMP, (velocity, self.ramp * acceleration), strict=True):
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


# ------------------------------------------------------------------ Fourier series

Form = Literal["velocity", "position"]


@dataclass(frozen=True)
class Fourier(Basis):
    """Fourier series of base frequency w and L harmonics, played for one or more periods.

    With ``form="velocity"`` the coefficients are amplitudes of the velocity (Sousa 2014, eq. 4.19; Gaz et al. 2019)::

        q(t) = sum_l a_l / (l w) sin(l w t) - b_l / (l w) cos(l w t) + q_0

    with ``form="position"`` amplitudes of the position::

        q(t) = sum_l a_l sin(l w t) + b_l cos(l w t) + q_0

    Coefficients of a joint, in this order: ``a_1 ... a_L, b_1 ... b_L, q_0``.

    Attributes
    ----------
    frequency : float
        Base angular frequency w [rad/s]; the period is 2 pi / w.
    harmonics : int
        L.
    form : str
    periods : int
        How often the period is played; samples are taken from one period.

    Notes
    -----
    Sousa's eq. 4.20 prints the terms in b of the velocity with the sign of the other convention; the derivative of
    eq. 4.19, which is used here, has ``+ b_l sin(l w t)``.
    """

    kind = "fourier"
    periodic = True
    keys = ("frequency", "harmonics", "form", "periods")

    frequency: float
    harmonics: int
    form: Form = "velocity"
    periods: int = 1

    def __post_init__(self) -> None:
        if not (np.isfinite(self.frequency) and self.frequency > 0):
            raise ProblemError(f"Fourier series: base frequency must be positive, got {self.frequency} rad/s")
        if self.harmonics < 1:
            raise ProblemError(f"Fourier series: at least one harmonic is needed, got {self.harmonics}")
        if self.periods < 1:
            raise ProblemError(f"Fourier series: at least one period is needed, got {self.periods}")
        if self.form not in ("velocity", "position"):
            raise ProblemError(f"Fourier series: form must be 'velocity' or 'position', got '{self.form}'")

    @property
    def size(self) -> int:
        """Number of coefficients of one joint: 2 L + 1."""
        return 2 * self.harmonics + 1

    @property
    def period(self) -> float:
        """Length of one period [s]."""
        return 2 * np.pi / self.frequency

    @property
    def span(self) -> tuple[float, float]:
        """From 0 to the end of the last period [s]."""
        return 0.0, self.periods * self.period

    def samples(self, count: int) -> Array:
        """``count`` uniform instants of one period, shape (count,) [s]."""
        return self.period * np.arange(count) / count

    @property
    def labels(self) -> tuple[str, ...]:
        """``a_1 ... b_1 ... q_0``."""
        numbers = range(1, self.harmonics + 1)
        return (*(f"a_{k}" for k in numbers), *(f"b_{k}" for k in numbers), "q_0")

    def _rates(self) -> tuple[Array, Array]:
        """Angular frequencies l w of the harmonics, and amplitudes of the position for unit coefficients."""
        rates = self.frequency * np.arange(1, self.harmonics + 1)
        amplitude = 1.0 / rates if self.form == "velocity" else np.ones(self.harmonics)
        return np.asarray(rates, dtype=float), np.asarray(amplitude, dtype=float)

    def matrix(self, t: ArrayLike, order: int = 0) -> Array:
        """Basis or its time derivative at the instants ``t``, shape (len(t), 2 L + 1)."""
        check_order(order, 99)
        rates, amplitude = self._rates()
        angle = np.outer(np.atleast_1d(np.asarray(t, dtype=float)), rates)
        turn = order % 4  # each derivative is a quarter turn
        sine = (np.sin(angle), np.cos(angle), -np.sin(angle), -np.cos(angle))[turn]
        cosine = (np.cos(angle), -np.sin(angle), -np.cos(angle), np.sin(angle))[turn]
        if self.form == "velocity":
            cosine = -cosine
        scale = amplitude * rates**order
        offset = np.full((len(angle), 1), float(order == 0))
        return np.hstack([sine * scale, cosine * scale, offset])

    def derivative_bound(self, coefficients: Array, order: int) -> Array:
        """``sum_l sqrt(a_l^2 + b_l^2) (l w)^order`` (of the position's amplitudes), plus |q_0| for order 0."""
        rates, amplitude = self._rates()
        X, L = np.asarray(coefficients, dtype=float), self.harmonics
        swing = np.hypot(X[:, :L], X[:, L : 2 * L]) * (amplitude * rates**order)
        return np.asarray(swing.sum(axis=1) + (np.abs(X[:, -1]) if order == 0 else 0.0))

    def constant(self, value: float) -> Array:
        """Return zero amplitudes and ``q_0 = value``."""
        return np.append(np.zeros(2 * self.harmonics), value)

    def random(self, rng: np.random.Generator) -> Array:
        """Return random amplitudes about 0, of equal spread in the velocity."""
        rates, amplitude = self._rates()
        return np.append(rng.standard_normal(2 * self.harmonics) / np.tile(rates * amplitude, 2), 0.0)

    def limit_samples(self, density: int) -> tuple[LimitSamples, ...]:
        """Samples of a period, bounds tightened by ``cos(pi L / density)``, rates up to ``L w``.

        A trigonometric polynomial of degree L is at most 1 / cos(pi L / m) larger than its largest absolute value at
        m > 2 L uniform samples of a period (Ehlich and Zeller 1964); its derivative at most L w times larger than
        itself (Bernstein's inequality).
        """
        L = self.harmonics
        tightening = float(np.cos(np.pi * L / density)) if density > 2 * L else 1.0
        return (LimitSamples(self.samples(density), tightening, L * self.frequency),)

    @classmethod
    def from_table(cls, table: Table) -> Fourier:
        """See `Basis.from_table`."""
        harmonics, periods = table.integer("harmonics", upper=MOST), table.integer("periods", upper=MOST)
        form = cast("Form", table.choice("form", ("velocity", "position")))
        return cls(positive(table, "frequency"), harmonics, form, periods)


#: Of splines: the lowest whose fourth derivative, that of the jerk, is continuous.
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
        from scipy.interpolate import BSpline  # slow to import

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

    @classmethod
    def from_table(cls, table: Table) -> QuinticSpline:
        """See `Basis.from_table`."""
        return cls(positive(table, "duration"), table.integer("points", upper=MOST), table.flag("rest"))


@dataclass(frozen=True)
class Poses(Basis):
    """``count`` poses, held one after the other: "instant" k is pose k, and every velocity is zero.

    Attributes
    ----------
    count : int
    """

    kind = "poses"
    static = True
    keys = ("count",)

    count: int

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ProblemError(f"poses: at least one pose is needed, got {self.count}")

    @property
    def size(self) -> int:
        """Number of coefficients of one joint: its position in every pose."""
        return self.count

    @property
    def span(self) -> tuple[float, float]:
        """Numbers of the first and last pose."""
        return 0.0, float(self.count - 1)

    @property
    def labels(self) -> tuple[str, ...]:
        """``pose_1 pose_2 ...``."""
        return tuple(f"pose_{k + 1}" for k in range(self.count))

    def samples(self, count: int) -> Array:
        """Return the numbers of all poses, whatever ``count``."""
        return np.arange(float(self.count))

    def grid(self, count: int) -> Array:
        """Return the numbers of all poses: nothing lies between them."""
        return self.samples(count)

    def extremes(self, coefficients: Array, order: int, tolerance: float = 1e-7) -> tuple[Array, Array]:
        """Smallest and largest position of each joint; zero for derivatives."""
        X = np.asarray(coefficients, dtype=float) * (order == 0)
        return X.min(axis=1), X.max(axis=1)

    def matrix(self, t: ArrayLike, order: int = 0) -> Array:
        """Return the identity's rows for position, zero for derivatives, shape (len(t), count)."""
        check_order(order, 99)
        rows = np.clip(np.rint(np.atleast_1d(np.asarray(t, dtype=float))).astype(int), 0, self.count - 1)
        return np.eye(self.count)[rows] if order == 0 else np.zeros((len(rows), self.count))

    def derivative_bound(self, coefficients: Array, order: int) -> Array:
        """Largest absolute position; zero for derivatives."""
        X = np.abs(np.asarray(coefficients, dtype=float))
        return np.asarray(X.max(axis=1)) if order == 0 else np.zeros(len(X))

    def constant(self, value: float) -> Array:
        """Every pose at ``value``."""
        return np.full(self.count, float(value))

    def random(self, rng: np.random.Generator) -> Array:
        """Return uniform positions about 0."""
        return rng.uniform(-1.0, 1.0, self.count)

    @classmethod
    def from_table(cls, table: Table) -> Poses:
        """See `Basis.from_table`."""
        return cls(table.integer("count", upper=MOST))
