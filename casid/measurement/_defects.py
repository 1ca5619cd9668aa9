"""Defects of a recording as data: what does not measure the motion, where, and in how many samples.

They are found once, in the samples as measured. A low-pass filter carries a defect as far as its impulse response
reaches: spikes and repeated samples are replaced by interpolation before the filter, and the torques within the reach
are left out afterwards (`Processing`). Notes and the verdict of an identification only word this list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from casid.arrays import ALIKE, Array, Flags
from casid.evidence import CONFIDENCE, robust_sd, white_sd

if TYPE_CHECKING:
    from casid.measurement._dataset import Dataset

DefectKind = Literal["gap", "repeats", "spike", "saturation", "standstill", "dead", "velocity", "reversed"]
Treatment = Literal["kept", "bridged", "left out"]

#: Least number of samples lost in a row that is a gap: one period more or less is jitter of the clock.
FEWEST_LOST = 2
#: A spike stands out by so many standard deviations of what is left of a signal (twice the six that no sample of a
#: recording with Gaussian noise reaches), and by this share of its range.
SPIKE_SD, SPIKE_SHARE = 12.0, 0.15
#: Least step of a position, over its travel, that counts as lost samples.
LOST_SHARE = 2e-3
#: A smooth peak is a parabola: it spends one third of the time within nine quanta of its top within the first.
PEAK, QUANTA = 1.0 / 3.0, 9.0
#: A joint stands still that moves less than this share of its travel, or so many standard deviations of its noise (a
#: range of white noise), for so long [s].
STILL_SHARE, STILL_SD, STILL_TIME = 5e-4, 6.0, 0.5
#: A joint that moves less in the whole recording does not move [rad or m].
STILL = 1e-3
#: Measured velocities are the differences of the positions to this factor (any two units, and any two usual sampling
#: rates, differ by more), with this correlation at least (half of their variance is noise at 0.7).
VELOCITY, CORRELATED = 1.1, 0.8
#: Largest share of the samples that may be left out (spikes, repeats, missing numbers, ends), and for saturation.
MOST_LOST, MOST_SATURATED = 0.1, 0.5
#: A joint that moves less than this share of the one that moves most does not show the motion.
LEAST_MOTION = 0.02


@dataclass(frozen=True, eq=False)
class Defect:
    """Samples of a recording that do not measure the motion.

    Attributes
    ----------
    kind : {"gap", "repeats", "spike", "saturation", "standstill", "dead", "velocity", "reversed"}
        Lost samples; samples that repeat the one before; single values far off; torques at the limit of the drive or
        its channel; no motion, where friction is not determined; a torque that never changes; measured velocities that
        are not the derivative of the positions; a torque whose sign contradicts the robot's dynamics.
    joint : int, optional
        Index of the joint from 0; ``None``: all joints.
    spans : ndarray, shape (m, 2)
        First and last moment of each occurrence [s].
    counts : ndarray of int, shape (m,)
        Samples of each that are lost, repeated, off, saturated, or still.
    share : float
        Of the samples, 0 to 1; of a gap, of those that were to be recorded.
    treatment : {"kept", "bridged", "left out"}
        What `Processing` did: nothing; interpolation; the torques there, and within the filter's reach, do not count.
    values : mapping of str to float
        ``level`` of saturation [N.m or N]; ``factor`` from the measured velocities to the differences.
    """

    kind: DefectKind
    joint: int | None
    spans: Array
    counts: NDArray[np.intp]
    share: float = 1.0
    treatment: Treatment = "kept"
    values: Mapping[str, float] = field(default_factory=dict)

    @property
    def samples(self) -> int:
        """Samples of all occurrences."""
        return int(self.counts.sum())

    @property
    def longest(self) -> float:
        """Length of the longest occurrence [s]."""
        return float(np.ptp(self.spans, axis=1).max())

    def mask(self, t: Array, reach: float = 0.0) -> Flags:
        """Samples at the times ``t`` that are in it, or within a filter's ``reach`` [s] of it, shape (N,)."""
        edges = np.zeros(len(t) + 1, dtype=int)
        np.add.at(edges, np.searchsorted(t, self.spans[:, 0] - reach), 1)
        np.add.at(edges, np.searchsorted(t, self.spans[:, 1] + reach, "right"), -1)
        return np.asarray(np.cumsum(edges[:-1]) > 0)

    def part(self, which: Flags, treatment: Treatment) -> Iterator[Defect]:
        """Some of its occurrences, if any, with what was done to them."""
        if which.any():
            counts = self.counts[which]
            share = self.share * float(counts.sum()) / max(self.samples, 1)
            yield replace(self, spans=self.spans[which], counts=counts, share=share, treatment=treatment)


