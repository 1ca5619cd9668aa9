"""Each link's cone of physical consistency, in preconditioned coordinates.

A link's matrix ``M(x)`` (pseudo-inertia, 4x4, or spatial inertia, 6x6) is linear in its ten parameters. With S the Cholesky factor
of a nominal ``M(x0) - margin 1``, ``M(x) = S Mt S' + margin 1``: the solver works on ``Mt``, which is 1 at the nominal body.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casid.errors import ProblemError
from casid.inertia import PSEUDO_INERTIA_MAP, spatial_inertia
from casid.retrieval.constraints import PhysicalConsistency

Array = NDArray[np.float64]

_SPATIAL_INERTIA_MAP = np.stack([spatial_inertia(unit).ravel() for unit in np.eye(10)], axis=1)


def cone_map(kind: str) -> Array:
    """Matrix, shape (d^2, 10), of ``vec M = map x``; d = 4 for ``full``, 6 for ``semi``."""
    return PSEUDO_INERTIA_MAP if kind == "full" else _SPATIAL_INERTIA_MAP


def lower_entries(d: int) -> tuple[tuple[int, int], ...]:
    """Row and column of the lower triangle of a d x d matrix, row by row."""
    return tuple((i, j) for i in range(d) for j in range(i + 1))


@dataclass(frozen=True, eq=False)
class Cone:
    """One link's cone.

    Attributes
    ----------
    link : int
    kind : str
    margin : float
    size : int
        d.
    map : ndarray, shape (d^2, 10)
        ``vec M = map x_k``.
    factor : ndarray, shape (d, d)
        S, lower triangular.
    scaled_map, scaled_offset : ndarray, shapes (d (d+1)/2, 10) and (d (d+1)/2,)
        Lower triangle of ``Mt = S^-1 (M(x_k) - margin 1) S^-T`` as an affine function of x_k.
    """

    link: int
    kind: str
    margin: float
    size: int
    map: Array
    factor: Array
    scaled_map: Array
    scaled_offset: Array

    @classmethod
    def around(cls, consistency: PhysicalConsistency, nominal: Array) -> Cone:
        """Cone preconditioned by a nominal body, shape (10,)."""
        mapping = cone_map(consistency.kind)
        d = int(round(np.sqrt(mapping.shape[0])))
        matrix = (mapping @ nominal).reshape(d, d)
        shifted = matrix - consistency.margin * np.eye(d)
        try:
            factor = np.linalg.cholesky(shifted)
        except np.linalg.LinAlgError:
            raise ProblemError(
                f"link '{consistency.name}': the nominal body does not keep the margin {consistency.margin:.3g} of physical "
                f"consistency (smallest eigenvalue {np.linalg.eigvalsh(matrix)[0]:.3g}); lower the margin or pass a larger "
                "nominal body"
            ) from None
        inverse = np.linalg.inv(factor)
        picks = [i * d + j for i, j in lower_entries(d)]
        scaled = np.kron(inverse, inverse)[picks]
        offset = -consistency.margin * (inverse @ inverse.T).ravel()[picks]
        return cls(consistency.link, consistency.kind, consistency.margin, d, mapping, factor, scaled @ mapping, offset)

    def matrix(self, parameters: Array) -> Array:
        """M(x_k), shape (d, d)."""
        return np.asarray((self.map @ parameters).reshape(self.size, self.size))

    def start_factor(self, parameters: Array) -> Array:
        """Entries of a Cholesky factor T of Mt at a point; eigenvalues that are too small are lifted."""
        inverse = np.linalg.inv(self.factor)
        scaled = inverse @ (self.matrix(parameters) - self.margin * np.eye(self.size)) @ inverse.T
        values, vectors = np.linalg.eigh((scaled + scaled.T) / 2)
        values = np.maximum(values, 1e-6 * max(values[-1], 1.0))
        lifted = np.linalg.cholesky(vectors @ np.diag(values) @ vectors.T)
        return np.array([lifted[i, j] for i, j in lower_entries(self.size)])

    def from_factor(self, entries: Array) -> Array:
        """The ten parameters of ``S T T' S' + margin 1``; exact for ``full`` consistency only."""
        triangle = np.zeros((self.size, self.size))
        for value, (i, j) in zip(entries, lower_entries(self.size), strict=True):
            triangle[i, j] = value
        half = self.factor @ triangle
        matrix = half @ half.T + self.margin * np.eye(self.size)
        return np.asarray(np.linalg.lstsq(self.map, matrix.ravel(), rcond=None)[0])
