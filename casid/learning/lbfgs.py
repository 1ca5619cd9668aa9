"""Limited-memory BFGS on the whole data (Nocedal and Wright 2006, Algorithm 7.5), with backtracking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.learning.chart import Chart
from casid.learning.loss import Loss
from casid.learning.optimiser import Optimiser, Step, value_and_gradient

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LBFGS(Optimiser):
    """One quasi-Newton step an epoch.

    Attributes
    ----------
    pairs : int
        Steps that are remembered.
    """

    pairs: int = 20
    name = "l-bfgs"

    def epoch(self, loss: Loss, chart: Chart, step: Step, rng: np.random.Generator) -> Step:
        """One step along the two-loop direction that decreases the loss (Armijo)."""
        rows = np.arange(loss.samples)
        theta = step.theta
        value, slope = value_and_gradient(loss, chart, theta, rows)
        moves = step.memory.get("moves", np.zeros((0, theta.size)))
        changes = step.memory.get("changes", np.zeros((0, theta.size)))
        if step.memory and "slope" in step.memory:
            move, change = theta - step.memory["theta"], slope - step.memory["slope"]
            if move @ change > 1e-12 * np.linalg.norm(move) * np.linalg.norm(change):
                moves = np.vstack([moves, move])[-self.pairs :]
                changes = np.vstack([changes, change])[-self.pairs :]
        direction = -_two_loops(slope, moves, changes)
        if direction @ slope >= 0:
            direction, moves, changes = -slope, moves[:0], changes[:0]
        length = 1.0 if len(moves) else min(1.0, 0.1 / max(float(np.linalg.norm(slope)), 1e-300))
        for _ in range(60):
            trial = loss.value(chart.parameters(theta + length * direction))
            if trial <= value + 1e-4 * length * (direction @ slope):
                break
            length /= 2
        else:
            length = 0.0
        memory = {"moves": moves, "changes": changes, "theta": theta, "slope": slope}
        return Step(theta + length * direction, memory)


def _two_loops(slope: Array, moves: Array, changes: Array) -> Array:
    q = slope.copy()
    shares = []
    for s, y in zip(moves[::-1], changes[::-1], strict=True):
        a = (s @ q) / (s @ y)
        q -= a * y
        shares.append(a)
    if len(moves):
        q *= (moves[-1] @ changes[-1]) / (changes[-1] @ changes[-1])
    for s, y, a in zip(moves, changes, reversed(shares), strict=True):
        q += (a - (y @ q) / (s @ y)) * s
    return np.asarray(q)
