"""Was a load picked up or dropped? A likelihood ratio on the last moments, against what is usual for this robot."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from casid.identification.online.information import Information

Array = NDArray[np.float64]


@dataclass
class ChangeDetector:
    """Generalised likelihood ratio of "the last link's ten parameters have changed" over a fading window.

    The statistic is the part of the window's squared residuals that a body on the last link would explain,
    ``||rho||^2`` of the window's information about that body; white noise alone gives about its rank. Residuals of real
    robots are neither white nor Gaussian, so the alarm level comes from the statistic's own past: its running mean plus
    ``sigmas`` running deviations, at least ``floor``.

    Attributes
    ----------
    window : float
        Samples after which the window has forgotten all but 1/e.
    memory : float
        Samples over which "usual" is learnt; no alarm before as many.
    sigmas, floor : float
        Alarm level.
    """

    size: int
    window: float = 30.0
    memory: float = 500.0
    sigmas: float = 8.0
    floor: float = 60.0
    statistic: float = 0.0
    _information: Information = field(init=False, repr=False)
    _mean: float = field(default=0.0, init=False, repr=False)
    _square: float = field(default=0.0, init=False, repr=False)
    _seen: int = field(default=0, init=False, repr=False)
    _quiet: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        self._information = Information.nothing(self.size)

    def update(self, rows: Array, residual: Array) -> bool:
        """One sample: the last link's regressor (n, size) and the whitened residual (n,); True if that is an alarm."""
        if self._quiet:
            self._quiet -= 1
            return False
        fade = 1.0 - 1.0 / self.window
        old = self._information
        faded = Information(old.R * np.sqrt(fade), old.rho * np.sqrt(fade), old.rest * fade, old.count * fade)
        self._information = faded.updated(rows, residual)
        self.statistic = float(self._information.rho @ self._information.rho)
        alarm = self._seen >= self.memory and self.statistic > self.level
        if not alarm:
            self._seen += 1
            rate = 1.0 / min(self._seen, self.memory)
            self._mean += rate * (self.statistic - self._mean)
            self._square += rate * ((self.statistic - self._mean) ** 2 - self._square)
        return alarm

    @property
    def level(self) -> float:
        """Statistic that raises the alarm."""
        return max(self.floor, self._mean + self.sigmas * float(np.sqrt(self._square)))

    def reset(self) -> None:
        """After an alarm: forget the window, not what is usual, and wait four windows until the new load is known."""
        self._quiet = int(4 * self.window)
        self._information = Information.nothing(self.size)
        self.statistic = 0.0
