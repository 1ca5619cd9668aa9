"""Mass properties of MJCF mesh assets, as MuJoCo computes them.

Reference: https://mujoco.readthedocs.io/en/stable/XMLreference.html#asset-mesh, attribute ``inertia``.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import numpy as np

from casid.arrays import Array
from casid.description._mesh_files import read_mesh
from casid.description._placement import rotation_of_quaternion
from casid.description._solids import Faces, Solid, filled, shell
from casid.description.formats._mjcf_context import Context
from casid.description.formats._xml import Element

_KINDS = ("legacy", "convex", "exact", "shell")
#: MuJoCo refuses less [m^3].
_SMALLEST = 1e-15


class Meshes:
    """The ``<mesh>`` assets of one file.

    Parameters
    ----------
    root
        The file's ``<mujoco>``, includes already in place.
    context
        Its defaults and compiler settings.
    folder
        Where the file lies; None: only meshes whose vertices stand in it can be read.
    """

    def __init__(self, root: Element, context: Context, folder: Path | None) -> None:
        self._context = context
        self._folder = folder
        self._elements: dict[str, Element] = {}
        self._known: dict[str, Solid] = {}
        for asset in root.findall("asset"):
            for element in asset.findall("mesh"):
                full = context.attributes(element, None)
                name = full.get("name") or PurePosixPath(full.get("file", "").replace("\\", "/")).stem
                self._elements[name] = full

    def solid(self, name: str, what: str) -> Solid:
        """Volume, centre of mass and inertia of unit mass of a mesh, in the frame of its file.

        Attribute ``inertia``: of the ``exact`` solid; of its ``convex`` hull; ``legacy``, the sum of the tetrahedra
        over all faces, each counted as positive; of a ``shell``, whose "volume" is its surface [m^2].

        Raises
        ------
        RobotError
            If there is no such mesh, its file cannot be read, or it has no volume.
        """
        if name not in self._known:
            if name not in self._elements:
                self._context.fail(f"{what}: there is no mesh '{name}'")
            self._known[name] = self._computed(self._elements[name], f"mesh '{name}' of {what}")
        return self._known[name]

    def _computed(self, element: Element, what: str) -> Solid:
        context = self._context
        kind = element.get("inertia", "legacy")
        if kind not in _KINDS:
            context.fail(f"{what}: its inertia '{kind}' is not one of {', '.join(_KINDS)}")
        vertices, faces = self._surface(element, what)
        vertices = vertices - np.array(context.numbers(element, "refpos", 3, what, (0.0,) * 3))
        if "refquat" in element.attrib:
            quaternion = context.numbers(element, "refquat", 4, what)
            vertices = vertices @ rotation_of_quaternion(quaternion, context.tolerance)
        scale = np.array(context.numbers(element, "scale", 3, what, (1.0,) * 3))
        vertices = vertices * scale
        if scale.prod() < 0:
            faces = faces[:, ::-1]
        if kind == "convex" or not len(faces):
            faces, kind = self._hull(vertices, what), "convex"
        volume, com, second = shell(vertices, faces) if kind == "shell" else filled(vertices, faces, kind == "exact")
        if not volume > _SMALLEST:
            context.fail(f"{what}: its volume is {volume:.3g}; MuJoCo refuses it")
        return volume, com, (np.trace(second) * np.eye(3) - second) / volume

    def _hull(self, vertices: Array, what: str) -> Faces:
        from scipy.spatial import ConvexHull, QhullError  # robots without meshes need no SciPy

        try:
            return np.asarray(ConvexHull(vertices).simplices, dtype=np.intp)
        except (QhullError, ValueError) as error:
            self._context.fail(f"{what}: it has no convex hull: {str(error).splitlines()[0]}")

    def _surface(self, element: Element, what: str) -> tuple[Array, Faces]:
        """Vertices and faces as they stand in the file."""
        context = self._context
        if "file" not in element.attrib:
            vertices = np.array(context.numbers(element, "vertex", None, what, ()), dtype=float)
            numbers = np.array(context.numbers(element, "face", None, what, ()), dtype=float)
            faces = numbers.astype(np.intp)
            if not vertices.size or vertices.size % 3 or faces.size % 3 or (faces != numbers).any():
                context.fail(f"{what}: it has neither a file nor vertices, or their numbers are not triples")
            vertices, faces = vertices.reshape(-1, 3), faces.reshape(-1, 3)
        else:
            vertices, faces = read_mesh(self._path(element, what), f"{context.where}: {what}")
        if not np.isfinite(vertices).all() or (faces.size and not 0 <= faces.min() <= faces.max() < len(vertices)):
            context.fail(f"{what}: it has vertices that are no numbers, or faces of vertices that it does not have")
        return vertices, faces

    def _path(self, element: Element, what: str) -> Path:
        compiler = self._context.compiler
        file = element.get("file", "").replace("\\", "/")
        if compiler.get("strippath") == "true":
            file = PurePosixPath(file).name
        if self._folder is None:
            self._context.fail(f"{what}: the mesh file '{file}' cannot be followed: read the robot from its file")
        return self._folder / compiler.get("meshdir", compiler.get("assetdir", "")) / file
