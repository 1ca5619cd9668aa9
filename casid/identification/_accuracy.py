r"""Accuracy of a fit: predicted torques and their errors, held-out ones; what the data alone determine, intervals.

For the held-out error the motion is cut into stretches whose R factors are kept (`CompressedData.segments`), so that
leaving some out costs no pass over the samples. Each part leaves out every so many-th stretch; each stretch is
predicted once.

*Intervals of masses and centres.* Torques determine the links' gravity and inertia about the joints, not their masses:
a kilogram on the axis of the first joint makes none. The choice x minimises ``D + price q``
(`casid.retrieval.plausible`): it is the mode of the posterior ``exp(-(D + price q))``, whose curvature gives a
covariance of all parameters, narrow where the data decide and that of plausible bodies where they do not. With s the
standard deviation of a mass in it, over the mass, the interval is

    m exp(-+ t c s'),    1 / s'^2 = 1 / s^2 + 1 / a^2,

c and a of robots whose bodies are known (`casid.retrieval.plausible.misses`: of totals, single links, centres; where
bodies follow the kinematics, the links' shapes, or inertial values of the description), t Student's quantile of 95 %
with as many degrees of freedom as robots less one. Where shapes or inertial values tell the links' proportions, s' of a
total of n links is divided by n. A coordinate of a centre of mass has ``-+ t c s``. All within the
bounds of the description, which narrow the covariance too (`within_bounds`), and the proven ranges, where they were
asked for. Each robot judged with itself left out,
`scripts/acceptance.py real --only intervals` measures how often they hold the truth.

Where the fit is wrong (the verdict, an error above 30 %, a mass on an assumed bound) nothing is stated but that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.description import Robot
from casid.dynamics import Model
from casid.errors import DatasetError, ProblemError
from casid.evidence import CONFIDENCE, PARTS
from casid.files import open_end
from casid.identification._regression import FeasibleFit
from casid.inertia import Parameters
from casid.measurement import Dataset
from casid.regression import EXCITATION_TOLERANCE, CompressedData, Fit, torques
from casid.retrieval import SolveOptions, chi_square, parameter_intervals
from casid.retrieval.insight import Intervals
from casid.retrieval.plausible import misses


@dataclass(frozen=True, eq=False)
class Prediction:
    """Torques of a recording, measured and predicted by Newton-Euler.

    Attributes
    ----------
    dataset : Dataset
        Processed.
    predicted : ndarray, shape (N, n)
        [N.m]
    """

    dataset: Dataset
    predicted: Array

    @property
    def residual(self) -> Array:
        """Measured (filtered) minus predicted torque, shape (N, n) [N.m]; zero where the mask leaves it out."""
        return np.where(self.dataset.counted, self.dataset.tau - self.predicted, 0.0)

    @cached_property
    def rms(self) -> Array:
        """Root mean square residual of each joint [N.m]."""
        return np.asarray(np.sqrt(self.mse))

    @cached_property
    def mse(self) -> Array:
        """Mean square residual of each joint [(N.m)^2]."""
        return np.asarray((self.residual**2).sum(axis=0) / np.maximum(self.dataset.counted.sum(axis=0), 1))

    @cached_property
    def relative_errors(self) -> Array:
        """``100 ||residual|| / ||torque||`` of each joint [%]."""
        size = np.linalg.norm(self._counted, axis=0)
        left = np.linalg.norm(self.residual, axis=0)
        return np.asarray(100.0 * np.divide(left, size, out=np.zeros_like(left), where=size > 0))

    @property
    def relative_error(self) -> float:
        """The same over all joints [%]."""
        return 100.0 * float(np.linalg.norm(self.residual) / max(np.linalg.norm(self._counted), np.finfo(float).tiny))

    @cached_property
    def rest(self) -> tuple[float, Array]:
        """Share of the samples that are left out because a joint rests, and the largest residual of each there [N.m].

        Friction at rest may be any torque up to that of breaking away, which the model does not predict.
        """
        resting = np.zeros(self.predicted.shape, dtype=bool)
        for one in self.dataset.defects:
            if one.kind == "standstill" and one.treatment == "left out" and one.joint is not None:
                resting[:, one.joint] |= one.mask(self.dataset.t, 0.0)
        away = np.abs(self.dataset.tau - self.predicted)
        return float(resting.any(axis=1).mean()), np.asarray(np.where(resting, away, 0.0).max(axis=0))

    @property
    def _counted(self) -> Array:
        return np.where(self.dataset.counted, self.dataset.tau, 0.0)


def predict(model: Model, parameters: Parameters | ArrayLike, dataset: Dataset) -> Prediction:
    """Torques of a processed recording by Newton-Euler, filtered as its torques were.

    Parameters
    ----------
    model
    parameters
        By name, terms that are left out being zero; or all N in the order of ``model.parameter_names``.
    dataset
        With velocities and accelerations.

    Raises
    ------
    DatasetError
        If the recording has another number of joints, no velocities or accelerations, or parameters are missing.
    """
    pi = parameters.in_order(model) if isinstance(parameters, Parameters) else np.asarray(parameters, dtype=float)
    if pi.shape != (len(model.parameter_names),):
        raise DatasetError(f"expected {len(model.parameter_names)} parameters, got shape {pi.shape}")
    if dataset.n != model.n or dataset.dq is None or dataset.ddq is None:
        raise DatasetError(f"{dataset.name}: a processed recording of {model.n} joints is needed")
    return Prediction(dataset, torques(model, pi, dataset))


@dataclass(frozen=True, eq=False)
class Part:
    """Stretches of a motion that a fit does not see and predicts.

    Attributes
    ----------
    data : CompressedData
        The whole motion.
    apart : tuple of int
        Stretches of it that are left out.
    """

    data: CompressedData
    apart: tuple[int, ...]

    @cached_property
    def training(self) -> CompressedData:
        """What is fitted: all other stretches."""
        return self.data.only([i for i in range(len(self.data.segments)) if i not in self.apart])

    @cached_property
    def tested(self) -> CompressedData:
        """What is predicted."""
        return self.data.only(list(self.apart))


def parts_of(data: CompressedData, folds: int = PARTS) -> tuple[Part, ...]:
    """Parts of a motion, part i every so many-th stretch from stretch i; none where there are fewer than two."""
    count = len(data.segments)
    folds = min(folds, count)
    return tuple(Part(data, tuple(range(fold, count, folds))) for fold in range(folds)) if folds > 1 else ()


@dataclass(frozen=True, eq=False)
class Errors:
    """Relative errors ``100 ||tau - Y pi|| / ||tau||`` [%], every sample alike whatever its weight in the fit.

    Attributes
    ----------
    total : float
    joints : ndarray, shape (n,)
        NaN for a joint without samples.
    """

    total: float
    joints: Array

    @classmethod
    def of(cls, squares: ArrayLike, torques: ArrayLike) -> Errors:
        """From sums of squares of errors and torques, joint by joint."""
        e, t = np.asarray(squares, dtype=float), np.asarray(torques, dtype=float)
        with np.errstate(invalid="ignore", divide="ignore"):
            return cls(100.0 * float(np.sqrt(e.sum() / t.sum())), 100.0 * np.sqrt(e / np.where(t > 0, t, np.nan)))

    def record(self) -> dict[str, object]:
        """Plain numbers; null for a joint without samples."""
        joints = [None if np.isnan(error) else open_end(error) for error in self.joints]
        return {"total": open_end(self.total), "joints": joints}


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Errors on the parts of the motion that were fitted and on those that were held out.

    Attributes
    ----------
    folds : int
    stretches : int
        Stretches of the motion that were kept apart in turn.
    training, tested : mapping of str to Errors
        By ``unconstrained`` and ``consistent``.
    squares : mapping of str to ndarray, shape (stretches,)
        Likewise, squared error of each stretch that was held out, part by part [(N.m)^2].
    """

    folds: int
    stretches: int
    training: dict[str, Errors]
    tested: dict[str, Errors]
    squares: dict[str, Array]

    def record(self) -> dict[str, object]:
        """Plain numbers."""
        parts = {"training": self.training, "held_out": self.tested}
        made = {part: {kind: e.record() for kind, e in errors.items()} for part, errors in parts.items()}
        return {"folds": self.folds, "stretches": self.stretches, **made}


