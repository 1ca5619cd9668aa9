"""The 4x4 pseudo-inertia J of a body: a linear bijection with its ten standard parameters.

``J = [[Sigma, l], [l', m]]`` with ``Sigma = tr(L)/2 1 - L``. A body of positive density has ``J > 0``, which is
equivalent to ``m > 0``, ``I > 0`` and the triangle inequality of the principal moments (Wensing et al. 2018, Thm. 1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from casid.inertia.parameters import Vector, tensor, tensor_entries


def pseudo_inertia(parameters: ArrayLike) -> Vector:
    """Pseudo-inertia J, shape (..., 4, 4), of standard parameters, shape (..., 10)."""
    parameters = np.asarray(parameters, dtype=float)
    return np.reshape(parameters @ PSEUDO_INERTIA_MAP.T, (*parameters.shape[:-1], 4, 4))


def from_pseudo_inertia(matrix: ArrayLike) -> Vector:
    """Ten standard parameters of a symmetric 4x4 pseudo-inertia: ``L = tr(Sigma) 1 - Sigma``."""
    matrix = np.asarray(matrix, dtype=float)
    sigma = matrix[:3, :3]
    return np.concatenate([tensor_entries(np.trace(sigma) * np.eye(3) - sigma), matrix[:3, 3], [matrix[3, 3]]])


def _pseudo_inertia_of(parameters: Vector) -> Vector:
    inertia = tensor(parameters[:6])
    matrix = np.empty((4, 4))
    matrix[:3, :3] = np.trace(inertia) / 2 * np.eye(3) - inertia
    matrix[:3, 3] = matrix[3, :3] = parameters[6:9]
    matrix[3, 3] = parameters[9]
    return matrix


#: Matrix P, shape (16, 10), with ``vec(J) = P pi`` for the ten standard parameters pi of a link.
PSEUDO_INERTIA_MAP: Vector = np.stack([_pseudo_inertia_of(unit).ravel() for unit in np.eye(10)], axis=1)
PSEUDO_INERTIA_MAP.setflags(write=False)
