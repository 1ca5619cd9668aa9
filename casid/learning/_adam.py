"""Adam on mini-batches (Kingma and Ba 2015)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.learning._chart import Chart
from casid.learning._loss import Loss, Slopes
from casid.learning._optimisers import Optimiser, Step

Array = NDArray[np.float64]


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
        Batches of samples drawn at random, in a new order in each epoch; otherwise they follow the recording.
    redraw : bool
        Draw the samples of every batch anew in each epoch. Batches that are drawn once need the data only once:
        `TorqueLoss` keeps a matrix of each, and an epoch takes milliseconds.
    decay : tuple of float
        Of both moments.
    """

    rate: float = 1e-2
    batch: int = 256
    shuffle: bool = True
    redraw: bool = False
    decay: tuple[float, float] = (0.9, 0.999)
    name = "adam"

    def epoch(self, loss: Loss, chart: Chart, step: Step, rng: np.random.Generator) -> Step:
        """One pass over the data in batches."""
        theta = step.theta.copy()
        first = np.array(step.memory.get("first", np.zeros_like(theta)))
        second = np.array(step.memory.get("second", np.zeros_like(theta)))
        count = int(step.memory.get("count", np.zeros(1))[0])
        quadratics = None if self.shuffle and self.redraw else loss.quadratics(self.batch, self.shuffle)
        if quadratics is not None and chart.compiled_adam.available():
            order = self._order(len(quadratics[1]), rng)
            chart.compiled_adam.epoch(*quadratics, order, (self.rate, *self.decay), count, (theta, first, second))
            count += len(order)
        else:
            slopes, order = self._batches(loss, rng)
            b1, b2 = self.decay
            for k in order:
                slope = chart.pullback(theta, slopes(int(k), chart.parameters(theta)))
                count += 1
                first = b1 * first + (1 - b1) * slope
                second = b2 * second + (1 - b2) * slope**2
                theta -= self.rate / (1 - b1**count) * first / (np.sqrt(second / (1 - b2**count)) + 1e-8)
        return Step(theta, {"first": first, "second": second, "count": np.array([float(count)])})

    def _order(self, count: int, rng: np.random.Generator) -> NDArray[np.intp]:
        return rng.permutation(count) if self.shuffle else np.arange(count)

    def _batches(self, loss: Loss, rng: np.random.Generator) -> tuple[Slopes, NDArray[np.intp]]:
        if self.shuffle and self.redraw:
            drawn = rng.permutation(loss.samples)
            parts = [drawn[begin : begin + self.batch] for begin in range(0, loss.samples, self.batch)]
            return lambda k, pi: loss.gradient(pi, parts[k])[1], np.arange(len(parts))
        return loss.slopes(self.batch, self.shuffle), self._order(-(-loss.samples // self.batch), rng)
