"""The log-det divergence of bodies: value, gradient and Hessian, and the map between ten numbers and a symmetric 4x4.

With the pseudo-inertia J of a body and J0 of a reference body, the log-det (entropic, Stein's) divergence is

    D(J || J0) = tr(J0^-1 J) - log det(J0^-1 J) - 4  >= 0,

zero at ``J = J0`` alone and infinite at the boundary of the physical set. It does not depend on units or frames. In
coordinates ``vec J = B x`` (B, shape (16, 10)) its derivatives are

    dD/dx_i = tr(E_i (J0^-1 - J^-1)),    d2D/dx_i dx_j = tr(E_i J^-1 E_j J^-1),    E_i: column i of B as a matrix,

and twice the second-order model at ``J = J0`` is the affine-invariant metric ``tr((J^-1 dJ)^2)``.

Three coordinates of symmetric 4x4 matrices are in use, each a matrix B:

* `PSEUDO_INERTIA_MAP`: the ten standard parameters of a body;
* `TRIANGLE_MAP`: the entries of the lower triangle, row by row;
* `ORTHONORMAL_MAP`: the same entries, those off the diagonal times sqrt(2) (``svec``): ``<A, B> = svec(A)' svec(B)``.

References
----------
T. Lee, P. M. Wensing, F. C. Park, "Geometric robot dynamic identification: a convex programming approach", IEEE
Transactions on Robotics 36(2), 2020, Sec. III. T. Lee, J. Kwon, F. C. Park, "A natural adaptive control law for robot
manipulators", IROS 2018.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.inertia._parameters import PSEUDO_INERTIA_MAP

#: Entries (row, column) of the lower triangle of a 4x4 matrix, row by row, and the places of those on the diagonal.
_ROWS, _COLUMNS = np.tril_indices(4)
LOWER = tuple(zip(_ROWS.tolist(), _COLUMNS.tolist(), strict=True))
DIAGONAL = tuple(k for k, (i, j) in enumerate(LOWER) if i == j)
_PLACE = np.array([[LOWER.index((max(i, j), min(i, j))) for j in range(4)] for i in range(4)])


def symmetric(entries: ArrayLike) -> Array:
    """Symmetric matrices, shape (..., 4, 4), of the entries of their lower triangles, shape (..., 10)."""
    return np.asarray(entries, dtype=float)[..., _PLACE]


def lower_triangle(matrices: ArrayLike) -> Array:
    """Entries of the lower triangles, row by row, shape (..., 10), of matrices, shape (..., 4, 4)."""
    return np.asarray(matrices, dtype=float)[..., _ROWS, _COLUMNS]


#: ``vec S = TRIANGLE_MAP y`` of the lower triangle y; ``svec S = SVEC_WEIGHTS y``; ``vec S = ORTHONORMAL_MAP svec S``.
TRIANGLE_MAP: Array = symmetric(np.eye(10)).reshape(10, 16).T.copy()
SVEC_WEIGHTS: Array = np.asarray(np.linalg.norm(TRIANGLE_MAP, axis=0), dtype=float)
ORTHONORMAL_MAP: Array = TRIANGLE_MAP / SVEC_WEIGHTS
#: Standard parameters of ``vec J``, shape (10, 16): the inverse of `PSEUDO_INERTIA_MAP` on symmetric matrices.
STANDARD_MAP: Array = np.asarray(np.linalg.pinv(PSEUDO_INERTIA_MAP), dtype=float)
for _constant in (TRIANGLE_MAP, SVEC_WEIGHTS, ORTHONORMAL_MAP, STANDARD_MAP):
    _constant.setflags(write=False)


def from_svec(vector: ArrayLike) -> Array:
    """Symmetric matrices, shape (n, 4, 4), of stacked ``svec``, shape (10 n,)."""
    return symmetric(np.reshape(vector, (-1, 10)) / SVEC_WEIGHTS)


def to_svec(matrices: ArrayLike) -> Array:
    """Stacked ``svec``, shape (10 n,), of symmetric matrices, shape (n, 4, 4)."""
    return np.asarray((lower_triangle(matrices) * SVEC_WEIGHTS).reshape(-1))


def congruence(factor: ArrayLike) -> Array:
    """Matrix C, shape (10, 10), with ``x = C y``: standard parameters of ``J = F Y F'``, Y of lower triangle y."""
    F = np.asarray(factor, dtype=float)
    return np.asarray(STANDARD_MAP @ np.kron(F, F) @ TRIANGLE_MAP)


