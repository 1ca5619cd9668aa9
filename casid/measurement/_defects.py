"""Defects of a recording: gaps, repeated samples, spikes, saturation and standstill, found in the samples as measured.

A defect spoils more than its own samples: a low-pass filter carries it as far as its impulse response reaches. Found
here, spikes and repeated samples are replaced by interpolation before the filter, and the torques within the
reach are left out afterwards (`Processing`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
DefectKind = Literal["gap", "repeats", "spike", "saturation", "standstill"]

#: A time step of more than so many periods is a gap; so is a step of a position of more than so many usual ones.
GAP_PERIODS = 3.0
#: A spike stands out by so many standard deviations of what is left of a signal, and by this share of its range.
SPIKE_SD, SPIKE_SHARE = 12.0, 0.15
#: Least step of a position, over its travel, that counts as lost samples.
LOST_SHARE = 2e-3
#: Widest spike, in strides at which spikes are looked for: each finds widths of one and two.
STRIDES = (1, 3)
#: Samples in a row at the extreme value that are a saturation, and share of a joint's samples from which they count.
SATURATED_RUN, SATURATED_SHARE = 5, 1e-3
#: A joint stands still that moves less than this share of its travel, or so many standard deviations of its noise,
#: for so long [s].
STILL_SHARE, STILL_SD, STILL_TIME = 5e-4, 6.0, 0.5
#: Largest share of a joint's samples that spikes and repeats may take away, and that standstill may.
MOST_SPOILED, MOST_STILL = 0.1, 0.5
#: A joint whose travel is below this share of the largest does not show lost samples.
LEAST_MOTION = 0.02
#: Standard deviation over the median absolute deviation, of Gaussian noise.
MAD = 1.4826


@dataclass(frozen=True)
class Defect:
    """Samples of a recording that do not measure the motion.

    Attributes
    ----------
    kind : {"gap", "repeats", "spike", "saturation", "standstill"}
        Lost samples; samples that repeat the one before; single values far off; torques at their extreme value;
        no motion, where friction is not determined.
    joint : int, optional
        Index of the joint from 0; ``None``: all joints.
    start, end : float
        First and last moment [s].
    samples : int
        Samples that are lost, repeated, off, saturated, or still.
    masked : bool
        Whether the torques there, and within the filter's reach, are left out.
    """

    kind: DefectKind
    joint: int | None
    start: float
    end: float
    samples: int
    masked: bool = False

    def covers(self, joint: int) -> bool:
        """Whether it spoils the torques of a joint."""
        return self.joint is None or self.joint == joint


def time_gaps(t: Array) -> list[Defect]:
    """Steps of the clock longer than `GAP_PERIODS` of its periods [s]."""
    steps = np.diff(t)
    if not (steps > 0).any():
        return []
    period = float(np.median(steps[steps > 0]))
    places = np.flatnonzero(steps > GAP_PERIODS * period)
    return [Defect("gap", None, float(t[k]), float(t[k + 1]), round(steps[k] / period) - 1) for k in places]


def find_defects(t: Array, q: Array, tau: Array) -> tuple[list[Defect], Flags, Flags, Flags]:
    """Defects of samples as measured.

    Parameters
    ----------
    t, q, tau
        Time [s], positions and torques, shapes (N,), (N, n), (N, n).

    Returns
    -------
    defects : list of Defect
    q_off, tau_off : ndarray of bool, shape (N, n)
        Spikes: values that are to be interpolated.
    repeated : ndarray of bool, shape (N,)
        Samples that repeat the one before: all of their values are to be interpolated.
    """
    n = q.shape[1]
    travel = np.ptp(q, axis=0)
    moves = travel > LEAST_MOTION * travel.max()
    still = [_still(t, q[:, k]) for k in range(n)]
    resting: Flags = np.asarray(np.stack(still).all(axis=0))
    repeated: Flags = _repeated(q, tau) & ~resting
    none = np.zeros(len(t), dtype=bool)
    q_off = np.stack([_spikes(q[:, k], repeated) if moves[k] else none for k in range(n)], axis=1)
    tau_off = np.stack([_spikes(tau[:, k], repeated) for k in range(n)], axis=1)
    found = time_gaps(t)
    found += _lost(t, q[:, moves], repeated | q_off.any(axis=1))
    found += _spells("repeats", None, t, repeated)
    found += _spells("spike", None, t, np.asarray(q_off.any(axis=1)))
    for k in range(n):
        found += _spells("spike", k, t, tau_off[:, k] & ~q_off.any(axis=1))
        found += _spells("saturation", k, t, _saturated(tau[:, k]))
        found += _spells("standstill", k, t, still[k]) if not still[k].all() else ()
    return found, q_off, tau_off, repeated


#: Kind -> what it is called in a note.
_WORDS: Mapping[DefectKind, str] = {
    "gap": "lost samples", "repeats": "repeated samples", "spike": "spikes", "saturation": "saturated torques",
    "standstill": "standstill",
}  # fmt: skip


def defect_notes(name: str, defects: Sequence[Defect], reach: float, joints: Sequence[str] = ()) -> list[str]:
    """One note for each kind of defect.

    Parameters
    ----------
    name
        Of the recording.
    defects
        Of `left_out`.
    reach
        Of the filter [s].
    joints
        Names of the joints; by default their numbers.
    """
    notes = []
    for kind, words in _WORDS.items():
        own = [one for one in defects if one.kind == kind]
        if not own:
            continue
        of = sorted({one.joint for one in own if one.joint is not None})
        who = "all joints" if len(of) < len({one.joint for one in own}) else _listed(of, joints)
        where = ", ".join(f"{one.start:.4g} to {one.end:.4g} s" for one in own[:3]) + (" ..." if len(own) > 3 else "")
        done = f"left out with {reach:.2g} s on both sides" if any(one.masked for one in own) else "not left out"
        count = sum(one.samples for one in own)
        what = "sample" if who == "all joints" else "torque sample"  # of several joints: each one's own
        notes.append(f"{name}: {words} of {who}, {count} {what}{'s' * (count != 1)}, {where}: {done}")
    return notes


def _listed(of: Sequence[int], joints: Sequence[str]) -> str:
    return ("joint " if len(of) == 1 else "joints ") + ", ".join(joints[k] if joints else str(k + 1) for k in of)


def interpolated(t: Array, values: Array, off: Flags) -> Array:
    """Values with those that are off replaced by linear interpolation, shape (N, n)."""
    made = np.array(values)
    for k in np.flatnonzero(off.any(axis=0)):
        bad = off[:, k]
        made[bad, k] = np.interp(t[bad], t[~bad], values[~bad, k])
    return made


def left_out(found: Sequence[Defect], t: Array, n: int, reach: float, shortest: float) -> tuple[list[Defect], Flags]:
    """Which defects are left out, and the torques that remain.

    Short gaps and repeats are interpolated well enough. Where spikes would take more than `MOST_SPOILED` of a joint's
    samples they are interpolated only; where a joint stands still for longer than `MOST_STILL` of the recording, as in
    one of poses, its standstill is what was measured.

    Parameters
    ----------
    found
        Of `find_defects`.
    t
        Time of the samples [s].
    n
        Number of joints.
    reach
        Of the filter [s].
    shortest
        Gaps and repeats that are shorter are not left out [s].

    Returns
    -------
    defects : list of Defect
        Each with `Defect.masked`; of gaps and repeats those that are left out.
    remaining : ndarray of bool, shape (N, n)
    """
    period = float(np.median(np.diff(t)))
    known = merged((one for one in found if _matters(one, shortest, period)), 2.0 * reach)
    remaining = np.ones((len(t), n), dtype=bool)
    made: list[Defect] = []
    for kind, most in (
        ("gap", 1.0), ("repeats", MOST_SPOILED), ("saturation", MOST_STILL), ("spike", MOST_SPOILED),
        ("standstill", MOST_STILL),
    ):  # fmt: skip
        own = [one for one in known if one.kind == kind]
        flags = np.stack([spoiled(own, k, t, reach) for k in range(n)], axis=1)
        counted = flags.mean(axis=0) <= most
        remaining[:, counted] &= ~flags[:, counted]
        made += [replace(one, masked=bool(counted.all() if one.joint is None else counted[one.joint])) for one in own]
    return sorted(made, key=lambda d: d.start), remaining


def _matters(defect: Defect, shortest: float, period: float) -> bool:
    """Whether a defect is longer than what interpolation bridges; lost samples without a clock always are."""
    if defect.kind == "gap":
        span = defect.end - defect.start
        return span > shortest or span <= 1.5 * period
    return defect.kind != "repeats" or defect.samples * period > shortest


def merged(defects: Iterable[Defect], distance: float) -> list[Defect]:
    """Defects of one kind and joint that lie within a distance [s] as one, in the order of time."""
    made: list[Defect] = []
    for one in sorted(defects, key=lambda d: (d.kind, -1 if d.joint is None else d.joint, d.start)):
        last = made[-1] if made else None
        if last and (last.kind, last.joint) == (one.kind, one.joint) and one.start - last.end <= distance:
            made[-1] = replace(last, end=max(last.end, one.end), samples=last.samples + one.samples)
        else:
            made.append(one)
    return sorted(made, key=lambda d: d.start)


def spoiled(defects: Sequence[Defect], joint: int, t: Array, reach: float) -> Flags:
    """Which samples of a joint lie within the filter's reach [s] of its defects, shape (N,)."""
    flags = np.zeros(len(t), dtype=bool)
    for one in defects:
        if one.covers(joint):
            first, last = np.searchsorted(t, (one.start - reach, one.end + reach))
            flags[first:last] = True
    return flags


