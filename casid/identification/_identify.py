"""From recordings to certified, believable parameters: six steps, each from the result of the one before.

    recordings = read(robot, paths)                 # recordings of the robot, as measured
    cleaned = clean(recordings)                     # filtered, differentiated, a delay taken out
    compressed = compress(cleaned)                  # R factors: the size no longer depends on the samples
    chosen = choose_model(compressed)               # friction laws, springs, the share that plausibility may cost
    fitted = fit_consistently(chosen)               # physically consistent links, the most plausible ones
    identification = judge(fitted)                  # held-out errors, verdict, notes

`identify` is these six in a row, and once more where the verdict proves a delay of the torques.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from casid.arrays import Array
from casid.description import Robot, load_robot
from casid.dynamics import Model
from casid.errors import DatasetError, ProblemError, SolveError
from casid.evidence import NOTICEABLE, PARTS
from casid.identification._accuracy import HeldOut, Part, certified_intervals, held_out, parts_of
from casid.identification._bounds import split_bounds
from casid.identification._consistent_fits import (
    Choice,
    ConsistentFits,
    Constraints,
    SharePath,
    chosen_share,
    fixed,
    own_share,
)
from casid.identification._identification import Identification
from casid.identification._joint_terms import (
    COUNTERBALANCE,
    SPRING,
    FoundSpring,
    IdentifiedFriction,
    ModelOptions,
    check_bounds,
    identified_friction,
    plain_model,
    rotor_notes,
    search,
)
from casid.identification._regression import FeasibleFit
from casid.identification.diagnosis._findings import Finding
from casid.identification.diagnosis._hypotheses import proven_delay, taken_out
from casid.identification.diagnosis._readings import filtered
from casid.identification.diagnosis._verdict import verdict_on
from casid.measurement import Dataset, Processing, check_against, prepare, read_log
from casid.regression import (
    Fit,
    MeasurementNoise,
    estimate_delay,
    one_thread,
    processing_of_each,
    unexcited_reasons,
    wls,
)
from casid.regression import compress as compress_recordings
from casid.regression.estimators import Estimator, Observations
from casid.regression.estimators import estimator as estimator_of
from casid.retrieval.plausible import robot_bodies

#: Condition number above which the excitation counts as poor.
CONDITION = 1e4
#: Called with a step in words, and how much of all work is done: ``(text, done, total)``.
Progress = Callable[[str, float, float], None]
#: Processing of all recordings, or of each.
Processings = Processing | bool | Sequence[Processing | bool | None] | None


@dataclass(frozen=True)
class Checks:
    """What is computed to judge the result.

    Attributes
    ----------
    folds : int
        Parts of the motion that are held out in turn, two or more; 0: none.
    verdict : bool
        Whether other readings of the recordings are tried (`casid.identification.diagnosis`).
    intervals : bool
        Whether proven ranges of the links' masses are computed (`certified_intervals`).

    Raises
    ------
    DatasetError
        For another number of folds.
    """

    folds: int = PARTS
    verdict: bool = True
    intervals: bool = False

    def __post_init__(self) -> None:
        if self.folds < 0 or self.folds == 1:
            raise DatasetError(f"folds: expected 2 parts of the motion or more, or 0 for none, got {self.folds}")


_MODEL, _CONSTRAINTS, _CHOICE, _CHECKS = ModelOptions(), Constraints(), Choice(), Checks()


def identify(
    robot: Robot | str | Path,
    recordings: Dataset | str | Path | Sequence[Dataset | str | Path],
    *,
    processing: Processings = None,
    delay: float | Literal["auto"] | None = None,
    model: ModelOptions = _MODEL,
    estimator: Estimator | str = "WLS",
    constraints: Constraints = _CONSTRAINTS,
    choice: Choice = _CHOICE,
    checks: Checks = _CHECKS,
    progress: Progress = lambda text, done, total: None,
) -> Identification:
    """Identify a robot in six steps, which `casid.identification` has one by one.

    ``read`` the recordings, ``clean`` them (filters, differences, a delay), ``compress`` them to R factors,
    ``choose_model`` (friction, springs, and the share that plausibility may cost, all by held-out error),
    ``fit_consistently`` (physically consistent links, the most plausible of those that explain the data as well), and
    ``judge`` (verdict, notes). Where the verdict proves a delay of the torques, all from ``clean`` on is done once more
    without it::

        cleaned = clean(read(robot, recordings), model, processing, delay)
        chosen = choose_model(compress(cleaned, estimator), constraints, choice, checks)
        identification = judge(fit_consistently(chosen), checks)

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
    progress("reading", 0.0, 1.0)
    measured = read(robot, recordings)
    check_bounds(measured.robot, _decided(model, estimator, checks), split_bounds(constraints.bounds)[1])
    settings = tuple(processing) if isinstance(processing, Sequence) else (processing,)
    settled = delay is not None or any(
        one is False or (isinstance(one, Processing) and one.delay != 0.0) for one in settings
    )

    # shares of the time that is spent when each step begins: means of a simulated and a measured motion of a Panda
    begins = {
        "reading": 0.0, "cleaning": 0.14, "compressing": 0.29, "choosing friction, springs and the share": 0.32,
        "fitting believable links": 0.74, "judging": 0.76,
    }  # fmt: skip

    def identified(lag: float | Literal["auto"] | None, before: float = 0.0) -> Identification:
        def begin(step: str) -> None:
            again = " once more, without the delay" if before else ""
            progress(f"{step}{again}", before + begins[step], before + 1.0)

        begin("cleaning")
        cleaned = clean(measured, model, processing, lag)
        begin("compressing")
        compressed = compress(cleaned, estimator)
        begin("choosing friction, springs and the share")
        chosen = choose_model(compressed, constraints, choice, checks)
        begin("fitting believable links")
        fitted = fit_consistently(chosen)
        begin("judging")
        return judge(fitted, checks)

    with one_thread():  # thousands of factors are too small to be shared out
        made = identified(delay)
        lag = None if settled or made.verdict is None else proven_delay(made.verdict.findings)
        if lag is None:
            return made
        again = identified(float(lag.values["seconds"]), 1.0 - begins["cleaning"])
    if again.verdict is None:
        return again
    return replace(again, verdict=replace(again.verdict, findings=(taken_out(lag), *again.verdict.findings)))


