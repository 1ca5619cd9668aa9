"""Hypotheses about a recording: other readings of it, compared by how they predict what no fit has seen.

Another reading has gravity along another axis, one joint reversed, two exchanged, another zero or clock, one torque of
another scale, or torques of another time. A reading is refused where friction that surely brakes as recorded would
surely drive. A few hundred samples rank all of them (`Readings`), but for the scale of a torque, which the posterior of
plausible links gives (`ScalePosterior`). The best few predict parts of the motion from the others, as the recording
does as it is, and are compared stretch by stretch (`casid.evidence.compared`): on the logarithms of the errors, a
Gaussian likelihood whose variance is each joint's own in each stretch, so that neither loud stretches nor noisy joints
decide alone; as the best of all readings that were ranked (Bonferroni).

Free parameters predict first. They follow a wrong reading of a short or slow motion almost as well as the right one;
bodies that can exist do not. Readings between which they do not decide are therefore compared by physically consistent
fits, and so is what free parameters never show: all torques reversed, of which friction that drives is the sign. Where
even bodies predict alike, as of slow motions under opposite gravity, their masses decide, beyond the factor
`HEAVIER` of a total mass; at last the posterior of a torque's scale.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from statistics import NormalDist
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from casid import evidence
from casid.arrays import Array
from casid.dynamics import Model
from casid.errors import DatasetError, SolveError
from casid.evidence import NOTICEABLE, PARTS
from casid.identification._accuracy import parts_of
from casid.identification._bounds import HEAVIER
from casid.identification._consistent_fits import ConsistentFits
from casid.identification._regression import FeasibleFit
from casid.identification.diagnosis._findings import MOST_OF_RESIDUAL, Finding, Trial
from casid.identification.diagnosis._readings import (
    Readings,
    clocked,
    filtered,
    later,
    moving,
    plain_terms,
    reordered,
    shifted,
    signed,
    widened,
    without_held,
    without_rest,
)
from casid.identification.diagnosis._scales import Scale, ScalePosterior
from casid.measurement import Dataset
from casid.regression import CompressedData, Fit, compress, estimate_delay, wls

#: Readings that are compared by what they predict, the best ranked first.
MOST_TRIALS = 3
#: What is worth its computing time; nothing is decided by it. Share to which the residual on a few samples must fall
#: (on right recordings none falls below 0.986); over it for another gravity, which bodies may yet prefer; residual from
#: which a slanted base is looked for although no axis is better.
WORTH, UNDECIDED, DOUBT = 0.99, 1.25, 0.2
#: Residuals closer than this share explain the recording alike; the usual direction of gravity is taken.
TIED = 1e-6
#: Factors of all velocities that are tried.
CLOCKS = (0.1, 0.5, 0.7, 1.4, 2.0, 10.0)
#: Shift of a joint's zero from which a parabola is drawn, and the least that is a finding [rad].
SHIFT, LEAST_SHIFT = 0.1, 0.05
#: Cosine of the tilt of a base that counts as level: 8 degrees.
LEVEL = 0.99
#: Least delay that is a finding: in sampling periods, and the share of the residual that it explains.
SAMPLES, GAIN = 0.5, 0.005


Made = TypeVar("Made")


class Hypothesis(NamedTuple):
    """Another reading of a recording.

    Attributes
    ----------
    finding : Finding
        That it is true.
    ratio : float
        Of its residual on a few samples to that of the recording as it is.
    gravity : ndarray, shape (3,), or None
        In place of the model's.
    change : callable or None
        Of a processed recording.
    plainer : Hypothesis or None
        What it refines: taken unless it is surely worse.
    """

    finding: Finding
    ratio: float = 1.0
    gravity: Array | None = None
    change: Callable[[Dataset], Dataset] | None = None
    plainer: Hypothesis | None = None

    def read(self, model: Model, datasets: Sequence[Dataset]) -> tuple[Model, list[Dataset]]:
        """Model and recordings under it."""
        if self.gravity is not None:
            model = Model(model.robot, model.terms, self.gravity, model.velocity_deadband)
        return model, [data if self.change is None else self.change(data) for data in datasets]


#: The recording as it is.
AS_RECORDED = Hypothesis(Finding("one way"))


class Losses(NamedTuple):
    """Squared errors of predicted stretches of the motion, and the joints' squared torques.

    Attributes
    ----------
    squares : ndarray, shape (stretches, n)
    torques : ndarray, shape (n,)
        Zero for joints that do not count.
    """

    squares: Array
    torques: Array


def losses(
    model: Model,
    datasets: Sequence[Dataset],
    joints: Sequence[int] | None = None,
    *,
    weights: ArrayLike | None = None,
    fits: ConsistentFits | None = None,
) -> Losses | None:
    """Errors of stretches of the motion, predicted by weighted least squares on the other parts.

    Parameters
    ----------
    model, datasets
    joints
        That count; default: all with torques.
    weights
        Of the joints; default: those of each fit.
    fits
        How a fit is made consistent; default: it is not.

    Returns
    -------
    Losses or None
        ``None`` where parts cannot be held out.
    """
    try:
        data = compress(model, datasets)
        parts, squares = parts_of(data), np.zeros((len(data.segments), data.n))
        for part in parts:
            fit = wls(part.training, weights)
            beta = fit.beta if fits is None else fits.fitted(fit)[0].beta
            for i in part.apart:
                squares[i] = data.only([i]).plain.squared_errors(beta)
    except (DatasetError, SolveError):  # of a part that holds too little, or has no consistent fit
        return None
    counts = np.ones(data.n) if joints is None else np.isin(np.arange(data.n), joints)
    return Losses(squares, data.plain.squared_torques * counts) if len(parts) == PARTS else None


def trial_of(before: Losses | None, after: Losses | None, tried: int = 1, least: float = 1.0) -> Trial | None:
    """The trial of a reading or remedy, if it surely predicts better, as the best of so many, by at least a factor.

    The loss of a stretch is the mean of its joints' log squared errors, relative to their torques: minus twice the
    logarithm of a Gaussian likelihood whose variance is each joint's own in each stretch, as readings are ranked by
    (`Readings.residual`). Neither loud stretches nor noisy joints hide what happens to others. A joint that neither
    predicts better than no torque at all, one that is held still for instance, does not count.
    """
    if before is None or after is None or len(before.squares) != len(after.squares):
        return None
    errors, others = before.squares.sum(axis=0), after.squares.sum(axis=0)
    predicted = (errors < before.torques) | (others < after.torques)
    counted = (before.torques > 0) & (after.torques > 0) & predicted & (before.squares > 0) & (after.squares > 0)
    seen = counted.any(axis=1)
    if not seen.any():
        return None
    old, new = (
        np.log(np.where(counted, one.squares, 1.0) / np.where(counted, one.torques, 1.0))[seen].sum(axis=1)
        / counted[seen].sum(axis=1)
        for one in (before, after)
    )
    found = evidence.compared(old - 2.0 * np.log(least), new, tried)
    error, left = (100.0 * float(np.sqrt(len(old) * np.exp(one.mean()))) for one in (old, new))
    return Trial("held-out error", error, left, found.gain) if found.better else None


class Hypotheses:
    """Readings of processed recordings, compared with the recordings as they are.

    Parameters
    ----------
    datasets
        Processed.
    feasible
        Their consistent fit. Free parameters have linear friction in place of friction with shapes.
    fits
        How a fit is made consistent.
    """

    def __init__(self, datasets: Sequence[Dataset], feasible: FeasibleFit, fits: ConsistentFits) -> None:
        self._fit, self._feasible, self._fits = feasible.fit, feasible, fits
        self._model: Model = feasible.fit.data.model
        self._raw = tuple(datasets)
        wide = (widened(data, self._model.base.rank) for data in datasets)
        self._datasets = [without_rest(without_held(data, self._model.robot)) for data in wide]
        self._known: dict[tuple[str, int], Any] = {}
        self._compared: list[Hypothesis] = []

    @cached_property
    def _plain(self) -> Model:
        model = self._model
        own = model.robot.gravity if model.gravity_vector is None else model.gravity_vector
        return Model(model.robot, plain_terms(model), own, model.velocity_deadband)

    def free(self, one: Hypothesis = AS_RECORDED) -> Losses | None:
        """What free parameters predict under a hypothesis."""
        return self._once("free", one, lambda: losses(*one.read(self._plain, self._datasets)))

    def consistent(self, one: Hypothesis = AS_RECORDED) -> Losses | None:
        """What consistent bodies predict."""

        def made() -> Losses | None:
            return losses(*one.read(self._model, self._raw), weights=self._fit.weights, fits=self._fits)

        return self._once("consistent", one, made)

    def bodies(self, one: Hypothesis) -> FeasibleFit | None:
        """The consistent fit to all of the motion; ``None`` where there is none."""

        def made() -> FeasibleFit | None:
            try:
                estimate = wls(compress(*one.read(self._model, self._raw)), self._fit.weights)
                return self._fits.fitted(estimate)[0]
            except (DatasetError, SolveError):
                return None

        return self._once("bodies", one, made)

    def _once(self, what: str, one: Hypothesis, make: Callable[[], Made]) -> Made:
        """What is made of a hypothesis, made once."""
        if (what, id(one)) not in self._known:
            self._known[what, id(one)] = one, make()  # kept: what is gone leaves its id to others
        made: Made = self._known[what, id(one)][1]
        return made

    # ------------------------------------------------------------------------------------------------ comparison

    def explained(self, readings: Readings, fewer: Readings) -> tuple[list[Finding], int]:
        """The reading that explains the recording better, as a finding; and how many were compared.

        Parameters
        ----------
        readings, fewer
            Of the longest recording; the second on fewer samples, for kinds with many readings.
        """
        ranked, count = rank(readings, fewer)
        scales = ScalePosterior(self._raw, self._feasible, self._fits)
        scale = scales.found()
        count += len(scales.joints)
        geared = self._geared(scale, readings, count)
        candidates = [*ranked[:MOST_TRIALS], *geared]
        turned = self._turned(readings)
        surely = [(trial, one) for one in candidates if (trial := trial_of(self.free(), self.free(one), count))]
        better = [(trial, one) for trial, one in surely if not self._drives(one)]
        if better:
            trial, best = min(better, key=lambda pair: pair[0].after)
            if best.plainer is not None and trial_of(self.free(best.plainer), self.free(best)) is None:
                best = best.plainer
                trial = trial_of(self.free(), self.free(best)) or trial
            return [self._between(best, trial, candidates, turned)], count
        self._compared = [*candidates, *turned, *self._driving()]
        found = [finding for one in self._compared if (finding := self._proven(one, count))]
        found = found or [finding for one in turned if (finding := self._lighter(one))]
        found = found or [one.finding for one in geared if scale is not None and scale.sure and self._no_worse(one)]
        return sorted(found, key=lambda finding: finding.trial.after if finding.trial else np.inf)[:1], count

    def specific(self) -> list[tuple[Finding, CompressedData]]:
        """Readings that alone would surely predict better, the best first, and the recordings under them.

        How many were tried guards what is right against the best of many; where something is surely wrong already, the
        question is only which of them it is. For a recording that none of the readings explained.
        """
        made = [(finding, self.bodies(one)) for one in self._compared if (finding := self._proven(one))]
        found = [(finding, own.fit.data) for finding, own in made if own is not None]
        return sorted(found, key=lambda pair: pair[0].trial.after if pair[0].trial else np.inf)

    def _geared(self, scale: Scale | None, readings: Readings, count: int) -> list[Hypothesis]:
        """The torque of one joint of another scale, of which the posterior is sure, or that surely predicts better.

        By more than `casid.evidence.NOTICEABLE`: errors of a friction law or a flexible gear have a best scale other
        than one, of whose small gain the stretches of one motion are sure alike (AR5, 40 s as recorded: 0.49 of its
        last joint, errors 5.85 -> 5.56 %, by 4.8 standard errors).
        """
        if scale is None:
            return []
        joint = self._model.robot.coordinates[scale.joint].name
        values = {"factor": scale.factor, "springs": "" if scale.springs else " and without the springs"}
        trial = Trial("negative log posterior", scale.gain, 0.0)
        factors = np.where(np.arange(self._model.n) == scale.joint, scale.factor, 1.0)
        found = Finding("torque of another scale", joint=joint, values=values, trial=trial)
        here = readings.regressor()
        ratio = readings.residual(here, readings.tau * factors) / readings.residual(here)
        one = Hypothesis(found, ratio, change=partial(signed, signs=factors, torques_only=True))
        surely = ratio < WORTH and any(
            trial_of(account(), account(one), count, NOTICEABLE) for account in (self.free, self.consistent)
        )
        return [one] if scale.sure or surely else []

    def _between(
        self, best: Hypothesis, trial: Trial, candidates: Sequence[Hypothesis], turned: Sequence[Hypothesis]
    ) -> Finding:
        """Of the best reading and those that it does not surely predict better than, the one that bodies choose.

        Gravity goes before a fault of a joint or two that needs links beyond `HEAVIER`: a direction of
        gravity is one fault that all joints show, and one of six; the joint or pair was picked among n or n (n - 1).
        """
        gravity = best.finding.kind == "gravity"
        rivals = [one for one in candidates if one is not best and one is not best.plainer and one.plainer is not best]
        rivals += [] if gravity else list(turned)
        rivals = [one for one in rivals if trial_of(self.free(one), self.free(best)) is None]
        surer = [
            (other.after, one) for one in rivals if (other := trial_of(self.consistent(best), self.consistent(one)))
        ]
        if surer:
            return self._proven(min(surer, key=lambda pair: pair[0])[1]) or replace(best.finding, trial=trial)
        own = self.bodies(best) if any(one in turned for one in rivals) else None
        for one in turned if own is not None else ():
            found = self._proven(one) or self._lighter(one)
            if one in rivals and found is not None and own is not None:
                mass = _mass(own)
                if mass > HEAVIER * float(found.values["turned_mass"]):
                    values = {**found.values, "alternative": best.finding.text, "other_mass": mass}
                    return replace(found, cause="gravity or a joint", values=values)
        return replace(best.finding, trial=trial)

    def _proven(self, one: Hypothesis, tried: int = 1) -> Finding | None:
        """The finding of a hypothesis under which bodies explain all better, and surely predict what is held out."""
        made, here = self.bodies(one), self._feasible
        if made is None or made.solution.total >= here.solution.total:
            return None
        trial = trial_of(self.consistent(), self.consistent(one), tried)
        values = {**one.finding.values, **self._masses(one, made)}
        if "recorded" in values:
            values |= {"reading": made.relative_error, "recorded": here.relative_error}
        return None if trial is None else replace(one.finding, values=values, trial=trial)

    def _lighter(self, one: Hypothesis) -> Finding | None:
        """Another gravity under which bodies predict no worse, and surely better than others of at most twice the mass.

        The mass of the most plausible bodies is what the data leave open: that it is more than twice is not enough.
        """
        made = self.bodies(one)
        if made is None or _mass(made) * HEAVIER >= _mass(self._feasible):
            return None
        if not self._no_worse(one) and made.solution.total > self._feasible.solution.total:
            return None
        robot = replace(self._fits.robot, total_mass=(0.0, HEAVIER * _mass(made)))
        fits, weights = replace(self._fits, robot=robot), self._fit.weights
        light = losses(self._model, self._raw, weights=weights, fits=fits)
        if light is not None and trial_of(light, self.consistent(one)) is None:
            return None
        masses = self._masses(one, made)
        trial = Trial("total mass", _mass(self._feasible), _mass(made))
        return replace(one.finding, values={**one.finding.values, **masses}, trial=trial)

    def _no_worse(self, one: Hypothesis) -> bool:
        """Whether bodies predict under a hypothesis, and not surely worse than as recorded."""
        return self.consistent(one) is not None and trial_of(self.consistent(one), self.consistent()) is None

    def _masses(self, one: Hypothesis, made: FeasibleFit) -> dict[str, float | str]:
        """What the text of another gravity states."""
        if one.finding.cause != "gravity of lighter links":
            return {}
        ratio = float(np.sqrt(made.solution.total / self._feasible.solution.total))
        return {"turned_mass": _mass(made), "mass": _mass(self._feasible), "reading": 100.0 * ratio}

    def _turned(self, readings: Readings) -> list[Hypothesis]:
        """Gravity the other way, and along the best axis across, where free parameters do not surely predict worse."""
        own = readings.gravity
        if not own.any():
            return []
        here = readings.residual(readings.regressor())
        others = [one for one in readings.axes() if float(one[1] @ own) < LEVEL * float(own @ own)]
        opposite = [one for one in others if float(one[1] @ own) < -LEVEL * float(own @ own)]
        if not opposite:  # a slanted base
            opposite = [(",".join(f"{-x:.3g}" for x in own), -own, readings.residual(readings.regressor(-own)))]
        across = min((one for one in others if one[0] != opposite[0][0]), key=lambda one: one[2])
        unknown = dict.fromkeys(("turned_mass", "mass", "reading"), float("nan"))
        made = [
            Hypothesis(Finding("gravity of lighter links", values={**unknown, "direction": name}), left / here, g)
            for name, g, left in (opposite[0], across)
            if left <= UNDECIDED * here
        ]
        return [one for one in made if trial_of(self.free(one), self.free()) is None]

    def _driving(self) -> list[Hypothesis]:
        """Reversed signs that do not change the residual: friction that drives, by the power it takes from the motion.

        Of the joints whose friction surely drives, or of all where these are most.
        """
        model = self._model
        power, sure = self._drained(self._fit, self._raw)
        moves = np.any([moving(data, model.robot) for data in self._raw], axis=0)  # rest has no friction law
        backwards = moves & (power < -sure)
        if not backwards.any():
            return []
        everything = backwards.sum() > (moves & (power > sure)).sum()
        names = ", ".join(model.robot.coordinates[k].name for k in np.flatnonzero(backwards))
        what = "torques are reversed" if everything else "its torque is reversed"
        signs = np.full(model.n, -1.0) if everything else np.where(backwards, -1.0, 1.0)
        found = Finding("driving friction", joint=names, values={"what": what})
        return [Hypothesis(found, change=partial(signed, signs=signs, torques_only=True))]

    def _drives(self, one: Hypothesis) -> bool:
        """Whether friction of a joint surely brakes as recorded and surely drives under a hypothesis."""
        if one.change is None:
            return False
        power, sure = self._drained(self._linear(AS_RECORDED), self._datasets)
        other, unsure = self._drained(self._linear(one), self._datasets)
        return bool(((power > sure) & (other < -unsure)).any())

    def _linear(self, one: Hypothesis) -> Fit:
        """Free parameters, fitted to all of the motion."""
        return wls(compress(*one.read(self._plain, self._datasets)))

    @staticmethod
    def _drained(fit: Fit, datasets: Sequence[Dataset]) -> tuple[Array, Array]:
        """Power that each joint's friction takes from the motion [W], and the deviation from zero that is sure."""
        model = fit.data.model
        base = [fit.data.base.names[i] for i in fit.excited.independent]
        drains = np.zeros((model.n, len(base)))  # power of friction as a linear form of the excited base parameters
        for column, (term, joint) in model.term_columns.items():
            name = model.parameter_names[column]
            if term.nonnegative and term.dissipative and name in base:
                speeds = np.concatenate([np.abs(d.dq[:, joint]) for d in datasets if d.dq is not None])
                drains[joint, base.index(name)] = float((speeds**2).mean() if term.viscous else speeds.mean())
        power = drains @ fit.beta[list(fit.excited.independent)]
        sd = np.sqrt(np.maximum(np.einsum("ki,ij,kj->k", drains, fit.covariance, drains), 1e-300))
        return power, NormalDist().inv_cdf(1.0 - (1.0 - evidence.CONFIDENCE) / 2.0 / model.n) * sd

    # ------------------------------------------------------------------------------------------- channels, delay

    def without(self, finding: Finding) -> Finding:
        """A finding about a channel with the trial of leaving it out: the other joints are predicted better."""
        k = int(finding.values["index"])
        others = [i for i in range(self._model.n) if i != k]
        before = losses(self._plain, self._datasets, others)
        after = losses(self._plain, [data.only(others) for data in self._datasets], others)
        return replace(finding, trial=trial_of(before, after))

    def later(self, seconds: float) -> Trial | None:
        """The trial of torques taken from so many seconds later, with the friction of the fit."""
        moved = [later(data, seconds) for data in self._datasets]
        return trial_of(losses(self._model, self._datasets), losses(self._model, moved))

    def delay(self, raw: Dataset, dataset: Dataset) -> list[Finding]:
        """A significant lag of a recording's torques behind its positions, as read and as processed."""
        try:
            lag = estimate_delay(self._model, filtered(raw, dataset), self._fit.weights)
        except DatasetError:  # without filtered torques
            return []
        least = NormalDist().inv_cdf((1.0 + evidence.CONFIDENCE) / 2.0) * lag.sd
        if not (least < abs(lag.seconds) < np.inf and abs(lag.samples) >= SAMPLES and lag.gain >= GAIN):
            return []
        values: dict[str, float | str] = {
            "what": "at least " if lag.at_limit else "", "lag": 1e3 * lag.seconds, "samples": lag.samples,
            "gain": 100 * lag.gain, "seconds": lag.seconds,
        }  # fmt: skip
        trial = self.later(lag.seconds)
        proven = "late torques" if trial is not None else "unproven delay"
        cause = "torques of another time" if 100 * lag.gain >= MOST_OF_RESIDUAL else proven
        return [Finding(cause, raw.name, values=values, trial=trial)]