def _spells(kind: DefectKind, joint: int | None, t: Array, flags: Flags) -> Iterator[Defect]:
    """Runs of flagged samples."""
    for first, end in _runs(flags):
        yield Defect(kind, joint, float(t[first]), float(t[end - 1]), int(end - first))


def _runs(flags: Flags) -> NDArray[np.intp]:
    """First index, and index after the last, of each run of flags, shape (runs, 2)."""
    edges = np.diff(np.concatenate([[False], flags, [False]]).astype(int))
    return np.stack([np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)], axis=1)


def _sd(values: Array) -> float:
    """Standard deviation of the bulk of values around zero."""
    return MAD * float(np.median(np.abs(values))) if len(values) else 0.0


def white_noise(values: Array) -> float:
    """Standard deviation of white noise on a smooth signal: of its fourth differences, whose variance is 70-fold."""
    return _sd(np.diff(values, 4)) / np.sqrt(70.0) if len(values) > 4 else 0.0


def _repeated(q: Array, tau: Array) -> Flags:
    """Samples whose positions and torques are all those of the sample before."""
    same = (np.diff(q, axis=0) == 0).all(axis=1) & (np.diff(tau, axis=0) == 0).all(axis=1)
    return np.concatenate([[False], same])


def _spikes(values: Array, left_out: Flags) -> Flags:
    """Single values far off their neighbours.

    Two predictions of a sample from the others must fail: the median of five (a step of friction passes it) and the
    cubic through four (the curvature of a fast motion passes it).
    """
    from scipy.ndimage import median_filter

    places = np.flatnonzero(~left_out)
    x = values[places]
    flags = np.zeros(len(values), dtype=bool)
    span = float(np.quantile(x, 0.99) - np.quantile(x, 0.01))
    for stride in STRIDES:
        if len(x) < 12 * stride or span == 0.0:
            break
        padded = np.pad(x, 2 * stride, mode="edge")

        def moved(by: int, padded: Array = padded, stride: int = stride) -> Array:
            return padded[(2 + by) * stride : (2 + by) * stride + len(x)]

        cubic = np.abs(x - (4 * (moved(-1) + moved(1)) - moved(-2) - moved(2)) / 6)
        median = np.abs(x - median_filter(x, 4 * stride + 1, mode="nearest"))
        score = np.minimum(3.0 * cubic, median)
        score[: 2 * stride] = score[-2 * stride :] = 0.0
        flags[places[score > max(SPIKE_SD * max(_sd(median), _sd(cubic)), SPIKE_SHARE * span)]] = True
    return flags


