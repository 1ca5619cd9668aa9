"""Capsules of a robot file, and capsules carried from any link, moving or fixed, to the moving link that holds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from casid.description.raw import RawCapsule
from casid.description.robot import Capsule, Robot
from casid.description.tables import Table
from casid.errors import RobotError


def read_capsule(data: Mapping[str, Any], number: int, where: str) -> RawCapsule:
    """Read one ``[[capsule]]`` table of a robot file; RobotError naming the file, the table and the key."""
    table = Table(data, f"{where}: capsule {number}", ("name", "link", "start", "end", "radius"))
    table.require("link", "start", "radius")
    link = table.text("link")
    start = table.array("start", (3,), entries="x, y, z")
    end = table.array("end", (3,), start.tolist(), entries="x, y, z")
    return RawCapsule(table.text("name", link), link, start, end, table.number("radius"))


def place_capsule(robot: Robot, capsule: RawCapsule, number: int, where: str) -> Capsule:
    """Carry a capsule of any link to the moving link that holds it; RobotError naming file and capsule."""
    try:
        return capsule_on(robot, capsule.link, capsule.start, capsule.end, capsule.radius, capsule.name)
    except RobotError as error:
        raise RobotError(f"{where}: capsule {number}: {error}") from None


def capsule_on(robot: Robot, link: str, start: ArrayLike, end: ArrayLike, radius: float, name: str = "") -> Capsule:
    """Make a capsule given in the frame of a link, named frame or the base.

    Parameters
    ----------
    link
        Name of a moving link, of a link that is fixed to one (a `Frame`), or of the base.
    start, end
        Ends of the segment in that frame, shape (3,) [m].
    radius
        [m]
    name
        Default: the link's name.

    Raises
    ------
    RobotError
        For an unknown link or a radius that is not positive.
    """
    ends = [np.asarray(end_, dtype=float) for end_ in (start, end)]
    frame = robot.frame(link)
    placed = [frame.placement[:3, :3] @ point + frame.placement[:3, 3] for point in ends]
    return Capsule(name or link, frame.joint, placed[0], placed[1], radius)
