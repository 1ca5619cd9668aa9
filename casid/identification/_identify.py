"""From recordings to certified, believable parameters in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from casid.description import Robot
from casid.dynamics import Model
from casid.dynamics.terms._friction import Friction
from casid.errors import CasidError, DatasetError
from casid.identification._bounds import default_bounds, largest_torques, split_bounds, term_bounds, with_link_bounds
from casid.identification._feasible_fit import FeasibleFit, certified_intervals
from casid.identification._identification import Identification
from casid.identification._options import (
    LINEAR_FRICTION,
    Checks,
    Choice,
    Constraints,
    ModelOptions,
    with_former,
)
from casid.identification._prediction import HeldOut, held_out
from casid.identification._regression import RegressionProblem, Statement
from casid.identification.diagnosis._delay import without_delay
from casid.identification.diagnosis._findings import Verdict
from casid.identification.diagnosis._verdict import judge
from casid.measurement import Dataset, Processing, prepare
from casid.measurement._checks import check_against
from casid.regression import CompressedData, Fit, choose_friction
from casid.regression._fit import unexcited_reasons
from casid.regression._statistics import MeasurementNoise
from casid.regression.estimators import Estimator, Observations
from casid.regression.estimators._catalogue import estimator as estimator_of
from casid.regression.friction._cross_validation import Candidate
from casid.regression.friction._shape_fits import fit_jointly
from casid.retrieval.insight._intervals import Intervals

#: Condition number above which the excitation counts as poor.
CONDITION = 1e4
#: Called with a step in words, and how much of it is done: ``(text, done, total)``.
Progress = Callable[[str, int, int], None]

_MODEL, _CONSTRAINTS, _CHOICE, _CHECKS = ModelOptions(), Constraints(), Choice(), Checks()


def identify(
    robot: Robot,
    recordings: Dataset | Sequence[Dataset],
    *,
    processing: Processing | bool | None = None,
    delay: float | Literal["auto"] | None = None,
    model: ModelOptions = _MODEL,
    estimator: Estimator | str = "WLS",
    constraints: Constraints = _CONSTRAINTS,
    choice: Choice = _CHOICE,
    checks: Checks = _CHECKS,
    progress: Progress = lambda text, done, total: None,
    **former: Any,
) -> Identification:
    """Identify a robot: check, process, compress, fit without and with physical consistency, predict what was held out.

    Parameters
    ----------
    robot
    recordings
        Raw recordings (see `casid.measurement.read_dataset`).
    processing
        Filters and differences; ``True``: `Processing()`; ``False``: every sample as it is, with the dq and ddq it has;
        default: as it is where dq and ddq are given, `Processing()` otherwise.
    delay
        Time by which the torques lag behind the positions [s], in place of that of ``processing``; ``"auto"``:
        estimated (`casid.regression.estimate_delay`). It is taken out.
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
    **former
        Keyword arguments of version 0.2 (``terms``, ``method``, ``folds``, ...), with a `DeprecationWarning` that names
        their new place.

    Raises
    ------
    DatasetError, ProblemError, SolveError
        What is wrong with the recordings, the options, or the constraints.
    """
    options = {"model": model, "estimator": estimator, "constraints": constraints, "choice": choice, "checks": checks}
    raw = (recordings,) if isinstance(recordings, Dataset) else tuple(recordings)
    return _Pipeline(robot, raw, processing, delay, progress, **with_former(options, former)).run()


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
    processing: Processing | bool | None
    delay: float | Literal["auto"] | None
    progress: Progress
    model: ModelOptions
    estimator: Estimator | str
    constraints: Constraints
    choice: Choice
    checks: Checks

    def run(self) -> Identification:
        """All steps."""
        chosen = estimator_of(self.estimator)
        if not self.raw:
            raise DatasetError("no recording to identify from")
        self.progress("processing", 0, 1)
        read = self._read()
        self.progress("friction", 0, 1)
        model, law, candidates = self._model(read.datasets)
        self.progress("compressing", 0, 1)
        observations = Observations(model, read.datasets, lambda: self._noise(read.processing))
        data = observations.compressed
        self.progress("fitting", 0, 2)
        fit = chosen.fit(observations)
        fits = _ConsistentFits(self.robot, read.datasets, self.constraints, self.choice)
        feasible, complaint = fits.fitted(fit, between=lambda: self.progress("choosing believable links", 1, 2))
        kept = self._held_out(lambda part: chosen.refit(part, fit, observations), fits, feasible)
        ranges, open_question = self._intervals(feasible)
        verdict = self._verdict(read.datasets, feasible, kept, fits)
        notes = (*data.notes, *_notes(fit, feasible), *filter(None, (read.note, complaint, open_question)))
        return Identification(
            model, read.datasets, fit, feasible, notes, read.processing, self.model.friction, law, candidates, kept,
            verdict, ranges,
        )  # fmt: skip

    def _read(self) -> _Read:
        """The recordings checked against the robot and processed, a delay of the torques taken out."""
        checked = tuple(check_against(data, self.robot) for data in self.raw)
        datasets = tuple(prepare(data, self.processing) for data in checked)
        if self.delay is None:
            return _Read(datasets, self.processing, "")
        options = self.model
        plain = Model(self.robot, options.terms, options.gravity, options.velocity_deadband)
        lag = None if self.delay == "auto" else float(self.delay)
        return _Read(*without_delay(plain, checked, datasets, self.processing, lag))

    def _model(self, datasets: tuple[Dataset, ...]) -> tuple[Model, Friction | None, tuple[Candidate, ...]]:
        """The model to fit, its nonlinear friction, and the candidates that it was chosen from."""
        options = self.model
        linear = options.friction == "linear"
        terms = [t for t in options.terms if linear or t not in LINEAR_FRICTION]
        model = Model(self.robot, terms, options.gravity, options.velocity_deadband)
        if linear:
            return model, None, ()
        if options.friction == "auto":
            choice = choose_friction(model, datasets)
            return choice.model, choice.friction, choice.table
        together = fit_jointly(model, datasets, options.friction)
        return together.fit.data.model, together.friction, ()

    def _noise(self, processing: Processing | bool | None) -> MeasurementNoise:
        """Noise that the first recording shows, after the processing."""
        first = check_against(self.raw[0], self.robot)
        if processing is False or (processing is None and first.ddq is not None):
            raise DatasetError("maximum likelihood follows noise through the filters: it needs a Processing")
        return MeasurementNoise.of(first, processing if isinstance(processing, Processing) else Processing())

    def _held_out(
        self, refit: Callable[[CompressedData], Fit], fits: _ConsistentFits, feasible: FeasibleFit
    ) -> HeldOut | None:
        """Errors on parts of the motion that are left out in turn."""
        folds = self.checks.folds
        if not folds:
            return None
        self.progress("held-out error", 0, folds)
        return held_out(
            feasible.data,
            refit,
            lambda estimate: fits.fitted(estimate, feasible)[0].beta,
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
        self, datasets: tuple[Dataset, ...], feasible: FeasibleFit, kept: HeldOut | None, fits: _ConsistentFits
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
        )


class _ConsistentFits:
    """Consistent fits of one robot with the same constraints and the same choice."""

    def __init__(self, robot: Robot, datasets: Sequence[Dataset], constraints: Constraints, choice: Choice) -> None:
        self._torques, self._speeds = largest_torques(datasets)
        on_links, self._on_terms = split_bounds(constraints.bounds or {})
        build = default_bounds(robot, self._torques) if constraints.build == "default" else constraints.build
        self._statement = Statement(robot, with_link_bounds(build, on_links))
        self._constraints, self._choice = constraints, choice
        self._choosing = choice.believable and constraints.prior is None and constraints.consistency == "full"

    def fitted(
        self, estimate: Fit, near: FeasibleFit | None = None, between: Callable[[], None] = lambda: None
    ) -> tuple[FeasibleFit, str]:
        """The consistent fit of an unconstrained one, and a note where no plausible links were found.

        Parameters
        ----------
        estimate
        near
            Fit of similar data, from which the search for plausible links begins.
        between
            Called when the best fit is known, before plausible links are searched.
        """
        limits = {**term_bounds(estimate, self._torques, self._speeds), **self._on_terms}
        given = self._constraints
        problem = RegressionProblem(estimate, given.consistency, given.margin, self._statement, limits, given.prior)
        best = problem.solve()
        between()
        if not self._choosing:
            return best, ""
        try:
            return problem.choose(best, self._choice.bodies, self._choice.share, near), ""
        except CasidError as error:
            return best, f"no more plausible links were found, these are those of the best fit: {error}"


def _notes(fit: Fit, feasible: FeasibleFit) -> list[str]:
    notes = [f"not identifiable from these data: {reason}" for reason in unexcited_reasons(fit)]
    if fit.condition_number > CONDITION:
        vague = [name for name, sd in zip(fit.data.base.names, fit.relative_sd, strict=True) if 100.0 < sd < np.inf]
        notes.append(
            f"the motion excites poorly: condition number {fit.condition_number:.2g}; {len(vague)} base parameters "
            f"have a standard deviation above their value{': ' + ', '.join(vague) if vague else ''}"
        )
    if feasible.residual_ratio > 1.05:
        notes.append(
            f"physical consistency raises the weighted residual by {100 * (feasible.residual_ratio - 1):.1f} %: the "
            f"unconstrained "
            "fit explains noise with impossible bodies, or a bound or the model is wrong; see the base parameters "
            "whose "
            "values differ by many standard deviations"
        )
    if feasible.active:
        notes.append(f"bounds that are reached: {'; '.join(bound.text for bound in feasible.active)}")
    if not feasible.solution.certified:
        notes.append(f"the feasible fit is not certified: relative gap {feasible.gap:.1e}")
    if feasible.believable is not None and not feasible.believable.certified:
        notes.append(f"the choice of plausible links is not certified: relative gap {feasible.believable.gap:.1e}")
    return notes
