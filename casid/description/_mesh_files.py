"""Triangles of mesh files: binary STL, the format of most collision meshes; others by the package trimesh."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from casid.arrays import Array
from casid.description._solids import Faces
from casid.errors import RobotError
from casid.files import data_limit, read_bytes, reason

#: Vertices, shape (m, 3), and faces.
Surface: TypeAlias = tuple[Array, Faces]

#: Bytes before the triangles of a binary STL, a count among them, and of each triangle: normal, corners, attribute.
_HEAD = 84
_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def read_mesh(path: Path, what: str) -> Surface:
    """Vertices and faces as they stand in a mesh file; of STL three vertices for each face.

    Parameters
    ----------
    what
        Names the mesh in errors.

    Raises
    ------
    RobotError
        If the file is missing or cannot be read, or it is no binary STL and trimesh is missing.
    """
    content = read_bytes(path, what, RobotError, data_limit())
    count = int.from_bytes(content[_HEAD - 4 : _HEAD], "little")
    if path.suffix.lower() == ".stl" and count and len(content) == _HEAD + count * _TRIANGLE.itemsize:
        corners = np.frombuffer(content, _TRIANGLE, count, _HEAD)["corners"]
        return corners.reshape(-1, 3).astype(float), np.arange(3 * count).reshape(-1, 3)
    try:
        import trimesh
    except ImportError as error:
        raise RobotError(
            f"{what}: '{path.name}' is not a binary STL; others need the package trimesh: pip install 'casid[meshes]'"
        ) from error
    try:
        mesh: Any = trimesh.load(str(path), force="mesh", process=False)
        return np.array(mesh.vertices, dtype=float), np.array(mesh.faces, dtype=np.intp)
    except Exception as error:  # whatever a mesh reader raises
        raise RobotError(f"{what}: the mesh file '{path.name}' cannot be read: {reason(error)}") from error
