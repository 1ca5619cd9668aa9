"""Regression by point masses on a grid in each link's box, with a prior of the links if one is known."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import clarabel
import numpy as np
from papers.methods.feasible_set import Solved, conic, stack
from papers.methods.regression import Answer, Regression
from scipy import sparse
from scipy.linalg import block_diag
from scipy.optimize import nnls

from casid.arrays import Array
from casid.inertia import from_pseudo_inertia, to_standard


def grid(box: Array, per_edge: int = 3) -> Array:
    """Points of the regular grid on a box of shape (3, 2): shape (per_edge^3, 3) [m]."""
    return np.array(list(product(*[np.linspace(lower, upper, per_edge) for lower, upper in box])))


def mass_map(points: Array) -> Array:
    """Matrix A, shape (10, points): standard parameters of unit point masses."""
    return np.stack([to_standard(1.0, point, np.zeros((3, 3))) for point in points], axis=1)


@dataclass(frozen=True, eq=False)
class PriorMasses:
    """The second term of eq. 2.76.

    Attributes
    ----------
    masses : ndarray, shape (points,)
        p_hat [kg].
    weight : float
        G_p, the same for all points.
    """

    masses: Array
    weight: float

    @classmethod
    def of_bodies(cls, bodies: Array, maps: Sequence[Array], weight: float) -> PriorMasses:
        """Masses whose bodies are nearest to given standard parameters, shape (10 n,): what a CAD model gives."""
        return cls(
            np.concatenate([nnls(A, ten)[0] for A, ten in zip(maps, bodies.reshape(-1, 10), strict=True)]), weight
        )


def regression_by_masses(
    R: Array,
    r: Array,
    maps: Sequence[Array],
    offset: Array,
    prior: PriorMasses | None = None,
    tolerance: float | None = None,
    start: float | None = None,
) -> Solved:
    """Standard parameters ``A p + offset`` of the best masses, by Clarabel.

    Parameters
    ----------
    R, r
        ``||R delta - r||^2``, shapes (m, 10 n) and (m,).
    maps
        A of every link, see `mass_map`.
    offset
        Standard parameters added to ``A p``, shape (10 n,).
    prior
        See `PriorMasses`.
    """
    start = time.process_time() if start is None else start
    rows, size = R.shape
    lengths = np.concatenate([np.linalg.norm(block, axis=0) for block in maps])
    A = block_diag(*maps) / lengths  # unknowns p times the length of their column, x = A p + offset, t = R x - r
    count = len(lengths)
    pull = np.zeros(count) if prior is None else (prior.weight / lengths) ** 2
    aim = np.zeros(count) if prior is None else prior.masses * lengths
    P = sparse.block_diag([sparse.diags(pull), sparse.csc_matrix((size, size)), sparse.identity(rows)], format="csc")
    identity = sparse.identity(size)
    constraints = stack(
        [
            [sparse.csc_matrix(A), -identity, None],
            [None, sparse.csc_matrix(R), -sparse.identity(rows)],
            [-sparse.identity(count), None, None],
        ]
    )
    q, b = np.concatenate([-pull * aim, np.zeros(size + rows)]), np.concatenate([-offset, r, np.zeros(count)])
    cones = [clarabel.ZeroConeT(size + rows), clarabel.NonnegativeConeT(count)]
    found = conic(q, constraints, b, cones, tolerance, P, start)
    masses = np.maximum(found.x[:count], 0.0)  # the solver meets bounds to its tolerance; these are exact
    return replace(found, x=A @ masses + offset)


def point_masses(data: Regression, per_edge: int = 3, tolerance: float | None = None) -> Answer:
    """``min ||R (A p + offset) - r||^2`` subject to ``p >= 0``, without a prior."""
    start = time.process_time()
    maps = [mass_map(grid(box, per_edge)) for box in data.boxes]
    offset = np.tile(data.margin * from_pseudo_inertia(np.eye(4)), data.links)
    found = regression_by_masses(data.R, data.r, maps, offset, tolerance=tolerance, start=start)
    return found.answer(f"Point masses ({per_edge}^3)", data, found.x)
