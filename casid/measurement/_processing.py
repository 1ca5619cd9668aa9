"""From raw samples to position, velocity, acceleration and torque on common samples.

The order is: defects, uniform time grid, delay, zero-phase Butterworth filter, differentiation, trim, decimate, mask.
Each step leaves a sentence in the result. The motion at the full rate goes along (`FullRate`), so that the columns of
the regressor can pass the torques' filter too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from casid.arrays import ALIKE, Array
from casid.errors import DatasetError
from casid.evidence import white_sd
from casid.measurement._dataset import Dataset, FullRate
from casid.measurement._defects import (
    MOST_LOST,
    Defect,
    defect_notes,
    find_defects,
    moving_joints,
    standing_joints,
    treated,
)
from casid.measurement._low_pass import LowPass, choose_cutoff


def repaired(recording: Dataset) -> tuple[Dataset, tuple[Defect, ...]]:
    """The recording with values that measure nothing replaced by those around them, and all its defects.

    Parameters
    ----------
    recording
        As read; samples whose time repeats are dropped.
    """
    recording = advancing(recording)
    found = find_defects(recording)
    if not (found.q_off.any() or found.tau_off.any()):
        return recording, found.defects

    def made(values: Array | None, off: NDArray[np.bool_]) -> Array | None:
        """Values with those that are off replaced by linear interpolation."""
        if values is None:
            return None
        columns = [np.interp(recording.t, recording.t[~bad], x[~bad]) for x, bad in zip(values.T, off.T, strict=True)]
        return np.where(off, np.stack(columns, axis=1), values)

    count = int(found.repeated.sum())
    steps = [f"interpolated {count} repeated samples"] if count else []
    spikes = int((found.q_off | found.tau_off).any(axis=1).sum()) - count
    steps += [f"interpolated {spikes} samples with spikes"] if spikes else []
    motion: dict[str, Any] = {name: made(getattr(recording, name), found.q_off) for name in ("q", "dq", "ddq")}
    motion["tau"] = made(recording.tau, found.tau_off)
    return replace(recording, **motion, steps=(*recording.steps, *steps)), found.defects


def without_rest(data: Dataset, found: Sequence[Defect], margin: float, within: bool = False) -> Dataset:
    """The recording without the rest of all joints at both ends, but for a margin [s] beside the motion.

    Parameters
    ----------
    data
    found
        Its defects.
    margin
    within
        Rest between motions is left out too, and the time closed up: as good as the motion in one piece.
    """
    kept = np.ones(len(data), dtype=bool)
    for first, last in (span for one in found if (one.kind, one.joint) == ("standstill", None) for span in one.spans):
        at_ends = first <= data.t[0], last >= data.t[-1]
        if within or any(at_ends):
            begin, end = (-np.inf if at_ends[0] else first + margin), (np.inf if at_ends[1] else last - margin)
            kept &= (data.t <= begin) | (data.t >= end)
    if kept.all():
        return data
    period, made = data.period, data.rows(kept, f"left out {int((~kept).sum())} samples of rest")
    return replace(made, t=made.t[0] + period * np.arange(len(made))) if within else made


def advancing(recording: Dataset) -> Dataset:
    """The recording without samples whose time repeats that of the one before."""
    repeated = int((np.diff(recording.t) == 0).sum())
    if not repeated:
        return recording
    keep = np.concatenate([[True], np.diff(recording.t) > 0])
    data = recording.rows(keep, f"dropped {repeated} repeated time stamps")
    return replace(data, notes=(*data.notes, f"{data.name}: {repeated} repeated time stamps dropped"))


#: Share by which a time step may differ from the median one in a recording that counts as regular.
IRREGULAR = 0.05
#: A uniform grid may have so many times the samples of the recording.
MOST_GROWTH = 20.0
#: A round rate is the nominal one within this share: clocks are better, and 120 Hz is not meant by 125 Hz (4 %).
ROUND = 0.02


def advanced(data: Dataset, delay: float) -> Dataset:
    """The recording with its torques taken from ``delay`` later, where they belong; the ends repeat."""
    if not delay:
        return data
    from scipy.interpolate import CubicSpline  # slow to import, and only needed here

    if abs(delay) >= (data.t[-1] - data.t[0]) / 2:
        raise DatasetError(f"{data.name}: a delay of {delay:g} s is as long as the recording")
    moments = np.clip(data.t + delay, data.t[0], data.t[-1])
    tau = CubicSpline(data.t, data.tau, axis=0)(moments)
    return replace(data, tau=tau, steps=(*data.steps, f"torques taken {1e3 * delay:.4g} ms later"))


def regular(t: Array) -> bool:
    steps = np.diff(t)
    median = np.median(steps)
    return bool(median > 0 and np.abs(steps - median).max() <= IRREGULAR * median)


def uniform(data: Dataset, rate: float | Literal["auto"] | None) -> Dataset:
    """The recording on a uniform grid, where asked or needed."""
    data = advancing(data)
    if rate is None or (rate == "auto" and regular(data.t)):
        return data
    kept = _own_grid(data.t) if rate == "auto" else None
    if kept is not None:  # its samples as they are, lost ones by linear interpolation
        places, grid = kept
        grid[places] = data.t
        arrays = _interpolated(data, np.arange(len(grid), dtype=float), places.astype(float))
        step = f"{len(grid) - len(places)} lost samples interpolated, on the clock's own grid"
        return replace(data, t=grid, **arrays, steps=(*data.steps, step))
    frequency, steps = _nominal_rate(data.period) if rate == "auto" else float(rate), np.diff(data.t)
    count = int(np.floor((data.t[-1] - data.t[0]) * frequency + 1e-9)) + 1
    if count > MOST_GROWTH * len(data):
        worst = int(np.argmax(steps))
        raise DatasetError(
            f"{data.name}: a uniform grid at {frequency:g} Hz would have {count} samples, the recording has "
            f"{len(data)}; its longest gap is {steps[worst]:.4g} s, after sample {worst}: cut it there or give another "
            "rate"
        )
    grid = data.t[0] + np.arange(count) / frequency
    spread = f"dt {1e3 * steps.min():.3g} to {1e3 * steps.max():.3g} ms"
    step = f"linear interpolation to {frequency:g} Hz ({spread} before)"
    return replace(data, t=grid, **_interpolated(data, grid, data.t), steps=(*data.steps, step))


def _interpolated(data: Dataset, grid: Array, at: Array) -> dict[str, Any]:
    """Signals and mask on a grid, from samples at ``at``; a value counts where both its neighbours do."""
    names = [name for name in ("q", "dq", "ddq", "tau", "tau_raw", "mask") if getattr(data, name) is not None]
    columns = {name: np.asarray(getattr(data, name), dtype=float).T for name in names}
    arrays: dict[str, Any] = {
        name: np.stack([np.interp(grid, at, column) for column in rows], axis=1) for name, rows in columns.items()
    }
    return arrays if data.mask is None else {**arrays, "mask": arrays["mask"] > 1.0 - ALIKE}


def _own_grid(t: Array) -> tuple[NDArray[np.intp], Array] | None:
    """Places of samples on the uniform grid that their clock has but for gaps, and that grid [s]; or ``None``."""
    steps = np.diff(t)
    places = np.concatenate([[0], np.cumsum(np.round(steps / np.median(steps)))]).astype(int)
    if (np.diff(places) < 1).any() or places[-1] + 1 > MOST_GROWTH * len(t):
        return None
    period, start = np.polyfit(places, t, 1)
    if period <= 0 or np.abs(t - start - period * places).max() > IRREGULAR * period:
        return None
    return places, np.asarray(start + period * np.arange(places[-1] + 1))


def _nominal_rate(period: float) -> float:
    """Nearest round rate [Hz]: 1000 for a median period of 1.0004 ms."""
    rate = 1.0 / period
    rounded = (float(f"{rate:.{digits}g}") for digits in (1, 2, 3))
    return next((one for one in rounded if abs(one - rate) <= ROUND * rate), rate)


#: How far the measured velocity may be from the differences, as a share of the velocity, beyond what noise explains.
AGREES = 0.02


def measured_is_better(data: Dataset, cutoff: float | None, rate: float) -> bool:
    """Whether the measured velocity has less noise in the filter's band than the differences, and agrees with them.

    White noise of standard deviation s_q on positions has below the cut-off fc, once differentiated, the variance
    ``2 s_q^2 (2 pi)^2 fc^3 / (3 fs)``; noise s_v on velocities has ``2 s_v^2 fc / fs``: the measured velocity is less
    noisy where ``s_v < 2 pi fc s_q / sqrt(3)``. A controller that filters its velocity hides its noise and delays it;
    then the two differ by more than `AGREES` of the velocity and the differences are taken. The median joint decides:
    all signals come from one source.

    Parameters
    ----------
    data
        On a uniform grid.
    cutoff
        [Hz]; ``None``: no filter, the band is half the rate.
    rate
        [Hz]
    """
    moves = moving_joints(data.q)
    if data.dq is None or not moves.any():
        return False
    band = rate / 2 if cutoff is None else cutoff
    q, dq = data.q[:, moves], data.dq[:, moves]
    noise = 2 * np.pi * band * white_sd(q, 4) / np.sqrt(3.0)
    quieter = white_sd(dq, 4) / np.maximum(noise, np.finfo(float).tiny)
    pair = np.stack([np.gradient(q, axis=0) * rate, dq], axis=1)
    if band < rate / 2:
        pair = LowPass(band, 4, rate, 0)(pair)
    differences, measured = np.moveaxis(pair[len(q) // 20 : len(q) - len(q) // 20], 1, 0)
    size = np.linalg.norm(differences, axis=0)
    away = np.linalg.norm(differences - measured, axis=0)
    apart = np.divide(away, size, out=np.full(len(size), np.inf), where=size > 0)
    return bool(np.median(quieter) < 1.0 and np.median(apart) <= AGREES)


#: Samples kept for each period of the cut-off frequency, where the number is chosen.
SAMPLES_PER_PERIOD = 20.0
#: What is trimmed at either end at most where the number is chosen [s]; nor more than `MOST_LOST` of the recording.
LONGEST_TRIM = 0.5
#: What the comparison of the velocities found, by the one that is taken.
_COMPARED = {
    "measured": "it has less noise than the differences of the position",
    "differentiate": "the measured one has more noise, or does not agree",
}


@dataclass(frozen=True)
class Processing:
    """How a recording is turned into regression data. The defaults suit most recordings at 100 Hz to 5 kHz.

    Attributes
    ----------
    cutoff : float, None or "auto"
        Cut-off of the low-pass filter of q and, where measured, dq [Hz]; ``None``: no filter; ``"auto"``: chosen by
        what the model explains (`casid.regression.choose_processing`) where there is one, as in `identify`, otherwise
        from the spectra of the positions (`choose_cutoff`).
    torque_cutoff : float, None or "same"
        Cut-off for the torques [Hz].
    order : int
        Order of the Butterworth filter; run forth and back, so phase is zero and the order effectively doubles.
    rate : float, None or "auto"
        Uniform grid by linear interpolation [Hz]; ``"auto"``: at the median rate, if the time stamps are irregular;
        ``None``: keep the stamps, differences are then taken over them.
    velocity : {"auto", "differentiate", "measured"}
        Central differences of the filtered q, or the (filtered) measured dq; ``"auto"``: the measured one where it is
        there, agrees with the differences and has less noise (`measured_is_better`).
    acceleration : {"differentiate", "measured"}
        Central differences of dq, or the (filtered) measured ddq.
    filter_position : bool
        Whether q itself is filtered.
    acceleration_cutoff : float, optional
        Further filter of the differentiated acceleration [Hz].
    trim : float or "auto"
        Seconds dropped at both ends: filters ring there. Before filtering, the signal is extended by its odd reflection
        over as long. ``"auto"``: 0.5 s, at most a tenth of the recording a side.
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
    defects : bool
        Whether gaps, repeated samples, spikes, saturation and standstill are found, repaired where possible, and the
        torques within the filter's reach of them left out; `Dataset.defects` lists them.
    cutoff_reason : str
        Why this cut-off of the torques, for the steps of the recording.
    delay : float
        Time by which the torques lag behind the positions [s]; taken out by interpolation, to a fraction of a sample.
    """

    cutoff: float | Literal["auto"] | None = "auto"
    torque_cutoff: float | Literal["same"] | None = "same"
    order: int = 4
    rate: float | Literal["auto"] | None = "auto"
    velocity: Literal["auto", "differentiate", "measured"] = "auto"
    acceleration: Literal["differentiate", "measured"] = "differentiate"
    filter_position: bool = True
    acceleration_cutoff: float | None = None
    trim: float | Literal["auto"] = "auto"
    every: int | Literal["auto"] = "auto"
    between: tuple[float, float] | None = None
    slowest: float = 0.0
    filter_columns: bool = True
    delay: float = 0.0
    defects: bool = True
    cutoff_reason: str = ""

    def __post_init__(self) -> None:
        if self.velocity not in ("auto", "differentiate", "measured"):
            raise DatasetError(f"velocity must be 'auto', 'differentiate' or 'measured', got {self.velocity!r}")
        if self.acceleration not in ("differentiate", "measured"):
            raise DatasetError(f"acceleration must be 'differentiate' or 'measured', got {self.acceleration!r}")
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
        data, found = repaired(recording) if self.defects else (recording, ())
        data = without_rest(data, found, LONGEST_TRIM)
        data = uniform(data, self.rate)
        frequency = 1.0 / data.period
        data = advanced(data, self.delay)
        settings = self._resolved(data, frequency)
        made = settings._filtered(data, frequency, self)
        if self.defects:
            made = settings._without(made, found, frequency)
        return settings._selected(made, frequency)

    def _resolved(self, data: Dataset, frequency: float) -> Processing:
        """The settings with numbers for the cut-offs and the trim, and a source for the velocity."""
        cutoff = choose_cutoff(data.q, frequency) if self.cutoff == "auto" else self.cutoff
        torque_cutoff = cutoff if self.torque_cutoff == "same" else self.torque_cutoff
        trim = min(LONGEST_TRIM, MOST_LOST * float(data.t[-1] - data.t[0])) if self.trim == "auto" else self.trim
        velocity = self.velocity
        if velocity == "auto":
            velocity = "measured" if measured_is_better(data, cutoff, frequency) else "differentiate"
        return replace(self, cutoff=cutoff, torque_cutoff=torque_cutoff, trim=trim, velocity=velocity)

    def _filter(
        self, cutoff: float | Literal["auto", "same"] | None, data: Dataset, frequency: float
    ) -> LowPass | None:
        """The filter of a cut-off for a recording."""
        if cutoff is None:
            return None
        assert not isinstance(cutoff, str) and self.trim != "auto"
        try:
            made = LowPass(cutoff, self.order, frequency, round(self.trim * frequency))
        except DatasetError as error:
            raise DatasetError(f"{data.name}: {error}") from None
        if len(data) <= made.fewest:
            raise DatasetError(
                f"{data.name}: {len(data)} samples are too few for the filter, which needs more than {made.fewest}"
            )
        return made

    def _filtered(self, data: Dataset, frequency: float, asked: Processing) -> Dataset:
        """The whole recording filtered and differentiated."""

        def smooth(values: Array, cutoff: float | Literal["auto", "same"] | None) -> Array:
            low_pass = self._filter(cutoff, data, frequency)
            return values if low_pass is None else low_pass(values)

        def measured(values: Array | None, what: str) -> Array:
            if values is None:
                raise DatasetError(f"{data.name}: it has no measured {what}; use {what}='differentiate'")
            return smooth(values, self.cutoff)

        q_filtered = smooth(data.q, self.cutoff)
        if self.velocity == "measured":
            dq = measured(data.dq, "velocity")
        else:
            dq = np.gradient(q_filtered, data.t, axis=0)
        if self.acceleration == "measured":
            ddq = measured(data.ddq, "acceleration")
        else:
            ddq = smooth(np.gradient(dq, data.t, axis=0), self.acceleration_cutoff)
        if self.defects:  # friction of a joint that stands does not follow from the noise of its position
            dq, ddq = (np.where(standing_joints(q_filtered), 0.0, values) for values in (dq, ddq))
        q = q_filtered if self.filter_position else data.q
        low_pass = self._filter(self.torque_cutoff, data, frequency) if self.filter_columns else None
        compared = asked.velocity == "auto" and data.dq is not None
        return replace(
            data,
            q=q,
            dq=dq,
            ddq=ddq,
            tau=smooth(data.tau, self.torque_cutoff),
            tau_raw=data.tau,
            full=None if low_pass is None else FullRate(q, dq, ddq, data.tau, low_pass, np.arange(len(data))),
            steps=(*data.steps, *self._sentences(asked.cutoff == "auto", compared)),
        )

    def _without(self, data: Dataset, found: tuple[Defect, ...], frequency: float) -> Dataset:
        """The filtered recording without the torques within the filter's reach of its defects."""
        cutoffs = [one for one in (self.cutoff, self.torque_cutoff) if isinstance(one, float | int)]
        low_pass = self._filter(min(cutoffs), data, frequency) if cutoffs else None
        reach = (2 if low_pass is None else low_pass.reach) / frequency
        shortest = 2.0 / (SAMPLES_PER_PERIOD * min(cutoffs)) if cutoffs else 0.0  # shorter gaps are interpolated
        defects, remaining = treated(found, data.t, data.n, reach, shortest)
        mask = data.counted & remaining
        return _with_defects(replace(data, mask=None if mask.all() else mask), defects, reach)

    def _selected(self, data: Dataset, frequency: float) -> Dataset:
        """The samples that are kept: without both ends, where filters settle, and not more than the filter passes."""
        assert self.trim != "auto" and self.torque_cutoff != "same"
        if self.trim:
            span = data.t[-1] - data.t[0]
            if 2 * self.trim >= span:
                words = f"lasts {span:.3g} s, trimming {self.trim:g} s at both ends leaves nothing"
                raise DatasetError(f"{data.name}: {words}")
            first, last = data.t[0] + self.trim, data.t[-1] - self.trim
            count = round(self.trim * frequency)
            inside = slice(count, len(data) - count) if regular(data.t) else (data.t >= first) & (data.t <= last)
            data = data.rows(inside, f"trimmed {self.trim:g} s from both ends")
        band = self.torque_cutoff
        enough = 1 if band is None else max(1, int(frequency / (SAMPLES_PER_PERIOD * band)))
        every = enough if self.every == "auto" else self.every
        if every > 1:
            data = data.rows(slice(None, None, every), f"kept every {every}th sample")
        if self.between is not None:
            data = data.between(*self.between)
        return data.moving(self.slowest) if self.slowest else data

    def _sentences(self, chosen: bool, compared: bool) -> list[str]:
        """What was done, in words; whether the cut-off was chosen, and whether velocities were compared."""

        def filtered(cutoff: float | str | None) -> str:
            return f"Butterworth order {self.order}, zero phase, {cutoff:g} Hz" if cutoff else "not filtered"

        motion = {
            "position": self.filter_position or self.velocity == "differentiate",
            "velocity": self.velocity == "measured",
            "acceleration": self.acceleration == "measured",
        }
        both = bool(self.torque_cutoff and self.filter_columns)
        with_columns = ", and the columns of the regressor with it" * both
        reason = f" ({self.cutoff_reason})" if self.cutoff_reason else ""
        again = f", filtered again at {self.acceleration_cutoff:g} Hz" if self.acceleration_cutoff else ""
        dq = "as measured" if motion["velocity"] else "central differences of the filtered position"
        ddq = "as measured" if motion["acceleration"] else "central differences of the velocity"
        return [
            f"{' and '.join(name for name, used in motion.items() if used)}: {filtered(self.cutoff)}"
            + " (chosen from the spectra)" * chosen,
            f"torque: {filtered(self.torque_cutoff)}{reason}{with_columns}",
            f"velocity: {dq}" + (f"; {_COMPARED[self.velocity]}" if compared else ""),
            f"acceleration: {ddq}{again}",
        ]


