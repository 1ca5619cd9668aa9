"""Was a load picked up or dropped? A likelihood ratio of the last moments against all since the last change."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from casid.identification.online.information import Information
from casid.regression._statistics import ResidualNoise
from casid.retrieval.insight.chi_square import chi_square

Array = NDArray[np.float64]
#: Windows that a chi-square variable of as many degrees of freedom as parameters counts for, beside T's own past.
BEFORE = 3.0
#: Windows by which what is usual lags behind.
BEHIND = 2.0


@dataclass
class FadingWindow:
    """The last moments, and how large the ratio usually is over so long a window.

    With the window's information ``(R_w, rho_w)`` and that of everything since the last change ``(R, rho)``,

        T = min_p ||rho - R p||^2 + ||rho_w - R_w p||^2 - min ||rho - R p||^2 - min ||rho_w - R_w p||^2

    is the generalised likelihood ratio of "the parameters have changed" (Basseville and Nikiforov 1993, Sec. 7.2),
    which knows how well either side is known: directly after a change there is nothing to compare with, and T is zero.
    Over the variance of the residual, white noise alone gives half a chi-square variable, correlated noise as much more
    as it makes a mean over the window vary more (`ResidualNoise.inflation`). Residuals of real robots depend on the
    motion besides, so the alarm level is also learnt from T's own past: its mean m and variance v are those of
    ``v / (2 m)`` times a chi-square variable of ``2 m^2 / v`` degrees of freedom (Satterthwaite 1946), whose quantile
    allows for tails as long as T's. Both are learnt windows behind: a change that comes slowly, or that is still too
    slight to be noticed, is not usual, and its residuals are not noise.

    Attributes
    ----------
    samples : float
        After which the window has forgotten all but 1/e.
    """

    size: int
    samples: float
    statistic: float = 0.0
    _information: Information = field(init=False, repr=False)
    _mean: float = field(default=0.0, init=False, repr=False)
    _square: float = field(default=0.0, init=False, repr=False)
    _seen: int = field(default=0, init=False, repr=False)
    _weight: float = field(default=0.0, init=False, repr=False)
    _inflation: float = field(default=1.0, init=False, repr=False)
    _recent: deque[tuple[float, float]] = field(default_factory=deque, init=False, repr=False)
    _before: tuple[Information, float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Empty the window; what is usual stays."""
        self._information, self.statistic = Information.nothing(self.size), 0.0
        self._recent.clear()

    def update(self, rows: Array, targets: Array, reference: Information, variance: float) -> float:
        """T with one more sample, over the variance of the residual."""
        old, fade = self._information, 1.0 - 1.0 / self.samples
        self._before = old, self.statistic
        faded = Information(old.R * np.sqrt(fade), old.rho * np.sqrt(fade))
        own = self._information = faded.updated(rows, targets)
        self.statistic = (reference.updated(own.R, own.rho).rest - reference.rest) / variance
        return self.statistic

    @property
    def before(self) -> float:
        """T without the newest sample."""
        return self._before[1]

    def undo(self) -> None:
        """Without the newest sample again."""
        self._information, self.statistic = self._before

    def learn(self, memory: float, noise: ResidualNoise) -> None:
        """The statistic of some windows ago was usual, and so was the noise."""
        self._recent.append((self.statistic, noise.inflation(self.samples)))
        if len(self._recent) <= BEHIND * self.samples:
            return
        usual, self._inflation = self._recent.popleft()
        self._seen += 1
        rate = 1.0 / min(self._seen, memory)
        self._weight = 1.0 / (rate * self.samples)
        self._mean += rate * (usual - self._mean)
        self._square += rate * ((usual - self._mean) ** 2 - self._square)

    def level(self, probability: float) -> float:
        """Statistic that raises the alarm, and is exceeded with this probability without a change."""
        level = self._inflation * chi_square(self.size, probability) / 2
        if self._mean > 0.0:
            chance = 2 * self._mean**2 / self.size  # variance with as many degrees of freedom as parameters
            variance = (BEFORE * chance + self._weight * self._square) / (BEFORE + self._weight)
            scale, freedom = variance / (2 * self._mean), 2 * self._mean**2 / variance
            level = max(level, scale * chi_square(freedom, probability))
        return level


@dataclass
class ChangeDetector:
    """Raises the alarm when any of its windows says that the load is another one than before.

    The short window is quick about a load, the long one finds a light one. A sample that raises T from below
    half of the alarm level is doubted: it is left out of the windows, and the next one has to raise the alarm too.

    Attributes
    ----------
    size : int
        Parameters of the load.
    windows : sequence of float
        Lengths [samples].
    memory : float
        Samples over which "usual" is learnt; no alarm before as many, nor by a window that has learnt nothing yet.
    probability : float
        Of the statistic above the alarm level without a change, at a moment.
    """

    size: int = 10
    windows: Sequence[float] = (30.0, 300.0)
    memory: float = 500.0
    probability: float = 3e-9
    _windows: list[FadingWindow] = field(init=False, repr=False)
    _least: float = field(init=False, repr=False)
    _seen: int = field(default=0, init=False, repr=False)
    _doubted: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        self._windows = [FadingWindow(self.size, samples) for samples in self.windows]
        self._least = chi_square(self.size, self.probability) / 2

    @property
    def statistics(self) -> list[float]:
        """T of every window, over the variance of the residual."""
        return [w.statistic for w in self._windows]

    def update(self, rows: Array, targets: Array, reference: Information, noise: ResidualNoise) -> bool:
        """Whether this sample raises the alarm: the windows are then empty again.

        Parameters
        ----------
        rows, targets
            Of the newest sample, weighted: ``rows p = targets`` with unit variance, shapes (n, size) and (n,).
        reference
            All samples before it, since the last change.
        noise
            What the residual usually is.
        """
        self._seen += 1
        alarm, sudden, variance = False, True, noise.variance_with(reference.rest, reference.count)
        for window in self._windows:
            statistic = window.update(rows, targets, reference, variance)
            if self._seen > max(self.memory, (BEHIND + 1.0) * window.samples) and statistic > self._least:
                level = window.level(self.probability)
                alarm = alarm or statistic > level
                sudden = sudden and not (statistic > level and window.before > level / 2)
        self._doubted = alarm and sudden and not self._doubted
        for window in self._windows:
            if self._doubted:
                window.undo()
            elif alarm:
                window.forget()
            else:
                window.learn(self.memory, noise)
        return alarm and not self._doubted
