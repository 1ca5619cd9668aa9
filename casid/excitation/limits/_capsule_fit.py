"""Capsules fitted to the collision geometry of a URDF: meshes, boxes, cylinders and spheres."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.spatial import ConvexHull, QhullError

from casid.description import Capsule, Robot
from casid.description._placement import xyz_rpy
from casid.description._robot import capsule_on
from casid.errors import RobotError
from casid.files._texts import read_xml
from casid.files._words import number_list, shown
from casid.motion._basis import Array

#: No robot is larger [m].
_LARGEST = 1e6


def fit_capsule(points: ArrayLike) -> tuple[Array, Array, float]:
    """Capsule of small volume that holds all points.

    The direction of the axis, its position and the radius are searched (Nelder-Mead from the three principal axes of
    the points); for each of them the ends follow: they lie as near to each other as the points allow.

    Parameters
    ----------
    points
        Shape (m, 3), m >= 1 [m].

    Returns
    -------
    start, end : ndarray, shape (3,)
    radius : float
    """
    p = np.asarray(points, dtype=float)
    if p.ndim != 2 or p.shape[1] != 3 or not len(p) or not np.isfinite(p).all():
        raise RobotError(f"capsule: expected finite points of shape (m, 3), got shape {p.shape}")
    centre = 0.5 * (p.min(axis=0) + p.max(axis=0))
    size = float(np.linalg.norm(p - centre, axis=1).max()) or 1e-6
    hull = (_hull(p) - centre) / size
    axes = np.linalg.svd(hull - hull.mean(axis=0), full_matrices=True)[2]
    best: tuple[float, Array, Array, float] | None = None
    for k in range(3):
        frame = np.roll(axes, -k, axis=0)  # rows: axis, two normals

        def volume(v: Array, frame: Array = frame) -> float:
            return _capsule(hull, frame, v)[0]

        options = {"maxiter": 1500, "xatol": 1e-5, "fatol": 1e-7, "initial_simplex": _simplex()}
        found = minimize(volume, np.zeros(5), method="Nelder-Mead", options=options)
        candidate = _capsule(hull, frame, found.x)
        if best is None or candidate[0] < best[0]:
            best = candidate
    assert best is not None
    _, start, end, radius = best
    return centre + size * start, centre + size * end, size * radius * (1 + 1e-9)


def _simplex() -> Array:
    return np.vstack([np.zeros(5), np.diag([0.15, 0.15, 0.1, 0.1, 0.05])])


def _hull(points: Array) -> Array:
    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except (QhullError, ValueError):  # flat or few: all of them
        return points


def _capsule(points: Array, frame: Array, v: Array) -> tuple[float, Array, Array, float]:
    """Volume, ends and radius for an axis tilted by v[:2], moved by v[2:4], with the radius enlarged by v[4]^2."""
    axis = frame[0] + v[0] * frame[1] + v[1] * frame[2]
    axis = axis / np.linalg.norm(axis)
    foot = v[2] * frame[1] + v[3] * frame[2]
    relative = points - foot
    height = relative @ axis
    away = np.linalg.norm(relative - np.outer(height, axis), axis=1)
    radius = max(float(away.max()), 1e-9) + v[4] ** 2
    cap = np.sqrt(np.maximum(radius**2 - away**2, 0.0))
    low, high = float((height + cap).min()), float((height - cap).max())
    if low > high:
        low = high = 0.5 * (low + high)
    volume = np.pi * radius**2 * (high - low) + 4 / 3 * np.pi * radius**3
    return float(volume), foot + low * axis, foot + high * axis, radius


def fit_capsules(urdf: str | Path, robot: Robot, packages: Sequence[str | Path] = ()) -> tuple[Capsule, ...]:
    """One capsule for every link of a URDF that has collision geometry (visual geometry where it has none).

    Parameters
    ----------
    urdf
        The file the robot was read from, or one with the same link names and frames.
    robot
        Its links and frames carry the capsules.
    packages
        Folders that hold the packages named in ``package://`` addresses; those that ROS_PACKAGE_PATH and
        AMENT_PREFIX_PATH name and the URDF's parent folders are tried too.

    Returns
    -------
    tuple of Capsule
        Put them on the robot with ``dataclasses.replace(robot, capsules=...)``.

    Raises
    ------
    RobotError
        If a mesh cannot be found or read, or the package trimesh is missing.
    """
    path = Path(urdf)
    root = read_xml(path, "robot file", RobotError)
    known = {joint.link.name for joint in robot.joints} | {frame.name for frame in robot.frames}
    capsules = []
    for link in root.findall("link"):
        name = link.get("name", "")
        bodies = link.findall("collision") or link.findall("visual")
        if name not in known or not bodies:
            continue
        clouds = [_points(body, path, [Path(folder) for folder in packages], name) for body in bodies]
        start, end, radius = fit_capsule(np.vstack(clouds))
        capsules.append(capsule_on(robot, name, start, end, radius))
    if not capsules:
        raise RobotError(f"{path.name}: no link of robot '{robot.name}' has collision or visual geometry")
    return tuple(capsules)


def _points(body: ElementTree.Element, urdf: Path, packages: Sequence[Path], link: str) -> Array:
    """Points of a geometry in the link frame, whose convex hull holds it."""
    origin = body.find("origin")
    xyz = _numbers(origin, "xyz", "0 0 0")
    placement = xyz_rpy(xyz, _numbers(origin, "rpy", "0 0 0"))
    geometry = body.find("geometry")
    shape = None if geometry is None else next(iter(geometry), None)
    if shape is None:
        raise RobotError(f"{urdf.name}: link '{link}': <{body.tag}> has no geometry")
    if shape.tag == "mesh":
        points = _mesh(shape, urdf, packages, link)
    elif shape.tag == "box":
        half = 0.5 * np.array(_numbers(shape, "size", "0 0 0"))
        points = half * np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
    elif shape.tag == "cylinder":
        radius, length = _numbers(shape, "radius", "0")[0], _numbers(shape, "length", "0")[0]
        angle = np.arange(48) * 2 * np.pi / 48
        outer = radius / np.cos(np.pi / 48)  # the polygon holds the circle
        ring = np.stack([outer * np.cos(angle), outer * np.sin(angle), np.zeros(48)], axis=1)
        top = np.array([0.0, 0.0, length / 2])
        points = np.vstack([ring + top, ring - top])
    elif shape.tag == "sphere":
        radius = _numbers(shape, "radius", "0")[0]
        directions = np.random.default_rng(0).standard_normal((400, 3))
        points = radius * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    else:
        raise RobotError(f"{urdf.name}: link '{link}': geometry <{shape.tag}> is not mesh, box, cylinder or sphere")
    if not np.abs(points).max(initial=0.0) <= _LARGEST:
        raise RobotError(f"{urdf.name}: link '{link}': a geometry larger than {_LARGEST:g} m")
    return np.asarray(points @ placement[:3, :3].T + placement[:3, 3])


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


def _mesh(shape: ElementTree.Element, urdf: Path, packages: Sequence[Path], link: str) -> Array:
    address = shape.get("filename", "")
    relative = address.removeprefix("file://")
    if address.startswith("package://"):
        relative = address.removeprefix("package://")
        folders = [*packages, *_ros_folders(), *urdf.resolve().parents]
        names = [relative, relative.partition("/")[2]]
    else:
        folders, names = [urdf.resolve().parent], [relative]
    file = next((folder / name for folder in folders for name in names if (folder / name).is_file()), None)
    if file is None:
        raise RobotError(
            f"{urdf.name}: link '{link}': mesh '{address}' not found; pass the folder that holds its package"
        )
    try:
        import trimesh
    except ImportError as error:
        raise RobotError("fitting capsules to meshes needs the package trimesh: pip install 'casid[meshes]'") from error
    try:
        mesh: Any = trimesh.load(str(file), force="mesh")
        vertices = np.array(mesh.vertices, dtype=float)
    except Exception as error:  # whatever a mesh reader raises
        raise RobotError(f"{urdf.name}: link '{link}': cannot read mesh '{file.name}': {error}") from error
    return np.asarray(vertices * np.array(_numbers(shape, "scale", "1 1 1")))