def _lost(t: Array, q: Array, left_out: Flags) -> list[Defect]:
    """Steps of the positions that no motion takes in one period: samples lost by a recorder without a clock."""
    places = np.flatnonzero(~left_out)
    if len(places) < 20:
        return []
    from scipy.ndimage import median_filter

    spans = np.diff(t[places])
    even = spans <= 1.5 * np.median(spans)
    jumps = np.zeros(len(spans), dtype=bool)
    count = np.ones(len(spans))
    for column in q[places].T:
        step = np.diff(column)
        usual = median_filter(step, 7, mode="nearest")
        off = np.abs(step - usual)
        size = np.abs(usual)
        far = even & (size > 0) & (off > max(SPIKE_SD * _sd(off), LOST_SHARE * float(np.ptp(column))))
        far &= off > GAP_PERIODS * size
        count = np.where(far, np.maximum(count, off / np.maximum(size, 1e-12)), count)
        jumps |= far
    return [
        Defect("gap", None, float(t[places[k]]), float(t[places[k + 1]]), int(min(count[k], 1e6)))
        for k in np.flatnonzero(jumps)
    ]


def _saturated(tau: Array) -> Flags:
    """Torques that stay at their largest or smallest value.

    A peak of a quantised signal stays there too; but as far beyond the run as the run is long, a peak has fallen by
    eight quanta only, and a clipped one by more.
    """
    flags = np.zeros(len(tau), dtype=bool)
    levels = np.unique(tau)
    if len(levels) < 20:
        return flags
    quantum = float(np.diff(levels).min())
    for extreme in (levels[0], levels[-1]):
        for first, end in _runs(tau == extreme):
            length = end - first
            if length < SATURATED_RUN:
                continue
            before, after = tau[max(first - length, 0)], tau[min(end + length, len(tau)) - 1]
            if min(abs(before - extreme), abs(after - extreme)) > 16 * quantum:
                flags[first:end] = True
    return flags if flags.mean() >= SATURATED_SHARE else np.zeros(len(tau), dtype=bool)


def _still(t: Array, q: Array) -> Flags:
    """Samples within `STILL_TIME` of which, as a whole, the position hardly changes."""
    from scipy.ndimage import maximum_filter1d, minimum_filter1d

    steps = np.diff(t)
    period = float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.0
    window = max(3, round(STILL_TIME / period)) if period else 3
    if window >= len(q):
        return np.zeros(len(q), dtype=bool)
    reach = maximum_filter1d(q, window, mode="nearest") - minimum_filter1d(q, window, mode="nearest")
    travel = float(np.ptp(q))
    calm = reach < max(STILL_SHARE * travel, STILL_SD * white_noise(q))
    if travel == 0.0:
        return np.ones(len(q), dtype=bool)
    return np.asarray(maximum_filter1d(calm.astype(np.int8), window, mode="constant") > 0)
