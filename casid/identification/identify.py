"""From recordings to certified, believable parameters in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.description import Robot
from casid.dynamics import Model
from casid.dynamics.terms._friction import Friction
from casid.dynamics.terms._joint_terms import JointTerm
from casid.errors import CasidError, DatasetError
from casid.identification.believable import check_share
from casid.identification.bounds import default_bounds, largest_torques, split_bounds, term_bounds, with_link_bounds
from casid.identification.certified import certified_intervals
from casid.identification.delay import without_delay
from casid.identification.feasible_fit import FeasibleFit
from casid.identification.held_out import HeldOut, held_out
from casid.identification.identification import Identification
from casid.identification.plausible import PlausibleBodies
from casid.identification.regression import Bounds, RegressionProblem
from casid.identification.statement import Statement
from casid.identification.verdict import judge
from casid.measurement import Dataset, Processing, check_against, prepare
from casid.regression import CompressedData, Fit, choose_friction, wls
from casid.regression._fit import irls, ols, unexcited_reasons
from casid.regression.estimators import Estimator, MaximumLikelihood, MeasurementNoise, Observations
from casid.regression.friction._cross_validation import Candidate
from casid.regression.friction._shape_fits import fit_jointly
from casid.retrieval.builders.priors import Prior
from casid.retrieval.constraints import ConsistencyKind
from casid.retrieval.load import ConstraintBuilder

Array = NDArray[np.float64]
#: Condition number from which a note says that the motion excites poorly.
CONDITION = 1e4
#: Linear friction of a joint, the default.
LINEAR_FRICTION = ("viscous", "coulomb", "offset")
#: Estimators by name.
METHODS = ("WLS", "OLS", "IRLS", "ML")
#: Called with a step in words, and how much of it is done: ``(text, done, total)``.
Progress = Callable[[str, int, int], None]


def identify(
    robot: Robot,
    recordings: Dataset | Sequence[Dataset],
    *,
    processing: Processing | bool | None = None,
    delay: float | Literal["auto"] | None = None,
    terms: Sequence[str | JointTerm] = LINEAR_FRICTION,
    friction: str = "linear",
    velocity_deadband: float = 0.0,
    gravity: ArrayLike | None = None,
    method: Literal["WLS", "OLS", "IRLS", "ML"] | Estimator = "WLS",
    consistency: ConsistencyKind = "full",
    margin: float | None = None,
    constraints: ConstraintBuilder | Literal["default"] | None = "default",
    bounds: Bounds | None = None,
    prior: Prior | None = None,
    believable: bool = True,
    bodies: PlausibleBodies | None = None,
    share: float | None = None,
    folds: int = 4,
    verdict: bool = True,
    intervals: bool = False,
    progress: Progress = lambda text, done, total: None,
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
    terms
        Joint terms. With nonlinear ``friction``, viscous, coulomb and offset are left out of them.
    friction
        ``linear``; ``auto``: chosen joint by joint by cross-validation (`casid.regression.choose_friction`); or the
        name of a law, fitted jointly with the inertial parameters (`fit_jointly`).
    method
        Of the unconstrained fit, whose weights, those of single samples (IRLS) included, the feasible one uses. ``ML``:
        maximum likelihood with the noise that the first recording shows; or any other `Estimator` (instrumental
        variables, DIDIM, output error), whose own metric the feasible fit then minimises (`quadratic`). What these need
        beyond the samples cannot be held out in parts: their held-out error is not computed.
    consistency, margin, prior
        As in `feasible_regression`.
    constraints
        ``"default"``: the bounds of the description, and where it is silent ones that scale with the robot's size and
        torques (`default_bounds`); a function; ``None``: physical consistency only.
    bounds
        Of single parameters, e.g. ``{"fo1": (-1, 1), "m7": (0, 3)}``.
    believable
        Of all sets that explain the data as well as the best, take the most plausible (`believable`); not with a prior,
        nor with less than full consistency.
    bodies, share
        Plausible bodies, and how much the residual's norm may grow, see `RegressionProblem.choose`.
    folds
        Parts of the motion that are held out in turn, two or more; 0: none.
    verdict
        Whether other readings of the recordings are tried (`judge`).
    intervals
        Whether proven ranges of the links' masses are computed too (`certified_intervals`).
    progress
        Called with each step.

    Raises
    ------
    DatasetError, ProblemError, SolveError
        What is wrong with the recordings, the options, or the constraints.
    """
    if not isinstance(method, Estimator) and method not in METHODS:
        raise DatasetError(f"unknown method '{method}'; known: {', '.join(METHODS)}, or an Estimator")
    if folds < 0 or folds == 1:
        raise DatasetError(f"folds: the motion is held out in 2 parts or more, or in 0 for none; got {folds}")
    if share is not None:
        check_share(share)
    raw = (recordings,) if isinstance(recordings, Dataset) else tuple(recordings)
    if not raw:
        raise DatasetError("no recording to identify from")
    progress("processing", 0, 1)
    checked = tuple(check_against(data, robot) for data in raw)
    datasets = tuple(prepare(data, processing) for data in checked)
    mended = ""
    if delay is not None:
        plain = Model(robot, terms, gravity, velocity_deadband)
        lag = None if delay == "auto" else float(delay)
        datasets, processing, mended = without_delay(plain, checked, datasets, processing, lag)
    progress("friction", 0, 1)
    model, law, candidates = _model(robot, datasets, terms, friction, gravity, velocity_deadband)
    progress("compressing", 0, 1)
    observations = Observations(model, datasets)
    data = observations.compressed
    progress("fitting", 0, 2)
    if method == "ML":
        method = MaximumLikelihood(_noise(checked[0], processing))
    if isinstance(method, Estimator):
        fit = method.fit(observations)
    else:
        fit = _estimate(data, method)
        if method == "IRLS":
            fit = irls(datasets, fit)
    torques, speeds = largest_torques(datasets)
    on_links, on_terms = split_bounds(bounds or {})
    build = with_link_bounds(default_bounds(robot, torques) if constraints == "default" else constraints, on_links)
    statement = Statement(robot, build)
    choosing = believable and prior is None and consistency == "full"

    def consistent(
        estimate: Fit, told: bool = False, near: FeasibleFit | None = None
    ) -> tuple[FeasibleFit, str | None]:
        limits = {**term_bounds(estimate, torques, speeds), **on_terms}
        problem = RegressionProblem(estimate, consistency, margin, statement, limits, prior)
        best = problem.solve()
        if told:
            progress("choosing believable links", 1, 2)
        if not choosing:
            return best, None
        try:
            return problem.choose(best, bodies, share, near), None
        except CasidError as error:
            return best, f"no more plausible links were found, these are those of the best fit: {error}"

    feasible, complaint = consistent(fit, told=True)
    kept = None
    if folds and not isinstance(method, Estimator):
        kept = _held_out(fit, method, lambda f: consistent(f, near=feasible)[0].beta, folds, progress)
    ranges, open_question = None, None
    if intervals:
        progress("proven intervals", 0, 1)
        try:
            ranges = certified_intervals(feasible)
        except CasidError as error:
            open_question = f"no proven intervals: {error}"
    said = None
    if verdict:
        progress("other readings", 0, 4)
        said = judge(
            robot,
            raw,
            datasets,
            feasible,
            kept,
            lambda done, total: progress("other readings", done, total),
            lambda f: consistent(f)[0],
        )
    notes = (*data.notes, *_notes(fit, feasible), *(text for text in (mended, complaint, open_question) if text))
    return Identification(
        model, datasets, fit, feasible, notes, processing, friction, law, candidates, kept, said, ranges
    )