class MotionSpread(NamedTuple):
    """Of log(error on another recording / held-out error), recordings of a robot counting as one: mean, deviation."""

    mean: float
    deviation: float
    robots: int


#: Real and simulated robots by default, pairs of their recordings: scripts/benchmarks/real/other_motions.csv.
OTHER_MOTIONS = MotionSpread(0.0196, 0.3802, 31)
#: Share of other motions within the stated errors.
STATED = 0.9
#: Over nominal bodies, the size up to which masses are looked for; larger ones cost the search its digits.
FARTHEST = 1e3


def other_motion_errors(held_out: float, spread: MotionSpread = OTHER_MOTIONS) -> tuple[float, float]:
    """Ends between which 90 % of the errors on other motions of a robot lie while it moves [%].

    Parts of a motion are predicted from the others, which repeat its postures and speeds; another motion has others.
    With mean m and deviation s of the logarithm of their ratio over n robots the prediction interval is

        held_out exp(m -+ t s sqrt(1 + 1/n)),    t Student's quantile of n - 1 degrees of freedom.

    Parameters
    ----------
    held_out
        [%]
    spread
    """
    from scipy.special import stdtrit  # slow to import

    mean, s, n = spread
    half = float(stdtrit(n - 1, (1.0 + STATED) / 2.0)) * s * float(np.sqrt(1.0 + 1.0 / n))
    return held_out * float(np.exp(mean - half)), held_out * float(np.exp(mean + half))


