"""Zero-phase low-pass filters: a Butterworth filter run forth and back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from casid.errors import DatasetError

Array = NDArray[np.float64]

#: What is left of a disturbance after `LowPass.memory` samples.
FORGOTTEN = 1e-8


@dataclass(frozen=True)
class LowPass:
    """A Butterworth low-pass filter, run forth and back: gain ``|H|^2``, phase zero.

    The recording is extended at both ends by its odd reflection over `padding` samples: the filter is one linear
    operator of the whole recording. Whatever passes it, passes it alike: with ``tau = Y pi`` sample by sample, the
    filtered torque is exactly the filtered ``Y`` times ``pi``, friction's jumps included.

    Attributes
    ----------
    cutoff : float
        Frequency at which the gain of one run is 1/sqrt(2) [Hz].
    order : int
        Order of one run.
    rate : float
        Sampling rate [Hz].
    padding : int
        Samples of the reflection at both ends.
    """

    cutoff: float
    order: int
    rate: float
    padding: int

    def __post_init__(self) -> None:
        if not 0 < self.cutoff < self.rate / 2:
            raise DatasetError(
                f"cut-off {self.cutoff:g} Hz must lie below half the sampling rate, {self.rate / 2:g} Hz, and above 0"
            )

    @cached_property
    def _sections(self) -> Array:
        from scipy.signal import butter  # slow to import, and only needed here

        return np.asarray(butter(self.order, self.cutoff, fs=self.rate, output="sos"))

    @property
    def fewest(self) -> int:
        """Samples that a recording must exceed."""
        return 3 * (self.order + 1)

    @cached_property
    def memory(self) -> int:
        """Samples after which the filter has forgotten a disturbance, to `FORGOTTEN` of it."""
        from scipy.signal import butter

        _, poles, _ = butter(self.order, self.cutoff, fs=self.rate, output="zpk")
        return int(np.ceil(np.log(FORGOTTEN) / np.log(np.abs(poles).max()))) + self.order

    @cached_property
    def noise_gain(self) -> float:
        """Variance of filtered white noise over that of the noise: the mean of ``|H|^4`` over all frequencies."""
        from scipy.signal import sosfreqz

        _, response = sosfreqz(self._sections, worN=max(4096, int(64 * self.rate / self.cutoff)))
        return float(np.mean(np.abs(response) ** 4))

    def __call__(self, values: Array) -> Array:
        """Filtered columns of a whole recording, shape (N, ...)."""
        return self.part(values, True, True)

    def part(self, values: Array, first: bool, last: bool) -> Array:
        """Filtered columns of a part of a recording; wrong within `memory` samples of an end that is not its own.

        Parameters
        ----------
        values
            Shape (N, ...).
        first, last
            Whether the part begins, and ends, with the recording.
        """
        from scipy.signal import sosfiltfilt

        count = len(values)
        reach = min(max(self.fewest, self.padding), count - 1)
        head = 2 * values[:1] - values[reach:0:-1] if first else values[:0]
        tail = 2 * values[-1:] - values[-2 : -(reach + 2) : -1] if last else values[:0]
        extended = np.concatenate([head, values, tail]) if first or last else values
        filtered = sosfiltfilt(self._sections, extended, axis=0, padtype=None, padlen=0)
        return np.asarray(filtered[len(head) : len(head) + count])
