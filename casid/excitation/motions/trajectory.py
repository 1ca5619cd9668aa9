"""A motion: a basis and its coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from casid.errors import DatasetError
from casid.excitation.motions.basis import Array, Basis


class Motion(NamedTuple):
    """Joint states at given instants, each array (n, samples): position, velocity, acceleration [rad or m, s]."""

    q: Array
    dq: Array
    ddq: Array


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A motion of all joints with analytic derivatives.

    Attributes
    ----------
    basis : Basis
    coefficients : ndarray, shape (n, basis.size)
    joints : tuple of str
        Names of the joints; default ``joint1 ...``.
    robot : str
        Name of the robot it was made for; may be empty.
    """

    basis: Basis
    coefficients: Array
    joints: tuple[str, ...] = ()
    robot: str = ""

    def __post_init__(self) -> None:
        X = np.array(self.coefficients, dtype=float)
        if X.ndim != 2 or X.shape[1] != self.basis.size:
            raise DatasetError(f"trajectory: expected coefficients of shape (n, {self.basis.size}), got {X.shape}")
        bad = np.argwhere(~np.isfinite(X))
        if len(bad):
            raise DatasetError(
                f"trajectory: coefficient '{self.basis.labels[bad[0][1]]}' of joint {bad[0][0] + 1} is "
                f"{X[tuple(bad[0])]}, not a finite number"
            )
        X.setflags(write=False)
        object.__setattr__(self, "coefficients", X)
        names = tuple(self.joints) or tuple(f"joint{k + 1}" for k in range(len(X)))
        if len(names) != len(X):
            raise DatasetError(f"trajectory: {len(names)} joint names for coefficients of {len(X)} joints")
        object.__setattr__(self, "joints", names)

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.coefficients)

    def derivative(self, t: ArrayLike, order: int) -> Array:
        """Time derivative of the joint positions at the instants ``t``, shape (n, len(t))."""
        return np.asarray(self.coefficients @ self.basis.matrix(t, order).T)

    def motion(self, t: ArrayLike) -> Motion:
        """Position, velocity and acceleration at the instants ``t``, each (n, len(t))."""
        return Motion(self.derivative(t, 0), self.derivative(t, 1), self.derivative(t, 2))

    def sample(self, count: int) -> Motion:
        """Joint states at ``count`` uniform samples of the part that carries the information (see `Basis.samples`)."""
        return self.motion(self.basis.samples(count))

    def times(self, rate: float) -> Array:
        """Instants of the whole motion, ramps included, every 1 / ``rate`` [Hz], and its end, shape (m,) [s]."""
        if not (np.isfinite(rate) and rate > 0):
            raise DatasetError(f"sampling rate must be positive, got {rate} Hz")
        start, end = self.basis.span
        steps = np.arange(int(np.floor((end - start) * rate * (1 - 1e-12))) + 1) / rate
        return np.append(start + steps, end)
