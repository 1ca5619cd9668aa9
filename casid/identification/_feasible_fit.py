"""A physically consistent fit: parameters, certificate, errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from casid.dynamics import Model
from casid.errors import ProblemError
from casid.identification.believable import Believable
from casid.inertia import LinkParameters, link_slice, pseudo_inertia
from casid.inertia.cones import Full
from casid.regression import CompressedData, Fit
from casid.retrieval import Intervals, parameter_intervals
from casid.retrieval.insight.chi_square import chi_square
from casid.retrieval.problem import Problem
from casid.retrieval.rows import LinearRows
from casid.retrieval.solution import Solution

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FeasibleFit:
    """A physically consistent fit.

    Attributes
    ----------
    fit : Fit
        The unconstrained fit with the same data and weights.
    solution : Solution
        Of the retrieval problem: status, certificate, violations. With an entropic prior it belongs to the last
        second-order model of it.
    parameters : ndarray
        All parameters, in the order of ``model.parameter_names``.
    objective : float
        ``sum_j w_j^2 ||tau_j - Y_j pi||^2``, without the prior; after a robust fit with the weights of single samples
        (``fit.objective`` is the same sum, the errors below are of all samples alike).
    prior_distance : float
        Squared distance from the prior, 0 without one.
    believable : Believable or None
        The choice among all sets that explain the data as well, if it was made; the parameters are then its own.
    active : tuple of ActiveBound
        Bounds that hold the parameters where they are.
    """

    fit: Fit
    solution: Solution
    parameters: Array
    objective: float
    prior_distance: float = 0.0
    believable: Believable | None = None
    active: tuple[ActiveBound, ...] = ()

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
        return self.data.base.values(self.parameters)

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

    @property
    def standard_parameters(self) -> Array:
        """``Lxx1 ... m<n>``, shape (10 n,)."""
        return np.asarray(self.parameters[np.ravel(self.model.link_columns)])

    @property
    def extras(self) -> dict[str, float]:
        """Values of the joint terms by name, e.g. ``fv1``."""
        names = self.model.parameter_names
        return {names[c]: float(self.parameters[c]) for c in sorted(self.model.term_columns)}

    @cached_property
    def link_parameters(self) -> tuple[LinkParameters, ...]:
        """Mass, centre of mass and inertia about it of every link."""
        tens = self.standard_parameters.reshape(-1, 10)
        return tuple(LinkParameters(link.name, ten) for link, ten in zip(self.model.robot.links, tens, strict=True))


#: Share of a bound's size (of the row's largest term) within which it counts as reached.
REACHED = 1e-5


@dataclass(frozen=True)
class ActiveBound:
    """A bound that a parameter set lies on.

    Attributes
    ----------
    constraint : str
        Label of the constraint, or name of the bounded parameter.
    text : str
        The bound in words, e.g. ``link2 mass <= 10 kg``.
    """

    constraint: str
    text: str


def active_bounds(problem: Problem, linear: LinearRows, x: Array) -> tuple[ActiveBound, ...]:
    """Linear bounds that x lies on, and links as thin as their margin of consistency allows; zero friction aside.

    A joint term that physics keeps from being negative and that the data set to zero is no bound worth a word.
    """
    found = []
    values = linear.matrix @ x
    sizes = np.maximum(np.abs(linear.matrix * x).max(axis=1, initial=0.0), 1e-9)
    away = np.minimum(np.abs(values - linear.lower), np.abs(linear.upper - values))
    for k in np.flatnonzero(away <= REACHED * sizes):
        row = linear.rows[k]
        if row.constraint < 0 and linear.lower[k] == 0.0 and abs(values[k]) <= REACHED:
            continue
        name = problem.constraints[row.constraint].label if row.constraint >= 0 else row.text.split(" <= ")[-2]
        found.append(ActiveBound(name, row.text))
    for cone in problem.cones:
        if cone.cone != Full():
            continue
        smallest = float(np.linalg.eigvalsh(pseudo_inertia(x[link_slice(cone.link)]))[0])
        if smallest <= 2.0 * cone.margin:
            found.append(ActiveBound(cone.label, f"{cone.name} is as thin as physical consistency allows"))
    return tuple(found)


#: A parameter is determined if no more of it than this lies outside what the torques depend on.
OUTSIDE = 1e-6
#: Half-width of an interval in standard deviations: 95 %.
QUANTILE = 1.96


@dataclass(frozen=True)
class Determined:
    """One parameter.

    Attributes
    ----------
    name : str
    value : float
        As chosen.
    low, high : float
        95 % interval of what the data alone say, infinite where they say nothing.
    by_data : bool
        The data alone say more than its sign: the interval is narrower than the value.
    """

    name: str
    value: float
    low: float
    high: float

    @property
    def by_data(self) -> bool:
        """Whether the data tell the value to better than itself."""
        return bool(np.isfinite(self.high - self.low) and (self.high - self.low) / 2 < max(abs(self.value), 1e-12))


def determined(fit: Fit, parameters: Array) -> tuple[Determined, ...]:
    """95 % intervals of single parameters from the unconstrained fit, before any constraint or plausibility.

    A parameter ``x_j`` is determined where its unit vector is a combination of excited base parameters, ``e_j = K_e'
    c``; it is then ``c' beta +- 1.96 sqrt(c' C c)``. Proven intervals under all constraints: `parameter_intervals`.

    Parameters
    ----------
    fit
    parameters
        Chosen values, in the order of the model.
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
        entries.append(Determined(name, float(parameters[j]), low, high))
    return tuple(entries)


def certified_intervals(fit: FeasibleFit, confidence: float = 0.95) -> Intervals:
    """Smallest and largest mass of each link over all consistent sets that explain the data.

    With the residual variance ``s^2 = F* / (samples - rank)`` of independent samples, a set explains the data if its
    weighted sum of squares is at most ``F* + s^2 chi^2_rank``.

    Parameters
    ----------
    fit
    confidence
        Of the chi-square quantile.

    Raises
    ------
    ProblemError, SolveError
        As `casid.retrieval.parameter_intervals`; if there are fewer independent samples than base parameters.
    """
    solution, rank = fit.solution, fit.fit.rank
    freedom = float(fit.data.independent_samples.sum()) - rank
    if freedom <= 0:
        raise ProblemError(f"{freedom + rank:.0f} independent samples do not tell the noise of {rank} base parameters")
    quantities = {f"{view.name} mass": view.mass for view in solution.problem.variables.links}
    tolerance = solution.objective / freedom * chi_square(rank, 1.0 - confidence)
    return parameter_intervals(solution.problem, quantities, tolerance, solution)
