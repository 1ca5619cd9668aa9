"""Gauss-Newton with Levenberg's and Marquardt's damping: the loss is a sum of squares, so use it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.learning.chart import Chart
from casid.learning.loss import Loss
from casid.learning.optimiser import Optimiser, Step

Array = NDArray[np.float64]
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
        """What the damping is measured in, shape (size, size)."""
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
        r, slope = loss.residual(pi)
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
