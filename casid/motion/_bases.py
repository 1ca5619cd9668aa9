"""Finite Fourier series (Swevers et al. 1997; Sousa 2014, eq. 4.19; Gaz et al. 2019, supplement, Sec. II)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.errors import ProblemError
from casid.files import Table
from casid.motion._basis import MOST, Basis, check_order, positive

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

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

    def tightening(self, count: int) -> float:
        """``cos(pi L / count)``, by which bounds at the samples of a period are tightened.

        A trigonometric polynomial of degree L is at most 1 / cos(pi L / m) larger than its largest absolute value at
        m > 2 L uniform samples of a period (Ehlich and Zeller 1964).
        """
        return float(np.cos(np.pi * self.harmonics / count)) if count > 2 * self.harmonics else 1.0

    def fastest_rate(self) -> float:
        """``L w``: Bernstein's inequality for trigonometric polynomials of degree L."""
        return self.harmonics * self.frequency

    @classmethod
    def from_table(cls, table: Table) -> Fourier:
        """See `Basis.from_table`."""
        harmonics, periods = table.integer("harmonics", upper=MOST), table.integer("periods", upper=MOST)
        form: Form = "velocity" if table.choice("form", ("velocity", "position")) == "velocity" else "position"
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

    def extremes(self, coefficients: Array, order: int, tolerance: float = 1e-7) -> tuple[float, float]:
        """Smallest and largest position; zero for derivatives."""
        x = np.asarray(coefficients, dtype=float)
        return (float(x.min()), float(x.max())) if order == 0 else (0.0, 0.0)

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
