"""Vertices of a link's mesh, for the convex hull its centre of mass lies in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from casid.errors import ProblemError


def read_stl(path: str | Path, scale: float = 1.0) -> NDArray[np.float64]:
    """Vertices of a closed STL mesh, shape (K, 3), in its own frame; read by trimesh.

    Parameters
    ----------
    path
        STL file, text or binary.
    scale
        Metres a unit of the file, e.g. 1e-3 for millimetres.

    Raises
    ------
    ProblemError
        If the file is missing or no mesh, the mesh is not closed, or trimesh is not installed.
    """
    try:
        import trimesh
    except ImportError:
        raise ProblemError("reading a mesh needs the package trimesh: pip install casid[meshes]") from None
    file = Path(path)
    if not file.is_file():
        raise ProblemError(f"mesh '{file}' does not exist")
    try:
        mesh = trimesh.load_mesh(file, file_type="stl")
    except Exception as error:  # trimesh raises whatever its parser meets
        raise ProblemError(f"mesh '{file}' is not a readable STL file: {error}") from None
    vertices = np.asarray(mesh.vertices, dtype=float)
    if len(vertices) < 4 or not np.isfinite(vertices).all():
        raise ProblemError(f"mesh '{file}' holds no solid: {len(vertices)} vertices")
    if not mesh.is_watertight:
        raise ProblemError(
            f"mesh '{file}' is not closed: some edges belong to one face only; repair it, or give points of your own "
            f"to com_in_hull"
        )
    if not (np.isfinite(scale) and scale > 0):
        raise ProblemError(f"mesh '{file}': the scale must be positive, got {scale}")
    return vertices * scale
