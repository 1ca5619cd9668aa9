"""What hard constraints say about each link's region: ranges of its mass, centre of mass, inertia and extent."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.retrieval.variables import LinkVariables, LinkView

Array = NDArray[np.float64]


class Facts:
    """Ranges of link quantities, collected from constraints; infinite where nothing is known.

    A statement about a link that is not one of these unknowns (a view of a shifted or substituted body) is ignored.

    Attributes
    ----------
    mass : ndarray, shape (n, 2)
        [kg]
    com : ndarray, shape (n, 3, 2)
        [m]
    inertia_com : ndarray, shape (n, 6, 2)
        ``Ixx Ixy Ixz Iyy Iyz Izz`` about the centre of mass [kg.m^2].
    reach : ndarray, shape (n,)
        Largest ``tr(Sigma) / m``, the mean square distance of a link's mass from the link-frame origin [m^2].
    totals : list of (tuple of int, float, float)
        Links, and the range of their masses' sum [kg].
    """

    def __init__(self, variables: LinkVariables) -> None:
        n = len(variables)
        self._variables = variables
        self.mass: Array = np.tile([-np.inf, np.inf], (n, 1))
        self.com: Array = np.tile([-np.inf, np.inf], (n, 3, 1))
        self.inertia_com: Array = np.tile([-np.inf, np.inf], (n, 6, 1))
        self.reach: Array = np.full(n, np.inf)
        self.totals: list[tuple[tuple[int, ...], float, float]] = []

    def mass_within(self, link: LinkView, lower: float, upper: float) -> None:
        """``lower <= m <= upper``."""
        if self._knows(link, slice(9, 10)):
            _intersect(self.mass[link.index], lower, upper)

    def com_within(self, link: LinkView, lower: ArrayLike, upper: ArrayLike) -> None:
        """``lower <= c <= upper``, shapes (3,)."""
        if self._knows(link, slice(6, 10)):
            _intersect(self.com[link.index], lower, upper)

    def inertia_within(self, link: LinkView, lower: ArrayLike, upper: ArrayLike) -> None:
        """``lower <= I <= upper``, shapes (6,)."""
        if self._knows(link, slice(0, 10)):
            _intersect(self.inertia_com[link.index], lower, upper)

    def reach_below(self, link: LinkView, most: float) -> None:
        """``tr(Sigma) / m <= most``."""
        if self._knows(link, slice(0, 10)):
            self.reach[link.index] = min(self.reach[link.index], most)

    def total_within(self, links: Sequence[LinkView], lower: float, upper: float) -> None:
        """``lower <= sum of the masses <= upper``."""
        if all(self._knows(link, slice(9, 10)) for link in links):
            self.totals.append((tuple(link.index for link in links), lower, upper))

    def _knows(self, link: LinkView, entries: slice) -> bool:
        own = self._variables.links
        return link.index < len(own) and bool(
            ca.is_equal(link.parameters[entries], own[link.index].parameters[entries], 1)
        )


def _intersect(range_: Array, lower: ArrayLike, upper: ArrayLike) -> None:
    range_[..., 0] = np.maximum(range_[..., 0], lower)
    range_[..., 1] = np.minimum(range_[..., 1], upper)