def _mass(fit: FeasibleFit) -> float:
    """Of all links [kg]."""
    return float(fit.standard_parameters[9::10].sum())


def proven_delay(findings: Sequence[Finding]) -> Finding | None:
    """A delay within the range of the search whose removal predicts held-out parts of the motion better."""
    return next((f for f in findings if f.kind == "delay" and f.trial is not None and not f.values["what"]), None)


def taken_out(finding: Finding) -> Finding:
    """The finding of a delay that was taken out: its size, and what that changed."""
    assert finding.trial is not None
    return replace(finding, cause="delay taken out", values={**finding.values, "tried": finding.trial.text}, trial=None)


# ---------------------------------------------------------------------------------------------------------- ranking


def rank(readings: Readings, fewer: Readings) -> tuple[list[Hypothesis], int]:
    """Of each kind the readings that explain a few samples best, the best first; and how many were compared."""
    found: list[Hypothesis] = []
    count = 0
    kinds = (
        (_gravity, readings), (_signs, readings), (_orders, fewer), (_clocks, fewer), (_zeros, fewer),
    )  # fmt: skip
    for kind, samples in kinds:
        here = samples.residual(samples.regressor())
        made, tried = kind(samples, here)
        found += [one for one in made if one.ratio < WORTH]
        count += tried
    return sorted(found, key=lambda one: one.ratio), count


