"""Parametrisations of a motion that are linear in their coefficients: q_j(t) = B(t) x_j, the same B for every joint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.errors import ProblemError

Array = NDArray[np.float64]


class Basis(ABC):
    """Basis functions of time shared by all joints.

    A motion is a matrix of coefficients X (n x size): ``q(t) = X B_0(t)', dq(t) = X B_1(t)', ...`` with the analytic
    derivatives ``B_d`` of the basis.
    """

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
        """Return the basis' ``order``-th time derivative at the instants ``t``, shape (len(t), size)."""

    @abstractmethod
    def derivative_bound(self, coefficients: Array, order: int) -> Array:
        """Return a rigorous bound of ``max_t |d^order q_j / dt^order|`` for every joint, shape (n, size) -> (n,)."""

    @abstractmethod
    def constant(self, value: float) -> Array:
        """Coefficients of a joint that stands still at ``value``, shape (size,)."""

    @abstractmethod
    def record(self) -> dict[str, Any]:
        """Settings of the basis as plain values; `casid.excitation.read_trajectory` makes the basis from them."""

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
