"""Robots and descriptions as files: by name or path, in the format a name asks for, with a sidecar for the rest."""

from __future__ import annotations

import importlib.resources
import math
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import ROUNDING
from casid.description._document import (
    MOVING_TYPES,
    Description,
    JointLimits,
    Lock,
    MimicRule,
    MovingBody,
    RawCapsule,
    RawFrame,
    RawJoint,
    check_types,
    check_unique,
    follow,
    moving_bodies,
    renamed,
)
from casid.description._placement import ANGLE_TOLERANCE
from casid.description._robot import LIMITS, STANDARD_G, STANDARD_GRAVITY, Inertial, Link, Robot
from casid.description._sidecar import SUFFIX, lost, restore, words
from casid.description.formats import FORMATS
from casid.description.formats._contract import Changes, Format, Reading, bodiless_where_weightless
from casid.description.formats._toml import assignments, capsule_blocks, joined
from casid.description.formats._xml import shaped
from casid.description.joint_parameters import joint_parameter
from casid.errors import DatasetError, ExportError, RobotError, RobotWarning
from casid.files import listed, near, parse_toml, read_bytes, write_files
from casid.inertia import consistency, pseudo_inertia

if TYPE_CHECKING:
    if sys.version_info >= (3, 11):
        from importlib.resources.abc import Traversable
    else:
        from importlib.abc import Traversable

# ------------------------------------------------------------------ reading

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


# ------------------------------------------------------------------ writing


@dataclass(frozen=True)
class Written:
    """Files that were written, and what the format cannot hold.

    Attributes
    ----------
    files : tuple of Path
        The robot's file and, where there is one, its sidecar.
    notes : tuple of str
        What had to change for the format (moved frames, new names, merged bodies).
    sidecar : tuple of str
        What the sidecar holds, one line a kind; empty: the format holds everything.
    """

    files: tuple[Path, ...]
    notes: tuple[str, ...] = ()
    sidecar: tuple[str, ...] = ()


def write_description(
    description: Description, path: str | Path, changes: Changes | None = None, *, anew: bool = False
) -> Written:
    """Write all links and joints of a machine.

    A file of the format that the description was read from is edited in place: only the elements (in TOML, keys) that
    ``changes`` names are written anew, all else stays byte for byte. Any other format gets a new file, without the
    shapes of links.

    Parameters
    ----------
    description
        The machine.
    path
        ``.toml``, ``.urdf``, ``.xml`` (MJCF), ``.sdf``.
    changes
        New bodies and joint terms.
    anew
        Whether the file is a new one in any case, because more than ``changes`` differs.

    Raises
    ------
    RobotError
        For an unknown suffix, and joints of types that casid does not move.
    ExportError
        If the file cannot be written; nothing is then half-written.
    """
    path = Path(path).expanduser()
    content, tables, notes = as_file(description, format_of_name(path.name), changes, anew)
    files: dict[str, bytes | str] = {path.name: content}
    sidecar = path.with_name(path.name + SUFFIX)
    if tables:
        files[sidecar.name] = sidecar_text(path.name, tables)
    done = write_files(path.parent, files)
    if not tables and sidecar.is_file():  # of an earlier robot: it would be read with this one
        try:
            sidecar.unlink()
        except OSError as error:
            raise ExportError(f"cannot remove the old sidecar '{sidecar}': {error.strerror}") from error
    return Written(tuple(done), notes, words(tables))


def as_file(
    description: Description, form: Format, changes: Changes | None = None, anew: bool = False
) -> tuple[bytes, dict[str, Any], tuple[str, ...]]:
    """Content of a file, the tables of its sidecar, and notes; see `write_description`."""
    description, changes, unknown = _catalogued(description, changes or Changes())
    check_types(description.joints, description.where)
    follow(description.joints, description.where)
    changed = with_changes(description, changes)
    if description.format == form.name and description.content and not anew:
        content = form.edit(description.content, changes, description.where)
        return content, lost(changed, form), (*unknown, *form.doubts(changed))
    prepared, moved = form.prepared(changed)
    content = form.write(replace(prepared, joints=renamed(prepared.joints, form.joint_names(prepared))))
    notes = (*unknown, *_left_out(description, form), *moved, *form.doubts(prepared))
    return content, lost(prepared, form), notes


