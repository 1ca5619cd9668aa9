"""Any file that casid writes or reads, as a page; the kind of file is found from its content."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from casid.arrays import Array
from casid.description import Robot, identified_names, load_robot, robot_names
from casid.description.formats import FORMATS as ROBOT_FORMATS
from casid.dynamics import Model
from casid.errors import DatasetError, InertiaWarning, RobotError
from casid.files import listed, read_json, read_text, read_toml, reason
from casid.identification.repair import check_file
from casid.inertia import read_parameters
from casid.measurement import FORMATS as RECORDING_FORMATS
from casid.measurement import in_robot_order, read_log
from casid.motion import read_trajectory
from casid.report._shapes import Shape, capsule_shapes, shapes
from casid.report._tables import summary_table
from casid.report.viewer._page import MARK, Page, nominal_bodies

#: Parameters of `Page.curves`.
Curves = tuple[Array, Mapping[str, Array], Sequence[str], str, str]

#: Suffixes of robot files.
_ROBOT_FILES = tuple(suffix for form in ROBOT_FORMATS for suffix in form.suffixes)
#: Files that a folder of results is known by, in this order.
_RESULTS = (
    "report.html", "solution.json", "simulation.json", "excitation.json", "identification.json", "payload.html",
    "comparison.html", "validation.html",
)  # fmt: skip


class _Shown(NamedTuple):
    """A page's content: a heading, one sentence, the robot, sets of bodies, a motion, charts by title, a table."""

    title: str
    words: str
    robot: Robot
    bodies: Mapping[str, Array] | None = None
    motion: tuple[Array, Array] | None = None
    charts: Mapping[str, Curves] = {}
    facts: tuple[tuple[str, str], ...] = ()


def view(
    file: str | Path, robot: str | Path | Robot | None = None, packages: Sequence[str | Path] = (), **reading: Any
) -> str:
    """The page of a file.

    Parameters
    ----------
    file
        A shipped robot's name; a robot's file; ``solution.json``, ``identification.json``, ``simulation.json``,
        ``excitation.json`` or the folder that holds one; a ``trajectory.toml``; parameters (CSV, JSON); a recording;
        ``report.html``, shown as it was written; a JSON file with a page of its name beside it, e.g. ``payload.json``,
        ``comparison.json``, ``validation.json``: that page.
    robot
        Whose parameters or motion the file holds; default: the one that the file names.
    packages
        Folders of the packages that a URDF names its meshes by, see `casid.excitation.fit_capsules`; without any,
        shapes are drawn where they are found otherwise.
    **reading
        How the robot's file is read, see `casid.load_robot`: ``lock``, ``gravity``, ``angle_tolerance``.

    Returns
    -------
    str
        HTML: one self-contained page.

    Raises
    ------
    DatasetError
        If the file is none of these, or belongs to a robot that is not known.
    RobotError
        If a robot's file is malformed, or ``packages`` is given and a mesh is not found.
    """
    path = Path(file).expanduser()
    robot = load_robot(robot, **reading) if isinstance(robot, (str, Path)) else robot
    if not path.exists():
        if str(file) in (*robot_names(), *identified_names()):
            return _page(_robot(str(file), reading), packages)
        raise DatasetError(f"'{file}': there is no such file, and no robot of that name ships with casid")
    if path.is_dir():
        found = next((path / name for name in _RESULTS if (path / name).is_file()), None)
        if found is None:
            raise DatasetError(f"folder '{path}' holds none of {', '.join(_RESULTS)}; name a file in it")
        path = found
    if path.suffix == ".json" and path.with_suffix(".html").is_file():
        path = path.with_suffix(".html")
    if path.suffix.lower() in (".html", ".htm"):
        page = read_text(path, "page", DatasetError)
        if MARK in page and page.rstrip().endswith("</html>"):
            return page
        raise DatasetError(f"'{path.name}' is not a page written by casid, or is cut off; open it with a browser")
    return _page(_shown(path, robot, reading), packages)


