"""Robots by name (those that ship with casid) or by file."""

from __future__ import annotations

import importlib.resources
import math
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from casid.description._document import Description, Lock
from casid.description._placement import ANGLE_TOLERANCE
from casid.description._robot import Robot
from casid.description._sidecar import SUFFIX, restore
from casid.description.formats import FORMATS
from casid.description.formats._contract import Format, Reading, bodiless_where_weightless
from casid.errors import DatasetError, RobotError, RobotWarning
from casid.files import listed, near, parse_toml, read_bytes

if TYPE_CHECKING:
    if sys.version_info >= (3, 11):
        from importlib.resources.abc import Traversable
    else:
        from importlib.abc import Traversable

#: Suffixes of robot files, as messages list them.
SUFFIXES = tuple(suffix for form in FORMATS for suffix in form.suffixes)


def load_robot(
    name_or_path: str | Path,
    *,
    lock: Lock = (),
    gravity: ArrayLike | None = None,
    angle_tolerance: float = ANGLE_TOLERANCE,
) -> Robot:
    """Load a shipped robot by name, or any robot from a TOML, URDF, MJCF or SDF file.

    Parameters
    ----------
    name_or_path
        One of `robot_names` or `identified_names`, or a path. A file ``NAME.casid.toml`` beside the file ``NAME``
        completes it.
    lock
        Joints to turn into fixed ones: names (at position 0), or a mapping from names to positions [rad or m].
    gravity
        Acceleration of gravity in the base frame, shape (3,) [m/s^2]; default: that of the file, else
        (0, 0, -9.80665).
    angle_tolerance
        Angles this close to a multiple of pi/2 count as that multiple [rad]; 1e-5 suits files that print 1.5708.

    Returns
    -------
    Robot

    Raises
    ------
    RobotError
        If there is no such robot or file, or the description is malformed; the message names the place and what to do.

    Warns
    -----
    InertiaWarning
        For each link whose nominal mass and inertia no real body can have.
    RobotWarning
        For limits that look like degrees, lengths that look like millimetres, masses that look like grams.

    Examples
    --------
    >>> load_robot("panda").n
    7
    """
    description = load_description(name_or_path, angle_tolerance=angle_tolerance)
    with _computable(str(name_or_path)):
        return description.robot(lock=lock, gravity=gravity)


def load_description(name_or_path: str | Path, *, angle_tolerance: float = ANGLE_TOLERANCE) -> Description:
    """All links and joints of a robot or an object, fixed ones included; see `load_robot`."""
    text = str(name_or_path)
    suffix = Path(text).suffix.lower()
    written_as_path = suffix in (*SUFFIXES, ".xacro") or "/" in text or "\\" in text
    if not (written_as_path or isinstance(name_or_path, Path)):
        content = _shipped(text).read_bytes()
        return format_of_name("robot.toml").read(content, Reading(f"{text}.toml", None, angle_tolerance))
    path = Path(text).expanduser()
    if not path.exists():
        hint = f"; '{path.stem}' is a shipped robot, load it by its name" if path.stem in robot_names() else ""
        raise RobotError(f"robot file '{path}' does not exist (current folder: {Path.cwd()}){hint}")
    if path.is_dir():
        raise RobotError(f"'{path}' is a folder; give a robot file, {listed(SUFFIXES)}")
    content = read_bytes(path, "robot file", RobotError)
    with _computable(path.name):
        read = _format_of(path, content).read(content, Reading(path.name, path.parent, angle_tolerance))
    description = replace(read, folder=path.parent)
    sidecar = path.with_name(path.name + SUFFIX)
    if sidecar.is_file():
        description = restore(description, read_bytes(sidecar, "sidecar file", RobotError), sidecar.name)
    with _computable(path.name):
        _refuse_huge(description)
        description = bodiless_where_weightless(description)
    warn_of_units(description)
    return description


#: Larger numbers overflow where they are multiplied with one another.
HUGE = 1e100


def _refuse_huge(description: Description) -> None:
    for joint in description.joints:
        body = joint.link.inertial
        numbers = [joint.placement, joint.link_placement, *([] if body is None else [body.standard_parameters()])]
        if max(float(np.abs(entry).max()) for entry in numbers) > HUGE:
            raise RobotError(
                f"{description.where}: the numbers of joint '{joint.name}' and link '{joint.link.name}' are too large "
                "to compute with; SI units?"
            )


@contextmanager
def _computable(where: str) -> Iterator[None]:
    """RobotError where a description's numbers are too large to compute with."""
    try:
        with np.errstate(over="raise", invalid="raise"):
            yield
    except FloatingPointError as error:
        raise RobotError(f"{where}: its numbers are too large to compute with ({error}); SI units?") from None
    except DatasetError as error:  # of a body
        raise RobotError(f"{where}: {error}") from None


