"""Readings that physically consistent fits separate: another gravity, and what a short motion leaves open.

Free parameters follow a wrong reading of a short or slow motion almost as well as the right one; bodies that can exist
do not. A reading is a finding where their residual falls, and where they predict parts of the motion better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from casid.arrays import Array
from casid.dynamics import Model
from casid.errors import CasidError
from casid.identification._consistent_fits import ConsistentFits
from casid.identification._feasible_fit import FeasibleFit
from casid.identification.diagnosis._better_readings import Reading, Trials
from casid.identification.diagnosis._findings import Finding, Trial
from casid.identification.diagnosis._readings import Readings, direction_vector
from casid.identification.diagnosis._trial import HeldOutErrors, compared, held_out_errors
from casid.measurement import Dataset
from casid.regression import Fit, compress, wls

#: Ratio of the residuals, opposite gravity over the one assumed, up to which torques alone do not determine its sign,
#: and the share of the consistent fit's residual and mass below which the opposite one is the better reading.
UNDECIDED, LIGHTER_FIT = 1.25, 0.9
#: Ratio below which consistent bodies alone prove it, whatever they weigh: no other reading is looked for then.
PROVEN = 0.5
#: Share of the mass below which the opposite gravity is the better reading, at up to this ratio of the residuals.
LIGHTER, EQUAL_FIT = 0.5, 1.1


def tried(
    fits: ConsistentFits,
    fit: Fit,
    datasets: Sequence[Dataset],
    model: Model,
    turned: Sequence[Dataset],
) -> Trial | None:
    """The trial of another model and recordings, by consistent fits of parts of the motion."""
    before, after = (_errors(fits, fit, *one) for one in ((fit.data.model, datasets), (model, turned)))
    return compared(before, after)


def _errors(fits: ConsistentFits, fit: Fit, model: Model, datasets: Sequence[Dataset]) -> HeldOutErrors | None:
    """Errors of parts of the motion by consistent fits of the others."""
    return held_out_errors(model, datasets, weights=fit.weights, fits=fits)


def refitted(fits: ConsistentFits, model: Model, datasets: Sequence[Dataset], fit: Fit) -> FeasibleFit | None:
    """The consistent fit of recordings read in another way."""
    try:
        return fits.fitted(wls(compress(model, datasets), fit.weights))[0]
    except CasidError:
        return None


def consistently_better(
    readings: Sequence[Reading], datasets: Sequence[Dataset], feasible: FeasibleFit, fits: ConsistentFits
) -> list[Finding]:
    """The best of readings that consistent fits explain and predict better, though free parameters do not.

    Parameters
    ----------
    readings
        Of joints, orders, clocks and zeros; directions of gravity have their own rule (`other_gravity`).
    datasets
        As fitted.
    feasible
        Their consistent fit.
    fits
        How to fit consistently.
    """
    found: list[tuple[float, Finding]] = []
    fit, here = feasible.fit, None
    for reading in readings:
        other = None if reading.change is None else _reread(reading, datasets, feasible, fits)
        if other is None or other.solution.total >= LIGHTER_FIT**2 * feasible.solution.total:
            continue
        here = here or _errors(fits, fit, fit.data.model, datasets)
        trial = compared(here, _errors(fits, fit, *_as_read(reading, fit.data.model, datasets)))
        if trial is not None:
            values = {"reading": other.relative_error, "recorded": feasible.relative_error}
            finding = replace(reading.finding, values={**reading.finding.values, **values}, trial=trial)
            found.append((trial.after / trial.before, finding))
    return [finding for _, finding in sorted(found, key=lambda one: one[0])[:1]]


def most_consistent(
    found: list[Finding],
    trials: Trials,
    datasets: Sequence[Dataset],
    feasible: FeasibleFit,
    fits: ConsistentFits,
) -> list[Finding]:
    """Of readings that free parameters predict alike, the one that bodies explain best.

    Parameters
    ----------
    found
        The reading of the smallest held-out error.
    trials
        Of it and its rivals; those that surely predict worse do not count.
    datasets, feasible, fits
        As in `consistently_better`.
    """
    first = trials.reading_of(found[0])
    rivals = [] if first is None else [r for r in trials.readings if r is not first and not trials.better(first, r)]
    if first is None or not rivals:
        return found
    refits = [_reread(reading, datasets, feasible, fits) for reading in (first, *rivals)]
    left = [np.inf if fit is None else fit.solution.total for fit in refits]
    best = int(np.argmin(left))
    if left[best] >= LIGHTER_FIT**2 * left[0]:
        return found
    return consistently_better([rivals[best - 1]], datasets, feasible, fits) or found


def _as_read(reading: Reading, model: Model, datasets: Sequence[Dataset]) -> tuple[Model, list[Dataset]]:
    """Model and recordings under a reading."""
    if reading.gravity is not None:
        model = Model(model.robot, model.terms, reading.gravity, model.velocity_deadband)
    return model, [data if reading.change is None else reading.change(data) for data in datasets]


def _reread(
    reading: Reading, datasets: Sequence[Dataset], feasible: FeasibleFit, fits: ConsistentFits
) -> FeasibleFit | None:
    """The consistent fit under a reading."""
    return refitted(fits, *_as_read(reading, feasible.fit.data.model, datasets), feasible.fit)


def other_gravity(
    readings: Readings, datasets: tuple[Dataset, ...], feasible: FeasibleFit, fits: ConsistentFits
) -> tuple[list[Finding], bool]:
    """Gravity the other way, or along the best other axis, where that follows from consistent bodies only.

    Also whether their residual alone proves it.
    """
    if not readings.gravity.any():
        return [], False
    here, own = readings.residual(readings.regressor()), readings.gravity
    others = [(name, g, left) for name, g, left in readings.axes() if float(g @ own) < 0.99 * float(own @ own)]
    opposite = [one for one in others if float(one[1] @ own) < -0.99 * float(own @ own)]
    if not opposite:  # a slanted base
        opposite = [(",".join(f"{-x:.3g}" for x in own), -own, readings.residual(readings.regressor(-own)))]
    across = [one for one in others if one[0] != opposite[0][0]]
    found: list[tuple[float, Finding, bool]] = []
    for name, g, left in (*opposite, min(across, key=lambda one: one[2])):
        if left <= UNDECIDED * here:
            found += _with_gravity(name, g, datasets, feasible, fits)
    if not found:
        return [], False
    _, finding, proven = min(found, key=lambda one: one[0])
    return [finding], proven


def _with_gravity(
    name: str, g: Array, datasets: tuple[Dataset, ...], feasible: FeasibleFit, fits: ConsistentFits
) -> list[tuple[float, Finding, bool]]:
    """The mass with gravity along another axis, the finding, and whether the residual proves it; nothing if worse."""
    model = feasible.model
    turned = Model(model.robot, model.terms, g, model.velocity_deadband)
    other = refitted(fits, turned, datasets, feasible.fit)
    if other is None:
        return []
    ratio = float(np.sqrt(other.solution.total / feasible.solution.total))
    weights = [float(f.standard_parameters[9::10].sum()) for f in (other, feasible)]
    better = ratio < LIGHTER_FIT and weights[0] < LIGHTER_FIT * weights[1]
    lighter = ratio < EQUAL_FIT and weights[0] < LIGHTER * weights[1]
    if not (ratio < PROVEN or better or lighter):
        return []
    values: dict[str, float | str] = {
        "turned_mass": weights[0], "mass": weights[1], "reading": 100 * ratio, "direction": name,
    }  # fmt: skip
    trial: Trial | None = Trial("total mass", weights[1], weights[0])
    if ratio < LIGHTER_FIT:
        trial = tried(fits, feasible.fit, datasets, turned, datasets)
    return [(weights[0], Finding("gravity of lighter links", values=values, trial=trial), ratio < PROVEN)]


def simplest(
    found: list[Finding],
    turned: list[Finding],
    trials: Trials,
    datasets: tuple[Dataset, ...],
    feasible: FeasibleFit,
    fits: ConsistentFits,
) -> list[Finding]:
    """Of two readings that explain a recording, another gravity and a fault of a joint or two, the one to name.

    The one of the smaller held-out error; but gravity where the other does not surely predict better than it does and
    links under the other weigh more than 1 / `LIGHTER` times as much. A direction of gravity is one fault that all
    joints show, and one of six; the joint or pair was picked among n or n (n - 1), and its best is better by chance.
    """
    best = min(found, turned, key=_left_by)
    other = trials.reading_of(found[0])
    if best is turned or found[0].kind == "gravity" or other is None or other.change is None:
        return best
    own = feasible.model.robot.gravity if feasible.model.gravity_vector is None else feasible.model.gravity_vector
    gravity = direction_vector(str(turned[0].values["direction"]), float(np.linalg.norm(own)))
    if trials.better_than_gravity(other, gravity):
        return found
    fit = refitted(fits, feasible.fit.data.model, [other.change(d) for d in datasets], feasible.fit)
    mass = np.inf if fit is None else float(fit.standard_parameters[9::10].sum())
    if LIGHTER * mass <= float(turned[0].values["turned_mass"]):
        return found
    values = {**turned[0].values, "alternative": found[0].text, "other_mass": mass}
    return [replace(turned[0], cause="gravity or a joint", values=values)]


def _left_by(found: list[Finding]) -> float:
    """Share of the held-out error that a remedy leaves; 1 where it was not tried on held-out parts."""
    trial = found[0].trial
    return 1.0 if trial is None or trial.measure != "held-out error" else trial.after / trial.before
