"""Adam on mini-batches (Kingma and Ba 2015)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from casid.learning.chart import Chart
from casid.learning.loss import Loss
from casid.learning.optimiser import Optimiser, Step, value_and_gradient


@dataclass(frozen=True)
class Adam(Optimiser):
    """First and second moments of the gradient, bias-corrected.

    Attributes
    ----------
    rate : float
        Step size.
    batch : int
        Samples of a batch.
    shuffle : bool
        Draw the batches anew in each epoch; otherwise they follow the recording.
    decay : tuple of float
        Of both moments.
    """

    rate: float = 1e-2
    batch: int = 256
    shuffle: bool = True
    decay: tuple[float, float] = (0.9, 0.999)
    name = "adam"

    def epoch(self, loss: Loss, chart: Chart, step: Step, rng: np.random.Generator) -> Step:
        """One pass over the data in batches."""
        theta = step.theta.copy()
        first = np.array(step.memory.get("first", np.zeros_like(theta)))
        second = np.array(step.memory.get("second", np.zeros_like(theta)))
        count = int(step.memory.get("count", np.zeros(1))[0])
        order = rng.permutation(loss.samples) if self.shuffle else np.arange(loss.samples)
        b1, b2 = self.decay
        for begin in range(0, loss.samples, self.batch):
            _, slope = value_and_gradient(loss, chart, theta, order[begin : begin + self.batch])
            count += 1
            first = b1 * first + (1 - b1) * slope
            second = b2 * second + (1 - b2) * slope**2
            theta -= self.rate * (first / (1 - b1**count)) / (np.sqrt(second / (1 - b2**count)) + 1e-8)
        return Step(theta, {"first": first, "second": second, "count": np.array([float(count)])})
