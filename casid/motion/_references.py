"""Motions to follow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.description import Robot
from casid.errors import DatasetError
from casid.files import numeric_array
from casid.motion._trajectory import Motion, Trajectory


class Reference(ABC):
    """A joint motion over all time: held at its first point before it begins, and at its last after its end."""

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of joints."""

    @property
    @abstractmethod
    def span(self) -> tuple[float, float]:
        """First and last instant at which it moves [s]; equal: it never moves."""

    @abstractmethod
    def moving(self, t: Array) -> Motion:
        """Position, velocity and acceleration at instants within the span, each (len(t), n)."""

    def at(self, t: ArrayLike) -> Motion:
        """Position, velocity and acceleration at any instants, each (len(t), n)."""
        times = np.atleast_1d(np.asarray(t, dtype=float))
        start, end = self.span
        motion, where = self.moving(np.clip(times, start, end)), f"reference '{type(self).__name__}': `moving`"
        shape = len(times), self.n
        q, dq, ddq = (numeric_array(part, where, DatasetError, shape=shape) for part in motion)
        outside = (times < start) | (times > end)
        dq[outside] = 0.0
        ddq[outside] = 0.0
        return Motion(q, dq, ddq)


@dataclass(frozen=True, eq=False)
class Hold(Reference):
    """Standing still.

    Attributes
    ----------
    position : ndarray, shape (n,)
    """

    position: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "position", _finite(self.position, 1, "position to hold"))

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.position)

    @property
    def span(self) -> tuple[float, float]:
        """No motion."""
        return 0.0, 0.0

    def moving(self, t: Array) -> Motion:
        """The position, at rest."""
        return Motion.at_rest(np.tile(self.position, (len(t), 1)))


@dataclass(frozen=True, eq=False)
class Follow(Reference):
    """A trajectory, e.g. of `casid.excitation`.

    Attributes
    ----------
    trajectory : Trajectory
    start : float
        When it begins [s].
    """

    trajectory: Trajectory
    start: float = 0.0

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.trajectory.n

    @property
    def span(self) -> tuple[float, float]:
        """Begin and end of the trajectory."""
        return self.start, self.start + self.trajectory.basis.duration

    def moving(self, t: Array) -> Motion:
        """The trajectory."""
        return self.trajectory.motion(t - self.start + self.trajectory.basis.span[0])


@dataclass(frozen=True, eq=False)
class Positions(Reference):
    """The positions of another reference, without velocity and acceleration: commands not known ahead.

    So Sousa (2014, Sec. 5.2) lets a human operator's commands be followed.
    """

    reference: Reference

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.reference.n

    @property
    def span(self) -> tuple[float, float]:
        """That of the reference."""
        return self.reference.span

    def moving(self, t: Array) -> Motion:
        """Its positions; zeros."""
        return Motion.at_rest(self.reference.moving(t).q)


@dataclass(frozen=True, eq=False)
class Sine(Reference):
    """Sines of different frequencies that begin at rest: ``q = centre + amplitude (1 - cos(2 pi f t)) / 2``.

    Attributes
    ----------
    centre, amplitude : ndarray, shape (n,)
        Where it begins, and how far it goes from there [rad or m].
    frequency : ndarray, shape (n,)
        [Hz]
    duration : float
        [s]
    """

    centre: Array
    amplitude: Array
    frequency: Array
    duration: float = 10.0

    def __post_init__(self) -> None:
        centre = _finite(self.centre, 1, "sine: centre")
        object.__setattr__(self, "centre", centre)
        for name in ("amplitude", "frequency"):
            value = np.broadcast_to(np.asarray(getattr(self, name), dtype=float), centre.shape)
            object.__setattr__(self, name, _finite(value, 1, f"sine: {name}"))

    @classmethod
    def within(cls, robot: Robot, amplitude: float = 0.5, frequency: float = 0.25, duration: float = 10.0) -> Sine:
        """Sines about the middle of the joint ranges, each joint a little faster than the one before.

        Parameters
        ----------
        amplitude
            Distance from the lowest to the highest point [rad or m]; less where limits ask for it.
        frequency
            Of the first joint [Hz]; the last has twice as much.

        Raises
        ------
        DatasetError
            If the amplitude is negative, the frequency not positive, or one of them not finite.
        """
        if not 0 <= amplitude < np.inf:
            raise DatasetError(f"sines: the amplitude must be zero or positive [rad or m], got {amplitude}")
        if not 0 < frequency < np.inf:
            raise DatasetError(f"sines: the frequency must be positive [Hz], got {frequency}")
        lower, upper = robot.limits.lower, robot.limits.upper
        middle = np.maximum(robot.limits.middle, lower + 0.1)
        rates = frequency * np.linspace(1.0, 2.0, robot.n)
        speed = robot.limits.velocity / (np.pi * rates)
        size = np.minimum(np.minimum(amplitude, 0.8 * (upper - lower)), 0.9 * speed)
        return cls(middle - size / 2, size, rates, duration)

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.centre)

    @property
    def span(self) -> tuple[float, float]:
        """From 0 to the duration."""
        return 0.0, self.duration

    def moving(self, t: Array) -> Motion:
        """The sines."""
        w = 2 * np.pi * self.frequency
        phase = t[:, None] * w
        half = self.amplitude / 2
        return Motion(
            self.centre + half * (1 - np.cos(phase)), half * w * np.sin(phase), half * w**2 * np.cos(phase)
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Samples(Reference):
    """Given samples, linear in between.

    Attributes
    ----------
    t : ndarray, shape (N,)
        Rising [s].
    q, dq, ddq : ndarray, shape (N, n)
    """

    t: Array
    q: Array
    dq: Array
    ddq: Array

    def __post_init__(self) -> None:
        t = _finite(self.t, 1, "samples: t")
        if len(t) < 2 or not (np.diff(t) > 0).all():
            raise DatasetError("samples of a reference: at least two, at rising times")
        object.__setattr__(self, "t", t)
        for name in ("q", "dq", "ddq"):
            value = _finite(getattr(self, name), 2, f"samples: {name}")
            if len(value) != len(t) or value.shape != np.shape(self.q):
                raise DatasetError(f"samples of a reference: {name} has shape {value.shape} for {len(t)} instants")
            object.__setattr__(self, name, value)

    @property
    def n(self) -> int:
        """Number of joints."""
        return int(self.q.shape[1])

    @property
    def span(self) -> tuple[float, float]:
        """First and last sample."""
        return float(self.t[0]), float(self.t[-1])

    def moving(self, t: Array) -> Motion:
        """Interpolated."""
        right = np.clip(np.searchsorted(self.t, t), 1, len(self.t) - 1)
        share = ((t - self.t[right - 1]) / (self.t[right] - self.t[right - 1]))[:, None]
        q, dq, ddq = (part[right - 1] * (1 - share) + part[right] * share for part in (self.q, self.dq, self.ddq))
        return Motion(q, dq, ddq)


def _finite(value: ArrayLike, dimensions: int, what: str) -> Array:
    array = np.array(value, dtype=float)
    if array.ndim != dimensions or not array.size:
        raise DatasetError(f"{what}: expected an array of {dimensions} dimension(s), got shape {array.shape}")
    if not np.isfinite(array).all():
        raise DatasetError(f"{what}: contains numbers that are not finite")
    array.setflags(write=False)
    return array