def _decided(model: ModelOptions, estimator: Estimator | str, checks: Checks) -> ModelOptions:
    """The options with their friction named: laws are compared by held-out errors of least squares."""
    return model.decided(checks.folds > 0 and estimator_of(estimator).name == "WLS")


# ---------------------------------------------------------------------------------------------------------- 1 read


@dataclass(frozen=True, eq=False)
class Recordings:
    """Recordings of a robot as measured.

    Attributes
    ----------
    robot : Robot
    raw : tuple of Dataset
    """

    robot: Robot
    raw: tuple[Dataset, ...]


def read(robot: Robot | str | Path, recordings: Dataset | str | Path | Sequence[Dataset | str | Path]) -> Recordings:
    """Read a robot and its recordings; step 1 of `identify`.

    Parameters
    ----------
    robot, recordings
        As of `identify`.

    Raises
    ------
    DatasetError
        For arrays and the like, files that cannot be read, no recording, or another number of joints.
    """
    robot = load_robot(robot) if isinstance(robot, (str, Path)) else robot
    given = tuple(recordings) if isinstance(recordings, Sequence) and not isinstance(recordings, str) else (recordings,)
    strange = [one for one in given if not isinstance(one, (Dataset, str, Path))]
    if strange:
        raise DatasetError(
            f"recordings: expected paths or Datasets, got {type(strange[0]).__name__}; of arrays: "
            "casid.measurement.Dataset(t, q, tau), one row a sample"
        )
    if not given:
        raise DatasetError("no recording to identify from")
    raw = tuple(read_log(one, robot) if isinstance(one, (str, Path)) else one for one in given)
    return Recordings(robot, tuple(check_against(data, robot) for data in raw))


# --------------------------------------------------------------------------------------------------------- 2 clean


@dataclass(frozen=True, eq=False)
class Cleaned:
    """Recordings as processed.

    Attributes
    ----------
    recordings : Recordings
    model : ModelOptions
        Whose terms the processing was chosen for.
    datasets : tuple of Dataset
    processing : Processing, bool or None
        Of the first recording, as used, an estimated delay included.
    note : str
        About the delay.
    """

    recordings: Recordings
    model: ModelOptions
    datasets: tuple[Dataset, ...]
    processing: Processing | bool | None
    note: str