@dataclass(frozen=True, eq=False)
class Found:
    """Defects of samples as measured, and the values among them that are to be interpolated.

    Attributes
    ----------
    defects : tuple of Defect
    q_off, tau_off : ndarray of bool, shape (N, n)
        Spikes and repeats.
    repeated : ndarray of bool, shape (N,)
    """

    defects: tuple[Defect, ...]
    q_off: Flags
    tau_off: Flags
    repeated: Flags


def find_defects(data: Dataset) -> Found:
    """Defects of a recording whose samples are consecutive ones of a motion, as measured; time increases."""
    t, q, tau, n = data.t, data.q, data.tau, data.n
    moves = moving_joints(q)
    still = _still(t, q) | standing_joints(q)
    resting: Flags = np.asarray(still.all(axis=1))
    repeated = _repeated(q, tau) & ~resting
    none = np.zeros(len(t), dtype=bool)
    q_off = np.stack([_spikes(q[:, k], repeated) if moves[k] else none for k in range(n)], axis=1)
    tau_off = np.stack([_spikes(tau[:, k], repeated) for k in range(n)], axis=1)
    position: Flags = np.asarray(q_off.any(axis=1))
    found = [*time_gaps(t), *_lost(t, q[:, moves], repeated | position)]
    found += [*_of("repeats", None, t, repeated), *_of("spike", None, t, position), *_velocities(data, moves)]
    found += _of("standstill", None, t, resting & ~resting.all())
    for k in range(n):
        found += _of("spike", k, t, tau_off[:, k] & ~position)
        found += _of("standstill", k, t, still[:, k])
        constant = np.ptp(tau[:, k]) == 0.0
        found += _of("dead", k, t, none | constant, level=float(tau[0, k]))
        for level, at in () if constant else _saturated(tau[:, k], ~(repeated | still[:, k]), 2 * n):
            found += _of("saturation", k, t, at, level=level)
    return Found(tuple(found), q_off | repeated[:, None], tau_off | repeated[:, None], repeated)


def moving_joints(q: Array) -> Flags:
    """Joints that take part in the motion: none whose travel is below `STILL` or `LEAST_MOTION` of the largest one."""
    travel = np.ptp(q, axis=0)
    return np.asarray((travel >= STILL) & (travel > LEAST_MOTION * travel.max(initial=0.0)))


def standing_joints(q: Array) -> Flags:
    """Joints that do not move at all: what their positions change by is noise."""
    return np.asarray(np.ptp(q, axis=0) < STILL)


def time_gaps(t: Array, fewest: int = FEWEST_LOST) -> list[Defect]:
    """Steps of the clock that miss samples: a step of k periods, rounded, has lost k - 1.

    Parameters
    ----------
    t
        Time [s].
    fewest
        Samples lost in a row from which a step counts.
    """
    steps = np.diff(t)
    if not (steps > 0).any():
        return []
    lost = np.rint(steps / np.median(steps[steps > 0])).astype(int) - 1
    places = np.flatnonzero(lost >= fewest)
    return _gap(t, places, places + 1, lost[places])


def _gap(t: Array, first: NDArray[np.intp], last: NDArray[np.intp], lost: NDArray[np.intp]) -> list[Defect]:
    count = int(lost.sum())
    spans = np.stack([t[first], t[last]], axis=1)
    return [Defect("gap", None, spans, lost, count / (len(t) + count))] if count else []


#: Kind -> what it is called in a note.
_WORDS: Mapping[DefectKind, str] = {
    "gap": "lost samples", "repeats": "repeated samples", "spike": "spikes", "saturation": "saturated torques",
    "standstill": "standstill", "dead": "dead channel, a torque that never changes,", "velocity": "measured velocities "
    "that are not the derivative of the positions (unit, time stamps or column?)", "reversed": "torques whose sign "
    "contradicts the robot's dynamics",
}  # fmt: skip


def defect_notes(name: str, defects: Sequence[Defect], reach: float, joints: Sequence[str] = ()) -> list[str]:
    """One note for each kind of defect and its treatment.

    Parameters
    ----------
    name
        Of the recording.
    defects
        Of `treated`.
    reach
        Of the filter [s].
    joints
        Names of the joints; by default their numbers.
    """
    notes = []
    done = {"left out": f"left out with {reach:.2g} s on both sides", "bridged": "interpolated", "kept": "kept"}
    for kind, treatment in dict.fromkeys((one.kind, one.treatment) for one in defects):
        own = [one for one in defects if (one.kind, one.treatment) == (kind, treatment)]
        if kind == "standstill":  # of all joints at once: it is said of each
            own = [one for one in own if one.joint is not None]
        of = sorted({one.joint for one in own if one.joint is not None})
        who = "all joints" if len(of) < len({one.joint for one in own}) else _listed(of, joints)
        spans = sorted((float(a), float(b)) for one in own for a, b in one.spans)
        shown = [f"{round(a, 2):.14g} to {round(b, 2):.14g} s" for a, b in dict.fromkeys(spans[:3])]
        where = ", ".join(shown) + " ..." * (len(spans) > 3)
        count = sum(one.samples for one in own)
        what = "sample" if who == "all joints" else "torque sample"  # of several joints: each one's own
        numbers = [f"{key} {value:.4g}" for one in own for key, value in one.values.items()][:3]
        numbers += [f"{count} {what}{'s' * (count != 1)}", where]
        notes.append(f"{name}: {_WORDS[kind]} of {who}, {', '.join(numbers)}: {done[treatment]}")
    return notes


