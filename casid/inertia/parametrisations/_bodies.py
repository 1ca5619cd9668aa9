"""Pieces that the maps share, as CasADi expressions: bodies, triangular factors, rotations, positive numbers."""

from __future__ import annotations

import casadi as ca
import numpy as np

from casid.inertia._parameters import TENSOR_INDEX, Vector
from casid.inertia.parametrisations._contract import BIAS


def body(mass: ca.SX, com: ca.SX, inertia: ca.SX) -> ca.SX:
    """Ten standard parameters of mass, centre of mass and inertia I about it: ``L = I + m (c'c 1 - c c')``."""
    about_origin = inertia + mass * (ca.dot(com, com) * ca.SX.eye(3) - ca.mtimes(com, com.T))
    return ca.vertcat(*[about_origin[i, j] for i, j in TENSOR_INDEX], mass * com, mass)


def lower_triangular(entries: ca.SX) -> ca.SX:
    """Lower triangular 3x3 matrix of ``xx yy zz yx zx zy`` (diagonal first)."""
    zero = ca.SX(0)
    return ca.vertcat(
        ca.horzcat(entries[0], zero, zero),
        ca.horzcat(entries[3], entries[1], zero),
        ca.horzcat(entries[4], entries[5], entries[2]),
    )


def triangular_entries(factor: Vector) -> Vector:
    """Inverse of `lower_triangular`."""
    return np.array([factor[0, 0], factor[1, 1], factor[2, 2], factor[1, 0], factor[2, 0], factor[2, 1]])


def biased_cholesky(matrix: Vector) -> Vector:
    """Lower factor T with ``T T' + bias 1 = matrix``; NaN where there is none."""
    try:
        return np.asarray(np.linalg.cholesky(matrix - BIAS * np.eye(len(matrix))))
    except np.linalg.LinAlgError:
        return np.full(matrix.shape, np.nan)


def rotation(vector: ca.SX) -> ca.SX:
    """Rotation matrix exp(S(v)) (Rodrigues), smooth at v = 0."""
    angle = ca.sqrt(ca.dot(vector, vector) + 1e-30)
    S = ca.skew(vector)
    half = ca.sin(angle / 2) / (angle / 2)
    return ca.SX.eye(3) + ca.sin(angle) / angle * S + half * half / 2 * ca.mtimes(S, S)


def rotation_vector(matrix: Vector) -> Vector:
    """Vector v with ``exp(S(v)) = matrix``."""
    from scipy.spatial.transform import Rotation  # SciPy's spatial package costs 0.1 s of import

    return np.asarray(Rotation.from_matrix(matrix).as_rotvec())


def principal_axes(matrix: Vector) -> tuple[Vector, Vector]:
    """Eigenvalues, ascending, and a right-handed frame of eigenvectors."""
    values, vectors = np.linalg.eigh(matrix)
    if np.linalg.det(vectors) < 0:
        vectors = vectors * np.array([1.0, 1.0, -1.0])
    return values, vectors


def square(theta: ca.SX) -> ca.SX:
    """``theta^2 + bias``: positive (Sutanto et al. 2020, eq. 4)."""
    return theta * theta + BIAS


def root(value: float) -> float:
    """Inverse of `square`; NaN below the bias."""
    return float(np.sqrt(value - BIAS))
