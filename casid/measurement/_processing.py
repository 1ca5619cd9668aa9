"""From raw samples to position, velocity, acceleration and torque on common samples.

The order is: uniform time grid, delay, zero-phase Butterworth filter, differentiation, trim, decimate, mask. Each step
leaves a sentence in the result. The motion at the full rate goes along (`FullRate`), so that the columns of the
regressor can pass the torques' filter too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from casid.errors import DatasetError
from casid.measurement._dataset import Array, Dataset
from casid.measurement._full_rate import FullRate
from casid.measurement._low_pass import LowPass, choose_cutoff

#: Share by which a time step may differ from the median one in a recording that counts as regular.
IRREGULAR = 0.05
#: A gap of more than this many periods is a clock jump.
CLOCK_JUMP = 20.0
#: A uniform grid may have so many times the samples of the recording.
MOST_GROWTH = 20.0
#: Samples kept for each period of the cut-off frequency, where the number is chosen.
SAMPLES_PER_PERIOD = 20.0


@dataclass(frozen=True)
class Processing:
    """How a recording is turned into regression data. The defaults suit most recordings at 100 Hz to 5 kHz.

    Attributes
    ----------
    cutoff : float, None or "auto"
        Cut-off of the low-pass filter of q and, where measured, dq [Hz]; ``None``: no filter; ``"auto"``: chosen from
        the spectra of the positions (`choose_cutoff`).
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
    every : int or "auto"
        Keep every so many samples; ``"auto"``: 20 samples a period of the torques' cut-off, all without a filter.
    between : tuple of float, optional
        Keep samples with start <= t < end [s], after all else.
    slowest : float
        Drop a joint's torques while it is slower [rad/s]; 0 keeps all.
    filter_columns : bool
        Whether the columns of the regressor go through the torques' filter, at the full rate and before samples are
        taken (Gautier's parallel filtering): without it friction's jumps meet torques that cannot jump, and Coulomb
        friction comes out too low.
    delay : float
        Time by which the torques lag behind the positions [s]; taken out by interpolation, to a fraction of a sample.
    """

    cutoff: float | Literal["auto"] | None = "auto"
    torque_cutoff: float | Literal["same"] | None = "same"
    order: int = 4
    rate: float | Literal["auto"] | None = "auto"
    velocity: Literal["differentiate", "measured"] = "differentiate"
    acceleration: Literal["differentiate", "measured"] = "differentiate"
    filter_position: bool = True
    acceleration_cutoff: float | None = None
    trim: float = 0.5
    every: int | Literal["auto"] = "auto"
    between: tuple[float, float] | None = None
    slowest: float = 0.0
    filter_columns: bool = True
    delay: float = 0.0

    def __post_init__(self) -> None:
        for name in ("velocity", "acceleration"):
            if getattr(self, name) not in ("differentiate", "measured"):
                raise DatasetError(f"{name} must be 'differentiate' or 'measured', got {getattr(self, name)!r}")
        for name, least in (("every", 1), ("order", 1), ("trim", 0)):
            value = getattr(self, name)
            if value != "auto" and not value >= least:
                raise DatasetError(f"{name} must be {'at least 1' if least else 'zero or more seconds'}, got {value!r}")
        if not np.isfinite(self.delay):
            raise DatasetError(f"delay must be a finite number of seconds, got {self.delay!r}")
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
        if not np.ptp(recording.t) > 0:
            raise DatasetError(
                f"{recording.name}: time does not advance, every sample has {recording.t[0]:g} s; without a clock "
                "leave the time column out and give the sampling rate (rate)"
            )
        data = _uniform(recording, self.rate)
        frequency = 1.0 / data.period
        data = _advanced(data, self.delay)
        settings = self if self.cutoff != "auto" else replace(self, cutoff=choose_cutoff(data.q, frequency))
        return settings._filtered(data, frequency, chosen=self.cutoff == "auto")

    def _filtered(self, data: Dataset, frequency: float, chosen: bool) -> Dataset:
        assert self.cutoff != "auto"
        torque_cutoff = self.cutoff if self.torque_cutoff == "same" else self.torque_cutoff

        def filter_at(cutoff: float | None) -> LowPass | None:
            if cutoff is None:
                return None
            try:
                made = LowPass(cutoff, self.order, frequency, round(self.trim * frequency))
            except DatasetError as error:
                raise DatasetError(f"{data.name}: {error}") from None
            if len(data) <= made.fewest:
                raise DatasetError(
                    f"{data.name}: {len(data)} samples are too few for the filter, which needs more than {made.fewest}"
                )
            return made

        def smooth(values: Array, cutoff: float | None) -> Array:
            low_pass = filter_at(cutoff)
            return values if low_pass is None else low_pass(values)

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
        q = q_filtered if self.filter_position else data.q
        low_pass = filter_at(torque_cutoff) if self.filter_columns else None
        data = replace(
            data,
            q=q,
            dq=dq,
            ddq=ddq,
            tau=smooth(data.tau, torque_cutoff),
            tau_raw=data.tau,
            full=None if low_pass is None else FullRate(q, dq, ddq, data.tau, low_pass, np.arange(len(data))),
            steps=(*data.steps, *self._sentences(self.cutoff, torque_cutoff, chosen)),
        )
        if self.trim:
            data = self._trimmed(data, frequency)
        every = self._every(frequency, torque_cutoff)
        if every > 1:
            data = data.rows(slice(None, None, every), f"kept every {every}th sample")
        if self.between is not None:
            data = data.between(*self.between)
        return data.moving(self.slowest) if self.slowest else data

    def _trimmed(self, data: Dataset, frequency: float) -> Dataset:
        """The data without both ends, where filters settle."""
        span = data.t[-1] - data.t[0]
        if 2 * self.trim >= span:
            raise DatasetError(f"{data.name}: lasts {span:.3g} s, trimming {self.trim:g} s at both ends leaves nothing")
        first, last = data.t[0] + self.trim, data.t[-1] - self.trim
        count = round(self.trim * frequency)
        inside = slice(count, len(data) - count) if _regular(data.t) else (data.t >= first) & (data.t <= last)
        return data.rows(inside, f"trimmed {self.trim:g} s from both ends")

    def _every(self, frequency: float, torque_cutoff: float | None) -> int:
        """Samples from one that is kept to the next."""
        if self.every != "auto":
            return self.every
        return 1 if torque_cutoff is None else max(1, int(frequency / (SAMPLES_PER_PERIOD * torque_cutoff)))

    def _sentences(self, cutoff: float | None, torque_cutoff: float | None, chosen: bool) -> list[str]:
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
            f"{' and '.join(motion)}: "
            + (f"{kind}, {cutoff:g} Hz" if cutoff else "not filtered")
            + (" (chosen from the spectra)" if chosen else ""),
            "torque: "
            + (f"{kind}, {torque_cutoff:g} Hz" if torque_cutoff else "not filtered")
            + (", and the columns of the regressor with it" if torque_cutoff and self.filter_columns else ""),
            "velocity: "
            + ("as measured" if self.velocity == "measured" else "central differences of the filtered position"),
            "acceleration: "
            + ("as measured" if self.acceleration == "measured" else "central differences of the velocity")
            + (f", filtered again at {self.acceleration_cutoff:g} Hz" if self.acceleration_cutoff else ""),
        ]


def prepare(recording: Dataset, processing: Processing | bool | None = None) -> Dataset:
    """A recording made ready for regression.

    Parameters
    ----------
    recording
    processing
        Settings; ``True``: the defaults; ``False``: the recording is taken as it is, every sample of it; ``None``: as
        it is where it has velocities and accelerations already, otherwise the defaults.

    Raises
    ------
    DatasetError
        If it shall be taken as it is and has no velocities or accelerations; and as `Processing.apply`.
    """
    complete = recording.dq is not None and recording.ddq is not None
    if isinstance(processing, Processing):
        return processing.apply(recording)
    if processing is False and not complete:
        raise DatasetError(
            f"{recording.name}: taken as it is, a recording needs velocities and accelerations (dq, ddq); let it be "
            "processed, or give them"
        )
    if processing is True or not complete:
        return Processing().apply(recording)
    return replace(recording, steps=(*recording.steps, "taken as it is: velocities and accelerations were given"))


def _advanced(data: Dataset, delay: float) -> Dataset:
    """The recording with its torques taken from ``delay`` later, where they belong; the ends repeat."""
    if not delay:
        return data
    from scipy.interpolate import CubicSpline  # slow to import, and only needed here

    if abs(delay) >= (data.t[-1] - data.t[0]) / 2:
        raise DatasetError(f"{data.name}: a delay of {delay:g} s is as long as the recording")
    moments = np.clip(data.t + delay, data.t[0], data.t[-1])
    tau = CubicSpline(data.t, data.tau, axis=0)(moments)
    return replace(data, tau=tau, steps=(*data.steps, f"torques taken {1e3 * delay:.4g} ms later"))


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
            f"{data.t[worst]:.3f} s ({steps[worst] / data.period:.0f} periods); samples there are interpolated"
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
    if count > MOST_GROWTH * len(data):
        steps = np.diff(data.t)
        worst = int(np.argmax(steps))
        raise DatasetError(
            f"{data.name}: a uniform grid at {frequency:g} Hz would have {count} samples, the recording has "
            f"{len(data)}; its longest gap is {steps[worst]:.4g} s, after sample {worst}: cut it there or give another "
            "rate"
        )
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
