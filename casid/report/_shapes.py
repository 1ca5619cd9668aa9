"""Surfaces of a robot's links, coarse enough to draw, and where the links stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.description import (
    Description,
    Faces,
    Robot,
    Surface,
    XmlFile,
    capsule_surface,
    found,
    load_description,
    triangles,
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
    faces: Faces


def shapes(robot: Robot, packages: Sequence[str | Path] = ()) -> tuple[Shape, ...]:
    """Surfaces of a robot's links, coarse enough to draw: one for each link that has any, the base included.

    Those of the URDF that the robot was read from, or of the one that its TOML file names as ``shapes`` in
    ``[source]``, an address ``package://...`` of a URDF with the same kinematics. Collision geometry where it is of
    meshes of its own, for these are made coarse, else visual geometry; the other where that cannot be read. Of a URDF
    that the robot names and that has further joints, what carries only these is left out: a gripper is not part of an
    arm that is described without one. A robot of another origin is drawn as its capsules.

    Parameters
    ----------
    packages
        As of `casid.excitation.fit_capsules`.

    Returns
    -------
    tuple of Shape
        Empty for a robot of another origin without capsules.

    Raises
    ------
    RobotError
        If a file is not found or cannot be read, or the URDF moves in another way than the robot.
    """
    description = robot.origin
    folders = [Path(folder) for folder in packages]
    address = str(robot.source.get("shapes", ""))
    if description is not None and description.format == "URDF":
        return tuple(_drawn(description, robot, folders, np.tile(np.eye(4), (len(robot.joints), 1, 1)), frozenset()))
    if description is None or not address:
        return capsule_shapes(robot)
    file = found(address, description.folder, folders)
    if file is None:
        raise RobotError(
            f"robot '{robot.name}': its shapes, '{address}', are not found; pass the folder that holds them"
        )
    other = load_description(file)
    further = [joint.name for joint in other.robot().joints][len(robot.joints) :]
    shown_robot = other.robot(lock=further)
    drawn = _drawn(other, shown_robot, folders, _between(robot, shown_robot), _carriers(other, shown_robot, further))
    return tuple(drawn)


def shapes_found(robot: Robot) -> tuple[Shape, ...]:
    """As `shapes`; the robot's capsules where they are not found or cannot be read."""
    try:
        return shapes(robot)
    except RobotError:
        return capsule_shapes(robot)


def capsule_shapes(robot: Robot) -> tuple[Shape, ...]:
    """Surfaces of a robot's capsules."""
    made = []
    for capsule in robot.capsules:
        length = float(np.linalg.norm(capsule.end - capsule.start))
        along = (capsule.end - capsule.start) / length if length > 0 else np.array([0.0, 0.0, 1.0])
        across = np.linalg.svd(along[None])[2][1]
        vertices, faces = capsule_surface(capsule.radius, length)
        turned = vertices @ np.stack([across, np.cross(along, across), along])
        made.append(Shape(capsule.joint, turned + (capsule.start + capsule.end) / 2, faces))
    return tuple(made)


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


def _carriers(description: Description, robot: Robot, further: Sequence[str]) -> frozenset[str]:
    """Links between the robot's moving ones and further joints, and all that they carry."""
    below = {joint.link.name: joint for joint in description.joints}
    moving = {joint.name for joint in robot.joints}

    def path(link: str) -> list[str]:
        joint = below.get(link)
        return [] if joint is None or joint.name in moving else [link, *path(joint.parent)]

    carriers = {name for link, joint in below.items() if joint.name in further for name in path(link)}
    return frozenset(link for link in below if carriers.intersection(path(link)))


def _drawn(
    description: Description, robot: Robot, packages: Sequence[Path], between: Array, without: frozenset[str]
) -> Iterator[Shape]:
    """The shapes of a URDF's links in the frames of the links that move; the root's where none does."""
    joined: dict[int, list[Surface]] = {}
    surfaces = _surfaces(description.content, description.where, description.folder, tuple(packages), without)
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
def _surfaces(
    content: bytes, where: str, folder: Path | None, packages: tuple[Path, ...], without: frozenset[str]
) -> dict[str, Surface]:
    """Triangles of each link of a URDF in its frame, few enough to draw."""
    links = [link for link in XmlFile(content, where).root.findall("link") if link.get("name") not in without]
    links = [link for link in links if link.findall("visual") or link.findall("collision")]
    most = min(_OF_A_LINK, _OF_ALL // max(1, len(links)))
    return {link.get("name", ""): _surface(link, where, folder, packages, most) for link in links}


def _surface(
    link: ElementTree.Element, where: str, folder: Path | None, packages: tuple[Path, ...], most: int
) -> Surface:
    """The geometry of a link that is drawn, see `shapes`."""
    kinds = [bodies for bodies in (link.findall("visual"), link.findall("collision")) if bodies]
    meshes = [[body.find("geometry/mesh") for body in bodies] for bodies in kinds]
    files = [{mesh.get("filename") for mesh in of if mesh is not None} for of in meshes]
    if len(kinds) == 2 and None not in meshes[1] and not files[0] & files[1]:
        kinds.reverse()
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


def _coarse(points: Array, faces: Faces, most: int) -> Surface:
    """The surface in fewer triangles: by the package that simplifies where it is installed, and of joined vertices."""
    for cells in (1e8, *64 / np.sqrt(2.0) ** np.arange(12)):  # edges that are torn have to be joined before
        points, faces = _joined(points, faces, cells)
        if len(faces) > most:
            points, faces = _simplified(points, faces, most)
        if len(faces) <= most:
            break
    return points, faces


def _simplified(points: Array, faces: Faces, most: int) -> Surface:
    try:
        from fast_simplification import simplify
    except ImportError:
        return points, faces
    made, kept = simplify(points, faces, target_reduction=1.0 - most / len(faces))
    return np.asarray(made, dtype=float), np.asarray(kept, dtype=np.intp)


def _joined(points: Array, faces: Faces, cells: float) -> Surface:
    """The surface with the vertices of each cell made one: as many cells along the longest side."""
    size = max(float(np.ptp(points, axis=0).max()), 1e-9) / cells
    _, which = np.unique(np.round(points / size), axis=0, return_inverse=True)
    which = which.ravel()
    middle = np.stack([np.bincount(which, column) for column in points.T], axis=1) / np.bincount(which)[:, None]
    faces = which[faces]
    whole = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    _, first = np.unique(np.sort(faces[whole], axis=1), axis=0, return_index=True)
    return middle, faces[whole][np.sort(first)]


def link_placements(robot: Robot, q: ArrayLike) -> Array:
    """Placement of each link frame in the base frame at joint positions q, shape (links, 4, 4)."""
    outputs = Model(robot).forward_kinematics.call([np.asarray(q, dtype=float)])
    return np.array([np.array(T, dtype=float) for T in outputs])
