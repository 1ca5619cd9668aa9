"""How coordinates are improved, an epoch at a time: one contract, state that can be stored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from casid.learning.chart import Chart
from casid.learning.loss import Loss

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Step:
    """Coordinates, and what the optimiser remembers (arrays only, so that a training can be resumed)."""

    theta: Array
    memory: Mapping[str, Array] = field(default_factory=dict)


class Optimiser(ABC):
    """One epoch of training: every sample is seen once. A new optimiser is one new file."""

    name: ClassVar[str]

    @abstractmethod
    def epoch(self, loss: Loss, chart: Chart, step: Step, rng: np.random.Generator) -> Step:
        """The next coordinates."""


def value_and_gradient(loss: Loss, chart: Chart, theta: Array, rows: NDArray[np.intp]) -> tuple[float, Array]:
    """Loss of a batch and its gradient in theta: ``(d pi / d theta)' dl/d pi``."""
    value, slope = loss.gradient(chart.parameters(theta), rows)
    return value, chart.pullback(theta, slope)