def _compared(reading: float, recorded: float) -> dict[str, float | str]:
    """Relative residuals of another reading and of the recording as it is, in percent."""
    return {"reading": 100 * reading, "recorded": 100 * recorded}


def _gravity(readings: Readings, here: float) -> tuple[list[Hypothesis], int]:
    """Gravity along another axis, and in the best direction near it."""
    axes, own = list(readings.axes()), readings.gravity
    least = min(value for _, _, value in axes)
    tied = [axis for axis in axes if axis[2] <= (1.0 + TIED) * least]
    name, g, value = min(tied, key=lambda axis: axis[0] != "-z")  # a sign that no inertia couples to is open
    straight = Finding("gravity direction", values={"direction": name, **_compared(value, here)})
    along = Hypothesis(straight, value / here, g)
    made = [] if float(g @ own) >= LEVEL * float(g @ g) else [along]
    turned, best = readings.direction(g) if here > DOUBT or value < WORTH * here else (g, value)
    if best < value and float(turned @ own) < LEVEL * float(turned @ turned):
        values = {"direction": ",".join(f"{v:.3g}" for v in turned), **_compared(best, here)}
        found = Finding("gravity direction", values=values)
        made.append(Hypothesis(found, best / here, turned, plainer=along if made else None))
    return made, len(axes)


