"""Capsules fitted to the collision geometry of a URDF: meshes, boxes, cylinders and spheres."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.description import Capsule, Robot, XmlFile, capsule_on, hull_points
from casid.errors import RobotError
from casid.files import read_bytes


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
    from scipy.optimize import minimize  # slow to import

    p = np.asarray(points, dtype=float)
    if p.ndim != 2 or p.shape[1] != 3 or not len(p) or not np.isfinite(p).all():
        raise RobotError(f"capsule: expected finite points of shape (m, 3), got shape {p.shape}")
    centre = 0.5 * (p.min(axis=0) + p.max(axis=0))
    size = float(np.linalg.norm(p - centre, axis=1).max()) or 1e-6
    hull = (_hull(p) - centre) / size
    axes = np.linalg.svd(hull - hull.mean(axis=0), full_matrices=True)[2]
    simplex = np.vstack([np.zeros(5), np.diag([0.15, 0.15, 0.1, 0.1, 0.05])])
    options = {"maxiter": 1500, "xatol": 1e-5, "fatol": 1e-7, "initial_simplex": simplex}

    def volume(v: Array, frame: Array) -> float:
        return _capsule(hull, frame, v)[0]

    found = []
    for k in range(3):
        frame = np.roll(axes, -k, axis=0)  # rows: axis, two normals
        v = minimize(volume, np.zeros(5), frame, method="Nelder-Mead", options=options).x
        found.append(_capsule(hull, frame, v))
    _, start, end, radius = min(found, key=lambda one: one[0])
    return centre + size * start, centre + size * end, size * radius * (1 + 1e-9)


def _hull(points: Array) -> Array:
    from scipy.spatial import ConvexHull, QhullError  # slow to import

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
        AMENT_PREFIX_PATH name, the URDF's parent folders and installed Python packages are tried too.

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
    root = XmlFile(read_bytes(path, "robot file", RobotError), path.name).root
    known = {joint.link.name for joint in robot.joints} | {frame.name for frame in robot.frames}
    capsules = []
    for link in root.findall("link"):
        name = link.get("name", "")
        bodies = link.findall("collision") or link.findall("visual")
        if name not in known or not bodies:
            continue
        folders = [Path(folder) for folder in packages]
        clouds = [hull_points(body, path.name, path.parent, folders, name) for body in bodies]
        start, end, radius = fit_capsule(np.vstack(clouds))
        capsules.append(capsule_on(robot, name, start, end, radius))
    if not capsules:
        raise RobotError(f"{path.name}: no link of robot '{robot.name}' has collision or visual geometry")
    return tuple(capsules)
