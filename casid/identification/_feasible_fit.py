"""A physically consistent fit: parameters, certificate, errors, active bounds, what the data alone determine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from casid.arrays import Array
from casid.dynamics import Model
from casid.errors import ProblemError
from casid.inertia import Full, Parameters, link_slice, pseudo_inertia
from casid.regression import CompressedData, Fit
from casid.retrieval import LinearRows, ParameterResult, Problem, Solution, chi_square, parameter_intervals
from casid.retrieval.insight import Intervals
from casid.retrieval.plausible import Believable


@dataclass(frozen=True, eq=False)
class FeasibleFit(ParameterResult):
    """A physically consistent fit.

    Attributes
    ----------
    fit : Fit
        The unconstrained fit with the same data and weights.
    solution : Solution
        Of the retrieval problem: status, certificate, violations. With an entropic prior it belongs to the last
        second-order model of it.
    values : ndarray, shape (N,)
        All parameters, in the order of ``model.parameter_names``; by name: `parameters`.
    objective : float
        ``sum_j w_j^2 ||tau_j - Y_j pi||^2``, without the prior; after a robust fit with the weights of single samples
        (``fit.objective`` is the same sum, the errors below are of all samples alike).
    prior_distance : float
        Squared distance from the prior, 0 without one.
    believable : Believable or None
        The choice among all sets that explain the data as well, if it was made; the parameters are then its own.
    active : tuple of ActiveBound
        Bounds that the parameters lie on.
    """

    fit: Fit
    solution: Solution
    values: Array
    objective: float
    prior_distance: float = 0.0
    believable: Believable | None = None
    active: tuple[ActiveBound, ...] = ()

    @cached_property
    def parameters(self) -> Parameters:
        """All parameters by name."""
        return self.model.named(self.values)

    @property
    def model(self) -> Model:
        """The model whose parameters these are."""
        return self.fit.data.model

    @property
    def data(self) -> CompressedData:
        """The data it was fitted to."""
        return self.fit.data

    @property
    def certified(self) -> bool:
        """The optimum is proven (and so is the choice near it), and every constraint holds on re-check."""
        return self.solution.certified and (self.believable is None or self.believable.certified)

    @property
    def gap(self) -> float:
        """Certified relative gap of the best fit."""
        return self.solution.gap

    @cached_property
    def beta(self) -> Array:
        """Base parameters of the fit."""
        return self.data.base.values(self.values)

    @property
    def residual_ratio(self) -> float:
        """Norm of the weighted residual over that of the unconstrained fit: what consistency costs, >= 1."""
        return float(np.sqrt(self.objective / self.fit.objective))

    @cached_property
    def relative_error(self) -> float:
        """``100 ||tau - Y pi|| / ||tau||`` over all joints [%]."""
        return self.data.relative_errors(self.beta)[0]

    @cached_property
    def relative_errors(self) -> Array:
        """The same per joint [%]."""
        return self.data.relative_errors(self.beta)[1]

    @cached_property
    def rms(self) -> Array:
        """Root mean square error of each joint [N.m]."""
        return self.data.rms(self.beta)


#: Share of a bound's size (of the row's largest term) within which it counts as reached.
REACHED = 1e-5


@dataclass(frozen=True)
class ActiveBound:
    """A bound that a parameter set lies on.

    Attributes
    ----------
    kind : {"constraint", "parameter", "consistency"}
        An entry of a constraint; the bound of a joint term's parameter; physical consistency of a link.
    quantity : str
        Label of the constraint, name of the parameter, or label of the link's consistency.
    value : float
        Of the bounded quantity in the rows of the solver; of consistency the smallest eigenvalue of the pseudo-inertia.
    text : str
        The bound in words, e.g. ``link2 mass <= 10 kg``.
    """

    kind: Literal["constraint", "parameter", "consistency"]
    quantity: str
    value: float
    text: str


def active_bounds(problem: Problem, linear: LinearRows, x: Array) -> tuple[ActiveBound, ...]:
    """Linear bounds that x lies on, and links as thin as their margin of consistency allows.

    A joint term that cannot be negative and that the data set to zero is not listed.
    """
    found = []
    values = linear.matrix @ x
    sizes = np.maximum(np.abs(linear.matrix * x).max(axis=1, initial=0.0), 1e-9)
    away = np.minimum(np.abs(values - linear.lower), np.abs(linear.upper - values))
    extras = tuple(problem.variables.extras)
    for k in np.flatnonzero(away <= REACHED * sizes):
        row, value = linear.rows[k], float(values[k])
        if row.constraint >= 0:
            found.append(ActiveBound("constraint", problem.constraints[row.constraint].label, value, row.text))
        elif linear.lower[k] != 0.0 or abs(value) > REACHED:
            found.append(ActiveBound("parameter", extras[row.entry], value, row.text))
    for cone in problem.cones:
        if cone.cone != Full():
            continue
        smallest = float(np.linalg.eigvalsh(pseudo_inertia(x[link_slice(cone.link)]))[0])
        if smallest <= 2.0 * cone.margin:
            text = f"{cone.name} is as thin as physical consistency allows"
            found.append(ActiveBound("consistency", cone.label, smallest, text))
    return tuple(found)


#: A parameter is determined if no more of it than this lies outside what the torques depend on.
OUTSIDE = 1e-6
#: Half-width of an interval in standard deviations: 95 %.
QUANTILE = 1.96


@dataclass(frozen=True)
class Determined:
    """One parameter: its chosen value and what the data alone determine of it.

    Attributes
    ----------
    name : str
    value : float
        As chosen.
    low, high : float
        95 % interval from the data alone, infinite where they do not determine the parameter.
    """

    name: str
    value: float
    low: float
    high: float

    @property
    def by_data(self) -> bool:
        """Whether half the interval is narrower than the value, and the value lies in it."""
        narrow = np.isfinite(self.high - self.low) and (self.high - self.low) / 2 < max(abs(self.value), 1e-12)
        return bool(narrow and self.low <= self.value <= self.high)


def determined(fit: Fit, values: Array) -> tuple[Determined, ...]:
    """95 % intervals of single parameters from the unconstrained fit, before any constraint or plausibility.

    A parameter ``x_j`` is determined where its unit vector is a combination of excited base parameters, ``e_j = K_e'
    c``; it is then ``c' beta +- 1.96 sqrt(c' C c)``. Proven intervals under all constraints: `parameter_intervals`.

    Parameters
    ----------
    fit
    values
        Chosen values, in the order of the model, shape (N,).
    """
    model = fit.data.model
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
            half = QUANTILE * float(np.sqrt(max(combination @ fit.covariance @ combination, 0.0)))
            low, high = middle - half, middle + half
        entries.append(Determined(name, float(values[j]), low, high))
    return tuple(entries)


def certified_intervals(fit: FeasibleFit, confidence: float = 0.95, without: Sequence[str] = ()) -> Intervals:
    """Smallest and largest mass of each link over all consistent sets that explain the data.

    With the residual variance ``s^2 = F* / (samples - rank)`` of independent samples, a set explains the data if its
    weighted sum of squares is at most ``F* + s^2 chi^2_rank``.

    Parameters
    ----------
    fit
    confidence
        Of the chi-square quantile.
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
    tolerance = solution.objective / freedom * chi_square(rank, 1.0 - confidence)
    if not without:
        return parameter_intervals(solution.problem, quantities, tolerance, solution)
    if fit.believable is not None:
        tolerance = max(tolerance, fit.believable.limit - fit.believable.best)
    held = {name: mass for name, mass in quantities.items() if name in without}
    return parameter_intervals(solution.problem.without(*without), held, tolerance)
