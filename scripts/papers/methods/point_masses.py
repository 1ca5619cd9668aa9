"""The method of Ayusawa and Nakamura (2010): links made of point masses, hence a quadratic program.

``minimise ||R delta - r||^2 + ||G_p (p_hat - p)||^2`` with ``delta = A p`` and ``p >= 0`` (Sousa 2014, eq. 2.74-2.77):
an
inner, polyhedral approximation of the feasible cone. The points are the regular grid of each link's bounding box; with
the article's 3 x 3 x 3 = 27 they are its centre, vertices and the centres of its edges and faces. The second term pulls
towards masses p_hat of a CAD model where the data do not tell; random regressors determine everything, and there it is
left out. The margin of the constraint set is added to the point masses' pseudo-inertia, so every method searches within
the same set.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import clarabel
import numpy as np
from scipy import sparse
from scipy.optimize import nnls

from casid.arrays import Array
from casid.inertia import from_pseudo_inertia, link_slice, to_standard
from papers.methods.cones import stack
from papers.methods.lmi import settings
from papers.methods.regression import Answer, Regression, answer


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


@dataclass(frozen=True, eq=False)
class MassesFound:
    """Standard parameters ``A p + offset``, the solver's status, its iterations and times [s]."""

    x: Array
    status: str
    iterations: int
    build_time: float
    solve_time: float


def regression_by_masses(
    R: Array,
    r: Array,
    maps: Sequence[Array],
    offset: Array,
    prior: PriorMasses | None = None,
    tolerance: float | None = None,
) -> MassesFound:
    """Solve the quadratic program by Clarabel.

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
    start = time.process_time()
    rows, size = R.shape
    lengths = np.concatenate([np.linalg.norm(block, axis=0) for block in maps])
    A = np.zeros((size, len(lengths)))
    column = 0
    for k, block in enumerate(maps):
        A[link_slice(k), column : column + block.shape[1]] = block
        column += block.shape[1]
    A /= lengths  # unknowns p times the length of their column, x = A p + offset, t = R x - r
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
    solver = clarabel.DefaultSolver(
        P,
        np.concatenate([-pull * aim, np.zeros(size + rows)]),
        constraints,
        np.concatenate([-offset, r, np.zeros(count)]),
        [clarabel.ZeroConeT(size + rows), clarabel.NonnegativeConeT(count)],
        settings(tolerance),
    )
    built = time.process_time()
    result = solver.solve()
    done = time.process_time()
    masses = np.maximum(np.array(result.x)[:count], 0.0)  # the solver meets bounds to its tolerance; these are exact
    return MassesFound(A @ masses + offset, str(result.status), int(result.iterations), built - start, done - built)


def point_masses(data: Regression, per_edge: int = 3, tolerance: float | None = None) -> Answer:
    """``min ||R (A p + offset) - r||^2`` subject to ``p >= 0``, without a prior."""
    start = time.process_time()
    maps = [mass_map(grid(box, per_edge)) for box in data.boxes]
    offset = np.tile(data.margin * from_pseudo_inertia(np.eye(4)), data.links)
    mapped = time.process_time() - start
    found = regression_by_masses(data.R, data.r, maps, offset, tolerance=tolerance)
    return answer(
        f"Point masses ({per_edge}^3)",
        data,
        found.x,
        solved=found.status in ("Solved", "AlmostSolved"),
        status=found.status,
        iterations=found.iterations,
        build_time=mapped + found.build_time,
        solve_time=found.solve_time,
    )