def _listed(of: Sequence[int], joints: Sequence[str]) -> str:
    return ("joint " if len(of) == 1 else "joints ") + ", ".join(joints[k] if joints else str(k + 1) for k in of)


def treated(
    found: Sequence[Defect], t: Array, n: int, reach: float, shortest: float
) -> tuple[tuple[Defect, ...], Flags]:
    """The defects with what is done to each, and the torques that remain.

    Short gaps and repeats are interpolated well enough. Where spikes would take more than `MOST_LOST` of a joint's
    samples they are interpolated only; where a joint moves for less than six of the shortest rests (`STILL_TIME`), its
    standstill is what was measured.

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
    defects : tuple of Defect
        In the order of time.
    remaining : ndarray of bool, shape (N, n)
    """
    period = float(np.median(np.diff(t)))
    remaining = np.ones((len(t), n), dtype=bool)
    made: list[Defect] = [one for one in found if one.kind in ("dead", "velocity", "reversed")]
    for kind, most in (
        ("gap", 1.0), ("repeats", MOST_LOST), ("saturation", MOST_SATURATED), ("spike", MOST_LOST),
        ("standstill", 1.0 - 6.0 * STILL_TIME / (len(t) * period)),
    ):  # fmt: skip
        pairs = [(one, _long(one, shortest, period)) for one in found if one.kind == kind]
        own = [part for one, long in pairs for part in one.part(long, "left out")]
        flags = np.zeros(remaining.shape, dtype=bool)
        for one in own:
            flags[:, [*range(n)] if one.joint is None else [one.joint]] |= one.mask(t, reach)[:, None]
        counted = flags.mean(axis=0) <= most
        remaining[:, counted] &= ~flags[:, counted]
        otherwise: Treatment = "kept" if kind in ("saturation", "standstill") else "bridged"
        made += [part for one, long in pairs for part in one.part(~long, "bridged")]
        made += [
            one if (counted.all() if one.joint is None else counted[one.joint]) else replace(one, treatment=otherwise)
            for one in own
        ]
    return tuple(sorted(made, key=lambda one: float(one.spans[0, 0]))), remaining


def _long(defect: Defect, shortest: float, period: float) -> Flags:
    """Which occurrences are longer than what interpolation bridges; lost samples without a clock always are."""
    spans = np.ptp(defect.spans, axis=1)
    if defect.kind == "gap":
        return np.asarray((spans > shortest) | (np.rint(spans / period) <= 1))
    return np.asarray(spans + period > shortest) if defect.kind == "repeats" else np.ones(len(spans), dtype=bool)


def _of(kind: DefectKind, joint: int | None, t: Array, flags: Flags, **values: float) -> Iterator[Defect]:
    """The defect of flagged samples, if there are any."""
    if flags.any():
        edges = np.diff(np.concatenate([[False], flags, [False]]).astype(int))
        first, end = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
        spans = np.stack([t[first], t[end - 1]], axis=1)
        yield Defect(kind, joint, spans, end - first, float(flags.mean()), values=values)


def _velocities(data: Dataset, moves: Flags) -> Iterator[Defect]:
    """Measured velocities that are not the differences of the positions, of all moving joints or of single ones."""
    if data.dq is None or not moves.any():
        return
    factor, _ = velocity_factors(data.t, data.q, data.dq)
    off = moves & ~same_velocity(factor)
    every = np.ones(len(data.t), dtype=bool)
    if off[moves].all():
        yield from _of("velocity", None, data.t, every, factor=float(np.median(factor[moves])))
    else:
        for k in np.flatnonzero(off):
            yield from _of("velocity", int(k), data.t, every, factor=float(factor[k]))


def same_velocity(factor: Array | float) -> Flags:
    """Whether factors to the differences of the positions are one."""
    return np.asarray((np.asarray(factor) * VELOCITY > 1.0) & (np.asarray(factor) < VELOCITY))


