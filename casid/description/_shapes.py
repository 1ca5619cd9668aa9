"""Shapes of links: meshes, boxes, cylinders and spheres of a URDF, as points and as triangles."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from casid.description._document import Description, Origin
from casid.description._load import load_description
from casid.description._placement import rotation_about, xyz_rpy
from casid.description._robot import Robot
from casid.errors import RobotError
from casid.files._texts import parse_xml
from casid.files._words import number_list, shown

Array = NDArray[np.float64]

#: No robot is larger [m].
_LARGEST = 1e6
#: Triangles of a drawn link, and of all of them: a page stays below 1 MB.
_OF_A_LINK, _OF_ALL = 500, 8000
_PACKAGE = "package://"
#: Vertices [m] and faces.
Surface: TypeAlias = tuple[Array, NDArray[np.intp]]


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
    origin = robot.origin
    if not isinstance(origin, Origin):
        return ()
    description, folders = origin.description, [Path(folder) for folder in packages]
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
    first, second = (np.linalg.solve(_placements(robot, q), _placements(other, q)) for q in postures)
    if not np.allclose(first, second, atol=1e-4):
        raise RobotError(f"robot '{robot.name}' and that of its shapes, '{other.name}', move in other ways")
    return np.asarray(first)


def _placements(robot: Robot, q: Array) -> Array:
    """Placement of each link frame in the base frame, shape (links, 4, 4)."""
    matrix, offset = robot.coupling()
    found: list[Array] = []
    for joint, position in zip(robot.joints, matrix @ q + offset, strict=True):
        moved, axis = np.eye(4), np.array(joint.axis)
        if joint.type == "prismatic":
            moved[:3, 3] = position * axis
        else:
            moved[:3, :3] = rotation_about(axis, float(position))
        above = found[joint.parent] if joint.parent >= 0 else np.eye(4)
        found.append(above @ joint.placement @ moved @ joint.link_placement)
    return np.array(found)


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
        offsets = np.cumsum([0, *(len(vertices) for vertices, _ in parts)])[:-1]
        numbered = [part + offset for (_, part), offset in zip(parts, offsets, strict=True)]
        yield Shape(joint, np.vstack([vertices for vertices, _ in parts]), np.vstack(numbered))


@lru_cache(maxsize=8)
def _surfaces(content: bytes, where: str, folder: Path | None, packages: tuple[Path, ...]) -> dict[str, Surface]:
    """Triangles of each link of a URDF in its frame, few enough to draw."""
    links = [link for link in parse_xml(content, where, RobotError).findall("link")]
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
    offsets = np.cumsum([0, *(len(vertices) for vertices, _ in parts)])[:-1]
    faces = np.vstack([part + offset for (_, part), offset in zip(parts, offsets, strict=True)])
    return _coarse(np.vstack([vertices for vertices, _ in parts]), faces, most)


def _coarse(points: Array, faces: NDArray[np.intp], most: int) -> Surface:
    """The surface in fewer triangles; its convex hull where the package that simplifies is missing."""
    trimesh: Any = _trimesh("drawing links")
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


def triangles(
    body: ElementTree.Element, where: str, folder: Path | None, packages: Sequence[Path], link: str
) -> Surface:
    """Vertices, in the link frame, and faces of a ``visual`` or ``collision`` element; see `hull_points` for errors."""
    shape, placement = _geometry(body, where, link)
    trimesh: Any = _trimesh("drawing links")
    if shape.tag == "mesh":
        mesh = _mesh(shape, where, folder, packages, link)
        vertices, faces = np.array(mesh.vertices, dtype=float), np.array(mesh.faces, dtype=np.intp)
        vertices = vertices * np.array(_numbers(shape, "scale", "1 1 1"))
    else:
        made = {
            "box": lambda: trimesh.creation.box(_numbers(shape, "size", "0 0 0")),
            "cylinder": lambda: trimesh.creation.cylinder(
                _numbers(shape, "radius", "0")[0], _numbers(shape, "length", "0")[0], sections=24
            ),
            "sphere": lambda: trimesh.creation.icosphere(2, _numbers(shape, "radius", "0")[0]),
        }
        if shape.tag not in made:
            raise _unknown(shape, where, link)
        mesh = made[shape.tag]()
        vertices, faces = np.array(mesh.vertices, dtype=float), np.array(mesh.faces, dtype=np.intp)
    return _placed(vertices, placement, where, link), faces


def hull_points(
    body: ElementTree.Element, where: str, folder: Path | None, packages: Sequence[Path], link: str
) -> Array:
    """Points of a geometry in the link frame, whose convex hull holds it.

    Raises
    ------
    RobotError
        If a mesh cannot be found or read, a number is missing, or the package trimesh is.
    """
    shape, placement = _geometry(body, where, link)
    if shape.tag == "mesh":
        vertices = np.array(_mesh(shape, where, folder, packages, link).vertices, dtype=float)
        cloud = vertices * np.array(_numbers(shape, "scale", "1 1 1"))
    elif shape.tag == "box":
        half = 0.5 * np.array(_numbers(shape, "size", "0 0 0"))
        cloud = half * np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
    elif shape.tag == "cylinder":
        radius, length = _numbers(shape, "radius", "0")[0], _numbers(shape, "length", "0")[0]
        angle = np.arange(48) * 2 * np.pi / 48
        outer = radius / np.cos(np.pi / 48)  # the polygon holds the circle
        ring = np.stack([outer * np.cos(angle), outer * np.sin(angle), np.zeros(48)], axis=1)
        top = np.array([0.0, 0.0, length / 2])
        cloud = np.vstack([ring + top, ring - top])
    elif shape.tag == "sphere":
        radius = _numbers(shape, "radius", "0")[0]
        directions = np.random.default_rng(0).standard_normal((400, 3))
        cloud = radius * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    else:
        raise _unknown(shape, where, link)
    return _placed(cloud, placement, where, link)


def _geometry(body: ElementTree.Element, where: str, link: str) -> tuple[ElementTree.Element, Array]:
    origin, geometry = body.find("origin"), body.find("geometry")
    placement = xyz_rpy(_numbers(origin, "xyz", "0 0 0"), _numbers(origin, "rpy", "0 0 0"))
    shape = None if geometry is None else next(iter(geometry), None)
    if shape is None:
        raise RobotError(f"{where}: link '{link}': <{body.tag}> has no geometry")
    return shape, placement


def _unknown(shape: ElementTree.Element, where: str, link: str) -> RobotError:
    return RobotError(f"{where}: link '{link}': geometry <{shape.tag}> is not mesh, box, cylinder or sphere")


def _placed(cloud: Array, placement: Array, where: str, link: str) -> Array:
    if not np.abs(cloud).max(initial=0.0) <= _LARGEST:
        raise RobotError(f"{where}: link '{link}': a geometry larger than {_LARGEST:g} m")
    return np.asarray(cloud @ placement[:3, :3].T + placement[:3, 3])


def _numbers(element: ElementTree.Element | None, key: str, default: str) -> list[float]:
    text = default if element is None else element.get(key, default)
    numbers = number_list(text.split())
    if (
        numbers is None
        or len(numbers) != len(default.split())
        or not all(abs(number) <= _LARGEST for number in numbers)
    ):
        raise RobotError(
            f"{key}={shown(text)} of a geometry: expected {len(default.split())} numbers of at most {_LARGEST:g} m"
        )
    return numbers


def _ros_folders() -> list[Path]:
    """Folders of packages that ROS names in the environment: ROS_PACKAGE_PATH, and share/ of AMENT_PREFIX_PATH."""
    names = ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH")
    packages, prefixes = (os.environ.get(name, "").split(os.pathsep) for name in names)
    return [*(Path(entry) for entry in packages if entry), *(Path(entry) / "share" for entry in prefixes if entry)]


def _python_folders() -> Iterator[Path]:
    """Folders of installed Python packages, and their share/, where example-robot-data keeps its robots."""
    for entry in sys.path:
        if entry.endswith("site-packages"):
            yield from (Path(entry), Path(entry) / "cmeel.prefix" / "share")
    yield Path(sys.prefix) / "share"


def found(address: str, folder: Path | None, packages: Iterable[Path]) -> Path | None:
    """The file of an address, ``package://NAME/...`` or a path beside the robot's file; ``None``: there is none.

    Packages are looked for in the given folders, those of ROS_PACKAGE_PATH and AMENT_PREFIX_PATH, the parents of
    ``folder``, and among installed Python packages.
    """
    relative = address.removeprefix("file://")
    beside = [] if folder is None else [folder.resolve()]
    folders, names = beside, [relative]
    if address.startswith(_PACKAGE):
        relative = address.removeprefix(_PACKAGE)
        above = [] if folder is None else [folder.resolve(), *folder.resolve().parents]
        folders, names = (
            [*packages, *_ros_folders(), *above, *_python_folders()],
            [relative, relative.partition("/")[2]],
        )
    return next((place / name for place in folders for name in names if (place / name).is_file()), None)


def _trimesh(purpose: str) -> Any:
    try:
        import trimesh
    except ImportError as error:
        raise RobotError(f"{purpose} needs the package trimesh: pip install 'casid[meshes]'") from error
    return trimesh


def _mesh(shape: ElementTree.Element, where: str, folder: Path | None, packages: Sequence[Path], link: str) -> Any:
    address = shape.get("filename", "")
    file = found(address, folder, packages)
    if file is None:
        raise RobotError(f"{where}: link '{link}': mesh '{address}' not found; pass the folder that holds its package")
    trimesh = _trimesh("fitting capsules to meshes")
    try:
        mesh = trimesh.load(str(file), force="mesh")
        np.array(mesh.vertices, dtype=float)
    except Exception as error:  # whatever a mesh reader raises
        raise RobotError(f"{where}: link '{link}': cannot read mesh '{file.name}': {error}") from error
    return mesh
