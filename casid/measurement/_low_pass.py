"""Zero-phase low-pass filters: a Butterworth filter run forth and back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from casid.arrays import Array
from casid.errors import DatasetError
from casid.measurement._defects import moving_joints

#: What is left of a disturbance after `LowPass.memory` samples.
FORGOTTEN = 1e-8
#: Share of an impulse's energy that lies beyond `LowPass.reach`.
UNSEEN = 1e-5


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
    def reach(self) -> int:
        """Samples on either side that hold all of the response to an impulse but `UNSEEN` of its energy."""
        count = 2 * self.memory + 1
        impulse = np.zeros((2 * count + 1, 1))
        impulse[count] = 1.0
        energy = self.part(impulse, False, False)[count:, 0] ** 2
        beyond = np.cumsum(energy[::-1])[::-1] / energy.sum()
        return int(np.argmax(beyond <= UNSEEN))

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


#: Width over which spectra are smoothed: a factor of the frequency.
SMOOTHING = 1.35
#: A valley lies below this share of the peak; it ends where the spectrum has risen by this factor from its lowest,
#: or, deep or not, by this factor above the peak itself: that is noise.
DEPTH, RISE = 1e-3, 4.0
#: Noise that may pass, over the energy of the motion: above the valley, and for the sake of the least cut-off.
NOISE, MOST_NOISE = 3e-5, 1e-2
#: Least cut-off over the frequency below which nearly all of the velocity's energy lies, and that share.
BREADTH, NEARLY_ALL = 4.0, 0.99
#: Bounds of the choice: periods that a recording must hold, and share of the Nyquist frequency.
FEWEST_PERIODS, HIGHEST_SHARE = 10.0, 0.8


def choose_cutoff(q: Array, rate: float) -> float:
    """Cut-off between the motion and the noise [Hz].

    Twice differentiated, a position's spectrum falls behind the last harmonic of the motion and rises again, as f^4,
    where noise begins. Of each joint's spectrum, smoothed over half an octave, the deepest point before the rise is
    found; the cut-off lies above it, where what passes has gathered a small share of the motion's energy: friction's
    jumps are wide in frequency and belong to the signal. The median over the joints is taken, since all signals must go
    through one filter. A recording without noise gets the highest cut-off that its rate allows.

    Parameters
    ----------
    q
        Positions on a uniform grid, shape (N, n).
    rate
        Sampling rate [Hz].
    """
    from scipy.signal import welch

    count = len(q)
    lowest, highest = FEWEST_PERIODS * rate / count, HIGHEST_SHARE * rate / 2
    moving = moving_joints(q)
    if not moving.any() or count < 64:
        return highest
    length = int(min(count - 1, max(256, count // 4)))
    # differences first: they take the drift away whose leakage would drown everything else
    velocity = np.diff(q[:, moving], axis=0) * rate
    f, power = welch(velocity, fs=rate, nperseg=length, axis=0, window="blackmanharris")
    f, power = f[1:], power[1:]
    grid = np.geomspace(max(float(f[0]), lowest), highest, 400)
    median = float(np.median([_of_one(f, column, grid) for column in power.T]))
    return float(f"{min(max(median, lowest), highest):.2g}")


def _of_one(f: Array, power: Array, grid: Array) -> float:
    """The choice for one joint, from the spectrum of its velocity."""
    acceleration = power * f**2
    energy, places = np.cumsum(power), np.cumsum(power / f**2)
    slow = float(f[np.argmax(2 * places >= places[-1])])  # the motion sits where the position's energy does
    inside = (f[None] >= grid[:, None] / SMOOTHING) & (f[None] <= grid[:, None] * SMOOTHING)
    smooth = (inside @ acceleration) / np.maximum(inside.sum(axis=1), 1)
    peak = int(np.argmax(np.where(grid <= 8 * slow, smooth, 0.0)))
    floor = np.minimum.accumulate(smooth[peak:])
    deep = (smooth[peak:] >= RISE * floor) & (floor <= DEPTH * smooth[peak])
    risen = np.flatnonzero(deep | (smooth[peak:] >= RISE * smooth[peak]))
    end = peak + (int(risen[0]) if len(risen) else len(floor) - 1)
    valley = float(grid[peak + int(np.argmin(smooth[peak : end + 1]))])
    motion = float(acceleration[f <= valley].sum())
    passed = np.cumsum(np.where(f > valley, acceleration, 0.0))
    above = np.flatnonzero(passed >= NOISE * motion)
    slower = np.where(f <= valley, energy, energy[f <= valley].max())
    least = BREADTH * float(f[np.argmax(slower >= NEARLY_ALL * slower[-1])])
    too_much = np.flatnonzero(passed >= MOST_NOISE * motion)
    least = min(least, float(f[too_much[0] - 1])) if len(too_much) else least
    return max(least, valley, float(f[above[0] - 1])) if len(above) else float(grid[-1])