def _signs(readings: Readings, here: float) -> tuple[list[Hypothesis], int]:
    """One torque, or one joint, with the other sign."""
    kinds = (("torque", True), ("joint", False))
    flips = [(value, k, what) for what, alone in kinds for k, value in readings.reversed(alone)]
    value, k, what = min(flips)
    joint = readings.model.robot.coordinates[k].name
    found = Finding("reversed joint", joint=joint, values={"what": what, **_compared(value, here)})
    signs = np.where(np.arange(readings.model.n) == k, -1.0, 1.0)
    change = partial(signed, signs=signs, torques_only=what == "torque")
    return [Hypothesis(found, value / here, change=change)], len(flips)


def _orders(readings: Readings, here: float) -> tuple[list[Hypothesis], int]:
    """Two joints exchanged, or their torques alone."""
    pairs = [(value, pair, alone) for alone in (False, True) for pair, value in readings.exchanged(alone)]
    made = []
    for value, pair, alone in sorted(pairs)[:2]:
        one, other = (readings.model.robot.coordinates[k].name for k in pair)
        order = np.arange(readings.model.n)
        order[list(pair)] = order[list(pair)[::-1]]
        cause = "exchanged torques" if alone else "exchanged joints"
        found = Finding(cause, joint=one, values={"other": other, **_compared(value, here)})
        made.append(Hypothesis(found, value / here, change=partial(reordered, order=order, torques_only=alone)))
    return made, len(pairs)


def _clocks(readings: Readings, here: float) -> tuple[list[Hypothesis], int]:
    """All velocities times a factor."""
    value, factor = min((value, factor) for factor, value in readings.clocks(CLOCKS))
    values = {"factor": factor, "scale": 1 / factor, **_compared(value, here)}
    return [
        Hypothesis(Finding("velocity scale", values=values), value / here, change=partial(clocked, factor=factor))
    ], len(CLOCKS)


def _zeros(readings: Readings, here: float) -> tuple[list[Hypothesis], int]:
    """The zero of one joint shifted."""
    shifts = [(value, k, shift) for k, shift, value in readings.shifted(here, SHIFT)]
    value, k, shift = min(shifts, default=(here, 0, 0.0))
    if abs(shift) < LEAST_SHIFT:
        return [], len(shifts)
    change = partial(shifted, shift=shift * (np.arange(readings.model.n) == k))
    joint = readings.model.robot.coordinates[k].name
    found = Finding("shifted zero", joint=joint, values={"shift": shift, **_compared(value, here)})
    return [Hypothesis(found, value / here, change=change)], len(shifts)
