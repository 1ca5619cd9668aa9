"""Surfaces of a robot's links, coarse enough to draw, and where the links stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.arrays import Array
from casid.description import (
    Description,
    Robot,
    Surface,
    XmlFile,
    found,
    load_description,
    triangles,
    trimesh_package,
)
from casid.dynamics import Model
from casid.errors import RobotError

#: Triangles of a drawn link, and of all of them: a page stays below 1 MB.
_OF_A_LINK, _OF_ALL = 500, 8000


@dataclass(frozen=True, eq=False)
class Shape:
    """The surface of what moves with a joint, or with the base: ``joint`` is -1.

    Attributes
    ----------
    joint : int
    vertices : ndarray, shape (m, 3)
        In the link frame [m].
    faces : ndarray, shape (k, 3)
        Indices of vertices.
    """

    joint: int
    vertices: Array
    faces: NDArray[np.intp]


def shapes(robot: Robot, packages: Sequence[str | Path] = ()) -> tuple[Shape, ...]:
    """Surfaces of a robot's links, coarse enough to draw: one for each link that has any, the base included.

    Those of the URDF that the robot was read from, or of the one that its TOML file names as ``shapes`` in
    ``[source]``, an address ``package://...`` of a URDF with the same kinematics. Visual geometry, collision geometry
    where that cannot be read.

    Parameters
    ----------
    packages
        As of `casid.excitation.fit_capsules`.

    Returns
    -------
    tuple of Shape
        Empty for a robot of another origin.

    Raises
    ------
    RobotError
        If a file is not found or cannot be read, the URDF moves in another way than the robot, or trimesh is missing.
    """
    description = robot.origin
    folders = [Path(folder) for folder in packages]
    if description is None:
        return ()
    if description.format == "URDF":
        return tuple(_drawn(description, robot, folders, np.tile(np.eye(4), (len(robot.joints), 1, 1))))
    address = str(robot.source.get("shapes", ""))
    if not address:
        return ()
    file = found(address, description.folder, folders)
    if file is None:
        raise RobotError(
            f"robot '{robot.name}': its shapes, '{address}', are not found; pass the folder that holds them"
        )
    other = load_description(file)
    names = [joint.name for joint in other.robot().joints]
    shown_robot = other.robot(lock=names[len(robot.joints) :])
    return tuple(_drawn(other, shown_robot, folders, _between(robot, shown_robot)))


def shapes_found(robot: Robot) -> tuple[Shape, ...]:
    """As `shapes`; none where they are not found, cannot be read, or trimesh is missing."""
    try:
        return shapes(robot)
    except RobotError:
        return ()


def _between(robot: Robot, other: Robot) -> Array:
    """Placement of the other robot's link frames in the robot's, which must be the same in every posture."""
    if other.n != robot.n:
        raise RobotError(f"robot '{robot.name}' has {robot.n} joints, that of its shapes, '{other.name}', {other.n}")
    rng = np.random.default_rng(0)
    postures = rng.uniform(-1.5, 1.5, (2, robot.n))
    first, second = (np.linalg.solve(link_placements(robot, q), link_placements(other, q)) for q in postures)
    if not np.allclose(first, second, atol=1e-4):
        raise RobotError(f"robot '{robot.name}' and that of its shapes, '{other.name}', move in other ways")
    return np.asarray(first)


def _drawn(description: Description, robot: Robot, packages: Sequence[Path], between: Array) -> Iterator[Shape]:
    """The shapes of a URDF's links in the frames of the links that move; the root's where none does."""
    joined: dict[int, list[Surface]] = {}
    surfaces = _surfaces(description.content, description.where, description.folder, tuple(packages))
    for name, (vertices, faces) in surfaces.items():
        try:
            frame = robot.frame(name)
        except RobotError:  # the root of the tree, or a link that was left out
            if name != description.base.name:
                continue
            joint, placement = -1, np.eye(4)
        else:
            joint = frame.joint
            placement = frame.placement if joint < 0 else between[joint] @ frame.placement
        joined.setdefault(joint, []).append((vertices @ placement[:3, :3].T + placement[:3, 3], faces))
    for joint, parts in sorted(joined.items()):
        yield Shape(joint, *_together(parts))


@lru_cache(maxsize=8)
def _surfaces(content: bytes, where: str, folder: Path | None, packages: tuple[Path, ...]) -> dict[str, Surface]:
    """Triangles of each link of a URDF in its frame, few enough to draw."""
    links = XmlFile(content, where).root.findall("link")
    links = [link for link in links if link.findall("visual") or link.findall("collision")]
    most = min(_OF_A_LINK, _OF_ALL // max(1, len(links)))
    return {link.get("name", ""): _surface(link, where, folder, packages, most) for link in links}


def _surface(
    link: ElementTree.Element, where: str, folder: Path | None, packages: tuple[Path, ...], most: int
) -> Surface:
    """The visual geometry of a link; its collision geometry where a file of the former cannot be read."""
    kinds = [bodies for bodies in (link.findall("visual"), link.findall("collision")) if bodies]
    for k, bodies in enumerate(kinds):
        try:
            parts = [triangles(body, where, folder, packages, link.get("name", "")) for body in bodies]
            break
        except RobotError:
            if k == len(kinds) - 1:
                raise
    return _coarse(*_together(parts), most)


def _together(parts: Sequence[Surface]) -> Surface:
    """Several surfaces as one."""
    offsets = np.cumsum([0, *(len(vertices) for vertices, _ in parts)])[:-1]
    faces = np.vstack([part + offset for (_, part), offset in zip(parts, offsets, strict=True)])
    return np.vstack([vertices for vertices, _ in parts]), faces


def _coarse(points: Array, faces: NDArray[np.intp], most: int) -> Surface:
    """The surface in fewer triangles; its convex hull where the package that simplifies is missing."""
    trimesh: Any = trimesh_package("drawing links")
    mesh = trimesh.Trimesh(points, faces)
    for cells in (None, 64, 32, 16):  # surfaces torn along their edges have to be joined before
        if cells is not None and len(mesh.faces) > most:
            mesh = _joined(trimesh, mesh, cells)
        if len(mesh.faces) <= most:
            break
        try:
            mesh = mesh.simplify_quadric_decimation(face_count=most)
        except ImportError:
            mesh = mesh.convex_hull
    return np.asarray(mesh.vertices, dtype=float), np.asarray(mesh.faces, dtype=np.intp)


def _joined(trimesh: Any, mesh: Any, cells: int) -> Any:
    """The mesh with the vertices of each cell made one: as many cells along the longest side."""
    size = float(np.ptp(mesh.vertices, axis=0).max()) / cells
    _, which = np.unique(np.round(mesh.vertices / size), axis=0, return_inverse=True)
    which = which.ravel()
    middle = np.stack([np.bincount(which, column) for column in mesh.vertices.T], axis=1) / np.bincount(which)[:, None]
    faces = which[mesh.faces]
    whole = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    return trimesh.Trimesh(middle, faces[whole])


def link_placements(robot: Robot, q: ArrayLike) -> Array:
    """Placement of each link frame in the base frame at joint positions q, shape (links, 4, 4)."""
    outputs = Model(robot).forward_kinematics.call([np.asarray(q, dtype=float)])
    return np.array([np.array(T, dtype=float) for T in outputs])