def held_out(parts: Sequence[Part], betas: Sequence[Mapping[str, Array]]) -> HeldOut:
    """Errors of a motion whose parts are predicted from the others, every sample alike.

    Parameters
    ----------
    parts
    betas
        Of each part, base parameters of fits to its `Part.training`, shape (rank,): by ``unconstrained`` and
        ``consistent``.
    """
    squares: dict[tuple[str, str], Array] = {}
    torques: dict[str, Array] = {}
    for part, own in zip(parts, betas, strict=True):
        for half, weighted in (("training", part.training), ("tested", part.tested)):
            plain = weighted.plain
            torques[half] = torques.get(half, 0.0) + plain.squared_torques
            for kind, beta in own.items():
                squares[half, kind] = squares.get((half, kind), 0.0) + plain.squared_errors(beta)
    training, tested = (
        {kind: Errors.of(squares[half, kind], torques[half]) for kind in betas[0]} for half in ("training", "tested")
    )
    left = {
        kind: np.array([
            float(part.data.only([i]).plain.squared_errors(own[kind]).sum())
            for part, own in zip(parts, betas, strict=True) for i in part.apart
        ])
        for kind in betas[0]
    }  # fmt: skip
    return HeldOut(len(parts), sum(len(part.apart) for part in parts), training, tested, left)


# ------------------------------------------------------------------ what the data determine

#: Error above which a fit is wrong [%], and ends of an interval over each other above which a mass is called open.
WRONG, OPEN = 30.0, 1.5


@dataclass(frozen=True)
class ChosenValue:
    """A chosen value and its interval of 95 %: of a parameter from the data alone, of a mass or a centre of mass.

    Attributes
    ----------
    name : str
        Of the parameter, or of the link; ``all links``; ``link2 x``.
    value : float
        As chosen.
    low, high : float
        Infinite where the data alone do not determine a parameter, or where the fit is wrong.
    """

    name: str
    value: float
    low: float
    high: float

    @property
    def by_data(self) -> bool:
        """Whether half the interval is narrower than the value, and the value lies in it."""
        return (self.high - self.low) / 2 < abs(self.value) and self.low <= self.value <= self.high

    @property
    def open(self) -> bool:
        """Whether the ends are so far apart that a mass is a choice, not a measurement."""
        return self.high > OPEN * self.low


