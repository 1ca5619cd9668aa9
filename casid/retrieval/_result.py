"""What results share: their parameters by name, the relative gap, and the check of a bound against a feasible point."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from casid.errors import BoundWarning
from casid.inertia import LinkParameters, Parameters

#: Relative excess of a bound over the value of a feasible point that its own tolerances (1e-8 of violation) explain.
_EXPLAINED = 1e-6


class ParameterResult(ABC):
    """A result that is a set of parameters; all other forms of the same numbers follow from `parameters`."""

    @property
    @abstractmethod
    def parameters(self) -> Parameters:
        """All parameters by name, read-only."""

    @property
    def standard_parameters(self) -> NDArray[np.float64]:
        """``Lxx1 ... m<n>``, shape (10 n,), read-only."""
        return self.parameters.standard

    @property
    def extras(self) -> dict[str, float]:
        """Values of the parameters that belong to no link (friction, rotors, ...), by name."""
        return dict(self.parameters.terms)

    @property
    def links(self) -> Mapping[str, LinkParameters]:
        """Mass, centre of mass and inertia about it of every link, by name, in the robot's order."""
        return self.parameters.links

    @property
    def link_parameters(self) -> tuple[LinkParameters, ...]:
        """The entries of `links`, in the robot's order."""
        return tuple(self.parameters.links.values())


def relative_gap(value: float, bound: float, negligible: float) -> float:
    """``(value - bound) / max(value, negligible)``.

    Parameters
    ----------
    value
        What was minimised, at a feasible point.
    bound
        Proven lower bound of it, -inf if there is none.
    negligible
        Value that counts as zero (`LeastSquares.negligible`): the relative error of a smaller one is not defined.

    Returns
    -------
    float
        No feasible point is better than the value by more than this share of it. >= 0 up to rounding.
    """
    return float((value - bound) / max(value, negligible))


def checked_bound(bound: float, value: float, negligible: float, what: str) -> float:
    """A lower bound, compared with the value that a feasible point attains.

    Returns
    -------
    float
        The bound; the value, where the bound exceeds it within tolerances; -inf and a `BoundWarning` where it exceeds
        it by more, because the bound is then wrong.
    """
    if not bound > value:
        return bound
    if bound - value <= _EXPLAINED * max(abs(value), negligible):
        return value
    warnings.warn(
        f"{what}: its lower bound {bound:.9g} exceeds the value {value:.9g} of a feasible point and is discarded",
        BoundWarning,
        stacklevel=3,
    )
    return float("-inf")