def prepare(recording: Dataset, processing: Processing | bool | None = None) -> Dataset:
    """A recording made ready for regression.

    Parameters
    ----------
    recording
    processing
        Settings; ``True`` or ``None``: the defaults, whatever columns there are; ``False``: the recording is taken as
        it is, every sample of it. Samples that are no motion (`is_motion`), such as random states, are taken as they
        are by default too.

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
    if processing is False or (processing is None and complete and not is_motion(recording)):
        why = "velocities and accelerations were given"
        if is_motion(recording) and (np.diff(recording.t) > 0).all():
            recording = _with_defects(recording, find_defects(recording).defects, 0.0)
        if processing is None:
            why = "its samples are not consecutive ones of a motion"
        return replace(recording, steps=(*recording.steps, f"taken as it is: {why}"))
    return Processing().apply(recording)


def _with_defects(data: Dataset, defects: tuple[Defect, ...], reach: float) -> Dataset:
    """The recording with its defects and a note for each kind of them; torques that are reversed stay so."""
    before = tuple(one for one in data.defects if one.kind == "reversed")
    notes = defect_notes(data.name, defects, reach, data.joints)
    return replace(data, defects=(*before, *defects), notes=(*data.notes, *notes))


def is_motion(recording: Dataset) -> bool:
    """Whether the rows are consecutive samples of a motion: steps of the positions are short beside their spread.

    Of independent states the mean square of a step is twice the variance; a quarter of that is the limit,
    which a sine of nine samples a period reaches.
    """
    spread = recording.q.var(axis=0)
    steps = (np.diff(recording.q, axis=0) ** 2).mean(axis=0)
    return bool(spread.sum() > 0 and (2 * steps.sum() <= spread.sum()))
