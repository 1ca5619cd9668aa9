"""Mass, centre of mass and inertia of MJCF geoms and mesh assets, as MuJoCo computes them.

Reference: https://mujoco.readthedocs.io/en/stable/XMLreference.html#asset-mesh, attribute ``inertia``.
"""

from __future__ import annotations

import math
from pathlib import Path, PurePosixPath

import numpy as np

from casid.arrays import Array
from casid.description._mesh_files import read_mesh
from casid.description._placement import rotation_of_quaternion, transform
from casid.description._robot import Inertial, carried
from casid.description._solids import Faces, Solid, filled, shell
from casid.description.formats._mjcf_context import Context
from casid.description.formats._xml import Element
from casid.inertia import to_standard

# ------------------------------------------------------------------ meshes

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


# ------------------------------------------------------------------ geoms

#: Number of sizes that matter, by type of geom; with ``fromto`` the length is not among them.
_SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
_MASSLESS = ("plane", "hfield", "sdf")


def body_of_geoms(geoms: list[tuple[Element, Array]], context: Context, meshes: Meshes, what: str) -> Inertial | None:
    """Sum of the geoms of a body (already with their defaults), each with the placement of the frame it stands in.

    Raises
    ------
    RobotError
        For sizes that are missing, meshes that cannot be read, and primitives that are fitted to a mesh.
    """
    low, high = map(int, context.numbers(context.compiler, "inertiagrouprange", 2, "compiler", (0, 5)))
    tens = []
    for geom, frame in geoms:
        group = int(context.number(geom, "group", what, 0.0))
        if low <= group <= high:
            ten = _geom(geom, frame, context, meshes, what)
            if ten is not None:
                tens.append(ten)
    if not tens:
        return None
    total = np.sum(tens, axis=0)
    return Inertial.of(total) if total[9] > 0 else None


def _geom(geom: Element, frame: Array, context: Context, meshes: Meshes, what: str) -> Array | None:
    kind = geom.get("type", "sphere")
    mass = context.number(geom, "mass", what) if "mass" in geom.attrib else None
    density = context.number(geom, "density", what, 1000.0)
    if kind in _MASSLESS or mass == 0.0 or (mass is None and density == 0.0):
        return None
    if kind == "mesh":
        volume, com, unit = meshes.solid(geom.get("mesh", ""), what)
        m = density * volume if mass is None else mass
        return carried(to_standard(m, com, m * unit), frame @ context.placement(geom, what))
    if kind not in _SIZES or "mesh" in geom.attrib:
        fitted = " fitted to a mesh" if "mesh" in geom.attrib else ""
        context.fail(
            f"{what}: takes its mass from a geom of type '{kind}'{fitted}, which casid does not compute; give the body "
            "an <inertial> (mujoco: mj_saveLastXML writes one)"
        )
    if geom.get("shellinertia") == "true":
        context.fail(f"{what}: a geom with shellinertia is not computed; give the body an <inertial>")
    size = context.numbers(geom, "size", None, what, ())
    placement = context.placement(geom, what)
    if "fromto" in geom.attrib:
        if kind == "sphere":
            context.fail(f"{what}: a sphere has no fromto")
        ends = np.array(context.numbers(geom, "fromto", 6, what)).reshape(2, 3)
        along = ends[0] - ends[1]  # MuJoCo: z points from the second end to the first
        axis = Element("geom", {"zaxis": " ".join(map(repr, along.tolist()))})
        placement = transform(context.placement(axis, what)[:3, :3], ends.mean(axis=0))
        half = float(np.linalg.norm(along)) / 2
        size = [*size[:1], half] if kind in ("capsule", "cylinder") else [*size[:1], *size[:1], half]
    if len(size) < _SIZES[kind] or min(size[: _SIZES[kind]]) <= 0:
        context.fail(f"{what}: a geom of type '{kind}' needs {_SIZES[kind]} positive sizes, got {size}")
    volume, unit = _shape(kind, size)
    m = density * volume if mass is None else mass
    return carried(to_standard(m, np.zeros(3), np.diag(m * unit)), frame @ placement)


def _shape(kind: str, size: list[float]) -> tuple[float, Array]:
    """Volume [m^3] and principal moments of unit mass [m^2]."""
    if kind == "sphere":
        r = size[0]
        return 4 / 3 * math.pi * r**3, np.full(3, 0.4 * r * r)
    if kind == "ellipsoid":
        squares = np.square(size[:3])
        return 4 / 3 * math.pi * math.prod(size[:3]), (squares.sum() - squares) / 5
    if kind == "box":
        squares = np.square(size[:3])
        return 8 * math.prod(size[:3]), (squares.sum() - squares) / 3
    r, h = size[0], 2 * size[1]
    cylinder = math.pi * r * r * h
    across, along = (3 * r * r + h * h) / 12, r * r / 2
    if kind == "cylinder":
        return cylinder, np.array([across, across, along])
    ball = 4 / 3 * math.pi * r**3
    share = cylinder / (cylinder + ball)
    # two half balls at the ends: Steiner through the centre of mass of a half ball, 3/8 r from its flat side
    ends = 0.4 * r * r + h * h / 4 + 3 / 8 * h * r
    across = share * across + (1 - share) * ends
    return cylinder + ball, np.array([across, across, share * along + (1 - share) * 0.4 * r * r])
