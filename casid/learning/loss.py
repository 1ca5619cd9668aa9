"""What training minimises: one contract for torques, accelerations, rollouts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from casid.dynamics import Model
from casid.errors import DatasetError
from casid.measurement import Dataset

Array = NDArray[np.float64]
#: ``(k, pi) -> gradient`` of the k-th batch.
Slopes = Callable[[int, Array], Array]


class Loss(ABC):
    """A mean of squares over samples, of parameters in the order of `Chart`.

    Attributes
    ----------
    samples : int
        Number of samples N; batches are indices into them.
    """

    samples: int

    @abstractmethod
    def value(self, pi: Array) -> float:
        """Mean over all samples."""

    @abstractmethod
    def gradient(self, pi: Array, rows: NDArray[np.intp]) -> tuple[float, Array]:
        """Mean over the samples ``rows``, and its gradient in pi."""

    @abstractmethod
    def residual(self, pi: Array) -> tuple[Array, Array]:
        """Residual r and Jacobian ``dr/dpi`` with ``value = |r|^2``, compressed where the loss is linear in pi."""

    @abstractmethod
    def nmse(self, pi: Array) -> Array:
        """Mean squared error over the variance of each joint's signal, shape (n,)."""

    def batches(self, size: int, shuffle: bool) -> list[NDArray[np.intp]]:
        """All samples in batches of a size (the last may be smaller): drawn once, or in the recording's order."""
        order = np.random.default_rng(self.samples).permutation(self.samples) if shuffle else np.arange(self.samples)
        return [order[begin : begin + size] for begin in range(0, self.samples, size)]

    def slopes(self, size: int, shuffle: bool) -> Slopes:
        """Gradients of those `batches`; a loss that can compress a batch does so once."""
        batches = self.batches(size, shuffle)
        return lambda k, pi: self.gradient(pi, batches[k])[1]

    def quadratics(self, size: int, shuffle: bool) -> tuple[Array, Array] | None:
        """``(A, b)`` with gradients ``2 (A_k pi - b_k)`` of those `batches`, where the loss is a quadratic in pi.

        Shapes (batches, count, count) and (batches, count); None where it is none.
        """
        return None


def check_torques(data: Dataset) -> None:
    """DatasetError where a recording has masked torques: a loss of whole samples has no use for a part of them."""
    if data.mask is not None and not data.mask.all():
        raise DatasetError(f"{data.name}: training needs the torques of all joints at all samples; some are masked")


def check_terms(model: Model) -> None:
    """DatasetError where the dynamics need more than the motion, as a simulation of them would not have it."""
    further = model.regressor.name_in()[3:]
    if further:
        raise DatasetError(
            f"this loss knows no input '{further[0]}' of the model; leave the terms out or use TorqueLoss"
        )
