"""The clock of a closed loop and the errors of its sensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.errors import DatasetError, ProblemError, checked_seed

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Sampling:
    """A sampled-data loop: states are read every ``1 / rate``, torques are held in between.

    Attributes
    ----------
    rate : float
        Samples a second [Hz].
    delay : float
        Time from reading a state to the torque computed from it [s]; before the first, torques are 0.
    duration : float
        [s], a whole number of samples.
    """

    duration: float
    rate: float = 1000.0
    delay: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 < self.rate < np.inf:
            raise ProblemError(f"the controller's rate must be positive, got {self.rate} Hz")
        if not 0.0 <= self.delay < np.inf:
            raise ProblemError(f"the controller's delay must be zero or positive, got {self.delay} s")
        if not 0.0 < self.duration < np.inf or self.ticks < 1:
            raise ProblemError(f"the duration must be at least one sample of {self.period:g} s, got {self.duration} s")

    @property
    def period(self) -> float:
        """Time between samples [s]."""
        return 1.0 / self.rate

    @property
    def ticks(self) -> int:
        """Number of periods."""
        return round(self.duration * self.rate)

    @property
    def times(self) -> Array:
        """Instants of all samples, the last included."""
        return np.arange(self.ticks + 1) / self.rate

    @property
    def offset(self) -> tuple[int, float]:
        """Delay as whole periods and the rest [s]."""
        whole = int(np.floor(self.delay * self.rate + 1e-9))
        rest = self.delay - whole * self.period
        return whole, rest if rest > 1e-9 * self.period else 0.0


@dataclass(frozen=True)
class Sensor:
    """Independent, normally distributed errors of every sample; the controller sees those of position and velocity.

    Attributes
    ----------
    position, velocity, torque : float or ndarray, shape (n,)
        Standard deviations [rad or m, per s; N.m or N].
    seed : int
    """

    position: ArrayLike = 0.0
    velocity: ArrayLike = 0.0
    torque: ArrayLike = 0.0
    seed: int = 0

    def errors(self, count: int, n: int, stream: int = 0) -> tuple[Array, Array]:
        """Errors of the state (count, 2 n) and of the torque (count, n), of one of any number of recordings."""
        rng = np.random.default_rng([checked_seed(self.seed), stream])
        sizes = []
        for name in ("position", "velocity", "torque"):
            value = np.asarray(getattr(self, name), dtype=float)
            if value.shape not in ((), (n,)) or not (np.isfinite(value) & (value >= 0)).all():
                raise DatasetError(f"sensor: {name}: expected one standard deviation >= 0 or {n}, got {value.tolist()}")
            sizes.append(np.broadcast_to(value, (n,)))
        errors = rng.standard_normal((count, 3 * n)) * np.concatenate(sizes)
        return errors[:, : 2 * n], errors[:, 2 * n :]