def _left_out(description: Description, form: Format) -> tuple[str, ...]:
    """In words, what a new file does not have of the one that was read."""
    same = ["its comments"] if description.format == form.name else []
    read_from = next((other for other in FORMATS if other.name == description.format), None)
    count = shaped(description.content, description.where, *read_from.shaped) if read_from and read_from.shaped else 0
    shapes = [f"the shapes (meshes, boxes, ...) of {count} links"] if count else []
    parts = [*shapes, *same]
    return (f"written anew, without {' and '.join(parts)}: {description.where} has them",) if parts else ()


def _catalogued(description: Description, changes: Changes) -> tuple[Description, Changes, tuple[str, ...]]:
    """Without joint terms that are not in the catalogue of joint parameters, which no reader accepts; and a note."""
    left_out: dict[str, None] = {}

    def known(terms: Mapping[str, float]) -> dict[str, float]:
        left_out.update(dict.fromkeys(symbol for symbol in terms if joint_parameter(symbol) is None))
        return {symbol: value for symbol, value in terms.items() if joint_parameter(symbol) is not None}

    joints = tuple(replace(joint, terms=known(joint.terms)) for joint in description.joints)
    terms = {name: known(values) for name, values in changes.terms.items()}
    if not left_out:
        return description, changes, ()
    note = f"left out, because casid has no joint parameter of this symbol: {', '.join(left_out)}"
    return replace(description, joints=joints), replace(changes, terms=terms), (note,)


def sidecar_text(name: str, tables: Mapping[str, Any]) -> str:
    """A sidecar as text."""
    head = {key: value for key, value in tables.items() if not isinstance(value, dict) and key != "capsule"}
    blocks = [
        [f"# What {name} cannot hold; casid reads it together with that file.", *assignments({"schema": 1, **head})]
    ]
    for key in ("source", "base", "bounds", "joint"):
        inner: Mapping[str, Any] = tables.get(key, {})
        if inner:
            blocks.append([f"[{key}]", *assignments(inner)])
    return joined([*blocks, *capsule_blocks(tables.get("capsule", []))])


def with_changes(description: Description, changes: Changes) -> Description:
    """The description with other bodies and joint terms."""
    made = description.with_links(lambda old, _: replace(old, inertial=changes.inertials.get(old.name, old.inertial)))
    return replace(
        made, joints=tuple(replace(one, terms=changes.terms.get(one.name, one.terms)) for one in made.joints)
    )


def convert(
    source: str | Path,
    target: str | Path,
    *,
    lock: Lock = (),
    gravity: ArrayLike | None = None,
    angle_tolerance: float = ANGLE_TOLERANCE,
) -> Written:
    """Convert a robot file, or a shipped robot, to the format of another file name; see `write_description`.

    Raises
    ------
    RobotError
        For a robot that casid does not load: duplicate names, limits that cross or are negative, numbers too large.

    Notes
    -----
    With ``lock`` (joints that become fixed ones) or ``gravity``, which `load_robot` explains, the file is written anew.
    """
    description = load_description(source, angle_tolerance=angle_tolerance).changed(lock=lock, gravity=gravity)
    _check_loads(description)
    done = write_description(description, target, anew=bool(lock) or gravity is not None)
    form = format_of_name(Path(target).name)
    if "gravity" in form.holds:
        return done
    size = STANDARD_G if description.gravity is None else float(np.linalg.norm(description.gravity))
    note = f"{form.name} holds no gravity: casid takes {size:g} m/s^2, other programs mostly 9.81; set the same in both"
    return replace(done, notes=(*done.notes, note))


def _check_loads(description: Description) -> None:
    """RobotError for a machine that casid would not load; joints that it cannot move are left as they are.

    An object, of which nothing moves, is no robot but may be converted.
    """
    if not any(joint.type in MOVING_TYPES for joint in description.joints):
        check_unique(description.joints, description.frames, description.base.name, description.where)
        return
    description.unlocked()