def _model(
    robot: Robot,
    datasets: tuple[Dataset, ...],
    terms: Sequence[str | JointTerm],
    friction: str,
    gravity: ArrayLike | None,
    velocity_deadband: float,
) -> tuple[Model, Friction | None, tuple[Candidate, ...]]:
    """The model to fit, its nonlinear friction, and what that was chosen from."""
    if friction == "linear":
        return Model(robot, terms, gravity, velocity_deadband), None, ()
    bare = Model(robot, [t for t in terms if t not in LINEAR_FRICTION], gravity, velocity_deadband)
    if friction == "auto":
        choice = choose_friction(bare, datasets)
        return choice.model, choice.friction, choice.table
    together = fit_jointly(bare, datasets, friction)
    return together.fit.data.model, together.friction, ()


def _noise(raw: Dataset, processing: Processing | bool | None) -> MeasurementNoise:
    """Noise that a recording shows, after the processing; DatasetError where there is none to follow."""
    if processing is False or (processing is None and raw.ddq is not None):
        raise DatasetError("maximum likelihood follows noise through the filters: it needs a Processing")
    return MeasurementNoise.of(raw, processing if isinstance(processing, Processing) else Processing())


def _estimate(data: CompressedData, method: str) -> Fit:
    return ols(data) if method == "OLS" else wls(data)


def _held_out(
    fit: Fit, method: str, consistent: Callable[[Fit], Array], folds: int, progress: Progress
) -> HeldOut | None:
    """Held-out errors; a robust fit keeps the weights of its samples and joints on the parts it sees."""
    weights = fit.weights if method == "IRLS" else None
    progress("held-out error", 0, folds)
    return held_out(
        fit.data,
        lambda part: _estimate(part, method) if weights is None else wls(part, weights),
        consistent,
        folds,
        lambda done: progress("held-out error", done, folds),
    )


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
