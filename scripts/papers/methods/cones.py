"""The feasible set of one link as a semidefinite cone, in the coordinates of a conic solver.

A symmetric p x p matrix is written as ``svec``: its upper triangle by columns, off-diagonal entries times sqrt(2), so
that ``<A, B> = svec(A)' svec(B)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from casid.arrays import Array
from casid.inertia import pseudo_inertia
from casid.inertia._parameters import spatial_inertia
from papers.methods.regression import Kind

ORDER: dict[Kind, int] = {"full": 4, "semi": 6}


def svec(matrix: Array) -> Array:
    """Upper triangle of a symmetric matrix by columns, off-diagonal entries times sqrt(2)."""
    rows, columns = _upper(len(matrix))
    return np.asarray(matrix[rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0)))


def smat(vector: Array) -> Array:
    """Inverse of `svec`."""
    order = int((np.sqrt(8 * len(vector) + 1) - 1) / 2)
    rows, columns = _upper(order)
    matrix = np.zeros((order, order))
    matrix[rows, columns] = matrix[columns, rows] = vector / np.where(rows == columns, 1.0, np.sqrt(2.0))
    return matrix


def cone_map(kind: Kind) -> Array:
    """Matrix C, shape (p (p + 1) / 2, 10): ``svec`` of a link's matrix is ``C x`` for its ten standard parameters x."""
    matrix = pseudo_inertia if kind == "full" else spatial_inertia
    return np.stack([svec(matrix(unit)) for unit in np.eye(10)], axis=1)


def _upper(order: int) -> tuple[np.ndarray, np.ndarray]:
    columns = np.repeat(np.arange(order), np.arange(1, order + 1))
    rows = np.concatenate([np.arange(j + 1) for j in range(order)])
    return rows, columns


def stack(blocks: Sequence[Sequence[Any]]) -> Any:
    """A sparse matrix in the columns' format that solvers want, from blocks (``None``: zeros)."""
    return sparse.bmat(blocks, format="csc")