def clean(
    recordings: Recordings,
    model: ModelOptions = _MODEL,
    processing: Processings = None,
    delay: float | Literal["auto"] | None = None,
) -> Cleaned:
    """Filter and differentiate recordings, and take out a delay of the torques; step 2 of `identify`.

    Parameters
    ----------
    recordings
    model, processing, delay
        As of `identify`; by default no delay is taken out.

    Raises
    ------
    DatasetError
        If a recording cannot be processed, or its delay not be estimated.
    """
    robot, raw = recordings.robot, recordings.raw
    plain = Model(robot, model.terms_of(robot), model.gravity, model.velocity_deadband)
    settings = processing_of_each(plain, raw, processing)
    datasets = tuple(prepare(data, each) for data, each in zip(raw, settings, strict=True))
    if delay is None:
        return Cleaned(recordings, model, datasets, settings[0], "")
    return Cleaned(
        recordings, model, *without_delay(plain, raw, datasets, settings, None if delay == "auto" else float(delay))
    )


def without_delay(
    model: Model, raw: Sequence[Dataset], datasets: Sequence[Dataset], processing: Processings, delay: float | None
) -> tuple[tuple[Dataset, ...], Processing, str]:
    """Recordings with the torques moved by their delay, the processing that does so, and a note about it.

    Parameters
    ----------
    model
        For the estimate.
    raw, datasets
        As read, and as processed so far.
    processing
        As given to `casid.measurement.prepare`, for all recordings or for each. That of the first is returned.
    delay
        [s]; ``None``: estimated (`casid.regression.estimate_delay`), and taken out unless it lies at the end of the
        range that is searched.

    Raises
    ------
    DatasetError
        If a delay cannot be estimated from these recordings.
    """
    each = tuple(processing) if isinstance(processing, Sequence) else (processing,) * len(raw)
    settings = [one if isinstance(one, Processing) else Processing() for one in each]
    note = ""
    if delay is None:
        smooth = tuple(filtered(one, data) for one, data in zip(raw, datasets, strict=True))
        lag = estimate_delay(model, smooth, wls(compress_recordings(model, smooth)).weights)
        words = f"{1e3 * lag.seconds:.3f} ms ({lag.samples:.2f} samples, standard deviation {1e3 * lag.sd:.2g} ms)"
        if lag.at_limit:
            beyond = f"the delay of the torques lies beyond what was searched, {words}: not taken out"
            return tuple(datasets), settings[0], beyond
        made = [replace(one, delay=one.delay + lag.seconds) for one in settings]
        note = f"torques lag {words} behind the positions: taken out"
    else:
        made = [replace(one, delay=float(delay)) for one in settings]
    return tuple(prepare(data, one) for data, one in zip(raw, made, strict=True)), made[0], note


# ------------------------------------------------------------------------------------------------------ 3 compress


@dataclass(frozen=True, eq=False)
class Compressed:
    """Recordings as R factors of the model with linear friction.

    Attributes
    ----------
    cleaned : Cleaned
    estimator : Estimator
    observations : Observations
        ``observations.compressed`` are the factors; an estimator may need the samples too.
    """

    cleaned: Cleaned
    estimator: Estimator
    observations: Observations


def compress(cleaned: Cleaned, estimator: Estimator | str = "WLS") -> Compressed:
    """Compress recordings to R factors, stretch by stretch; step 3 of `identify`.

    With ``W`` of all samples ``W'W = R'R`` and ``W'tau = R'rho``: least squares and all that is held out of it need
    nothing else.

    Parameters
    ----------
    cleaned
    estimator
        As of `identify`.
    """
    model = plain_model(cleaned.recordings.robot, cleaned.model)
    made = Observations(model, cleaned.datasets, lambda: _noise(cleaned))
    made.compressed  # noqa: B018
    return Compressed(cleaned, estimator_of(estimator), made)


def _noise(cleaned: Cleaned) -> MeasurementNoise:
    """Noise that the first recording shows, after the processing."""
    if cleaned.processing is False:
        raise DatasetError("maximum likelihood follows noise through the filters: it needs a Processing")
    own = cleaned.processing if isinstance(cleaned.processing, Processing) else Processing()
    return MeasurementNoise.of(cleaned.recordings.raw[0], own)


# -------------------------------------------------------------------------------------------------- 4 choose_model


