"""Recordings from files: npz, csv (also .gz), mat, rosbag2 and MCAP (``sensor_msgs/JointState``), or a TOML about one.

A TOML file says how the arrays of another file are to be read; any option of `read_dataset` may stand in it::

    file = "recording.npz"                # beside the TOML file
    columns = { t = "t_ms", tau = "tau_sensor" }
    time_scale = 0.001
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from casid.errors import DatasetError
from casid.measurement.dataset import Array, Dataset

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

_FIELDS = ("t", "q", "dq", "ddq", "tau")
#: Names under which the arrays are looked for, in this order.
_SYNONYMS = {
    "t": ("t", "time", "timestamp", "t_s"),
    "q": ("q", "position", "positions", "qpos"),
    "dq": ("dq", "qd", "velocity", "velocities", "qvel"),
    "ddq": ("ddq", "qdd", "acceleration", "accelerations", "qacc"),
    "tau": ("tau", "torque", "torques", "effort", "tau_sensor", "tau_joint"),
}


def read_dataset(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    rate: float | None = None,
    time_scale: float = 1.0,
    degrees: bool = False,
    gains: ArrayLike | None = None,
    transmission: ArrayLike | None = None,
    position_offset: ArrayLike | None = None,
    unwrap: bool = False,
    rows: Sequence[int] | None = None,
    between: Sequence[float] | None = None,
    topic: str | None = None,
    name: str | None = None,
) -> Dataset:
    """Read a recording.

    Parameters
    ----------
    path
        ``.npz``, ``.csv``, ``.csv.gz``, ``.mat``, ``.mcap``, ``.db3``, a rosbag2 folder, or a TOML that describes one.
    columns
        Names of the arrays in the file: ``{"tau": "tau_sensor"}``; by default t, q, dq, ddq, tau and their usual
        synonyms. In a csv, ``q`` stands for the columns ``q1 q2 ...`` (also ``q_1``, ``q[0]``).
    rate
        Sampling rate of a file without a time column [Hz].
    time_scale
        Factor to seconds: 1e-3 for milliseconds.
    degrees
        Whether angles are in degrees.
    gains
        Factor of each torque column, e.g. drive gains [N.m/A] where the signal is a current, shape (n,).
    transmission
        ``R`` with ``q_motor = R q`` and ``tau = R' tau_motor``, shape (n, n), where the file holds motor-side signals.
    position_offset
        Added to the positions (after the transmission), shape (n,) [rad].
    unwrap
        Whether jumps of 2 pi in the positions are to be undone (continuous joints).
    rows
        First and last row to read, ``[first, end)``.
    between
        First and last time [s].
    topic
        Topic of the ``JointState`` messages of a bag; by default the only one.

    Raises
    ------
    DatasetError
        If the file cannot be read, a column is missing or misspelt, or the content is not a recording.
    """
    path = Path(path)
    if path.suffix == ".toml":
        return _described(path)
    arrays = _load(path, topic)
    found = _choose(arrays, columns or {}, path.name)
    q = found["q"]
    if "t" not in found:
        if rate is None:
            raise DatasetError(f"{path.name}: no time column ({_listed(arrays)}); name it, or give the sampling rate")
        found["t"] = np.arange(len(q)) / rate
    else:
        found["t"] = np.ravel(found["t"]) * time_scale
    steps = [f"read {path.name}: " + ", ".join(f"{k} {np.shape(v)}" for k, v in found.items())]
    if rows is not None:
        first, end = rows
        found = {k: v[first:end] for k, v in found.items()}
        steps.append(f"kept rows {first} to {end - 1}")
    if degrees:
        for key in ("q", "dq", "ddq"):
            if key in found:
                found[key] = np.deg2rad(found[key])
        steps.append("degrees to radians")
    if gains is not None:
        found["tau"] = found["tau"] * _vector(gains, found["tau"].shape[1], "gains")
        steps.append("torque = gain * signal")
    if transmission is not None:
        R = np.asarray(transmission, dtype=float)
        if R.shape != (q.shape[1], q.shape[1]):
            raise DatasetError(f"{path.name}: transmission must be {q.shape[1]} x {q.shape[1]}, got {R.shape}")
        for key in ("q", "dq", "ddq"):
            if key in found:
                found[key] = np.linalg.solve(R, found[key].T).T
        found["tau"] = found["tau"] @ R
        steps.append("motor side to joint side: q = R^-1 q_m, tau = R' tau_m")
    if position_offset is not None:
        found["q"] = found["q"] + _vector(position_offset, q.shape[1], "position_offset")
    if unwrap:
        found["q"] = np.unwrap(found["q"], axis=0)
        steps.append("positions unwrapped")
    dataset = Dataset(
        **found,  # type: ignore[arg-type]
        name=name or path.name.split(".")[0],
        steps=tuple(steps),
    )
    return dataset if between is None else dataset.between(*between)


def _described(path: Path) -> Dataset:
    try:
        options = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DatasetError(f"cannot read '{path}': {getattr(error, 'strerror', None) or error}") from error
    known = [*(read_dataset.__kwdefaults__ or ())]
    options.pop("options", None)  # of the commands that take the recording
    for key in options:
        if key not in ("file", *known):
            raise DatasetError(f"{path.name}: unknown key '{key}'{_near(key, known)}; known: file, {', '.join(known)}")
    if "file" not in options:
        raise DatasetError(f"{path.name}: missing key 'file', the recording it describes")
    return read_dataset(path.parent / options.pop("file"), **options)


def _load(path: Path, topic: str | None) -> dict[str, Array]:
    if path.is_dir() or path.suffix in (".mcap", ".db3"):
        from casid.measurement.rosbag import read_joint_states

        return read_joint_states(path, topic)
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as file:
                return {k: np.asarray(file[k]) for k in file.files}
        if path.suffix == ".csv" or path.name.endswith(".csv.gz"):
            return _read_csv(path)
        if path.suffix == ".mat":
            from scipy.io import loadmat

            content = loadmat(path, squeeze_me=True)
            return {k: np.asarray(v, dtype=float) for k, v in content.items() if not k.startswith("__") and _numeric(v)}
    except (OSError, ValueError, NotImplementedError, EOFError) as error:
        if isinstance(error, DatasetError):
            raise
        raise DatasetError(f"cannot read recording '{path}': {getattr(error, 'strerror', None) or error}") from error
    raise DatasetError(f"'{path.name}': recordings are .npz, .csv, .csv.gz, .mat, .mcap, .db3 or .toml files")


def _numeric(value: Any) -> bool:
    return isinstance(value, np.ndarray) and np.issubdtype(value.dtype, np.number)


def _read_csv(path: Path) -> dict[str, Array]:
    """Columns ``name<number>`` become one array ``name``."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    lines = io.StringIO(data.decode("utf-8-sig"))
    header = next(csv.reader(lines), [])
    if not header or all(_is_number(word) for word in header):
        raise DatasetError(f"{path.name}: the first line must name the columns, e.g. t,q1,...,dq1,...,tau1,...")
    table = np.loadtxt(lines, delimiter=",", ndmin=2)
    if table.shape[1] != len(header):
        raise DatasetError(f"{path.name}: {len(header)} column names for {table.shape[1]} columns")
    groups: dict[str, list[tuple[int, int]]] = {}
    for column, word in enumerate(header):
        match = re.fullmatch(r"(.*?)[_\[\(]?(\d+)[\]\)]?", word.strip())
        label, number = (match[1], int(match[2])) if match and match[1] else (word.strip(), -1)
        groups.setdefault(label, []).append((number, column))
    return {
        label: table[:, entries[0][1]] if entries[0][0] < 0 else table[:, [column for _, column in sorted(entries)]]
        for label, entries in groups.items()
    }


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _choose(arrays: Mapping[str, Array], columns: Mapping[str, str], where: str) -> dict[str, Array]:
    for key in columns:
        if key not in _FIELDS:
            raise DatasetError(f"{where}: columns may name {', '.join(_FIELDS)}, not '{key}'{_near(key, _FIELDS)}")
    found: dict[str, Array] = {}
    for key in _FIELDS:
        if key in columns:
            if columns[key] not in arrays:
                raise DatasetError(
                    f"{where}: no column '{columns[key]}'{_near(columns[key], arrays)}; it has {_listed(arrays)}"
                )
            found[key] = np.asarray(arrays[columns[key]], dtype=float)
        else:
            match = next((name for name in _SYNONYMS[key] if name in arrays), None)
            if match:
                found[key] = np.asarray(arrays[match], dtype=float)
    for key, meaning in (("q", "joint positions"), ("tau", "torques")):
        if key not in found:
            raise DatasetError(
                f"{where}: no {meaning}: it has {_listed(arrays)}; name the column, e.g. columns={{'{key}': ...}}"
            )
    for key in ("q", "dq", "ddq", "tau"):
        if key in found and found[key].ndim == 1:
            found[key] = found[key][:, None]
    if found["tau"].shape != found["q"].shape:
        raise DatasetError(f"{where}: torques {found['tau'].shape} and positions {found['q'].shape} differ in shape")
    return found


def _vector(value: ArrayLike, n: int, what: str) -> Array:
    vector = np.asarray(value, dtype=float)
    if vector.shape != (n,) or not np.isfinite(vector).all():
        raise DatasetError(f"{what}: expected {n} finite numbers, got {value!r}")
    return vector


def _near(word: str, known: Any) -> str:
    close = get_close_matches(word, list(known), n=1)
    return f" (did you mean '{close[0]}'?)" if close else ""


def _listed(arrays: Mapping[str, Array]) -> str:
    return ", ".join(arrays)