def format_of_name(name: str) -> Format:
    """The format that a file of this name is written in.

    Raises
    ------
    RobotError
        For a suffix of no format.
    """
    suffix = Path(name).suffix.lower()
    for form in FORMATS:
        if suffix in form.suffixes:
            return form
    hint = f"; expand it first: xacro {Path(name).name} > robot.urdf" if suffix == ".xacro" else ""
    known = ", ".join(f"{form.name} ({', '.join(form.suffixes)})" for form in FORMATS)
    raise RobotError(f"'{name}' is no robot file: known are {known}{hint}")


def _format_of(path: Path, content: bytes) -> Format:
    """By the suffix; an ``.xml`` file may be any of the XML formats."""
    if path.suffix.lower() == ".xml":
        head = content[: 2**16]
        return next((form for form in FORMATS if form.mark and form.mark in head), format_of_name(path.name))
    return format_of_name(str(path))


def robot_names() -> tuple[str, ...]:
    """Names of the robots that ship with casid, sorted."""
    return _names(_folder())


def identified_names() -> tuple[str, ...]:
    """Names of the identified robots that ship with casid, sorted; `load_robot` loads them as it does the others."""
    return _names(_folder() / "identified")


def _names(folder: Traversable) -> tuple[str, ...]:
    return tuple(sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".toml")))


def identified_record(name: str) -> dict[str, Any]:
    """Where an identified robot comes from: the table ``[identified]`` of its file.

    Parameters
    ----------
    name
        One of `identified_names`.

    Returns
    -------
    dict
        ``robot``, ``kind``, ``source``, ``licence``, ``verdict``, ``date``, ``version``, ``command``; where they are
        known ``error`` and ``held_out`` [``unit``], ``sha256`` of each recording, ``intervals`` (value, low, high; SI
        units) and proven ranges of the links' ``masses`` [kg].

    Raises
    ------
    RobotError
        If there is no such identified robot.
    """
    names = identified_names()
    if name not in names:
        raise RobotError(f"'{name}' is no identified robot{near(name, names)}; there are {listed(names)}")
    text = (_folder() / "identified" / f"{name}.toml").read_text(encoding="utf-8")
    return dict(parse_toml(text, f"{name}.toml", RobotError)["identified"])


def _shipped(name: str) -> Traversable:
    names, identified = robot_names(), identified_names()
    if name in identified:
        return _folder() / "identified" / f"{name}.toml"
    if name not in names:
        raise RobotError(
            f"unknown robot '{name}'{near(name, (*names, *identified))} (shipped robots: {listed(names)}; identified "
            f"ones: casid robots; or give a path to a file, {listed(SUFFIXES)})"
        )
    return _folder() / f"{name}.toml"


def _folder() -> Traversable:
    try:
        return importlib.resources.files("casid.robots")
    except ModuleNotFoundError:  # a source tree that is not installed: `robots/` stands beside the package
        return Path(__file__).parents[2] / "robots"


#: Lengths between frames above this look like millimetres [m].
LONG = 30.0
#: Position limits of revolute joints above this look like degrees [rad].
MANY_TURNS = 8 * math.pi
#: Moving mass on the square of the length above this looks like grams [kg/m^2]: the heaviest arms sold (11 t at 3.7 m)
#: have 800, a light one (0.5 kg at 0.4 m) in grams 3000.
AREAL = 1500.0


def warn_of_units(description: Description) -> None:
    """Warn of limits that look like degrees, lengths that look like millimetres and masses that look like grams.

    Warns
    -----
    RobotWarning
        One for each joint, and one for the masses.
    """
    steps = [
        float(np.linalg.norm(joint.placement[:3, 3] + joint.link_placement[:3, 3])) for joint in description.joints
    ]
    masses = {j.link.name: j.link.inertial.mass for j in description.joints if j.link.inertial is not None}
    mass, length = sum(masses.values()), sum(steps)
    if LONG > length > 0 and mass > AREAL * length**2:
        heaviest = max(masses, key=masses.__getitem__)
        _warn(
            f"{description.where}: {mass:g} kg on joints that span {length:.3g} m, {masses[heaviest]:g} kg of it link "
            f"'{heaviest}', look like grams; masses are in kg: write {masses[heaviest] / 1000:g}"
        )
    for joint in description.joints:
        what = f"{description.where}: joint '{joint.name}'"
        if joint.type == "revolute":
            largest = max((abs(x) for x in (joint.limits.lower, joint.limits.upper) if math.isfinite(x)), default=0.0)
            if largest > MANY_TURNS:
                _warn(
                    f"{what}: a position limit of {largest:g} rad looks like degrees; write {math.radians(largest):.6g}"
                )
        reach = float(np.abs([joint.placement[:3, 3], joint.link_placement[:3, 3]]).max())
        if reach > LONG:
            _warn(f"{what}: it stands {reach:g} m from its parent, which looks like millimetres; lengths are in metres")


def _warn(text: str) -> None:
    warnings.warn(text, RobotWarning, stacklevel=4)