@dataclass(frozen=True, eq=False)
class ChosenModel:
    """The model with its friction and springs, its unconstrained fit, and what plausibility may cost.

    Attributes
    ----------
    compressed : Compressed
    friction : IdentifiedFriction
        With the model.
    springs : tuple of FoundSpring
    fit : Fit
        Unconstrained.
    fits : ConsistentFits
        How it is made consistent, with the chosen share.
    path : SharePath
        The shares that were tried.
    parts : tuple of Part
        Of the motion, each held out in turn; none where nothing is.
    estimates : tuple of Fit
        Unconstrained, without each part.
    """

    compressed: Compressed
    friction: IdentifiedFriction
    springs: tuple[FoundSpring, ...]
    fit: Fit
    fits: ConsistentFits
    path: SharePath
    parts: tuple[Part, ...]
    estimates: tuple[Fit, ...]


def choose_model(
    compressed: Compressed,
    constraints: Constraints = _CONSTRAINTS,
    choice: Choice = _CHOICE,
    checks: Checks = _CHECKS,
) -> ChosenModel:
    """Choose friction, springs and the share that plausibility may cost, by held-out error; step 4 of `identify`.

    Parameters
    ----------
    compressed
    constraints, choice, checks
        As of `identify`.

    Raises
    ------
    ProblemError
        For a bound of a parameter that the friction does not have.
    SolveError
        If no links obey the constraints.
    """
    cleaned = compressed.cleaned
    robot, datasets = cleaned.recordings.robot, cleaned.datasets
    options = _decided(cleaned.model, compressed.estimator, checks)
    fits = ConsistentFits(robot, datasets, constraints, choice)
    limits = split_bounds(constraints.bounds)[1]
    friction = identified_friction(robot, datasets, options, limits, fits)
    idle = ", ".join(name for name in limits if name not in friction.model.parameter_names)
    if idle:
        friction = replace(friction, note=f"{friction.note}; it has no {idle}, whose bound has no effect")
    if friction.model.parameter_names == compressed.observations.model.parameter_names and friction.law is None:
        friction = replace(friction, model=compressed.observations.model)
    made = _chosen(compressed, friction, (), fits, checks)
    model = friction.model
    known = any(term.name in (*SPRING, *COUNTERBALANCE) for term in model.terms)
    if not options.springs or options.friction not in ("linear", "static", "auto") or not made.path.price or known:
        return made
    springs = search(made.fit, datasets, made.fits, made.path.price, checks.folds)
    if not springs:
        return made
    model = model.like(terms=(*model.terms, *(term for spring in springs for term in spring.terms)))
    friction = replace(friction, model=model, held_out=None)  # known without springs only
    fits = replace(fits, springs=tuple((spring.joint, spring.held) for spring in springs))
    return _chosen(compressed, friction, springs, fits, checks)


def _chosen(
    compressed: Compressed,
    friction: IdentifiedFriction,
    springs: tuple[FoundSpring, ...],
    fits: ConsistentFits,
    checks: Checks,
) -> ChosenModel:
    """The unconstrained fits of a model, of the whole motion and without each part, and the share."""
    observations, estimator = compressed.observations.of(friction.model), compressed.estimator
    fit = estimator.fit(observations)
    parts = parts_of(fit.data, checks.folds)
    try:
        estimates = tuple(estimator.refit(part.training, fit, observations) for part in parts)
        failure = ""
    except (DatasetError, SolveError) as error:  # of a part that holds too little
        parts, estimates, failure = (), (), f"nothing was held out, a part of the motion cannot be fitted: {error}"
    if failure or fits.choice.share is not None or not fits.choosing or not checks.folds:
        path = fixed(fits.choice.share, failure)
    else:
        path = chosen_share(parts, estimates, fits, own_share(fit)).with_whole(fit, fits)
    return ChosenModel(compressed, friction, springs, fit, replace(fits, share=path.share), path, parts, estimates)


# ---------------------------------------------------------------------------------------------- 5 fit_consistently


@dataclass(frozen=True, eq=False)
class Fitted:
    """Physically consistent links.

    Attributes
    ----------
    chosen : ChosenModel
    feasible : FeasibleFit
    note : str
        Where no plausible links were found, or a part of the motion has no consistent fit.
    held_out : HeldOut or None
        Errors on parts of the motion that a fit did not see.
    """

    chosen: ChosenModel
    feasible: FeasibleFit
    note: str
    held_out: HeldOut | None


