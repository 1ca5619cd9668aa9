"""Samples whose residuals repeat each other, made to count for what they say: generalised least squares."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: A pause of so many usual steps: residuals before it say nothing of those after it.
PAUSE = 5.0
#: Steps over which the usual one is averaged.
STEPS = 100


@dataclass
class Whitening:
    """Equations ``(y_k - a y_k-1) / sqrt(1 - a^2)`` of a residual that is an autoregression of first order.

    Prais and Winsten (1954). The first equation of all, and the first one after a pause, are as they are.

    Attributes
    ----------
    correlation : ndarray, shape (n,)
        a of each joint, in [0, 1).
    """

    correlation: Array
    _before: tuple[Array, Array] | None = field(default=None, init=False, repr=False)
    _time: float = field(default=-np.inf, init=False, repr=False)
    _step: float = field(default=0.0, init=False, repr=False)
    _steps: int = field(default=0, init=False, repr=False)

    def __call__(self, rows: Array, residual: Array, times: Array | None) -> tuple[Array, Array]:
        """Rows (N, n, size) and residuals (N, n) at these times, if they are known."""
        if not self.correlation.any():
            return rows, residual
        known = self._before is not None
        first = (rows[0], residual[0]) if self._before is None else self._before
        a, b = (np.concatenate([x[None], y[:-1]]) for x, y in zip(first, (rows, residual), strict=True))
        self._before = rows[-1], residual[-1]
        share, size = self.correlation, np.sqrt(1.0 - self.correlation**2)
        white = (rows - share[:, None] * a) / size[:, None], (residual - share * b) / size
        alone = self._pauses(times, len(rows))
        alone[0] |= not known
        for own, plain in zip(white, (rows, residual), strict=True):
            own[alone] = plain[alone]
        return white

    def _pauses(self, times: Array | None, count: int) -> NDArray[np.bool_]:
        """Samples before which there was a pause."""
        found = np.zeros(count, dtype=bool)
        if times is None:
            return found
        for k, time in enumerate(times):
            step, self._time = float(time) - self._time, float(time)
            if not 0.0 < step < np.inf:
                continue
            found[k] = self._steps > 0 and step > PAUSE * self._step
            if not found[k]:
                self._steps += 1
                self._step += (step - self._step) / min(self._steps, STEPS)
        return found
