"""Trajectories as files: coefficients (TOML, read back), samples (CSV), ROS 2 JointTrajectory (YAML)."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from casid.errors import DatasetError
from casid.excitation.motions.basis import Basis
from casid.excitation.motions.fourier import Fourier
from casid.excitation.motions.poses import Poses
from casid.excitation.motions.ramps import Ramped
from casid.excitation.motions.spline import QuinticSpline
from casid.excitation.motions.trajectory import Trajectory

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

#: Keys of each kind of basis in a file.
_KINDS: dict[str, tuple[str, ...]] = {
    "fourier": ("frequency", "harmonics", "form", "periods"),
    "quintic-spline": ("duration", "points", "rest"),
    "poses": ("count",),
}


def trajectory_toml(trajectory: Trajectory) -> str:
    """Return the coefficients as TOML; `read_trajectory` gives back the same trajectory, to the last bit."""
    lines = ["# Excitation trajectory: coefficients, SI units (rad or m, s).", "schema = 1"]
    if trajectory.robot:
        lines.append(f"robot = {_quoted(trajectory.robot)}")
    lines += ["", "[basis]"]
    for key, value in trajectory.basis.record().items():
        lines.append(f"{key} = {_value(value)}")
    for name, row in zip(trajectory.joints, trajectory.coefficients, strict=True):
        lines += ["", "[[joint]]", f"name = {_quoted(name)}", "coefficients = ["]
        lines += [f"    {float(x)!r}, # {label}" for label, x in zip(trajectory.basis.labels, row, strict=True)]
        lines.append("]")
    return "\n".join(lines) + "\n"


def trajectory_csv(trajectory: Trajectory, rate: float) -> str:
    """Samples as CSV: ``t, q_<joint> ..., dq_<joint> ..., ddq_<joint> ...`` in SI units, from time 0.

    Parameters
    ----------
    rate
        Samples a second [Hz]; a sequence of poses has one row a pose instead.
    """
    joints = trajectory.joints
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    if trajectory.basis.static:
        writer.writerow(["pose", *(f"q_{name}" for name in joints)])
        for k, row in enumerate(trajectory.coefficients.T):
            writer.writerow([k + 1, *(repr(float(x)) for x in row)])
        return buffer.getvalue()
    t = trajectory.times(rate)
    motion = trajectory.motion(t)
    writer.writerow(["t", *(f"{symbol}_{name}" for symbol in ("q", "dq", "ddq") for name in joints)])
    for instant, states in zip(t - t[0], np.vstack(motion).T, strict=True):
        writer.writerow([f"{instant:.9g}", *(f"{x:.12g}" for x in states)])
    return buffer.getvalue()


def trajectory_ros2(trajectory: Trajectory, rate: float) -> str:
    """``trajectory_msgs/msg/JointTrajectory`` as YAML, for ``ros2 topic pub`` or a FollowJointTrajectory goal.

    Parameters
    ----------
    rate
        Points a second [Hz].
    """
    if trajectory.basis.static:
        raise DatasetError("a sequence of static poses has no times: write it as CSV or TOML")
    t = trajectory.times(rate)
    motion = trajectory.motion(t)
    lines = ["header:", "  stamp: {sec: 0, nanosec: 0}", "  frame_id: ''", "joint_names:"]
    lines += [f"- {_quoted(name)}" for name in trajectory.joints]
    lines.append("points:")
    for k, instant in enumerate(t - t[0]):
        nanoseconds = round(float(instant) * 1e9)
        for key, values in zip(("- positions", "  velocities", "  accelerations"), motion, strict=True):
            lines.append(f"{key}: [{', '.join(f'{x:.10g}' for x in values[:, k])}]")
        lines.append(f"  time_from_start: {{sec: {nanoseconds // 10**9}, nanosec: {nanoseconds % 10**9}}}")
    return "\n".join(lines) + "\n"


def read_trajectory(path: str | Path) -> Trajectory:
    """Read a trajectory from TOML as `trajectory_toml` writes it.

    Raises
    ------
    DatasetError
        Naming the file and the key.
    """
    path = Path(path)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DatasetError(f"cannot read trajectory file '{path}': {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DatasetError(f"{path.name}: not valid TOML: {error}") from error
    where = path.name
    _keys(data, ("schema", "robot", "basis", "joint"), ("schema", "basis", "joint"), where)
    if data["schema"] != 1:
        raise DatasetError(f"{where}: key 'schema': this version of casid reads schema 1, got {data['schema']!r}")
    if not isinstance(data["basis"], dict):
        raise DatasetError(f"{where}: 'basis' must be a table")
    basis = _basis(data["basis"], f"{where}: basis")
    joints = data["joint"]
    if not isinstance(joints, list) or not joints or not all(isinstance(joint, dict) for joint in joints):
        raise DatasetError(f"{where}: expected [[joint]] tables")
    rows = []
    for number, joint in enumerate(joints, start=1):
        place = f"{where}: joint {number}"
        _keys(joint, ("name", "coefficients"), ("name", "coefficients"), place)
        row = joint["coefficients"]
        numeric = isinstance(row, list) and all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in row)
        if not numeric or len(row) != basis.size:
            raise DatasetError(
                f"{place}: key 'coefficients': expected {basis.size} numbers ({', '.join(basis.labels)})"
            )
        rows.append([float(x) for x in row])
    names = tuple(str(joint["name"]) for joint in joints)
    return Trajectory(basis, np.array(rows), names, str(data.get("robot", "")))


def _basis(data: Mapping[str, Any], where: str) -> Basis:
    kind = data.get("kind")
    if kind not in _KINDS:
        raise DatasetError(f"{where}: key 'kind' must be one of {', '.join(_KINDS)}, got {kind!r}")
    optional = () if kind == "poses" else ("ramp",)
    _keys(data, ("kind", *_KINDS[kind], *optional), ("kind", *_KINDS[kind]), where)
    for key, value in data.items():
        right = {"kind": str, "form": str, "rest": bool, "harmonics": int, "points": int, "count": int, "periods": int}
        expected = right.get(key, (int, float))
        if not isinstance(value, expected) or (isinstance(value, bool) and key != "rest"):
            raise DatasetError(f"{where}: key '{key}': {value!r} is of the wrong type")
    if kind == "poses":
        return Poses(data["count"])
    basis: Basis
    if kind == "fourier":
        basis = Fourier(float(data["frequency"]), data["harmonics"], data["form"], data["periods"])
    else:
        basis = QuinticSpline(float(data["duration"]), data["points"], data["rest"])
    return Ramped(basis, float(data["ramp"])) if "ramp" in data else basis


def _keys(data: Mapping[str, Any], known: tuple[str, ...], required: tuple[str, ...], where: str) -> None:
    for key in data:
        if key not in known:
            raise DatasetError(f"{where}: unknown key '{key}'; known: {', '.join(known)}")
    for key in required:
        if key not in data:
            raise DatasetError(f"{where}: missing key '{key}'")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _quoted(value) if isinstance(value, str) else repr(value)


def _quoted(text: str) -> str:
    """Double-quoted string that TOML and YAML both read."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'
