"""Each link's cone of physical consistency, in coordinates in which it is a quadratic image of free numbers.

The ten standard parameters of a consistent link are ``x = basis y + offset`` with ``y = q(t)``, ten quadratic forms
of ten numbers t of which four are >= 0:

* ``full``: ``J(x) = S T T' S' + margin 1``, T the lower triangular matrix of t, S the Cholesky factor of a nominal
  ``J(x0) - margin 1``: a congruence, so that ``T T'`` is 1 at the nominal body. y is the lower triangle of ``T T'``.
* ``semi``: with ``m = t0^2, l = t0 v, L = v'v 1 - v v' + T T'`` (T 3x3) the 6x6 spatial inertia factorises, and
  ``T T'`` is the inertia about the centre of mass; coordinates are taken about the nominal centre of mass, in units
  of the nominal mass and size.

The log barrier of the four non-negative numbers is then half the log det of the 4x4 matrix, or of m and I.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.errors import ProblemError
from casid.inertia import (
    PSEUDO_INERTIA_MAP,
    TENSOR_INDEX,
    express_in,
    from_standard,
    pseudo_inertia,
    spatial_inertia,
    tensor,
    to_standard,
)
from casid.retrieval.constraints import PhysicalConsistency

Array = NDArray[np.float64]

_LOWER4 = tuple((i, j) for i in range(4) for j in range(i + 1))
_LOWER3 = tuple((i, j) for i in range(3) for j in range(i + 1))
#: Which of the ten numbers t are >= 0.
NON_NEGATIVE = {"full": (0, 2, 5, 9), "semi": (0, 4, 6, 9)}


def quadratic(kind: str, t: ca.SX) -> ca.SX:
    """``y = q(t)``, shape (10, 1)."""
    if kind == "full":
        triangle = ca.SX(4, 4)
        for k, (i, j) in enumerate(_LOWER4):
            triangle[i, j] = t[k]
        square = triangle @ triangle.T
        return ca.vertcat(*[square[i, j] for i, j in _LOWER4])
    triangle = ca.SX(3, 3)
    for k, (i, j) in enumerate(_LOWER3):
        triangle[i, j] = t[4 + k]
    v = t[1:4]
    inertia = triangle @ triangle.T + ca.dot(v, v) * ca.SX.eye(3) - v @ v.T
    return ca.vertcat(*[inertia[i, j] for i, j in TENSOR_INDEX], t[0] * v, t[0] ** 2)


@dataclass(frozen=True, eq=False)
class Cone:
    """One link's cone: ``x_k = basis y + offset``, shapes (10, 10) and (10,)."""

    link: int
    kind: str
    margin: float
    basis: Array
    offset: Array

    @classmethod
    def around(cls, consistency: PhysicalConsistency, nominal: Array) -> Cone:
        """Cone with coordinates scaled by a nominal body, shape (10,)."""
        margin = consistency.margin
        offset = np.zeros(10)
        matrix = pseudo_inertia(nominal) if consistency.kind == "full" else spatial_inertia(nominal)
        smallest = float(np.linalg.eigvalsh(matrix)[0])
        if smallest <= margin:
            raise ProblemError(
                f"link '{consistency.name}': the nominal body does not keep the margin "
                f"{margin:.3g} of physical consistency (smallest eigenvalue {smallest:.3g}); lower the margin, or pass "
                "a nominal body that keeps it"
            )
        if consistency.kind == "full":
            factor = np.linalg.cholesky(matrix - margin * np.eye(4))
            spread = np.zeros((16, 10))
            for k, (i, j) in enumerate(_LOWER4):
                spread[4 * i + j, k] = spread[4 * j + i, k] = 1.0
            basis = _FROM_PSEUDO_INERTIA @ np.kron(factor, factor) @ spread
            offset = margin * _FROM_PSEUDO_INERTIA @ np.eye(4).ravel()
        else:
            mass, com, inertia = from_standard(nominal)
            length = float(np.sqrt(np.trace(inertia) / (3 * mass)))
            scales = np.array([mass * length**2] * 6 + [mass * length] * 3 + [mass])
            basis = np.stack([express_in(unit * scales, np.eye(3), com) for unit in np.eye(10)], axis=1)
            offset[[0, 3, 5, 9]] = margin
        return cls(consistency.link, consistency.kind, margin, basis, offset)

    def factor(self, parameters: Array) -> Array:
        """Numbers t of a body, shape (10,); a body outside the cone is lifted to its inside."""
        y = np.linalg.solve(self.basis, parameters - self.offset)
        if self.kind == "full":
            square = np.zeros((4, 4))
            for value, (i, j) in zip(y, _LOWER4, strict=True):
                square[i, j] = square[j, i] = value
            triangle = np.linalg.cholesky(_lifted(square))
            return np.array([triangle[i, j] for i, j in _LOWER4])
        mass = max(float(y[9]), 1e-6)
        v = y[6:9] / np.sqrt(mass)
        about_com = tensor(y[:6]) - (v @ v * np.eye(3) - np.outer(v, v))
        triangle = np.linalg.cholesky(_lifted(about_com))
        return np.concatenate([[np.sqrt(mass)], v, [triangle[i, j] for i, j in _LOWER3]])

    def parameters(self, t: Array) -> Array:
        """The ten parameters at t: consistent up to rounding, whatever t."""
        if self.kind == "full":
            triangle = np.zeros((4, 4))
            for value, (i, j) in zip(t, _LOWER4, strict=True):
                triangle[i, j] = value
            square = triangle @ triangle.T
            y = np.array([square[i, j] for i, j in _LOWER4])
        else:
            triangle = np.zeros((3, 3))
            for value, (i, j) in zip(t[4:], _LOWER3, strict=True):
                triangle[i, j] = value
            y = to_standard(t[0] ** 2, t[1:4] / t[0], triangle @ triangle.T) if t[0] else np.zeros(10)
        return np.asarray(self.basis @ y + self.offset)


_FROM_PSEUDO_INERTIA = np.linalg.pinv(PSEUDO_INERTIA_MAP)


def _lifted(matrix: Array) -> Array:
    """The matrix with eigenvalues of at least 1e-6 of the largest (or of 1)."""
    values, vectors = np.linalg.eigh(matrix)
    values = np.maximum(values, 1e-6 * max(float(values[-1]), 1.0))
    return np.asarray(vectors @ np.diag(values) @ vectors.T)
