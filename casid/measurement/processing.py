"""From raw samples to position, velocity, acceleration and torque on common samples.

The order is: unwrap, uniform time grid, zero-phase Butterworth filter, differentiation, trim, decimate, mask. Each step
leaves a sentence in the result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from casid.errors import DatasetError
from casid.measurement.dataset import Array, Dataset

#: Share by which a time step may differ from the median one in a recording that counts as regular.
IRREGULAR = 0.05
#: A gap of more than this many periods is a clock jump.
CLOCK_JUMP = 20.0


@dataclass(frozen=True)
class Processing:
    """How a recording is turned into regression data. The defaults suit most recordings at 100 Hz to 5 kHz.

    Attributes
    ----------
    cutoff : float or None
        Cut-off of the low-pass filter of q and, where measured, dq [Hz]; ``None``: no filter.
    torque_cutoff : float, None or "same"
        Cut-off for the torques [Hz].
    order : int
        Order of the Butterworth filter; run forth and back, so phase is zero and the order effectively doubles.
    rate : float, None or "auto"
        Uniform grid by linear interpolation [Hz]; ``"auto"``: at the median rate, if the time stamps are irregular;
        ``None``: keep the stamps, differences are then taken over them.
    velocity : {"differentiate", "measured"}
        Central differences of the filtered q, or the (filtered) measured dq.
    acceleration : {"differentiate", "measured"}
        Central differences of dq, or the (filtered) measured ddq.
    filter_position : bool
        Whether q itself is filtered.
    acceleration_cutoff : float, optional
        Further filter of the differentiated acceleration [Hz].
    trim : float
        Seconds dropped at both ends: filters ring there. Before filtering, the signal is extended by its odd reflection
        over as long.
    every : int
        Keep every so many samples.
    between : tuple of float, optional
        Keep samples with start <= t < end [s], after all else.
    slowest : float
        Drop a joint's torques while it is slower [rad/s]; 0 keeps all.
    """

    cutoff: float | None = 5.0
    torque_cutoff: float | Literal["same"] | None = "same"
    order: int = 4
    rate: float | Literal["auto"] | None = "auto"
    velocity: Literal["differentiate", "measured"] = "differentiate"
    acceleration: Literal["differentiate", "measured"] = "differentiate"
    filter_position: bool = True
    acceleration_cutoff: float | None = None
    trim: float = 0.5
    every: int = 10
    between: tuple[float, float] | None = None
    slowest: float = 0.0

    def __post_init__(self) -> None:
        for name in ("velocity", "acceleration"):
            if getattr(self, name) not in ("differentiate", "measured"):
                raise DatasetError(f"{name} must be 'differentiate' or 'measured', got {getattr(self, name)!r}")
        if self.every < 1 or self.trim < 0 or self.order < 1:
            raise DatasetError(f"every and order must be at least 1 and trim not negative, got {self}")
        for name in ("cutoff", "torque_cutoff", "acceleration_cutoff", "rate"):
            value = getattr(self, name)
            if isinstance(value, (int, float)) and not value > 0:
                raise DatasetError(f"{name} must be positive [Hz] or None, got {value!r}")

    def apply(self, recording: Dataset) -> Dataset:
        """Processed copy of a recording, with dq, ddq, tau, tau_raw.

        Raises
        ------
        DatasetError
            If the recording is too short for the filter or trim, or lacks the measured velocity that is asked for.
        """
        data = _uniform(recording, self.rate)
        if not data.period > 0:
            raise DatasetError(f"{data.name}: time does not advance; give the sampling rate")
        frequency = 1.0 / data.period
        torque_cutoff = self.cutoff if self.torque_cutoff == "same" else self.torque_cutoff

        def smooth(values: Array, cutoff: float | None) -> Array:
            return _filter(values, cutoff, self.order, frequency, self.trim, data.name)

        q_filtered = smooth(data.q, self.cutoff)
        if self.velocity == "measured":
            if data.dq is None:
                raise DatasetError(f"{data.name}: it has no measured velocity; use velocity='differentiate'")
            dq = smooth(data.dq, self.cutoff)
        else:
            dq = np.gradient(q_filtered, data.t, axis=0)
        if self.acceleration == "measured":
            if data.ddq is None:
                raise DatasetError(f"{data.name}: it has no measured acceleration; use acceleration='differentiate'")
            ddq = smooth(data.ddq, self.cutoff)
        else:
            ddq = smooth(np.gradient(dq, data.t, axis=0), self.acceleration_cutoff)
        data = replace(
            data,
            q=q_filtered if self.filter_position else data.q,
            dq=dq,
            ddq=ddq,
            tau=smooth(data.tau, torque_cutoff),
            tau_raw=data.tau,
            steps=(*data.steps, *self._sentences(torque_cutoff)),
        )
        if self.trim:
            span = data.t[-1] - data.t[0]
            if 2 * self.trim >= span:
                raise DatasetError(
                    f"{data.name}: lasts {span:.3g} s, trimming {self.trim:g} s at both ends leaves nothing"
                )
            first, last = data.t[0] + self.trim, data.t[-1] - self.trim
            count = round(self.trim * frequency)
            inside = slice(count, len(data) - count) if _regular(data.t) else (data.t >= first) & (data.t <= last)
            data = data.rows(inside, f"trimmed {self.trim:g} s from both ends")
        if self.every > 1:
            data = data.rows(slice(None, None, self.every), f"kept every {self.every}th sample")
        if self.between is not None:
            data = data.between(*self.between)
        return data.moving(self.slowest) if self.slowest else data

    def _sentences(self, torque_cutoff: float | None) -> list[str]:
        kind = f"Butterworth order {self.order}, zero phase"
        motion = [
            name
            for name, used in (
                ("position", self.filter_position or self.velocity == "differentiate"),
                ("velocity", self.velocity == "measured"),
                ("acceleration", self.acceleration == "measured"),
            )
            if used
        ]
        return [
            f"{' and '.join(motion)}: " + (f"{kind}, {self.cutoff:g} Hz" if self.cutoff else "not filtered"),
            "torque: " + (f"{kind}, {torque_cutoff:g} Hz" if torque_cutoff else "not filtered"),
            "velocity: "
            + ("as measured" if self.velocity == "measured" else "central differences of the filtered position"),
            "acceleration: "
            + ("as measured" if self.acceleration == "measured" else "central differences of the velocity")
            + (f", filtered again at {self.acceleration_cutoff:g} Hz" if self.acceleration_cutoff else ""),
        ]


def _regular(t: Array) -> bool:
    steps = np.diff(t)
    median = np.median(steps)
    return bool(median > 0 and np.abs(steps - median).max() <= IRREGULAR * median)


def _uniform(data: Dataset, rate: float | Literal["auto"] | None) -> Dataset:
    """The recording on a uniform grid, where asked or needed; clock jumps and repeated stamps reported."""
    steps = np.diff(data.t)
    notes = list(data.notes)
    repeated = int((steps == 0).sum())
    jumps: NDArray[np.intp] = (
        np.flatnonzero(steps > CLOCK_JUMP * data.period) if data.period else np.zeros(0, dtype=int)
    )
    if len(jumps):
        worst = int(jumps[np.argmax(steps[jumps])])
        notes.append(
            f"{data.name}: the clock jumps {len(jumps)} times, most by {steps[worst]:.3g} s at t = "
            f"{data.t[worst]:.3f} s "
            f"({steps[worst] / data.period:.0f} periods); samples there are interpolated"
        )
    if repeated:
        notes.append(f"{data.name}: {repeated} repeated time stamps dropped")
        keep = np.concatenate([[True], steps > 0])
        data = data.rows(keep, f"dropped {repeated} repeated time stamps")
    data = replace(data, notes=tuple(notes))
    if rate is None or (rate == "auto" and _regular(data.t)):
        return data
    frequency = _nominal_rate(data.period) if rate == "auto" else float(rate)
    count = int(np.floor((data.t[-1] - data.t[0]) * frequency + 1e-9)) + 1
    grid = data.t[0] + np.arange(count) / frequency
    arrays: dict[str, Any] = {
        name: None
        if (value := getattr(data, name)) is None
        else np.stack([np.interp(grid, data.t, column) for column in value.T], axis=1)
        for name in ("q", "dq", "ddq", "tau", "tau_raw")
    }
    if data.mask is not None:  # a sample counts where both its neighbours do
        columns = [np.interp(grid, data.t, column.astype(float)) > 1.0 - 1e-9 for column in data.mask.T]
        arrays["mask"] = np.stack(columns, axis=1)
    spread = f"dt {1e3 * steps.min():.3g} to {1e3 * steps.max():.3g} ms"
    return replace(
        data,
        t=grid,
        **arrays,
        steps=(*data.steps, f"linear interpolation to {frequency:g} Hz ({spread} before)"),
    )


def _nominal_rate(period: float) -> float:
    """Nearest round rate [Hz]: 1000 for a median period of 1.0004 ms."""
    rate = 1.0 / period
    for digits in (1, 2, 3):
        rounded = float(f"{rate:.{digits}g}")
        if abs(rounded - rate) <= 0.02 * rate:
            return rounded
    return rate


def _filter(values: Array, cutoff: float | None, order: int, frequency: float, trim: float, name: str) -> Array:
    if cutoff is None:
        return values
    if cutoff >= frequency / 2:
        raise DatasetError(f"{name}: cut-off {cutoff:g} Hz must lie below half the sampling rate, {frequency / 2:g} Hz")
    from scipy.signal import butter, filtfilt  # slow to import, and only needed here

    b, a = butter(order, cutoff / (frequency / 2))
    shortest = 3 * max(len(a), len(b))
    if len(values) <= shortest:
        raise DatasetError(
            f"{name}: {len(values)} samples are too few for the filter, which needs more than {shortest}"
        )
    padding = min(max(shortest, round(trim * frequency)), len(values) - 1)
    return np.asarray(filtfilt(b, a, values, axis=0, padlen=padding))
