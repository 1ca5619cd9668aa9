"""A primal-dual point near the optimum of a least-squares problem over physically consistent links, without a solver.

Operator splitting (ADMM; Boyd et al. 2011, Sec. 3.1, with over-relaxation) of ``min 1/2 ||A v - b||^2`` subject to
``v in K``, where v stacks the links' scaled pseudo-inertias as ``svec`` (orthonormal coordinates of symmetric matrices)
and K is the product of their cones: a linear system with one inverse, and an eigenvalue decomposition of every 4x4
matrix::

    v <- (A'A + rho 1)^-1 (A'b + rho (z - u)),   z <- P_K(v + u),   u <- u + v - z

Its limit is the optimum, with ``-rho u`` the cones' multipliers. A few dozen of these cheap steps save the Newton
method that follows most of its expensive ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.inertia._divergence import from_svec, lower_triangle, to_svec

Array = NDArray[np.float64]


def lower_factors(matrices: Array) -> Array:
    """Lower triangular T with ``T T' = M`` and a non-negative diagonal, entries row by row, shape (10 n,).

    M, shape (n, 4, 4), may be singular or slightly indefinite: negative eigenvalues count as zero.
    """
    values, vectors = np.linalg.eigh(matrices)
    half = np.sqrt(np.maximum(values, 0.0))[:, :, None] * vectors.transpose(0, 2, 1)
    factors = np.asarray(np.linalg.qr(half, mode="r")).transpose(0, 2, 1)
    signs = np.where(np.einsum("kii->ki", factors) < 0, -1.0, 1.0)
    return np.asarray(lower_triangle(factors * signs[:, None, :]).reshape(-1))


@dataclass(frozen=True, eq=False)
class SplitPoint:
    """Where the splitting stopped.

    Attributes
    ----------
    v : ndarray, shape (10 n,)
        ``svec`` of positive semidefinite matrices.
    multipliers : ndarray, shape (10 n,)
        ``svec`` of minus the multipliers Z >= 0 of ``V >= 0``: at the optimum the gradient's opposite, ``A'(b - A v)``.
    residual : float
        Relative size of the last step.
    iterations : int
    """

    v: Array
    multipliers: Array
    residual: float
    iterations: int


def split(
    gram: Array,
    slope: Array,
    rho: float,
    iterations: int = 300,
    tolerance: float = 3e-7,
    relaxation: float = 1.6,
) -> SplitPoint:
    """Minimise ``1/2 v'Gv - g'v`` over stacked positive semidefinite 4x4 matrices, roughly.

    Parameters
    ----------
    gram, slope
        G, shape (10 n, 10 n), positive definite, and g, shape (10 n,); the better G's blocks are scaled, the fewer
        steps.
    rho
        Penalty of the splitting, > 0; the geometric mean of G's eigenvalues serves well.
    iterations
        Largest number of steps.
    tolerance
        Relative change at which to stop.
    relaxation
        Over-relaxation, 1 (none) to 1.8.
    """
    size = len(slope)
    inverse = np.linalg.inv(gram + rho * np.eye(size))
    z = np.zeros(size)
    u = np.zeros(size)
    change = np.inf
    used = 0
    while used < iterations and change >= tolerance:
        used += 1
        v = inverse @ (slope + rho * (z - u))
        shifted = relaxation * v + (1.0 - relaxation) * z + u
        values, vectors = np.linalg.eigh(from_svec(shifted))
        projected = to_svec((vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1))
        u = shifted - projected
        change = float(
            max(np.abs(projected - z).max(), np.abs(v - projected).max()) / max(np.abs(projected).max(), 1e-300)
        )
        z = projected
    return SplitPoint(z, rho * u, change, used)
