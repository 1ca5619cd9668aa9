"""A physically consistent fit: parameters, certificate, errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from casid.dynamics import Model
from casid.identification.active import ActiveBound
from casid.inertia import LinkParameters
from casid.regression import CompressedData, Fit
from casid.retrieval._solution import Solution
from casid.retrieval.plausible._choice import Believable

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