def determined(fit: Fit, values: Array) -> tuple[ChosenValue, ...]:
    """95 % intervals of single parameters from the unconstrained fit, before any constraint or plausibility.

    A parameter ``x_j`` is determined where its unit vector is a combination of excited base parameters, ``e_j = K_e'
    c``; it is then ``c' beta +- 1.96 sqrt(c' C c)``. Proven intervals under all constraints: `parameter_intervals`.

    Parameters
    ----------
    fit
    values
        Chosen values, in the order of the model, shape (N,).
    """
    model, quantile = fit.data.model, NormalDist().inv_cdf((1.0 + CONFIDENCE) / 2.0)
    forms = fit.excited.K @ fit.data.base.K  # excited base parameters in all parameters
    beta = fit.beta[list(fit.excited.independent)]
    inverse = np.linalg.pinv(forms)  # columns: parameters that make one base parameter 1
    shares = inverse @ forms
    entries = []
    for j, name in enumerate(model.parameter_names):
        unit = np.zeros(len(model.parameter_names))
        unit[j] = 1.0
        low, high = -np.inf, np.inf
        if np.abs(shares[:, j] - unit).max() <= EXCITATION_TOLERANCE:
            combination = inverse[j]
            middle = float(combination @ beta)
            half = quantile * float(np.sqrt(max(combination @ fit.covariance @ combination, 0.0)))
            low, high = middle - half, middle + half
        entries.append(ChosenValue(name, float(values[j]), low, high))
    return tuple(entries)


def certified_intervals(fit: FeasibleFit, without: Sequence[str] = ()) -> Intervals:
    """Smallest and largest mass of each link over all consistent sets that explain the data.

    With the residual variance ``s^2 = F* / (samples - rank)`` of independent samples, a set explains the data if its
    weighted sum of squares is at most ``F* + s^2 chi^2_rank``, the quantile at `casid.evidence.CONFIDENCE`.

    Parameters
    ----------
    fit
    without
        Labels of constraints that do not count, such as a default bound; the sets are then those of the chosen share,
        and the masses those of the links whose bounds these are, looked for up to `FARTHEST` times nominal bodies.

    Raises
    ------
    ProblemError, SolveError
        As `casid.retrieval.parameter_intervals`; if there are fewer independent samples than base parameters.
    """
    solution, rank = fit.solution, fit.fit.rank
    freedom = float(fit.data.independent_samples.sum()) - rank
    if freedom <= 0:
        raise ProblemError(
            f"{freedom + rank:.0f} independent samples are too few to estimate the noise of {rank} base "
            "parameters; more than as many are needed"
        )
    quantities = {f"{view.name} mass": view.mass for view in solution.problem.variables.links}
    tolerance = solution.objective / freedom * chi_square(rank, 1.0 - CONFIDENCE)
    if not without:
        return parameter_intervals(solution.problem, quantities, tolerance, solution)
    if fit.believable is not None:
        tolerance = max(tolerance, fit.believable.limit - fit.believable.best)
    held = {name: mass for name, mass in quantities.items() if name in without}
    options = SolveOptions(search_factor=FARTHEST)
    return parameter_intervals(solution.problem.without(*without), held, tolerance, options=options)


def assumed_reached(robot: Robot, feasible: FeasibleFit) -> tuple[int, ...]:
    """Links whose mass or extent lies on a bound that the description does not give."""
    reached = {bound.quantity for bound in feasible.active if bound.kind == "constraint"}
    labels = [{f"{link.name} mass", f"{link.name} extent"} for link in robot.links]
    unbounded = [not np.isfinite(link.bounds.mass[1]) for link in robot.links]
    return tuple(k for k, own in enumerate(labels) if reached & own and unbounded[k])


def without_intervals(robot: Robot, feasible: FeasibleFit, right: bool = True) -> str:
    """Why masses have no interval, in words; empty where they have one."""
    held = [robot.links[k].name for k in assumed_reached(robot, feasible)]
    if not right:
        return "the verdict is WRONG"
    if feasible.relative_error > WRONG:
        return f"an error of {feasible.relative_error:.0f} % is above {WRONG:.0f} %"
    if held:
        return f"the mass of {', '.join(held)} lies on an assumed bound"
    return "" if feasible.believable is not None else "no plausible links were chosen"


