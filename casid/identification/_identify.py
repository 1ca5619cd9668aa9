"""From recordings to certified, believable parameters in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from casid.description import Robot, load_robot
from casid.dynamics import Model
from casid.errors import CasidError, DatasetError, ProblemError
from casid.identification._bounds import (
    split_bounds,
)
from casid.identification._consistent_fits import ConsistentFits
from casid.identification._feasible_fit import FeasibleFit, certified_intervals
from casid.identification._friction import IdentifiedFriction, check_bounds, identified_friction
from casid.identification._identification import Identification
from casid.identification._options import (
    Checks,
    Choice,
    Constraints,
    ModelOptions,
)
from casid.identification._prediction import HeldOut, held_out
from casid.identification._rotors import rotor_notes
from casid.identification._share import SharePath, chosen_share, fixed, own_share
from casid.identification._springs import COUNTERBALANCE, SPRING, FoundSpring, search
from casid.identification.diagnosis._delay import proven_delay, taken_out, without_delay
from casid.identification.diagnosis._findings import Finding
from casid.identification.diagnosis._verdict import Verdict, judge
from casid.measurement import Dataset, Processing, check_against, prepare, read_log
from casid.regression import CompressedData, Fit, MeasurementNoise, one_thread, processing_of_each, unexcited_reasons
from casid.regression.estimators import Estimator, Observations
from casid.regression.estimators import estimator as estimator_of
from casid.retrieval.insight import Intervals
from casid.retrieval.plausible import robot_bodies

#: Condition number above which the excitation counts as poor.
CONDITION = 1e4
#: Called with a step in words, and how much of it is done: ``(text, done, total)``.
Progress = Callable[[str, int, int], None]

_MODEL, _CONSTRAINTS, _CHOICE, _CHECKS = ModelOptions(), Constraints(), Choice(), Checks()


def identify(
    robot: Robot | str | Path,
    recordings: Dataset | str | Path | Sequence[Dataset | str | Path],
    *,
    processing: Processing | bool | Sequence[Processing | bool | None] | None = None,
    delay: float | Literal["auto"] | None = None,
    model: ModelOptions = _MODEL,
    estimator: Estimator | str = "WLS",
    constraints: Constraints = _CONSTRAINTS,
    choice: Choice = _CHOICE,
    checks: Checks = _CHECKS,
    progress: Progress = lambda text, done, total: None,
) -> Identification:
    """Identify a robot: check, process, compress, fit without and with physical consistency, predict what was held out.

    Parameters
    ----------
    robot
        A name or a path is loaded with `casid.load_robot`.
    recordings
        Raw recordings; paths are read with `casid.measurement.read_dataset`, logs of another layout as `casid import`
        finds them, which `Dataset.notes` say.
    processing
        Filters and differences, of all recordings or of each; default and ``True``: `Processing()`, with the cut-off
        chosen for each recording (`casid.regression.choose_processing`), whatever columns it has; ``False``: every
        sample as it is, with its dq and ddq.
    delay
        Time by which the torques lag behind the positions [s], in place of that of ``processing``. It is taken out;
        ``"auto"``: the estimate (`casid.regression.estimate_delay`). Default: the estimate where it predicts parts of
        the motion that are held out better, by a second fit, which the verdict reports; else none.
    model
        Joint terms, friction law, dead band, gravity.
    estimator
        Of the unconstrained fit, whose weights, those of single samples (IRLS) included, the feasible one uses; by name
        (``WLS``, ``OLS``, ``IRLS``, ``ML``: maximum likelihood with the noise that the first recording shows) or any
        `casid.regression.estimators.Estimator`. Of an estimator that does not minimise squared torque errors
        (instrumental variables, output error) the feasible fit minimises the own metric (`quadratic`).
    constraints, choice, checks
        What the consistent fit obeys; which of the sets that explain the data as well is taken; what is computed to
        judge the result.
    progress
        Called with each step.

    Raises
    ------
    DatasetError, ProblemError, SolveError
        What is wrong with the recordings, the options, or the constraints.
    """
    for name, given, kind in (
        ("model", model, ModelOptions), ("constraints", constraints, Constraints), ("choice", choice, Choice),
        ("checks", checks, Checks),
    ):  # fmt: skip
        if not isinstance(given, kind):
            raise ProblemError(f"{name}: expected casid.identification.{kind.__name__}(...), got {given!r}")
    robot = load_robot(robot) if isinstance(robot, (str, Path)) else robot
    raw = _datasets(recordings, robot)
    return _Pipeline(robot, raw, processing, delay, progress, model, estimator, constraints, choice, checks).run()


def _datasets(recordings: Any, robot: Robot) -> tuple[Dataset, ...]:
    """Recordings as given, paths read; DatasetError for arrays and the like."""
    given = tuple(recordings) if isinstance(recordings, Sequence) and not isinstance(recordings, str) else (recordings,)
    strange = [one for one in given if not isinstance(one, (Dataset, str, Path))]
    if strange:
        raise DatasetError(
            f"recordings: expected paths or Datasets, got {type(strange[0]).__name__}; of arrays: "
            "casid.measurement.Dataset(t, q, tau), one row a sample"
        )
    return tuple(read_log(one, robot) if isinstance(one, (str, Path)) else one for one in given)


@dataclass(frozen=True)
class _Read:
    """Recordings as processed, how that was done, and a note about it."""

    datasets: tuple[Dataset, ...]
    processing: Processing | bool | None
    note: str


@dataclass(frozen=True)
class _Pipeline:
    """The steps of `identify` with its arguments."""

    robot: Robot
    raw: tuple[Dataset, ...]
    processing: Processing | bool | Sequence[Processing | bool | None] | None
    delay: float | Literal["auto"] | None
    progress: Progress
    model: ModelOptions
    estimator: Estimator | str
    constraints: Constraints
    choice: Choice
    checks: Checks

    def run(self) -> Identification:
        """All steps, with one thread of linear algebra: thousands of factors are too small to be shared out."""
        comparing = self.checks.folds > 0 and estimator_of(self.estimator).name == "WLS"
        with one_thread():
            decided = replace(self, model=self.model.decided(comparing))
            made = decided._run()
            lag = None if self._delay_is_given() or made.verdict is None else proven_delay(made.verdict.findings)
            if lag is None:
                return made
            again = replace(decided, delay=float(lag.values["seconds"]))._run()
            if again.verdict is None:
                return again
            return replace(again, verdict=replace(again.verdict, findings=(taken_out(lag), *again.verdict.findings)))

    def _delay_is_given(self) -> bool:
        """Whether the delay of the torques is settled by the caller: a number, an estimate, or samples as they are."""
        settings = tuple(self.processing) if isinstance(self.processing, Sequence) else (self.processing,)
        given = any(one is False or (isinstance(one, Processing) and one.delay != 0.0) for one in settings)
        return given or self.delay is not None

    def _run(self) -> Identification:
        chosen = estimator_of(self.estimator)
        if not self.raw:
            raise DatasetError("no recording to identify from")
        check_bounds(self.robot, self.model, split_bounds(self.constraints.bounds)[1])
        self.progress("processing", 0, 1)
        read = self._read()
        self.progress("friction", 0, 1)
        friction = self._friction(read.datasets)
        model = friction.model
        self.progress("compressing", 0, 1)
        fitted = self._fitted(model, read, chosen)
        springs = self._springs(fitted, read.datasets)
        if springs:
            model = model.like(terms=(*model.terms, *(term for spring in springs for term in spring.terms)))
            friction = replace(friction, model=model, held_out=None)  # known without springs only
            fitted = self._fitted(model, read, chosen, springs)
        observations, fit, fits, path = fitted.observations, fitted.fit, fitted.fits, fitted.path
        data = observations.compressed
        feasible, complaint = fits.fitted(fit, between=lambda: self.progress("choosing believable links", 1, 2))
        kept = friction.held_out if self.checks.folds and chosen.name == "WLS" else None
        if kept is None:
            kept = self._held_out(lambda part: chosen.refit(part, fit, observations), fits, feasible, path)
        ranges, open_question = self._intervals(feasible)
        verdict = self._verdict(read.datasets, feasible, kept, fits)
        if verdict is not None and springs:
            named = [Finding("spring", joint=s.joint, values={"what": s.text}) for s in springs]
            verdict = replace(verdict, findings=(*verdict.findings, *named))
        further = (
            read.note, friction.note, complaint, open_question, *(spring.text for spring in springs),
            *rotor_notes(fits, feasible),
        )  # fmt: skip
        notes = (*data.notes, *_notes(fit, feasible), *filter(None, further), *self._repairs(path, fits))
        return Identification(
            model, read.datasets, fit, feasible, notes, read.processing, friction.name, friction.law,
            friction.candidates, kept, verdict, ranges, path if fits.choosing else None, springs,
        )  # fmt: skip

    def _read(self) -> _Read:
        """The recordings checked against the robot and processed, a delay of the torques taken out."""
        checked = tuple(check_against(data, self.robot) for data in self.raw)
        options = self.model
        plain = Model(self.robot, options.terms_of(self.robot), options.gravity, options.velocity_deadband)
        settings = processing_of_each(plain, checked, self.processing)
        datasets = tuple(prepare(data, each) for data, each in zip(checked, settings, strict=True))
        if self.delay is None:
            return _Read(datasets, settings[0], "")
        lag = None if self.delay == "auto" else float(self.delay)
        return _Read(*without_delay(plain, checked, datasets, settings, lag))

    def _friction(self, datasets: tuple[Dataset, ...]) -> IdentifiedFriction:
        """The model to fit with its friction."""
        fits = ConsistentFits(self.robot, datasets, self.constraints, self.choice)
        bounds = split_bounds(self.constraints.bounds)[1]
        return identified_friction(
            self.robot, datasets, self.model, bounds, lambda estimate: fits.fitted(estimate)[0].beta
        )

    def _fitted(self, model: Model, read: _Read, chosen: Estimator, springs: tuple[FoundSpring, ...] = ()) -> _Fitted:
        """The unconstrained fit of a model, how it is made consistent, and the share that this may cost."""
        self.progress("compressing", 0, 1)
        observations = Observations(model, read.datasets, lambda: self._noise(read.processing))
        observations.compressed  # noqa: B018
        self.progress("fitting", 0, 2)
        fit = chosen.fit(observations)
        fits = ConsistentFits(self.robot, read.datasets, self.constraints, self.choice, springs=springs)
        path = self._share(lambda part: chosen.refit(part, fit, observations), fits, fit)
        return _Fitted(observations, fit, replace(fits, share=path.share), path)

    def _springs(self, fitted: _Fitted, datasets: tuple[Dataset, ...]) -> tuple[FoundSpring, ...]:
        """Springs and counterbalances that the model lacks, where they are looked for."""
        model = fitted.fit.data.model
        if not self.model.springs or self.model.friction not in ("linear", "static", "auto"):
            return ()
        if not fitted.path.price or any(term.name in (*SPRING, *COUNTERBALANCE) for term in model.terms):
            return ()
        self.progress("springs", 0, 1)
        price, fits = fitted.path.price, fitted.fits
        return search(
            fitted.fit, datasets, lambda fit, bounds: fits.priced(fit, bounds, price), self.checks.folds, fits.template
        )

    def _noise(self, processing: Processing | bool | None) -> MeasurementNoise:
        """Noise that the first recording shows, after the processing."""
        first = check_against(self.raw[0], self.robot)
        if processing is False:
            raise DatasetError("maximum likelihood follows noise through the filters: it needs a Processing")
        return MeasurementNoise.of(first, processing if isinstance(processing, Processing) else Processing())

    def _repairs(self, path: SharePath, fits: ConsistentFits) -> tuple[str, ...]:
        """Notes about what the choice of plausible links rests on."""
        if not fits.choosing:
            return ()
        described = robot_bodies(self.robot)
        left_out = () if described is None else zip(described.repaired, described.reasons, strict=True)
        notes = [f"the description of {self.robot.links[k].name} is not used: {why}" for k, why in left_out]
        return tuple(notes)

    def _share(self, refit: Callable[[CompressedData], Fit], fits: ConsistentFits, fit: Fit) -> SharePath:
        """The share that plausibility may cost: as given, or chosen by held-out error."""
        if self.choice.share is not None or not fits.choosing or not self.checks.folds:
            return fixed(self.choice.share)
        folds = self.checks.folds
        self.progress("choosing the share", 0, folds)
        made = chosen_share(
            fit.data,
            refit,
            lambda estimate, shares: {share: found.beta for share, found in fits.path(estimate, shares).items()},
            folds,
            lambda done: self.progress("choosing the share", done, folds),
            own_share(fit),
        )
        if not made.steps:
            return made
        whole = fits.path(fit, [step.share for step in made.steps])
        masses = {s: float(f.standard_parameters[9::10].sum()) for s, f in whole.items()}
        taken = whole.get(made.share)
        price = 0.0 if taken is None or taken.believable is None else taken.believable.choice.price
        return replace(made.with_masses(masses), price=price)

    def _held_out(
        self, refit: Callable[[CompressedData], Fit], fits: ConsistentFits, feasible: FeasibleFit, path: SharePath
    ) -> HeldOut | None:
        """Errors on parts of the motion that are left out in turn; fits that the choice of the share made are used."""
        folds = self.checks.folds
        if not folds:
            return None
        self.progress("held-out error", 0, folds)
        made = [fit for fit, _ in path.folds]
        betas = {id(fit): found[path.share] for fit, found in path.folds}
        waiting = iter(made)
        return held_out(
            feasible.data,
            (lambda part: next(waiting)) if made else refit,
            lambda fit: betas[id(fit)] if made else fits.fitted(fit, feasible)[0].beta,
            folds,
            lambda done: self.progress("held-out error", done, folds),
        )

    def _intervals(self, feasible: FeasibleFit) -> tuple[Intervals | None, str]:
        """Proven ranges of the links' masses if asked for, and a note where there are none."""
        if not self.checks.intervals:
            return None, ""
        self.progress("proven intervals", 0, 1)
        try:
            return certified_intervals(feasible), ""
        except CasidError as error:
            return None, f"no proven intervals: {error}"

    def _verdict(
        self, datasets: tuple[Dataset, ...], feasible: FeasibleFit, kept: HeldOut | None, fits: ConsistentFits
    ) -> Verdict | None:
        """The verdict, if asked for."""
        if not self.checks.verdict:
            return None
        self.progress("other readings", 0, 4)
        return judge(
            self.robot,
            self.raw,
            datasets,
            feasible,
            kept,
            lambda done, total: self.progress("other readings", done, total),
            lambda estimate: fits.fitted(estimate)[0],
            fits.choosing,
        )


