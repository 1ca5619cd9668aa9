"""Samples made regular: spikes and repeated samples interpolated, a uniform grid of time, torques moved by a delay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from casid.arrays import Array
from casid.errors import DatasetError
from casid.measurement._dataset import Dataset
from casid.measurement._defects import Defect, find_defects


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
    if kept is not None:
        return _filled(data, *kept)
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
    arrays, steps = _interpolated(data, grid, data.t), np.diff(data.t)
    spread = f"dt {1e3 * steps.min():.3g} to {1e3 * steps.max():.3g} ms"
    return replace(
        data,
        t=grid,
        **arrays,
        steps=(*data.steps, f"linear interpolation to {frequency:g} Hz ({spread} before)"),
    )


def _interpolated(data: Dataset, grid: Array, at: Array) -> dict[str, Any]:
    """Signals and mask on a grid, from samples at ``at``; a value counts where both its neighbours do."""
    arrays: dict[str, Any] = {
        name: None
        if (value := getattr(data, name)) is None
        else np.stack([np.interp(grid, at, column) for column in value.T], axis=1)
        for name in ("q", "dq", "ddq", "tau", "tau_raw")
    }
    if data.mask is not None:
        columns = [np.interp(grid, at, column.astype(float)) > 1.0 - 1e-9 for column in data.mask.T]
        arrays["mask"] = np.stack(columns, axis=1)
    return arrays


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


def _filled(data: Dataset, places: NDArray[np.intp], grid: Array) -> Dataset:
    """The recording on its own grid: its samples as they are, lost ones by linear interpolation."""
    grid[places] = data.t
    arrays = _interpolated(data, np.arange(len(grid), dtype=float), places.astype(float))
    step = f"{len(grid) - len(places)} lost samples interpolated, on the clock's own grid"
    return replace(data, t=grid, **arrays, steps=(*data.steps, step))


def _nominal_rate(period: float) -> float:
    """Nearest round rate [Hz]: 1000 for a median period of 1.0004 ms."""
    rate = 1.0 / period
    for digits in (1, 2, 3):
        rounded = float(f"{rate:.{digits}g}")
        if abs(rounded - rate) <= 0.02 * rate:
            return rounded
    return rate