def _shown(path: Path, robot: Robot | None, reading: Mapping[str, Any]) -> _Shown:
    suffix = path.suffix.lower()
    if suffix == ".json":
        return _json(path, robot)
    if suffix == ".toml":
        table = read_toml(path, "file", DatasetError)
        if "basis" in table:
            return _trajectory(path, robot)
        return _recording(path, robot) if "file" in table else _robot(path, reading)
    if suffix in _ROBOT_FILES:
        return _robot(path, reading)
    if suffix == ".csv":
        head = read_text(path, "file", DatasetError)[:400].partition("\n")[0].lower()
        parameters = head.startswith("parameter,") or "lxx" in head
        return _parameters(path, robot) if parameters else _recording(path, robot)
    if any(form.accepts(path) for form in RECORDING_FORMATS):
        return _recording(path, robot)
    raise DatasetError(
        f"'{path.name}' is not a file that casid writes or reads: expected a robot ({', '.join(_ROBOT_FILES)}), a "
        "result (.json, .toml, .html or a folder), parameters (.csv, .json) or a recording "
        f"({', '.join(form.name for form in RECORDING_FORMATS)})"
    )


def _known(robot: Robot | None, named: object, path: Path) -> Robot:
    """The robot that was given, the one whose file a result beside names, or the shipped one that a file names."""
    if robot is not None:
        return robot
    file, locked = _robot_beside(path, named)
    if file and Path(file).is_file():
        return load_robot(file, lock=locked)
    if isinstance(named, str) and named in (*robot_names(), *identified_names()):
        return load_robot(named)
    whose = f"is of the robot '{named}', which does not ship with casid" if isinstance(named, str) and named else (
        "does not name its robot"
    )  # fmt: skip
    gone = f"; its file '{file}' is not there any more" if file else ""
    raise DatasetError(f"'{path.name}' {whose}{gone}: give the robot's file (--robot)")


def _robot_beside(path: Path, named: object) -> tuple[str, Mapping[str, float]]:
    """Robot's file and locked joints, from the result of that robot in the same folder; empty where none says."""
    for beside in (path.with_name(name) for name in _RESULTS if name.endswith(".json")):
        record = read_json(beside, "result", DatasetError) if beside.is_file() else None
        if isinstance(record, dict) and named in (None, "", record.get("robot")) and "robot_file" in record:
            return str(record["robot_file"]), record.get("locked", {})
    return "", {}