@dataclass(frozen=True, eq=False)
class _Fitted:
    """The unconstrained fit of a model, how it is made consistent, and the share that was chosen for it."""

    observations: Observations
    fit: Fit
    fits: ConsistentFits
    path: SharePath


def _notes(fit: Fit, feasible: FeasibleFit) -> list[str]:
    reasons = unexcited_reasons(fit)
    notes = [f"not identifiable from these data ({len(reasons)}): {'; '.join(reasons)}"] if reasons else []
    if fit.condition_number > CONDITION:
        vague = [name for name, sd in zip(fit.data.base.names, fit.relative_sd, strict=True) if 100.0 < sd < np.inf]
        notes.append(
            f"the motion excites poorly: condition number {fit.condition_number:.2g}; {len(vague)} base parameters "
            f"have a standard deviation above their value{': ' + ', '.join(vague) if vague else ''}"
        )
    ratio = float(np.sqrt(feasible.solution.total / fit.objective)) if fit.objective > 0 else 1.0
    if ratio > 1.05:
        notes.append(
            f"physical consistency raises the weighted residual by {100 * (ratio - 1):.1f} %: the unconstrained fit "
            "explains noise with impossible bodies, or a bound or the model is wrong; see the base parameters whose "
            "values differ by many standard deviations"
        )
    if feasible.active:
        notes.append(f"bounds that are reached: {'; '.join(bound.text for bound in feasible.active)}")
    if not feasible.solution.certified:
        notes.append(f"the feasible fit is not certified: relative gap {feasible.gap:.1e}")
    if feasible.believable is not None and not feasible.believable.certified:
        notes.append(f"the choice of plausible links is not certified: relative gap {feasible.believable.gap:.1e}")
    return notes
