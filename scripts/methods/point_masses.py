"""The method of Ayusawa and Nakamura (2010): links made of point masses, hence a quadratic program.

``delta = A p`` with ``p >= 0`` (Sousa 2014, eq. 2.74-2.77): an inner, polyhedral approximation of the feasible cone.
The points are the regular grid of each link's bounding box; with the article's 3 x 3 x 3 = 27 they are its centre,
vertices and the centres of its edges and faces. The box is what a CAD model gives: here the axis-aligned box of the
body that made the data. The margin of the constraint set is added to the point masses' pseudo-inertia, so every
method searches within the same set.

The article's second term ``||G_p (p_hat - p)||^2`` pulls towards a CAD prior, where the data do not determine the
parameters. Random regressors determine all of them and there is no prior: it is left out.
"""

from __future__ import annotations

import time
from itertools import product

import clarabel
import numpy as np
from scipy import sparse

from casid.inertia import from_pseudo_inertia, link_slice, to_standard
from methods.cones import stack
from methods.lmi import settings
from methods.regression import Answer, Array, Regression, answer


def grid(box: Array, per_edge: int = 3) -> Array:
    """Points of the regular grid on a box of shape (3, 2): shape (per_edge^3, 3) [m]."""
    return np.array(list(product(*[np.linspace(lower, upper, per_edge) for lower, upper in box])))


def mass_map(points: Array) -> Array:
    """Matrix A, shape (10, points): standard parameters of unit point masses."""
    return np.stack([to_standard(1.0, point, np.zeros((3, 3))) for point in points], axis=1)


def point_masses(data: Regression, per_edge: int = 3, tolerance: float | None = None) -> Answer:
    """``min ||R (A p + offset) - r||^2`` subject to ``p >= 0``, by Clarabel."""
    start = time.perf_counter()
    size = 10 * data.links
    maps = [mass_map(grid(box, per_edge)) for box in data.boxes]
    offset = np.tile(data.margin * from_pseudo_inertia(np.eye(4)), data.links)
    scale = [np.linalg.norm(block, axis=0) for block in maps]
    A = np.zeros((size, sum(block.shape[1] for block in maps)))
    column = 0
    for k, block in enumerate(maps):
        A[link_slice(k), column : column + block.shape[1]] = block / scale[k]
        column += block.shape[1]
    count = A.shape[1]
    # unknowns p, x, t: x = A p + offset, t = R x - r
    P = sparse.block_diag([sparse.csc_matrix((count + size, count + size)), sparse.identity(size)], format="csc")
    identity = sparse.identity(size)
    constraints = stack(
        [
            [sparse.csc_matrix(A), -identity, None],
            [None, sparse.csc_matrix(data.R), -identity],
            [-sparse.identity(count), None, None],
        ]
    )
    b = np.concatenate([-offset, data.r, np.zeros(count)])
    solver = clarabel.DefaultSolver(
        P,
        np.zeros(count + 2 * size),
        constraints,
        b,
        [clarabel.ZeroConeT(2 * size), clarabel.NonnegativeConeT(count)],
        settings(tolerance),
    )
    built = time.perf_counter()
    result = solver.solve()
    done = time.perf_counter()
    masses = np.maximum(np.array(result.x)[:count], 0.0)  # the solver meets bounds to its tolerance; these are exact
    status = str(result.status)
    return answer(
        f"Point masses ({per_edge}^3)",
        data,
        A @ masses + offset,
        solved=status in ("Solved", "AlmostSolved"),
        status=status,
        iterations=int(result.iterations),
        build_time=built - start,
        solve_time=done - built,
    )
