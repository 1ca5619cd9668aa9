"""The best of other readings of a recording: directions of gravity, signs, orders, zeros and clocks, each tried.

A few hundred samples tell which readings are worth a trial; the trial predicts parts of the whole motion from the
others, and a reading that does not improve this held-out error is no finding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from casid.arrays import Array
from casid.dynamics import Model
from casid.identification.diagnosis._findings import Finding, Trial
from casid.identification.diagnosis._readings import FEWER, Readings, plain_terms, widened, without_held, without_rest
from casid.identification.diagnosis._trial import (
    HeldOutErrors,
    clocked,
    compared,
    held_out_errors,
    later,
    reordered,
    shifted,
    signed,
)
from casid.measurement import Dataset

#: Share to which the residual must fall for another reading to be worth a trial, and to be a finding where the motion
#: is too short for one. On right recordings none falls below 0.986 (set on AR5, UR10e, Rokae and pieces of theirs).
WORTH, UNTRIED = 0.99, 0.85
#: Residual above which a reading is in doubt even if no other is better.
DOUBT = 0.2
#: Factors of all velocities that are tried.
CLOCKS = (0.1, 0.5, 0.7, 1.4, 2.0, 10.0)
#: Shift of a joint's zero from which a parabola is drawn, and the least that is a finding [rad].
SHIFT, LEAST_SHIFT = 0.1, 0.05
#: Readings that are tried, the best first.
MOST_TRIALS = 3


class Reading(NamedTuple):
    """A reading that a few samples prefer.

    Attributes
    ----------
    ratio : float
        Of its residual to that of the recording as it is, on the same samples.
    finding : Finding
    gravity : ndarray, shape (3,), or None
        In place of the model's.
    change : callable or None
        Of a processed recording.
    """

    ratio: float
    finding: Finding
    gravity: Array | None = None
    change: Callable[[Dataset], Dataset] | None = None


#: Better readings of one kind, and how many were compared.
_Better = tuple[list[Reading], int]


class Trials:
    """Remedies tried on processed recordings, against the recordings as they are.

    Parameters
    ----------
    model
        Of the fit; other readings are tried with linear friction in place of friction with shapes.
    datasets
        Processed.
    """

    def __init__(self, model: Model, datasets: Sequence[Dataset]) -> None:
        self._model = model
        wide = (widened(data, model.base.rank) for data in datasets)
        self._datasets = [without_rest(without_held(data, model.robot)) for data in wide]
        self._tried: dict[tuple[str, str], Reading] = {}

    def _plain(self, gravity: Array | None = None) -> Model:
        own = self._model.robot.gravity if self._model.gravity_vector is None else self._model.gravity_vector
        g = own if gravity is None else gravity
        return Model(self._model.robot, plain_terms(self._model), g, self._model.velocity_deadband)

    @cached_property
    def here(self) -> HeldOutErrors | None:
        """Held-out errors as recorded."""
        return held_out_errors(self._plain(), self._datasets)

    def of(self, reading: Reading) -> Trial | None:
        """The trial of a reading, if it improves the held-out error."""
        self._tried[reading.finding.cause, reading.finding.joint] = reading
        return compared(self.here, self._errors(reading))

    def _errors(self, reading: Reading) -> HeldOutErrors | None:
        changed = [d if reading.change is None else reading.change(d) for d in self._datasets]
        return held_out_errors(self._plain(reading.gravity), changed)

    @property
    def readings(self) -> tuple[Reading, ...]:
        """Those that were tried, the best on a few samples first."""
        return tuple(self._tried.values())

    def reading_of(self, finding: Finding) -> Reading | None:
        """The reading that was tried for a finding."""
        return self._tried.get((finding.cause, finding.joint))

    def better(self, reading: Reading, other: Reading) -> bool:
        """Whether a reading surely predicts better than another does."""
        return compared(self._errors(other), self._errors(reading)) is not None

    def better_than_gravity(self, reading: Reading, gravity: Array) -> bool:
        """Whether a reading surely predicts better than another direction of gravity does."""
        return self.better(reading, Reading(reading.ratio, reading.finding, gravity=gravity))

    def later(self, seconds: float) -> Trial | None:
        """The trial of torques taken from so many seconds later, with the friction of the fit."""
        moved = [later(d, seconds) for d in self._datasets]
        return compared(held_out_errors(self._model, self._datasets), held_out_errors(self._model, moved))

    def without(self, finding: Finding) -> Finding:
        """A finding about a channel with the trial of leaving it out: the other joints are predicted better."""
        k = int(finding.values["index"])
        others = [i for i in range(self._model.n) if i != k]
        model = self._plain()
        before = held_out_errors(model, self._datasets, others)
        after = held_out_errors(model, [d.only(others) for d in self._datasets], others)
        return replace(finding, trial=compared(before, after))


def better_readings(readings: Readings, dataset: Dataset, trials: Trials) -> tuple[list[Finding], int]:
    """The best other reading, if one improves the held-out error; and how many were compared.

    Parameters
    ----------
    readings, dataset
        A processed recording and its readings.
    trials
    """
    here = readings.residual(readings.regressor())
    fewer = readings.fewer(dataset, FEWER)
    few = fewer.residual(fewer.regressor())
    candidates: list[Reading] = []
    tried = 0
    kinds = (
        (_gravity, readings, here),
        (_signs, readings, here),
        (_orders, fewer, few),
        (_clocks, fewer, few),
        (_zeros, fewer, few),
    )
    for better, samples, residual in kinds:
        found, count = better(samples, residual)
        candidates += found
        tried += count
    candidates.sort(key=lambda reading: reading.ratio)
    if candidates and trials.here is None:  # too short to hold a part of it out
        return [reading.finding for reading in candidates[:1] if reading.ratio < UNTRIED], tried
    made = [(trials.of(reading), reading.finding) for reading in candidates[:MOST_TRIALS]]
    improved = [replace(finding, trial=trial) for trial, finding in made if trial is not None]
    return sorted(improved, key=_after)[:1], tried


def _after(finding: Finding) -> float:
    """Held-out error of a remedy that was tried [%]."""
    return finding.trial.after if finding.trial is not None else np.inf


#: Residuals closer than this share explain the recording alike; the usual direction of gravity is taken.
TIED = 1e-6


def _compared(reading: float, recorded: float) -> dict[str, float | str]:
    """Relative residuals of another reading and of the recording as it is, in percent."""
    return {"reading": 100 * reading, "recorded": 100 * recorded}


def _gravity(readings: Readings, here: float) -> _Better:
    """Gravity along another axis, or in the best direction near it."""
    axes = list(readings.axes())
    least = min(value for _, _, value in axes)
    tied = [axis for axis in axes if axis[2] <= (1.0 + TIED) * least]  # a sign that no inertia couples to is open
    name, g, value = min(tied, key=lambda axis: axis[0] != "-z")
    if here > DOUBT or value < 0.97 * here:
        turned, best = readings.direction(g)
        if best < 0.93 * value:
            g, value, name = turned, best, ",".join(f"{v:.3g}" for v in turned)
    if value < WORTH * here and float(g @ readings.gravity) < 0.99 * float(g @ g):
        found = Finding("gravity direction", values={"direction": name, **_compared(value, here)})
        return [Reading(value / here, found, gravity=g)], len(axes)
    return [], len(axes)


def _signs(readings: Readings, here: float) -> _Better:
    """One torque, or one joint, with the other sign."""
    flips = [(value, k, "torque") for k, value in readings.reversed_torques()]
    flips += [(value, k, "joint") for k, value in readings.reversed_joints()]
    value, k, what = min(flips)
    if value >= WORTH * here:
        return [], len(flips)
    joint = readings.model.robot.coordinates[k].name
    found = Finding("reversed joint", joint=joint, values={"what": what, **_compared(value, here)})
    signs = np.where(np.arange(readings.model.n) == k, -1.0, 1.0)
    return [Reading(value / here, found, change=lambda data: signed(data, signs, what == "torque"))], len(flips)


def _orders(readings: Readings, here: float) -> _Better:
    """Two joints exchanged, or their torques alone."""
    pairs = [(value, pair, False) for pair, value in readings.exchanged()]
    pairs += [(value, pair, True) for pair, value in readings.exchanged_torques()]
    pairs.sort()
    made = []
    for value, pair, alone in pairs[:2]:
        if value >= WORTH * here:
            continue
        one, other = (readings.model.robot.coordinates[k].name for k in pair)
        cause = "exchanged torques" if alone else "exchanged joints"
        order = np.arange(readings.model.n)
        order[list(pair)] = order[list(pair)[::-1]]
        made.append(Reading(
            value / here, Finding(cause, joint=one, values={"other": other, **_compared(value, here)}),
            change=partial(reordered, order=order, torques_only=alone),
        ))  # fmt: skip
    return made, len(pairs)


def _clocks(readings: Readings, here: float) -> _Better:
    """All velocities times a factor."""
    clocks = sorted((value, factor) for factor, value in readings.clocks(CLOCKS))
    value, factor = clocks[0]
    if value < WORTH * here:
        values = {"factor": factor, "scale": 1 / factor, **_compared(value, here)}
        found = Finding("velocity scale", values=values)
        return [Reading(value / here, found, change=lambda data: clocked(data, factor))], len(clocks)
    return [], len(clocks)


def _zeros(readings: Readings, here: float) -> _Better:
    """The zero of one joint shifted."""
    shifts = sorted((value, k, shift) for k, shift, value in readings.shifted(here, SHIFT))
    if not shifts or shifts[0][0] >= WORTH * here or abs(shifts[0][2]) < LEAST_SHIFT:
        return [], len(shifts)
    value, k, shift = shifts[0]
    joint = readings.model.robot.coordinates[k].name
    by = shift * (np.arange(readings.model.n) == k)
    found = Finding("shifted zero", joint=joint, values={"shift": shift, **_compared(value, here)})
    return [Reading(value / here, found, change=lambda data: shifted(data, by))], len(shifts)
