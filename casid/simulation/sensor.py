"""What a simulated robot measures of itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.errors import DatasetError

Array = NDArray[np.float64]


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
        rng = np.random.default_rng([self.seed, stream])
        sizes = []
        for name in ("position", "velocity", "torque"):
            value = np.asarray(getattr(self, name), dtype=float)
            if value.shape not in ((), (n,)) or not (np.isfinite(value) & (value >= 0)).all():
                raise DatasetError(f"sensor: {name}: expected one standard deviation >= 0 or {n}, got {value.tolist()}")
            sizes.append(np.broadcast_to(value, (n,)))
        errors = rng.standard_normal((count, 3 * n)) * np.concatenate(sizes)
        return errors[:, : 2 * n], errors[:, 2 * n :]