def mass_intervals(
    robot: Robot, feasible: FeasibleFit, proven: Intervals | None = None, right: bool = True
) -> tuple[ChosenValue, ...]:
    """The interval of the mass of all moving links, then that of each.

    Parameters
    ----------
    robot
    feasible
    proven
        Proven ranges of the links' masses.
    right
        Whether no finding of the verdict is wrong.
    """
    masses = feasible.standard_parameters[9::10]
    values = np.array([masses.sum(), *masses])
    with np.errstate(over="ignore"):
        factors = np.exp(_half_widths(robot, feasible, right)[0])
    names = ("all links", *(link.name for link in robot.links))
    ranges = {} if proven is None else {entry.name: (entry.low, entry.high) for entry in proven.entries}
    bounds = np.array([robot.total_mass, *(link.bounds.mass for link in robot.links)], dtype=float)
    made = []
    for name, value, factor, (least, most) in zip(names, values, factors, bounds, strict=True):
        first, last = ranges.get(f"{name} mass", (0.0, np.inf))
        low, high = max(value / factor, least, first), min(value * factor, most, last)
        made.append(ChosenValue(name, float(value), float(min(low, value)), float(max(high, value))))
    return tuple(made)


def centre_intervals(robot: Robot, feasible: FeasibleFit, right: bool = True) -> tuple[ChosenValue, ...]:
    """The interval of each coordinate of each link's centre of mass, in its frame."""
    tens = feasible.standard_parameters.reshape(-1, 10)
    values = (tens[:, 6:9] / tens[:, 9:]).ravel()
    names = [f"{link.name} {axis}" for link in robot.links for axis in "xyz"]
    bounds = np.concatenate([np.reshape(link.bounds.com, (3, 2)) for link in robot.links])
    ends = zip(names, values, _half_widths(robot, feasible, right)[1], bounds, strict=True)
    return tuple(
        ChosenValue(name, float(c), float(min(max(c - w, low), c)), float(max(min(c + w, high), c)))
        for name, c, w, (low, high) in ends
    )


def _half_widths(robot: Robot, feasible: FeasibleFit, right: bool) -> tuple[Array, Array]:
    """``t c s'`` of logarithms of total and masses, shape (1 + n,), and of centres, shape (3 n,); infinite without."""
    links, choice = len(robot.links), feasible.believable
    if choice is None or without_intervals(robot, feasible, right):
        return np.full(1 + links, np.inf), np.full(3 * links, np.inf)
    tens = feasible.standard_parameters.reshape(-1, 10)
    units = np.eye(10)
    masses = np.kron(np.eye(links), units[9])
    centres = [(units[6 + i] - ten[6 + i] / ten[9] * units[9]) / ten[9] for ten in tens for i in range(3)]
    rows = np.vstack([masses.sum(axis=0), masses, np.array(
        [np.kron(np.eye(links)[k // 3], row) for k, row in enumerate(centres)]
    )])  # fmt: skip
    covariance = within_bounds(choice.covariance, robot, tens)[: 10 * links, : 10 * links]
    s = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", rows, covariance, rows), 0.0))
    origins = choice.bodies.origins
    relative, half = s[: 1 + links] / np.array([tens[:, 9].sum(), *tens[:, 9]]), np.empty(1 + links)
    half[0] = misses(max(origins, key=origins.count))[0].half_width(relative[0], links)
    half[1:] = [misses(origin)[1].half_width(one) for origin, one in zip(origins, relative[1:], strict=True)]
    coordinates = np.reshape(s[1 + links :], (links, 3))
    return half, np.ravel([misses(o)[2].half_width(one) for o, one in zip(origins, coordinates, strict=True)])


def within_bounds(covariance: Array, robot: Robot, tens: Array) -> Array:
    """A covariance where the description bounds masses and centres on both sides: between them all is alike.

    Each is a measurement g'x of variance v, the square of its range over 12: ``C - C g g' C / (v + g' C g)``.

    Parameters
    ----------
    covariance
        Of standard parameters, then others, shape (N, N).
    robot
    tens
        Standard parameters about which it is, shape (n, 10).
    """
    units = np.eye(len(covariance))
    masses = units[9 : tens.size : 10]
    known = [(masses.sum(axis=0), np.ptp(robot.total_mass))]
    for k, link in enumerate(robot.links):
        known.append((masses[k], np.ptp(link.bounds.mass)))
        centre, m = tens[k, 6:9] / tens[k, 9], tens[k, 9]
        known += [(units[10 * k + 6 + i] - centre[i] * masses[k], m * np.ptp(link.bounds.com[i])) for i in range(3)]
    for g, width in known:
        if np.isfinite(width):
            moved = covariance @ g
            covariance = covariance - np.outer(moved, moved) / max(width**2 / 12.0 + g @ moved, np.finfo(float).tiny)
    return covariance
