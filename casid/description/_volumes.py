"""Convex hulls of the shapes of a URDF's links, as bodies of uniform density: volume, centre, moments of inertia."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np

from casid.arrays import Array
from casid.description._robot import Robot
from casid.description._shapes import hull_points
from casid.description._solids import filled
from casid.description.formats._xml import XmlFile
from casid.errors import RobotError

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
            own = [_hull_of(body, where, folder, name) for body in bodies]
            kept = tuple(one for one in own if one is not None)
            if kept:
                found.append((name, kept))
                break
    return tuple(found)


def _hull_of(body: ElementTree.Element, where: str, folder: Path | None, link: str) -> Hull | None:
    try:
        return hull(hull_points(body, where, folder, (), link))
    except RobotError:
        return None
