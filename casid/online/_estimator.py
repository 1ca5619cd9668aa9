"""On-line identification of a robot: physically consistent parameters at every instant."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from casid.arrays import Array
from casid.dynamics import Model
from casid.errors import CasidWarning, DatasetError
from casid.evidence import ResidualNoise
from casid.inertia import Parameters
from casid.inertia.entropic import Entropic, Plausible, entropic_estimate
from casid.online._samples import REFRESH, Estimator, Information, checked_iterations, weighted
from casid.regression import Fit, quadratic
from casid.retrieval.plausible import plausible_bodies


class EstimateWarning(CasidWarning):
    """An estimate that Newton's method did not bring to its optimum."""


@dataclass(frozen=True, eq=False)
class OnlineEstimate:
    """Estimate at an instant.

    Attributes
    ----------
    parameters : Parameters
        Physically consistent: links and joint terms.
    beta : ndarray, shape (rank,)
        Base parameters by least squares, without consistency: equal to a batch fit of the same samples.
    sd : ndarray, shape (rank,)
        Standard deviations of beta, the correlation of the residual in time allowed for (`ResidualNoise`), with
        forgetting those of independent errors; infinite where there is no information about beta or the noise.
    entropic : Entropic
        Objective, data error, and the proof of optimality.
    count : float
        Number of scalar equations, less the forgotten ones.
    freedom : float
        Degrees of freedom of the noise's variance: equations that count as independent, less the parameters.
    """

    parameters: Parameters
    beta: Array
    sd: Array
    entropic: Entropic
    count: float
    freedom: float

    @property
    def suboptimality(self) -> float:
        """Proven: no physical parameters have an objective smaller by more than this."""
        return self.entropic.suboptimality

    @cached_property
    def intervals(self) -> Array:
        """95 % intervals of beta, of Student's distribution, shape (rank, 2)."""
        half = float(stdtrit(max(self.freedom, 1.0), 0.975)) * self.sd
        return np.stack([self.beta - half, self.beta + half], axis=1)


class Online(Estimator):
    """Recursive identification: `update` with samples, `estimate` whenever wanted.

    Parameters
    ----------
    model
        Links and joint terms.
    weights
        Weight of each joint's equations [1/N.m], shape (n,): one over the residual's standard deviation, as
        `casid.regression.joint_weights` gives; `from_fit` takes those of a batch fit.
    plausible
        Bodies and sizes of terms before any data; default: `plausible_values` of the model.
    forgetting
        Factor of the information along a sample's equations when it arrives (1: nothing is forgotten).
    mu
        Weight of the divergence from the plausible bodies, in units of the weighted sum of squares.
    """

    def __init__(
        self,
        model: Model,
        weights: ArrayLike,
        plausible: Plausible | None = None,
        forgetting: float = 1.0,
        mu: float = 1.0,
    ) -> None:
        super().__init__(model, model.base_regressor, weights, forgetting, mu)
        self.plausible = plausible_values(model) if plausible is None else plausible
        self.information = Information.nothing(model.base.rank)
        self.order = parameter_order(model, self.plausible)
        self.noise = ResidualNoise(model.n)
        self._beta, self._judged = np.zeros(model.base.rank), 0.0
        self._last: Entropic | None = None

    @classmethod
    def from_fit(cls, fit: Fit, plausible: Plausible | None = None, forgetting: float = 1.0, mu: float = 1.0) -> Online:
        """With the weights of a batch fit, without its data."""
        return cls(fit.data.model, fit.weights, plausible, forgetting, mu)

    def update(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, tau: ArrayLike, t: ArrayLike | None = None) -> None:
        """One sample, shapes (n,), or many, shapes (N, n), in order.

        Raises
        ------
        DatasetError
            For no samples, a shape, a number that is not finite or too large to be measured, or time that goes back;
            the estimator is then unchanged.
        """
        s, times, Y = self.taken(q, dq, ddq, tau, t)
        rows, targets = weighted(self.weights, Y, s["tau"])
        if self.forgetting == 1.0:
            information = self.information.updated(rows.reshape(-1, rows.shape[2]), targets.ravel())
        else:
            information = self.information
            for row, target in zip(rows, targets, strict=True):
                information = information.forgotten(row, self.forgetting).updated(row, target)
        self.information = information
        self.time = self.time if times is None else float(times[-1])
        if self.forgetting < 1.0 or information.freedom < len(self._beta):
            return  # parameters that wander, or so few equations, leave no residual that is noise's
        if abs(information.count - self._judged) > REFRESH * self._judged:
            self._beta, self._judged = information.estimate, information.count
        for residual in targets - rows @ self._beta:
            self.noise.update(residual)

    def estimate(self, iterations: int = 1000) -> OnlineEstimate:
        """Physically consistent parameters now, from the last estimate on; a path cut short goes on where it ended.

        Parameters
        ----------
        iterations
            Newton steps at most: the parameters are physical after any number of them.

        Warns
        -----
        EstimateWarning
            If they did not suffice: the suboptimality is then infinite, and the objective may be far from the least.
        """
        steps = checked_iterations(iterations)
        last = self._last
        start = None if last is None else last.x
        weight = None if last is None or np.isfinite(last.suboptimality) else last.weight
        estimate = self._estimated(start, weight, steps)
        used = estimate.entropic.iterations
        if not np.isfinite(estimate.suboptimality) and start is not None and used < steps:  # rounding: a fresh path
            estimate = self._estimated(None, None, steps - used)
        self._last = estimate.entropic
        if not np.isfinite(estimate.suboptimality):
            warnings.warn(
                f"the estimate did not converge in {steps} Newton steps and is only physical, not optimal; the next "
                "call goes on from it, or give more iterations",
                EstimateWarning,
                stacklevel=2,
            )
        return estimate

    def _estimated(self, start: Array | None, weight: float | None, steps: int) -> OnlineEstimate:
        return estimate_of(
            self.model, self.information, self.plausible, self.order, self.mu, start, steps, weight=weight,
            inflation=self.noise.sure_inflation,
        )  # fmt: skip


