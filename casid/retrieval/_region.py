"""Limits of every feasible body: ranges implied by hard constraints, and bounds on tr J(x) and on each parameter.

The certificate multiplies the gradient that its multipliers leave over by the bounds on tr J(x). A link without such
bounds gets an explicit search region, which the certificate states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.inertia._cones import ConsistencyCone
from casid.inertia._parameter_vector import mass_index, moment_slice
from casid.retrieval._variables import LinkVariables, LinkView

Array = NDArray[np.float64]


class Facts:
    """Ranges of link quantities, collected from constraints; infinite where nothing is known.

    Ranges of a link that is not one of these unknowns (a view of a shifted or substituted body) are ignored.

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

    def second_moment(self, link: int) -> float:
        """``tr(Sigma)`` of a uniform box in the range of the centre of mass, of the largest mass; else infinite."""
        heaviest = float(self.mass[link, 1])
        for links, _, upper in self.totals:
            if link in links:
                heaviest = min(heaviest, upper)
        edges = self.com[link, :, 1] - self.com[link, :, 0]
        known = np.isfinite(heaviest) and heaviest > 0 and np.isfinite(edges).all() and bool((edges > 0).all())
        return float(heaviest * (edges @ edges) / 12) if known else float("inf")

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


_DIAGONAL = [0, 3, 5]


@dataclass(frozen=True, eq=False)
class LinkRegion:
    """Limits that every feasible point respects, infinite where there are none.

    Attributes
    ----------
    mass : tuple of float
        Lower and upper [kg].
    com : ndarray, shape (3, 2)
        [m]
    trace : float
        Upper bound of tr J = tr(I)/2 + m |c|^2 + m (mixed SI units).
    box : ndarray, shape (10,)
        Upper bound of each standard parameter's absolute value.
    """

    mass: tuple[float, float]
    com: Array
    trace: float
    box: Array

    @property
    def positive_mass(self) -> bool:
        """Whether no feasible body has a negative mass."""
        return self.mass[0] >= 0


def link_regions(facts: Facts, cones: Sequence[ConsistencyCone]) -> tuple[LinkRegion, ...]:
    """Region of every link, implied by the hard constraints and by each link's cone."""
    masses = facts.mass.copy()
    for k, cone in enumerate(cones):
        if cone.positive_mass:
            masses[k, 0] = max(masses[k, 0], 0.0)
    for links, _, upper in facts.totals:
        for k in links:
            others = sum(masses[j, 0] for j in links if j != k)
            masses[k, 1] = min(masses[k, 1], upper - others)
    return tuple(_region(facts, k, masses[k], cone) for k, cone in enumerate(cones))


def com_quotients(link: int, com: Array) -> dict[tuple[int, int], Array]:
    """Boxes of a link's centre of mass, shape (..., 3, 2), as ranges of first moment over mass."""
    return {(moment_slice(link).start + axis, mass_index(link)): com[..., axis, :] for axis in range(3)}


def _region(facts: Facts, k: int, mass: Array, cone: ConsistencyCone) -> LinkRegion:
    com, inertia, reach = facts.com[k], facts.inertia_com[k], float(facts.reach[k])
    consistent = cone.positive_mass
    mass_max = float(np.abs(mass).max())
    com_max = np.abs(com).max(axis=1)
    upper = inertia[_DIAGONAL, 1].copy()
    if cone.triangle:  # one principal moment is at most the sum of the other two
        for axis in range(3):
            upper[axis] = min(upper[axis], upper[(axis + 1) % 3] + upper[(axis + 2) % 3])
    moment = np.array([_product(mass_max, c) for c in com_max])
    steiner = np.array([_product(mass_max, sum(com_max[j] ** 2 for j in range(3) if j != i)) for i in range(3)])
    lower = np.zeros(3) if consistent else inertia[_DIAGONAL, 0]
    diagonal = np.maximum(np.abs(upper), np.abs(lower)) + steiner
    off = []
    for position, (i, j) in ((1, (0, 1)), (2, (0, 2)), (4, (1, 2))):
        own = np.abs(inertia[position]).max() + _product(mass_max, _product(com_max[i], com_max[j]))
        off.append(min(own, (diagonal[i] + diagonal[j]) / 2) if consistent else own)
    if consistent:  # tr L = 2 tr Sigma <= 2 m reach, and m |c|^2 <= tr L / 2
        diagonal = np.minimum(diagonal, 2 * _product(mass_max, reach))
        off = [min(value, _product(mass_max, reach)) for value in off]
        moment = np.minimum(moment, _product(mass_max, float(np.sqrt(max(reach, 0.0)))))
    box = np.array([diagonal[0], off[0], off[1], diagonal[1], off[2], diagonal[2], *moment, mass_max])
    trace = float(upper.sum() / 2 + mass_max + _product(mass_max, float(np.sum(com_max**2))))
    trace = min(trace, mass_max + _product(mass_max, reach))
    return LinkRegion((float(mass[0]), float(mass[1])), com, trace if consistent else np.inf, box)


def _product(a: float, b: float) -> float:
    """Product of two bounds, where zero times an infinite bound is zero."""
    return 0.0 if a == 0.0 or b == 0.0 else float(a * b)