def fit_consistently(chosen: ChosenModel) -> Fitted:
    """Fit the links that can exist, of those that explain the data as well the most plausible; step 5 of `identify`.

    Parameters
    ----------
    chosen

    Raises
    ------
    SolveError
        If no links obey the constraints.
    """
    feasible, note = chosen.fits.fitted(chosen.fit)
    kept = chosen.friction.held_out if chosen.parts and chosen.compressed.estimator.name == "WLS" else None
    try:
        return Fitted(chosen, feasible, note, _held_out(chosen, feasible) if kept is None else kept)
    except SolveError as error:
        failure = f"no held-out error, a part of the motion has no consistent fit: {error}"
        return Fitted(chosen, feasible, "; ".join(filter(None, (note, failure))), None)


def _held_out(chosen: ChosenModel, feasible: FeasibleFit) -> HeldOut | None:
    """Errors on parts of the motion that are left out in turn; fits that the choice of the share made are used."""
    if not chosen.parts:
        return None
    consistent = [betas[chosen.path.share] for betas in chosen.path.folds] or [
        chosen.fits.fitted(fit, feasible)[0].beta for fit in chosen.estimates
    ]
    betas: list[dict[str, Array]] = [
        {"unconstrained": fit.beta, "consistent": beta} for fit, beta in zip(chosen.estimates, consistent, strict=True)
    ]
    return held_out(chosen.parts, betas)


# --------------------------------------------------------------------------------------------------------- 6 judge


def judge(fitted: Fitted, checks: Checks = _CHECKS) -> Identification:
    """Judge a fit: proven ranges, other readings of the recordings, notes; step 6 of `identify`.

    Parameters
    ----------
    fitted
    checks
        As of `identify`.
    """
    chosen, feasible = fitted.chosen, fitted.feasible
    cleaned, fits, fit = chosen.compressed.cleaned, chosen.fits, chosen.fit
    robot, raw = cleaned.recordings.robot, cleaned.recordings.raw
    ranges, unproven = None, ""
    if checks.intervals:
        try:
            ranges = certified_intervals(feasible)
        except (ProblemError, SolveError) as error:
            unproven = f"no proven intervals: {error}"
    verdict = verdict_on(robot, raw, cleaned.datasets, feasible, fitted.held_out, fits) if checks.verdict else None
    if verdict is not None and chosen.springs:
        named = [Finding("spring", joint=s.joint, values={"what": s.text}) for s in chosen.springs]
        verdict = replace(verdict, findings=(*verdict.findings, *named))
    further = (
        cleaned.note, chosen.friction.note, chosen.path.failure, fitted.note, unproven,
        *(spring.text for spring in chosen.springs), *rotor_notes(fits, feasible), *_unused_descriptions(fits),
    )  # fmt: skip
    notes = (*fit.data.notes, *_notes(fit, feasible), *filter(None, further))
    friction = chosen.friction
    return Identification(
        friction.model, cleaned.datasets, fit, feasible, notes, cleaned.processing, friction.name, friction.law,
        friction.candidates, fitted.held_out, verdict, ranges, chosen.path if fits.choosing else None, chosen.springs,
    )  # fmt: skip


def _unused_descriptions(fits: ConsistentFits) -> list[str]:
    """Links whose description the choice of plausible links does not rest on."""
    described = robot_bodies(fits.robot) if fits.choosing else None
    left_out: Any = () if described is None else zip(described.repaired, described.reasons, strict=True)
    return [f"the description of {fits.robot.links[k].name} is not used: {why}" for k, why in left_out]


def _notes(fit: Fit, feasible: FeasibleFit) -> list[str]:
    """What limits the fit."""
    reasons = unexcited_reasons(fit)
    notes = [f"not identifiable from these data ({len(reasons)}): {'; '.join(reasons)}"] if reasons else []
    if fit.condition_number > CONDITION:
        spread = zip(fit.data.base.names, fit.beta, fit.sd, strict=True)
        vague = [name for name, value, sd in spread if abs(value) < sd < np.inf]
        notes.append(
            f"the motion excites poorly: condition number {fit.condition_number:.2g}; {len(vague)} base parameters "
            f"have a standard deviation above their value{': ' + ', '.join(vague) if vague else ''}"
        )
    ratio = float(np.sqrt(feasible.solution.total / fit.objective)) if fit.objective > 0 else 1.0
    if ratio > NOTICEABLE:
        notes.append(
            f"physical consistency raises the weighted residual by {100 * (ratio - 1):.1f} %: the unconstrained fit "
            "explains noise with impossible bodies, or a bound or the model is wrong; see the base parameters whose "
            "values differ by many standard deviations"
        )
    if feasible.active:
        notes.append(f"bounds that are reached: {'; '.join(bound.text for bound in feasible.active)}")
    return notes