def plausible_values(model: Model, nominal: bool = True, term: float = 1.0) -> Plausible:
    """Bodies of the description, or boxes around the skeleton where it has none (`plausible_bodies`), and terms.

    Parameters
    ----------
    model
        Links and joint terms.
    nominal
        Whether inertial values of the description may be used.
    term
        Size of the joint terms [their units].
    """
    bodies = plausible_bodies(model.robot, nominal).parameters.reshape(-1, 10)
    positive = sum(kind.nonnegative for kind, _ in model.term_columns.values())
    return Plausible(bodies, np.full(positive, term), np.full(len(model.term_columns) - positive, term))


def parameter_order(model: Model, plausible: Plausible) -> NDArray[np.int64]:
    """Columns of the model's parameters in the order of the unknowns: links, non-negative terms, the others.

    Raises
    ------
    DatasetError
        If there are not as many plausible numbers.
    """
    columns = model.term_columns
    terms = sorted(columns, key=lambda c: (not columns[c][0].nonnegative, c))
    order = np.array([*np.ravel(model.link_columns), *terms], dtype=np.int64)
    if len(order) != plausible.size:
        raise DatasetError(
            f"plausible: {plausible.size} numbers for a model of {len(order)} parameters (links first, then "
            "terms that cannot be negative, then the others)"
        )
    return order


def estimate_of(
    model: Model,
    information: Information,
    plausible: Plausible,
    order: NDArray[np.int64],
    mu: float,
    start: Array | None = None,
    iterations: int = 100,
    *,
    weight: float | None = None,
    inflation: float = 1.0,
) -> OnlineEstimate:
    """Estimate from given information about the base parameters, with its bound of suboptimality; see `Online`.

    ``inflation`` is that of the variances by the residual's correlation.
    """
    A = information.R @ model.base.K[:, order]
    found = entropic_estimate(A, information.rho, plausible, mu, start, iterations, weight)
    pi = np.zeros(len(order))
    pi[order] = found.x
    beta = information.estimate
    sd = np.sqrt(np.diag(information.covariance())) * np.sqrt(information.variance * inflation)
    names, count, freedom = model.parameter_names, information.count, information.freedom / inflation
    return OnlineEstimate(Parameters(names, pi), beta, sd, found, count, freedom)


def entropic_fit(
    fit: Fit, plausible: Plausible | None = None, mu: float = 1.0, iterations: int = 200
) -> OnlineEstimate:
    """Estimate of `Online` after all samples of a fit; joint terms with memory are allowed.

    With weights of one over the deviation of the residual and plausible bodies known beforehand, these are the physical
    parameters of largest posterior probability (Lee, Kwon and Park 2018). They follow noise less than the best fit
    does, the more so the less information the data hold.

    Parameters
    ----------
    fit
        Fit that provides data and weights.
    plausible, mu
        As in `Online`.
    iterations
        Newton steps at most.
    """
    model = fit.data.model
    plausible = plausible_values(model) if plausible is None else plausible
    R, rho, rest = quadratic(fit)
    samples, counted = fit.data.independent_samples, np.asarray(fit.weights) > 0
    freedom = float(samples[counted].sum()) - fit.rank
    information = Information(R, rho, rest, float(np.sum(fit.data.counts)), freedom, fit.rank)
    return estimate_of(model, information, plausible, parameter_order(model, plausible), mu, None, iterations)
