"""Joint motions: states at instants, and motions written in a basis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from casid.errors import DatasetError
from casid.motion._basis import Array, Basis


@dataclass(frozen=True, eq=False)
class Motion:
    """Joint states at N instants: position, velocity, acceleration of n joints [rad or m, s].

    Unpacks as ``q, dq, ddq = motion``.

    Attributes
    ----------
    q, dq, ddq : ndarray, shape (N, n)

    Raises
    ------
    DatasetError
        If an array does not have two dimensions, or the three shapes differ.
    """

    q: Array
    dq: Array
    ddq: Array

    def __post_init__(self) -> None:
        for name in ("q", "dq", "ddq"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=float))
        for name, part in (("q", self.q), ("dq", self.dq), ("ddq", self.ddq)):
            if part.ndim != 2 or part.shape != self.q.shape:
                raise DatasetError(
                    f"motion: expected q, dq, ddq of one shape (instants, joints), got {name} of shape {part.shape}"
                    f"{'' if part is self.q else f' beside q of shape {self.q.shape}'}"
                )

    @classmethod
    def at_rest(cls, q: ArrayLike) -> Motion:
        """Poses held still: a pose (n,) or N of them (N, n)."""
        poses = np.atleast_2d(np.asarray(q, dtype=float))
        return cls(poses, np.zeros_like(poses), np.zeros_like(poses))

    @classmethod
    def of_coefficients(cls, coefficients: Array, matrices: Sequence[Array]) -> Motion:
        """States from coefficients (n, size) and the basis and its first two derivatives, each (N, size)."""
        q, dq, ddq = ((coefficients @ B.T).T for B in matrices)
        return cls(q, dq, ddq)

    def __iter__(self) -> Iterator[Array]:
        return iter((self.q, self.dq, self.ddq))

    def __len__(self) -> int:
        """Number of instants N."""
        return len(self.q)

    @property
    def n(self) -> int:
        """Number of joints."""
        return int(self.q.shape[1])

    def expect_joints(self, n: int, what: str) -> None:
        """DatasetError unless the motion has n joints; ``what`` is the user of the motion, for the message."""
        if self.n != n:
            raise DatasetError(f"{what}: expected a motion of shape (instants, {n}), got {self.q.shape}")


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A motion of all joints with analytic derivatives: ``q(t) = X B(t)'``.

    Attributes
    ----------
    basis : Basis
    coefficients : ndarray, shape (n, basis.size)
        X.
    joints : tuple of str
        Names of the joints; default ``joint1 ...``.
    robot : str
        Name of the robot it was made for; may be empty.

    Raises
    ------
    DatasetError
        If coefficients do not fit the basis or are not finite, or the number of names is not that of the joints.
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
        """Time derivative of the joint positions at the instants ``t``, shape (len(t), n)."""
        return np.asarray((self.coefficients @ self.basis.matrix(t, order).T).T)

    def motion(self, t: ArrayLike) -> Motion:
        """Position, velocity and acceleration at the instants ``t``, each (len(t), n)."""
        return Motion.of_coefficients(self.coefficients, self.basis.matrices(t))

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
