"""Robots by name (those that ship with casid) or by file."""

from __future__ import annotations

import importlib.resources
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from casid.description.placement import ANGLE_TOLERANCE
from casid.description.raw import Lock
from casid.description.robot import STANDARD_GRAVITY, Robot
from casid.description.toml import parse_toml, read_toml
from casid.description.urdf import read_urdf
from casid.errors import RobotError
from casid.files import listed, near

if TYPE_CHECKING:
    if sys.version_info >= (3, 11):
        from importlib.resources.abc import Traversable
    else:
        from importlib.abc import Traversable


def load_robot(
    name_or_path: str | Path,
    *,
    lock: Lock = (),
    gravity: ArrayLike | None = None,
    angle_tolerance: float = ANGLE_TOLERANCE,
) -> Robot:
    """Load a shipped robot by name, or any robot from a ``.toml`` or ``.urdf`` file.

    Parameters
    ----------
    name_or_path
        One of `robot_names`, or a path.
    lock
        Joints to turn into fixed ones: names (at position 0), or a mapping from names to positions [rad or m].
    gravity
        Acceleration of gravity in the base frame, shape (3,) [m/s^2]; default: what the file says, else
        (0, 0, -9.80665).
    angle_tolerance
        Angles this close to a multiple of pi/2 count as that multiple [rad]; 1e-5 suits files that print 1.5708.

    Returns
    -------
    Robot

    Raises
    ------
    RobotError
        If there is no such robot or file, or the description is malformed; the message says where and what to do.

    Warns
    -----
    InertiaWarning
        For each link whose nominal mass and inertia no real body can have.

    Examples
    --------
    >>> load_robot("panda").n
    7
    """
    text = str(name_or_path)
    suffix = Path(text).suffix.lower()
    written_as_path = suffix in (".toml", ".urdf", ".xacro", ".xml") or "/" in text or "\\" in text
    if not (written_as_path or isinstance(name_or_path, Path)):
        content = _shipped(text).read_text(encoding="utf-8")
        return parse_toml(content, f"{text}.toml", lock=lock, gravity=gravity, angle_tolerance=angle_tolerance)
    path = Path(text).expanduser()
    if not path.exists():
        hint = f"; '{path.stem}' is a shipped robot, load it by its name" if path.stem in robot_names() else ""
        raise RobotError(f"robot file '{path}' does not exist (current folder: {Path.cwd()}){hint}")
    if path.is_dir():
        raise RobotError(f"'{path}' is a folder; give a robot file, .toml or .urdf")
    if suffix == ".toml":
        return read_toml(path, lock=lock, gravity=gravity, angle_tolerance=angle_tolerance)
    if suffix == ".urdf":
        up = STANDARD_GRAVITY if gravity is None else gravity
        return read_urdf(path, lock=lock, gravity=up, angle_tolerance=angle_tolerance)
    hint = f"; expand it first: xacro {path.name} > robot.urdf" if suffix == ".xacro" else ""
    raise RobotError(f"'{path}' is neither a .toml nor a .urdf file{hint}")


def robot_names() -> tuple[str, ...]:
    """Names of the robots that ship with casid, sorted."""
    return tuple(sorted(entry.name[:-5] for entry in _folder().iterdir() if entry.name.endswith(".toml")))


def _shipped(name: str) -> Traversable:
    names = robot_names()
    if name not in names:
        raise RobotError(
            f"unknown robot '{name}'{near(name, names)} (shipped robots: {listed(names)}; or give a path to a .toml or "
            ".urdf file)"
        )
    return _folder() / f"{name}.toml"


def _folder() -> Traversable:
    try:
        return importlib.resources.files("casid.robots")
    except ModuleNotFoundError:  # a source tree that is not installed: `robots/` stands beside the package
        return Path(__file__).parents[2] / "robots"
