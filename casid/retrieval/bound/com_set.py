"""Where a link's centre of mass can be.

Outer approximations of any set that a user's constraints describe, and their supporting planes.

The box of the centre of mass is halved again and again; interval arithmetic throws out cells that no point of which
meets the constraints, if-else branch by branch. What is left covers the set, whatever its shape, so the plane that
supports the remaining cells in some direction n, ``n'c <= h(n)``, holds at every feasible point; times the mass it is
linear: ``n'l <= h(n) m``.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.expressions._intervals import enclose
from casid.inertia._parameter_vector import moment_slice
from casid.retrieval.region import com_quotients

Array = NDArray[np.float64]
_CORNERS = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
#: Cells that one refinement may look at; more would take longer than the bound is worth.
_MOST_CELLS = 8_000


@dataclass(frozen=True, eq=False)
class ComSet:
    """Centres of mass of a link within ``box`` at which all functions of one alternative are >= 0.

    Attributes
    ----------
    link : int
    box : ndarray, shape (3, 2)
        Finite [m].
    alternatives : tuple of Function
        Each of all unknowns x, depending on this link's centre of mass only; one a combination of branches.
    size : int
        Number of unknowns.
    """

    link: int
    box: Array
    alternatives: tuple[ca.Function, ...]
    size: int

    def cells(self, depth: int = 3) -> Array:
        """Cells that may hold feasible points, shape (K, 3, 2), after ``depth`` halvings of every side."""
        cells = self.box[None]
        for _ in range(depth):
            if len(cells) * 8 > _MOST_CELLS:
                break
            cells = self._feasible(_split(cells))
        return cells

    def support(self, direction: Array, cells: Array, tolerance: float) -> float:
        """Upper bound of ``direction'c`` over the set.

        Refined until it is within the tolerance of a point of it [m].
        """
        reached = -np.inf
        for _ in range(40):
            highest = _highest(cells, direction)
            if not len(cells):
                return -np.inf
            centres = cells.mean(axis=2)
            inside = self._holds(centres)
            if inside.any():
                reached = max(reached, float((centres[inside] @ direction).max()))
            top = float(highest.max())
            cells, highest = cells[highest >= reached], highest[highest >= reached]
            open_cells = highest > top - max(tolerance, (top - reached) / 2 if np.isfinite(reached) else np.inf)
            if (
                top - reached <= tolerance
                or np.ptp(cells, axis=2).max() <= tolerance / 10
                or open_cells.sum() * 8 > _MOST_CELLS
            ):
                return top
            cells = np.concatenate([cells[~open_cells], self._feasible(_split(cells[open_cells]))])
        return float(_highest(cells, direction).max(initial=-np.inf))

    def _feasible(self, cells: Array) -> Array:
        keep = np.zeros(len(cells), dtype=bool)
        free = np.full(self.size, np.inf)
        for function in self.alternatives:
            possible = np.ones(len(cells), dtype=bool)
            for interval in enclose(function, -free, free, com_quotients(self.link, cells)):
                possible &= np.broadcast_to(interval.high >= 0, possible.shape)
            keep |= possible
        return cells[keep]

    def _holds(self, points: Array) -> NDArray[np.bool_]:
        keep = np.zeros(len(points), dtype=bool)
        x = np.zeros((self.size, len(points)))
        x[9::10] = 1.0
        x[moment_slice(self.link)] = points.T
        for function in self.alternatives:
            keep |= (np.array(function.map(len(points))(x)) >= 0).all(axis=0)
        return keep


def depends_on_com_only(function: ca.Function, size: int, links: int) -> int | None:
    """The one link whose centre of mass is all that a function of x depends on; else None."""
    free = np.full(size, np.inf)
    anywhere = np.tile([-np.inf, np.inf], (3, 1))
    quotients = {pair: box for k in range(links) for pair, box in com_quotients(k, anywhere).items()}
    found: frozenset[int] = frozenset()
    for interval in enclose(function, -free, free, quotients):
        if interval.entries:
            return None
        found = found | {mass // 10 for _, mass in interval.quotients}
    return next(iter(found)) if len(found) == 1 else None


def _split(cells: Array) -> Array:
    """Eight halves of every cell."""
    middle = cells.mean(axis=2)
    low = np.stack([cells[:, :, 0], middle], axis=2)
    high = np.stack([middle, cells[:, :, 1]], axis=2)
    axes = np.arange(3)
    return np.concatenate([np.stack([low[:, axes, c], high[:, axes, c]], axis=2) for c in _CORNERS])


def _highest(cells: Array, direction: Array) -> Array:
    return np.asarray(np.maximum(cells[:, :, 0] * direction, cells[:, :, 1] * direction).sum(axis=1))