def _robot(source: str | Path, reading: Mapping[str, Any]) -> _Shown:
    """A robot's own bodies; beside them the repaired ones where some cannot exist."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InertiaWarning)  # the page shows it
        robot = load_robot(source, **reading)
        bodies = nominal_bodies(robot, "as described")
        if not bodies:
            return _Shown(robot.name, "No link has a nominal body.", robot)
        checked = check_file(str(source), **reading)
        if checked.unphysical:
            with tempfile.TemporaryDirectory() as folder:
                copy = Path(folder) / Path(checked.repaired_name).name
                copy.write_bytes(checked.repaired)
                repaired = load_robot(copy, **reading)
            if len(repaired.joints) == len(robot.joints):
                bodies |= nominal_bodies(repaired, "repaired")
    words, without = checked.verdict, [link.name for link in robot.links if link.inertial is None]
    words += f"; without a body: {listed(without)}" if without else ""
    return _Shown(robot.name, words[:1].upper() + words[1:] + ".", robot, bodies)


def _json(path: Path, robot: Robot | None) -> _Shown:
    record = read_json(path, "result", DatasetError)
    if not isinstance(record, dict):
        raise DatasetError(f"'{path.name}' is not a result of casid")
    if "basis" in record and "criterion" in record:
        return _trajectory(_beside(path, "trajectory.toml"), robot)
    if "end" in record and "samples" in record:
        return _recording(_beside(path, "recording.npz"), _known(robot, record.get("robot"), path))
    if "parameters" not in record:
        raise DatasetError(
            f"'{path.name}' is not a result of casid: it has no parameters, motion or trajectory, and there is no page "
            f"'{path.stem}.html' beside it"
        )
    known = _known(robot, record.get("robot"), path)
    shown = _parameters(path, known)
    keys = ("problem", "status", "objective", "lower_bound", "gap", "certified", "residual_ratio", "rank",
            "condition_number", "max_violation")  # fmt: skip
    facts = tuple((key.replace("_", " "), _text(record[key])) for key in keys if record.get(key) is not None)
    return shown._replace(title=str(record.get("problem") or shown.title), facts=facts)


def _beside(path: Path, name: str) -> Path:
    """The file of a name beside a result; DatasetError if it is not there."""
    beside = path.with_name(name)
    if not beside.is_file():
        raise DatasetError(f"'{path.name}' comes with {name}, which is not beside it")
    return beside


def _parameters(path: Path, robot: Robot | None) -> _Shown:
    known = _known(robot, None, path)
    given = read_parameters(path, Model(known))
    bodies = nominal_bodies(known) | {path.name: given.standard}
    terms = tuple((name, f"{value:.5g}") for name, value in given.terms.items())
    return _Shown(f"{known.name}: {path.name}", "Parameters as bodies.", known, bodies, facts=terms)


def _trajectory(path: Path, robot: Robot | None) -> _Shown:
    trajectory = read_trajectory(path)
    known = _known(robot, trajectory.robot, path)
    joints = [joint.name for joint in known.coordinates]
    if list(trajectory.joints) != joints:
        raise DatasetError(
            f"'{path.name}' moves {', '.join(trajectory.joints)}; robot '{known.name}' has {', '.join(joints)}"
        )
    if trajectory.basis.static:
        poses = trajectory.coefficients.T
        times = np.arange(len(poses), dtype=float)
        words = f"{len(poses)} poses, one a second here."
        return _Shown(f"{known.name}: poses", words, known, motion=(times, poses) if len(poses) > 1 else None)
    t = np.asarray(trajectory.times(100.0), dtype=float)
    q, dq, _ = trajectory.motion(t)
    t = t - t[0]
    return _Shown(
        f"{known.name}: excitation", f"A motion of {t[-1] - t[0]:.4g} s.", known, motion=(t, q),
        charts=_charts(t, joints, q, dq),
    )  # fmt: skip


def _recording(path: Path, robot: Robot | None) -> _Shown:
    known = _known(robot, None, path)
    data = in_robot_order(read_log(path, known), known)
    joints = [joint.name for joint in known.coordinates]
    if data.n != len(joints):
        raise DatasetError(f"'{path.name}' is of {data.n} joints, robot '{known.name}' has {len(joints)}")
    t = data.t - data.t[0]
    charts = _charts(t, joints, data.q, data.dq, data.tau)
    return _Shown(f"{known.name}: {path.name}", f"{len(data)} samples.", known, motion=(t, data.q), charts=charts)


def _charts(t: Array, joints: Sequence[str], *values: Array | None) -> dict[str, Curves]:
    """Curves of positions, velocities and torques, those that are given."""
    kinds = (("Positions", "rad or m"), ("Velocities", "rad/s or m/s"), ("Torques", "N·m or N"))
    given = zip(kinds, values, strict=False)
    return {title: (t, {title.lower(): y}, joints, unit, "motion") for (title, unit), y in given if y is not None}


def _page(shown: _Shown, packages: Sequence[str | Path]) -> str:
    page = Page(shown.title, shown.words)
    surfaces: Sequence[Shape] = ()
    try:
        surfaces = shapes(shown.robot, packages)
    except RobotError as error:
        if packages:  # an error only where folders were named for them
            raise
        surfaces = capsule_shapes(shown.robot)
        page.text(f"Drawn {'with capsules' if surfaces else 'without shapes'}: {reason(error)}", "note")
    try:
        page.robot(shown.robot, shown.bodies, shown.motion, surfaces=surfaces)
    except DatasetError as error:
        raise DatasetError(f"{shown.title}: {reason(error)}") from None
    for title, curves in shown.charts.items():
        page.heading(title)
        page.curves(*curves)
    if shown.facts:
        page.heading("Numbers")
        page.table(summary_table("Numbers", shown.facts))
    return page.html()


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
