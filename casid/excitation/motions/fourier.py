"""Finite Fourier series (Swevers et al. 1997; Sousa 2014, eq. 4.19; Gaz et al. 2019, supplement, Sec. II)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from casid.errors import ProblemError
from casid.excitation.motions.basis import MOST, Array, Basis, check_order, positive
from casid.files._table import Table

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
    def periodic(self) -> bool:
        """Return True: a Fourier series is periodic."""
        return True

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
        """``cos(pi L / count)``: a trigonometric polynomial of degree L is at most 1 / cos(pi L / m) larger than its
        largest absolute value at m > 2 L uniform samples of a period (Ehlich and Zeller 1964).
        """  # noqa: D205
        return float(np.cos(np.pi * self.harmonics / count)) if count > 2 * self.harmonics else 1.0

    def fastest_rate(self) -> float:
        """``L w``: Bernstein's inequality for trigonometric polynomials of degree L."""
        return self.harmonics * self.frequency

    def record(self) -> dict[str, Any]:
        """Kind, frequency, harmonics, form and periods."""
        return {
            "kind": self.kind, "frequency": self.frequency, "harmonics": self.harmonics, "form": self.form,
            "periods": self.periods,
        }  # fmt: skip

    @classmethod
    def from_table(cls, table: Table) -> Fourier:
        """See `Basis.from_table`."""
        harmonics, periods = table.integer("harmonics", upper=MOST), table.integer("periods", upper=MOST)
        form: Form = "velocity" if table.choice("form", ("velocity", "position")) == "velocity" else "position"
        return cls(positive(table, "frequency"), harmonics, form, periods)
