"""Volume, centre and second moment of surfaces made of triangles: bodies of uniform density, and shells."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from casid.arrays import Array

#: Indices of the triangles' corners, shape (k, 3).
Faces: TypeAlias = NDArray[np.intp]
#: Volume [m^3], centre of mass [m], and ``integral (x - c)(x - c)' dV`` [m^5].
Solid: TypeAlias = tuple[float, Array, Array]


def filled(vertices: Array, faces: Faces, signed: bool) -> Solid:
    """Volume, centre and second moment about it of tetrahedra over all faces, with a common apex."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    normals, centers = np.cross(b - a, c - a), (a + b + c) / 3

    def volumes(apex: Array) -> Array:
        found = ((centers - apex) * normals).sum(axis=1) / 6
        return np.asarray(found if signed else np.abs(found))

    areas = np.linalg.norm(normals, axis=1) / 2
    apex = areas @ centers / max(float(areas.sum()), 1e-300)
    parts = volumes(apex)
    com = parts @ (0.75 * centers + 0.25 * apex) / (float(parts.sum()) or 1e-300)
    parts = volumes(com)
    return float(parts.sum()), com, _second_moment(parts / 20, a - com, b - com, c - com)


def shell(vertices: Array, faces: Faces) -> Solid:
    """Area, centre and second moment about it of all faces."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2
    com = areas @ (a + b + c) / 3 / max(float(areas.sum()), 1e-300)
    return float(areas.sum()), com, _second_moment(areas / 12, a - com, b - com, c - com)


def _second_moment(weights: Array, a: Array, b: Array, c: Array) -> Array:
    """``sum w (a a' + b b' + c c' + s s')`` with ``s = a + b + c``: of simplices with these corners, and the origin."""
    return np.asarray(sum(np.einsum("k,ki,kj->ij", weights, part, part) for part in (a, b, c, a + b + c)))