def velocity_factors(t: Array, q: Array, dq: Array) -> tuple[Array, Array]:
    """Factor of each measured velocity to the differences of the positions, and their correlation; NaN at rest."""
    width = max(1, len(t) // 2000)
    rate = np.diff(q[::width], axis=0)
    summed = np.vstack([np.zeros(q.shape[1]), np.cumsum((dq[1:] + dq[:-1]) / 2 * np.diff(t)[:, None], axis=0)])
    middle = np.diff(summed[::width], axis=0)
    power = (middle**2).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = (middle * rate).sum(axis=0) / power
        correlation = (middle * rate).sum(axis=0) / np.sqrt(power * (rate**2).sum(axis=0))
    moves = (np.abs(rate).max(axis=0) > 0) & (power > 0)
    return np.where(moves, factor, np.nan), np.where(moves, correlation, np.nan)


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
    for stride in (1, 3):  # each finds spikes of one and two strides
        if len(x) < 12 * stride or span == 0.0:
            break
        padded = np.pad(x, 2 * stride, mode="edge")

        def moved(by: int, padded: Array = padded, stride: int = stride) -> Array:
            return padded[(2 + by) * stride : (2 + by) * stride + len(x)]

        cubic = np.abs(x - (4 * (moved(-1) + moved(1)) - moved(-2) - moved(2)) / 6)
        median = np.abs(x - median_filter(x, 4 * stride + 1, mode="nearest"))
        score = np.minimum(3.0 * cubic, median)
        score[: 2 * stride] = score[-2 * stride :] = 0.0
        flags[places[score > max(SPIKE_SD * max(robust_sd(median), robust_sd(cubic)), SPIKE_SHARE * span)]] = True
    return flags


def _lost(t: Array, q: Array, left_out: Flags) -> list[Defect]:
    """Steps of the positions that no motion takes in one period: samples lost by a recorder without a clock."""
    places = np.flatnonzero(~left_out)
    if len(places) < 20:
        return []
    from scipy.ndimage import median_filter

    spans = np.diff(t[places])
    even = np.rint(spans / np.median(spans)) <= 1
    count = np.zeros(len(spans))
    for column in q[places].T:
        step = np.diff(column)
        usual = median_filter(step, 7, mode="nearest")
        off, size = np.abs(step - usual), np.abs(usual)
        far = even & (size > 0) & (off > max(SPIKE_SD * robust_sd(off), LOST_SHARE * float(np.ptp(column))))
        lost = off / np.maximum(size, 1e-12)
        far &= lost > FEWEST_LOST + 1  # the usual step is uncertain by one itself
        count = np.where(far, np.maximum(count, lost), count)
    jumps = np.flatnonzero(count)
    return _gap(t, places[jumps], places[jumps + 1], np.minimum(count[jumps], 1e6).astype(int))


def _saturated(tau: Array, counted: Flags, tests: int) -> Iterator[tuple[float, Flags]]:
    """Largest and smallest values at which a torque is clipped, and the samples there.

    Near its top a smooth signal is a parabola: within the first quantum of the top it spends at most `PEAK` of the time
    within nine (noise makes it less). More than that, by a binomial test of the effective samples, is a limit. Values
    that are held (a slow channel, coarse quanta) count as one sample.

    Parameters
    ----------
    tau
        Of one joint, shape (N,).
    counted
        Samples that are compared: neither repeated nor at rest.
    tests
        How many such tests a recording has; by chance one of them is positive with ``1 - CONFIDENCE``.
    """
    from scipy.special import betainc

    size = float(np.ptp(tau)) * ALIKE
    rounded = np.rint(tau / size)
    x = rounded[counted]
    levels = np.unique(x)
    quantum = float(np.diff(levels).min(initial=np.inf))
    if len(levels) < 2 or levels[-1] - levels[0] < 2 * QUANTA * quantum:
        return
    held = len(x) / (1 + np.count_nonzero(np.diff(x)))
    for level in (levels[-1], levels[0]):
        at, near = (np.count_nonzero(np.abs(x - level) < width * quantum) / held for width in (0.5, QUANTA))
        if betainc(at, near - at + 1.0, PEAK) < (1.0 - CONFIDENCE) / tests:  # at or more of near, each with PEAK
            yield float(level * size), np.asarray(counted & (rounded == level))


def _still(t: Array, q: Array) -> Flags:
    """Samples within `STILL_TIME` of which, as a whole, a joint's position hardly changes, shape (N, n)."""
    from scipy.ndimage import maximum_filter1d, minimum_filter1d

    steps = np.diff(t)
    window = max(3, round(STILL_TIME / float(np.median(steps[steps > 0]))))
    if window >= len(q):
        return np.zeros(q.shape, dtype=bool)
    reach = maximum_filter1d(q, window, 0, mode="nearest") - minimum_filter1d(q, window, 0, mode="nearest")
    calm = reach < np.maximum(STILL_SHARE * np.ptp(q, axis=0), STILL_SD * white_sd(q, 4))
    return np.asarray(maximum_filter1d(calm.astype(np.int8), window, 0, mode="constant") > 0)
