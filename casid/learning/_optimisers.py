"""Optimisers: the contract, Gauss-Newton, natural gradient, Adam on mini-batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, NamedTuple

import numpy as np

from casid.arrays import Array
from casid.learning._chart import Chart
from casid.learning._loss import Loss


class Step(NamedTuple):
    """Coordinates and the optimiser's memory (arrays only, so that a training can be resumed)."""

    theta: Array
    memory: Mapping[str, Array] = MappingProxyType({})


class Optimiser(ABC):
    """One epoch of training: every sample is seen once. A new optimiser is a subclass."""

    name: ClassVar[str]

    @abstractmethod
    def epoch(self, loss: Loss, chart: Chart, step: Step, rng: np.random.Generator) -> Step:
        """The next coordinates."""


#: Trials of one epoch; the damping grows by 4 a trial and shrinks by 10 after a good one.
_TRIALS, _GROW, _SHRINK = 30, 4.0, 0.1


@dataclass(frozen=True)
class GaussNewton(Optimiser):
    """``(J'J + lambda D) d = -J'r`` with D the diagonal of J'J, kept away from zero; a few accepted steps an epoch.

    A loss that is linear in the parameters reads its data once and for all: more steps cost no further pass over it.

    Attributes
    ----------
    damping : float
        First lambda.
    steps : int
        Accepted steps of an epoch.
    """

    damping: float = 1e-4
    steps: int = 1
    name = "gauss-newton"

    def scaling(self, chart: Chart, theta: Array, H: Array) -> Array:
        """Scaling of the damping, shape (size, size)."""
        diagonal = np.diag(H)
        return np.diag(diagonal + 1e-2 * max(float(diagonal.mean()), 1e-300))

    def epoch(self, loss: Loss, chart: Chart, step: Step, rng: np.random.Generator) -> Step:
        """Steps of growing damping that decrease the loss."""
        for _ in range(self.steps):
            step = self._step(loss, chart, step)
            if "stalled" in step.memory:
                break
        return step

    def _step(self, loss: Loss, chart: Chart, step: Step) -> Step:
        theta = step.theta
        damping = float(step.memory.get("damping", np.array([self.damping]))[0])
        pi, jacobian = chart.linearised(theta)
        r, slope = loss.linearised(pi)
        J = slope @ jacobian
        H, g, value = J.T @ J, J.T @ r, float(r @ r)
        D = self.scaling(chart, theta, H)
        for _ in range(_TRIALS):
            try:
                move = -np.linalg.solve(H + damping * D + 1e-300 * np.eye(len(g)), g)
            except np.linalg.LinAlgError:
                move = np.full_like(g, np.nan)
            if np.isfinite(move).all():
                trial = chart.parameters(theta + move)
                if np.isfinite(trial).all() and loss.value(trial) < value:
                    return Step(theta + move, {"damping": np.array([max(damping * _SHRINK, 1e-15)])})
            damping *= _GROW
        return Step(theta, {"damping": np.array([min(damping, 1e15)]), "stalled": np.ones(1)})


@dataclass(frozen=True)
class NaturalGradient(GaussNewton):
    """``(J'J + lambda G) d = -J'r`` with G the pullback of the affine-invariant metric (`Chart.metric`).

    For large lambda the natural gradient ``-G^-1 J'r / lambda`` (Lee, Kwon and Park 2018), for small lambda
    Gauss-Newton: the same trust region for every coordinate system of the same bodies.
    """

    damping: float = 1e-4
    name = "natural-gradient"

    def scaling(self, chart: Chart, theta: Array, H: Array) -> Array:
        """The metric, scaled to the size of J'J."""
        G = chart.metric(theta)
        G = G + 1e-10 * np.trace(G) / len(G) * np.eye(len(G))
        return np.asarray(G * (np.trace(H) / max(np.trace(G), 1e-300)))


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
        Batches of samples drawn at random, once (`TorqueLoss` keeps a matrix of each, and an epoch takes milliseconds),
        in a new order in each epoch; otherwise they follow the recording.
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
        slopes, batches = loss.slopes(self.batch, self.shuffle), -(-loss.samples // self.batch)
        order = rng.permutation(batches) if self.shuffle else np.arange(batches)
        b1, b2 = self.decay
        for k in order:
            slope = chart.pullback(theta, slopes(int(k), chart.parameters(theta)))
            count += 1
            first = b1 * first + (1 - b1) * slope
            second = b2 * second + (1 - b2) * slope**2
            theta -= self.rate / (1 - b1**count) * first / (np.sqrt(second / (1 - b2**count)) + 1e-8)
        return Step(theta, {"first": first, "second": second, "count": np.array([float(count)])})
