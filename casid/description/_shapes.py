"""Shapes of a URDF's links (meshes, boxes, cylinders, spheres) as points, triangles and convex hulls."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.description._mesh_files import Surface, read_mesh
from casid.description._placement import xyz_rpy
from casid.description._robot import Robot
from casid.description._solids import filled
from casid.description.formats._xml import Elements, XmlFile
from casid.errors import RobotError

# ------------------------------------------------------------------ shapes of links

#: No robot is larger [m].
_LARGEST = 1e6
_PACKAGE = "package://"


def triangles(
    body: ElementTree.Element, where: str, folder: Path | None, packages: Sequence[Path], link: str
) -> Surface:
    """Vertices, in the link frame, and faces of a ``visual`` or ``collision`` element; see `hull_points` for errors."""
    shape, sizes, placement = _geometry(body, where, link)
    if shape.tag == "mesh":
        vertices, faces = _mesh(shape, where, folder, packages, link)
    elif shape.tag == "box":
        square = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
        vertices, faces = _prism(square, (0.0, 0.5, 0.5, 0.0), (-0.5, -0.5, 0.5, 0.5))
    elif shape.tag == "cylinder":
        radius, length = sizes
        vertices, faces = _prism(_circle(), (0.0, radius, radius, 0.0), length * np.array([-0.5, -0.5, 0.5, 0.5]))
    else:
        vertices, faces = capsule_surface(sizes[0], 0.0)
    scaled = vertices * sizes if shape.tag in ("mesh", "box") else vertices
    return _placed(scaled, placement, where, link), faces


def _circle(sides: int = 24) -> Array:
    angle = np.arange(sides) * 2 * np.pi / sides
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _prism(ring: Array, radii: ArrayLike, heights: ArrayLike) -> Surface:
    """Rings about the z-axis, scaled by a radius at each height, and what lies between; normals point outwards."""
    sides = len(ring)
    vertices = np.stack([radii, radii, heights], axis=1)[:, None] * np.column_stack([ring, np.ones(sides)])
    level, k = np.meshgrid(np.arange(len(vertices) - 1) * sides, np.arange(sides), indexing="ij")
    a, b = (level + k).ravel(), (level + (k + 1) % sides).ravel()
    faces = np.concatenate([np.stack([a, b, b + sides], axis=1), np.stack([a, b + sides, a + sides], axis=1)])
    return vertices.reshape(-1, 3), faces


def capsule_surface(radius: float, length: float) -> Surface:
    """All points a radius away from a segment of the z-axis whose middle is the origin."""
    angle = np.linspace(0.0, np.pi / 2, 7)
    angle, middle = np.concatenate([-angle[::-1], angle]), np.repeat([-length / 2, length / 2], 7)
    return _prism(_circle(), radius * np.cos(angle), middle + radius * np.sin(angle))


def hull_points(
    body: ElementTree.Element, where: str, folder: Path | None, packages: Sequence[Path], link: str
) -> Array:
    """Points of a geometry in the link frame, whose convex hull holds it.

    Raises
    ------
    RobotError
        If a mesh cannot be found or read, e.g. for lack of the package trimesh, or a number is missing.
    """
    shape, sizes, placement = _geometry(body, where, link)
    if shape.tag == "mesh":
        cloud = _mesh(shape, where, folder, packages, link)[0] * sizes
    elif shape.tag == "box":
        cloud = 0.5 * np.array(sizes) * np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
    elif shape.tag == "cylinder":
        radius, length = sizes
        outer = radius / np.cos(np.pi / 48)  # the polygon holds the circle
        ring = outer * np.column_stack([_circle(48), np.zeros(48)])
        top = np.array([0.0, 0.0, length / 2])
        cloud = np.vstack([ring + top, ring - top])
    else:
        directions = np.random.default_rng(0).standard_normal((400, 3))
        cloud = sizes[0] * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return _placed(cloud, placement, where, link)


#: Sizes of each geometry: attribute -> default.
_SIZES: dict[str, dict[str, tuple[float, ...]]] = {
    "mesh": {"scale": (1.0, 1.0, 1.0)},
    "box": {"size": (0.0, 0.0, 0.0)},
    "cylinder": {"radius": (0.0,), "length": (0.0,)},
    "sphere": {"radius": (0.0,)},
}


def _geometry(body: ElementTree.Element, where: str, link: str) -> tuple[ElementTree.Element, list[float], Array]:
    """The shape, its sizes [m] and its placement in the link frame."""
    file, what = Elements(where), f"link '{link}'"
    origin, geometry = (file.child(body, tag, what) for tag in ("origin", "geometry"))
    xyz, rpy = (file.numbers(origin, key, 3, what, (0.0, 0.0, 0.0)) for key in ("xyz", "rpy"))
    shape = None if geometry is None else next(iter(geometry), None)
    if shape is None:
        file.fail(f"{what}: <{body.tag}> has no geometry")
    if shape.tag not in _SIZES:
        file.fail(f"{what}: geometry <{shape.tag}> is not mesh, box, cylinder or sphere")
    wanted = _SIZES[shape.tag].items()
    sizes = [x for key, default in wanted for x in file.numbers(shape, key, len(default), what, default)]
    return shape, sizes, xyz_rpy(xyz, rpy)


def _placed(cloud: Array, placement: Array, where: str, link: str) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        placed = np.asarray(cloud @ placement[:3, :3].T + placement[:3, 3])
    if not np.abs(placed).max(initial=0.0) <= _LARGEST:
        raise RobotError(f"{where}: link '{link}': a geometry larger than {_LARGEST:g} m")
    return placed


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


def _mesh(shape: ElementTree.Element, where: str, folder: Path | None, packages: Sequence[Path], link: str) -> Surface:
    address = shape.get("filename", "")
    file = found(address, folder, packages)
    if file is None:
        raise RobotError(f"{where}: link '{link}': mesh '{address}' not found; pass the folder that holds its package")
    return read_mesh(file, f"{where}: link '{link}'")


# ------------------------------------------------------------------ convex hulls

#: A hull longer than so many times the robot's reach is drawn in another unit.
LONGEST = 2.0


class Hull(NamedTuple):
    """A solid of density 1.

    Attributes
    ----------
    volume : float
        [m^3].
    centre : ndarray, shape (3,)
        [m].
    second : ndarray, shape (3, 3)
        ``integral (x - c)(x - c)' dV`` [m^5].
    length : float
        Diagonal of the box that holds it [m].
    """

    volume: float
    centre: Array
    second: Array
    length: float


def hull(points: Array) -> Hull | None:
    """The convex hull of points, shape (N, 3); None where they span no volume."""
    from scipy.spatial import ConvexHull, QhullError  # slow to import

    try:
        made = ConvexHull(points)
    except (QhullError, ValueError):
        return None
    volume, centre, second = filled(points, np.asarray(made.simplices, dtype=np.intp), signed=False)
    if not volume > 0:
        return None
    return Hull(volume, centre, second, float(np.linalg.norm(np.ptp(points, axis=0))))


def link_hulls(robot: Robot) -> tuple[Hull | None, ...]:
    """For each moving link the hulls of its shapes together, in its frame; None where it has none that can be read.

    Each visual element (collision element, where there is none) has a hull of its own; what overlaps counts twice. The
    shapes of links that are fixed to a moving one are its own.

    Parameters
    ----------
    robot
        One that was read from a URDF; others have no shapes here.
    """
    description = robot.origin
    if description is None or description.format != "URDF":
        return (None,) * len(robot.links)
    parts: list[list[Hull]] = [[] for _ in robot.links]
    longest = LONGEST * (robot.reach or np.inf)
    for name, own in _hulls(description.content, description.where, description.folder):
        try:
            frame = robot.frame(name)
        except RobotError:  # the root of the tree, or a link that was left out
            continue
        if frame.joint >= 0:
            turn, shift = frame.placement[:3, :3], frame.placement[:3, 3]
            parts[frame.joint] += [
                one._replace(centre=turn @ one.centre + shift, second=turn @ one.second @ turn.T)
                for one in own
                if one.length <= longest
            ]
    return tuple(_joined(own) if own else None for own in parts)


def _joined(parts: list[Hull]) -> Hull:
    """Several solids as one."""
    volumes = np.array([part.volume for part in parts])
    centre = np.average([part.centre for part in parts], axis=0, weights=volumes)
    away = np.array([part.centre for part in parts]) - centre
    second = np.sum([part.second for part in parts], axis=0) + np.einsum("k,ki,kj->ij", volumes, away, away)
    return Hull(float(volumes.sum()), centre, second, max(part.length for part in parts))


@lru_cache(maxsize=8)
def _hulls(content: bytes, where: str, folder: Path | None) -> tuple[tuple[str, tuple[Hull, ...]], ...]:
    """Hulls of each link of a URDF in its frame; what cannot be read is left out."""
    found = []
    for link in XmlFile(content, where).root.findall("link"):
        name = link.get("name", "")
        for bodies in (link.findall("visual"), link.findall("collision")):
            own = []
            for body in bodies:
                with suppress(RobotError):
                    own.append(hull(hull_points(body, where, folder, (), name)))
            kept = tuple(one for one in own if one is not None)
            if kept:
                found.append((name, kept))
                break
    return tuple(found)