def write_robot(robot: Robot, path: str | Path) -> Written:
    """Write a robot with its bodies, joint terms and gravity, e.g. those of `Robot.with_parameters`.

    A robot that was read from a file gets its fixed and locked links back: what they weigh is taken off the moving link
    that carries them. Where that would leave a body that cannot exist, they get lighter.

    Parameters
    ----------
    robot
        The robot.
    path
        ``.toml``, ``.urdf``, ``.xml`` (MJCF), ``.sdf``; see `write_description`.
    """
    if robot.origin is None:
        return write_description(description_of(robot), path)
    description = robot.origin
    stated = STANDARD_GRAVITY if description.gravity is None else description.gravity
    anew = False
    if not np.array_equal(robot.gravity, stated):
        description = description.changed(gravity=robot.gravity)
        anew = "gravity" in format_of_name(Path(path).name).holds  # else the sidecar has it
    bodies = moving_bodies(description, robot.origin.locked)
    inertials: dict[str, Inertial | None] = {}
    scaled: dict[str, float] = {}
    for joint in robot.joints:
        body = bodies.get(joint.link.name)
        if body is None:
            continue
        if joint.link.inertial is not None:
            inertials |= _split(joint.link.inertial, body, scaled)
        elif body.total() is not None:  # taken away since the file was read
            inertials |= {link.name: None for link in (body.link, *(part.link for part in body.parts))}
    before = {joint.name: dict(joint.terms) for joint in description.joints}
    after = {joint.name: dict(joint.terms) for joint in robot.joints if joint.name in before}
    terms = {name: own for name, own in after.items() if own != before[name]}
    done = write_description(description, path, Changes(inertials, terms), anew=anew)
    notes = tuple(
        f"the body of {name} is {100 * factor:.3g} % of the described one: the link that carries it is too light for it"
        for name, factor in scaled.items()
    )
    return replace(done, notes=(*done.notes, *notes))


def _split(total: Inertial, body: MovingBody, scaled: dict[str, float]) -> dict[str, Inertial | None]:
    """Bodies of a moving link and of what is fixed to it, from their sum; only those that change.

    The fixed ones stay what they are where that leaves the moving link a body that can exist. Else all of them are
    scaled by the factor s that keeps both sides furthest from the boundary of what can exist,

        max_s  log det(J - s P) + log det(s P),    0 < s < 1,

    with the pseudo-inertias J of the sum and P of the fixed bodies: no link is left without mass.
    """
    from scipy.optimize import brentq  # slow to import

    before = body.total()
    new = total.standard_parameters()
    if before is not None and np.abs(new - before).max() <= ROUNDING * np.abs(before).max():
        return {}
    parts = body.of_parts()
    if not body.parts or consistency(new - parts).full or not consistency(new).full:
        return {body.link.name: Inertial.of(new - parts) if body.parts else total}
    size = np.linalg.eigvals(np.linalg.solve(pseudo_inertia(new), pseudo_inertia(parts))).real.clip(0.0)
    factor = float(brentq(lambda s: 4.0 - np.sum(s * size / (1.0 - s * size)), 0.0, (1.0 - 1e-12) / size.max()))
    links = [part.link for part in body.parts]
    scaled |= {link.name: factor for link in links}
    rest = {link.name: link.inertial.scaled(factor) for link in links if link.inertial is not None}
    return {body.link.name: Inertial.of(new - factor * parts), **rest}


def description_of(robot: Robot) -> Description:
    """A description of a robot that was never a file."""
    base = next((frame.name for frame in robot.frames if frame.joint < 0), "base")
    names = [base, *(link.name for link in robot.links)]
    limits = iter(range(robot.n))
    joints = []
    for joint in robot.joints:
        rule, own = joint.mimic, JointLimits()
        if rule is None:
            k = next(limits)
            own = JointLimits(*(float(getattr(robot.limits, key)[k]) for key in LIMITS))
        follows = None if rule is None else MimicRule(robot.joints[rule.joint].name, rule.multiplier, rule.offset)
        joints.append(
            RawJoint(
                joint.name, joint.type, names[joint.parent + 1], joint.link, joint.placement, joint.axis,
                joint.link_placement, own, follows, joint.terms,
            )
        )  # fmt: skip
    return Description(
        robot.name,
        robot.name,
        Link(base),
        tuple(joints),
        frames=tuple(RawFrame(f.name, names[f.joint + 1], f.placement) for f in robot.frames if f.name != base),
        gravity=robot.gravity,
        total_mass=robot.total_mass,
        source=robot.source,
        transmission=robot.transmission,
        capsules=tuple(RawCapsule(c.name, names[c.joint + 1], c.start, c.end, c.radius) for c in robot.capsules),
    )
