r"""What the data alone determine of a consistent fit; intervals of masses and centres of mass.

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
bounds of the description and the proven ranges, where they were asked for. Each robot judged with itself left out,
`scripts/acceptance.py real --only intervals` measures how often they hold the truth.

Where the fit is wrong (the verdict, an error above 30 %, a mass on an assumed bound) nothing is stated but that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from casid.arrays import Array
from casid.description import Robot
from casid.errors import ProblemError
from casid.evidence import CONFIDENCE
from casid.identification._regression import FeasibleFit
from casid.regression import Fit
from casid.retrieval import chi_square, parameter_intervals
from casid.retrieval.insight import Intervals
from casid.retrieval.plausible import misses

#: A parameter is determined if no more of it than this lies outside what the torques depend on.
OUTSIDE = 1e-6
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
        if np.abs(shares[:, j] - unit).max() <= OUTSIDE:
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
        and the masses those of the links whose bounds these are.

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
    return parameter_intervals(solution.problem.without(*without), held, tolerance)


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
    covariance = choice.covariance[: 10 * links, : 10 * links]
    s = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", rows, covariance, rows), 0.0))
    origins = choice.bodies.origins
    relative, half = s[: 1 + links] / np.array([tens[:, 9].sum(), *tens[:, 9]]), np.empty(1 + links)
    half[0] = misses(max(origins, key=origins.count))[0].half_width(relative[0], links)
    half[1:] = [misses(origin)[1].half_width(one) for origin, one in zip(origins, relative[1:], strict=True)]
    coordinates = np.reshape(s[1 + links :], (links, 3))
    return half, np.ravel([misses(o)[2].half_width(one) for o, one in zip(origins, coordinates, strict=True)])
