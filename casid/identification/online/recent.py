"""When did the load change? The last samples, kept until an alarm asks for those of the new load."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from casid.identification.online.information import Information

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sample:
    """Equations of one sample, whitened and as they are, and what was known before it."""

    row: Array
    target: Array
    seen_row: Array
    seen: Array
    time: float
    before: Information


@dataclass
class RecentSamples:
    """The last samples before an alarm.

    Of parameters p before and others after a change at sample k, the most likely k makes

        sum_{i < k} (what sample i adds to min ||rho - R p||^2) + min over samples from k on of their sum of squares

    smallest (Basseville and Nikiforov 1993, Sec. 2.6: the maximum likelihood estimate of the change time).

    Attributes
    ----------
    length : int
        Samples.
    """

    length: int
    _samples: deque[Sample] = field(default_factory=deque, init=False, repr=False)

    def add(self, sample: Sample) -> None:
        """The newest sample; the oldest is dropped."""
        self._samples.append(sample)
        if len(self._samples) > self.length:
            self._samples.popleft()

    def since_change(self) -> list[Sample]:
        """Samples after the most likely change; the first of them, which may have begun before it, is left out.

        Nothing is kept of the others.
        """
        samples = list(self._samples)
        self._samples.clear()
        if not samples:
            return []
        added = [s.before.updated(s.seen_row, s.seen).rest - s.before.rest for s in samples]
        own, after = Information.nothing(len(samples[0].before.rho)), []
        for s in reversed(samples):
            own = own.updated(s.seen_row, s.seen)
            after.append(own.rest)
        squares = np.concatenate([[0.0], np.cumsum(added)[:-1]]) + np.array(after[::-1])
        return samples[int(np.argmin(squares)) + 1 :]
