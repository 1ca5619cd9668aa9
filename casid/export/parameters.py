"""Parameters of a robot from a file, bodies added to it, and whether they can be those of real bodies."""

from __future__ import annotations

import csv
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.description import Robot
from casid.dynamics import Model
from casid.errors import DatasetError, InertiaWarning
from casid.inertia import consistency, express_in, to_standard

Array = NDArray[np.float64]


def read_parameters(path: str | Path, model: Model) -> Array:
    """Parameters of a model from a file.

    Parameters
    ----------
    path
        ``.json``: names and values, or an object with them under ``standard_parameters`` or ``parameters`` (as
        `casid solve --out` and `casid identify --out` write); ``.csv``: a name and a value a row (columns ``name`` and
        ``value``, or the first two); ``.npy``: the vector.
    model
        Names and number of the parameters. Joint terms that the file does not name are zero.

    Raises
    ------
    DatasetError
        If the file cannot be read or its names are not the robot's.
    """
    path = Path(path)
    try:
        if path.suffix == ".npy":
            return checked_parameters(np.load(path, allow_pickle=False), model, str(path))
        text = path.read_text(encoding="utf-8-sig")
        named = _json_values(text) if path.suffix == ".json" else _csv_values(text)
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise DatasetError(f"parameters cannot be read from {path}: {error}") from error
    if not isinstance(named, Mapping):
        return checked_parameters(named, model, str(path))
    names = model.parameter_names
    unknown = [name for name in named if name not in names]
    standard = set(model.robot.parameter_names())
    missing = [name for name in names if name not in named and name in standard]
    if unknown or missing:
        what = f"'{unknown[0]}' is no parameter" if unknown else f"'{missing[0]}' is missing"
        raise DatasetError(
            f"{path}: {what}: these parameters do not belong to robot '{model.robot.name}' with {model.n} joints, "
            f"whose parameters are {names[0]} ... {names[-1]}"
        )
    return checked_parameters([named.get(name, 0.0) for name in names], model, str(path))


def _json_values(text: str) -> Any:
    content = json.loads(text)
    for key in ("parameters", "standard_parameters"):
        if isinstance(content, Mapping) and key in content:
            content = content[key]
    return {str(k): float(v) for k, v in content.items()} if isinstance(content, Mapping) else content


def _csv_values(text: str) -> dict[str, float]:
    rows = [row for row in csv.reader(text.splitlines()) if row and not row[0].startswith("#")]
    header = [cell.strip().lower() for cell in rows[0]]
    if "name" in header and "value" in header:
        name, value = header.index("name"), header.index("value")
        rows = rows[1:]
    else:
        name, value = 0, 1
        if not _is_number(rows[0][1]):
            rows = rows[1:]
    return {row[name].strip(): float(row[value]) for row in rows}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def numbers(text: str, what: str) -> list[float]:
    """Numbers from a comma-separated text; DatasetError if one is none."""
    try:
        return [float(item) for item in text.split(",")]
    except ValueError as error:
        raise DatasetError(f"{what}: expected numbers separated by commas, got '{text}'") from error


def checked_parameters(parameters: ArrayLike, model: Model, source: str = "parameters") -> Array:
    """Parameters as an array of the model's length; standard parameters alone get joint terms of zero.

    Raises
    ------
    DatasetError
        If their number is neither, or one is not finite.
    """
    values = np.array(parameters, dtype=float)
    names = model.parameter_names
    if values.shape == (10 * model.n,) and len(names) > 10 * model.n:
        values = model.parameters(values)
    if values.shape != (len(names),):
        raise DatasetError(
            f"{source}: expected {len(names)} parameters of robot '{model.robot.name}' ({names[0]} ... {names[-1]}), "
            f"got shape {values.shape}"
        )
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise DatasetError(f"{source}: parameter '{names[bad[0]]}' is not a finite number")
    return values


def with_payload(model: Model, parameters: Array, payload: ArrayLike, frame: str) -> Array:
    """Parameters of the robot with a body fixed to one of its frames.

    Parameters
    ----------
    payload
        ``mass, cx, cy, cz`` and optionally the inertia about the centre of mass ``Ixx Ixy Ixz Iyy Iyz Izz``, in the
        axes of the frame [kg, m, kg.m^2].
    frame
        Name of a link or frame.
    """
    values = np.array(payload, dtype=float).ravel()
    if len(values) not in (4, 10) or not np.isfinite(values).all() or values[0] < 0:
        raise DatasetError(
            "payload: give mass,cx,cy,cz or mass,cx,cy,cz,Ixx,Ixy,Ixz,Iyy,Iyz,Izz (kg, m, kg.m^2, finite, mass >= 0), "
            f"got {values.tolist()}"
        )
    six = values[4:] if len(values) == 10 else np.zeros(6)
    inertia = np.array([[six[0], six[1], six[2]], [six[1], six[3], six[4]], [six[2], six[4], six[5]]])
    joint, placement = locate_frame(model.robot, frame)
    result: Array = parameters.copy()
    if joint >= 0:
        body = express_in(to_standard(values[0], values[1:4], inertia), placement[:3, :3], placement[:3, 3])
        result[list(model.link_columns[joint])] += body
    return result


def locate_frame(robot: Robot, name: str) -> tuple[int, Array]:
    """Joint that carries a frame, and the frame's placement in that joint's link frame."""
    for k, link in enumerate(robot.links):
        if link.name == name:
            return k, np.eye(4)
    for frame in robot.frames:
        if frame.name == name:
            return frame.joint, frame.placement
    known = [link.name for link in robot.links] + [frame.name for frame in robot.frames]
    raise DatasetError(f"robot '{robot.name}' has no frame '{name}'; known: {', '.join(known)}")


def default_frame(robot: Robot) -> str:
    """The first frame fixed to the last link, e.g. a flange; else the last link."""
    last = robot.n - 1
    return next((frame.name for frame in robot.frames if frame.joint == last), robot.links[last].name)


def warn_if_infeasible(model: Model, parameters: Array) -> None:
    """An InertiaWarning for links that no real body can have: a simulation with them may not behave."""
    for k, link in enumerate(model.robot.links):
        complaint = consistency(parameters[list(model.link_columns[k])]).complaint()
        if complaint:
            warnings.warn(
                f"robot '{model.robot.name}', link '{link.name}': {complaint}; the mass matrix M(q) may not be "
                "positive definite, and forward dynamics and everything else with its inverse may diverge",
                InertiaWarning,
                stacklevel=3,
            )