def log_det(matrices: Array) -> Array:
    """``log det``, shape (...,), of symmetric matrices, shape (..., 4, 4); -inf where one is not positive definite."""
    try:
        diagonal = np.diagonal(np.linalg.cholesky(matrices), axis1=-2, axis2=-1)
    except np.linalg.LinAlgError:
        if matrices.ndim == 2:
            return np.array(-np.inf)
        return np.array([log_det(matrix) for matrix in matrices])
    return np.asarray(2.0 * np.log(diagonal).sum(axis=-1))


class Divergence:
    """The divergence ``D(. || J0)`` from reference bodies.

    Parameters
    ----------
    references
        J0, shape (..., 4, 4).
    """

    def __init__(self, references: Array) -> None:
        self.inverse: Array = np.asarray(np.linalg.inv(references), dtype=float)
        self._log_det = log_det(references)

    def value(self, matrices: Array) -> Array:
        """D of J, shape (..., 4, 4), each from its own reference; infinite where J or J0 is not positive definite."""
        trace = np.sum(self.inverse * matrices, axis=(-2, -1))
        value = trace - log_det(matrices) + self._log_det - 4.0
        return np.where(np.isfinite(value), value, np.inf)

    def gradient(self, matrices: Array, basis: Array = PSEUDO_INERTIA_MAP) -> Array:
        """Gradient in coordinates ``vec J = basis x``, shape (..., 10), at J, shape (..., 4, 4)."""
        left = self.inverse - np.linalg.inv(matrices)
        return np.asarray(left.reshape(*left.shape[:-2], 16) @ basis)


def divergence_root(matrices: Array, basis: Array = PSEUDO_INERTIA_MAP) -> Array:
    """Matrix A, shape (..., 16, 10), with Hessian ``A'A``: column i is ``vec(T^-1 E_i T^-T)`` with ``J = T T'``."""
    inverse = np.linalg.inv(np.linalg.cholesky(matrices))
    return congruent(np.asarray(np.swapaxes(inverse, -2, -1), dtype=float), basis)


def divergence_hessian(matrices: Array, basis: Array = PSEUDO_INERTIA_MAP) -> Array:
    """Hessian of D in coordinates ``vec J = basis x``, shape (..., 10, 10), at J, shape (..., 4, 4).

    It does not depend on the reference.
    """
    root = divergence_root(matrices, basis)
    return np.asarray(np.swapaxes(root, -2, -1) @ root)


def inverse_hessian(matrices: Array) -> Array:
    """Inverse of the Hessian of D in orthonormal coordinates, shape (..., 10, 10): it maps E to ``J E J``.

    Nothing is inverted, so that bodies with nearly no extent are no difficulty.
    """
    root = congruent(np.asarray(np.linalg.cholesky(matrices), dtype=float), ORTHONORMAL_MAP)
    return np.asarray(np.swapaxes(root, -2, -1) @ root)


def congruent(F: Array, basis: Array) -> Array:
    """Columns ``vec(F' E_i F)``, shape (..., 16, columns); their Gram matrix is ``tr(E_i S E_j S)``, ``S = F F'``."""
    directions = basis.T.reshape(-1, 4, 4)
    turned = np.swapaxes(F, -2, -1)[..., None, :, :] @ directions @ F[..., None, :, :]
    return np.swapaxes(turned.reshape(*F.shape[:-2], len(directions), 16), -2, -1)


def log_det_function() -> ca.Function:
    """CasADi function log det of a lower triangle y, shape (10,); NaN where the matrix is not positive definite."""
    y = ca.SX.sym("y", 10)
    a = ca.tril2symm(ca.SX(ca.Sparsity.upper(4), y).T)
    logarithms = ca.SX(0)
    for i in range(4):
        logarithms += ca.log(a[i, i])
        if i < 3:
            a[i + 1 :, i + 1 :] = a[i + 1 :, i + 1 :] - a[i + 1 :, i] @ a[i, i + 1 :] / a[i, i]
    return ca.Function("log_det", [y], [logarithms])
