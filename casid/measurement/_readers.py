"""Recordings from files: as their names or a TOML state (strict), or as the robot's dynamics leave nothing open."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.description import Robot
from casid.errors import DatasetError
from casid.files import Table, exists, finite_number, near, numeric_array, read_toml, shown
from casid.measurement._columns import Columns, Names, choose_signals, torque_columns, torque_notes
from casid.measurement._dataset import Dataset
from casid.measurement._defects import MOST_LOST
from casid.measurement._formats import read_columns
from casid.measurement._names import factors
from casid.measurement._proposing import Answers, Proposal, propose
from casid.measurement._text import TextLayout

#: Tables and keys of a recording's TOML that others read: options of the run, servos, what is unknown, bodies.
ABOUT = ("options", "servo", "unknown", "links", "joints", "motion")
#: Signals of the motion, in the units of the positions.
_MOTION = ("q", "dq", "ddq")


def read_description(path: Path, file: str | None = None) -> tuple[Path, dict[str, Any]]:
    """Path of the recording that a TOML file describes (``file``: in place of the one it names), and its options.

    Raises
    ------
    DatasetError
        Naming the file and the key.
    """
    table = Table(read_toml(path, "recording", DatasetError), path.name, ("file", *ABOUT, *_OPTIONS))
    if "file" not in table:
        table.fail("missing key 'file', the recording it describes")
    place = path.parent / (file or table.text("file"))
    if place.suffix == ".toml":
        table.fail("key 'file': a recording is described by one TOML file, not by a chain of them")
    return place, {key: read(table, key) for key, read in _OPTIONS.items() if key in table}


def _table_of(table: Table, key: str) -> Table:
    """A table with any keys."""
    value = table.data[key]
    found = table.table(key, value if isinstance(value, dict) else ())
    assert found is not None
    return found


def _names_of(table: Table, key: str) -> dict[str, Any]:
    """A text for each signal, or a list of one entry a column."""
    names = _table_of(table, key)
    return {name: entry if isinstance(entry, list) else names.text(name) for name, entry in names.data.items()}


def _layout(table: Table, key: str) -> dict[str, Any]:
    return dict(_table_of(table, key).data)


def _square(table: Table, key: str) -> list[list[float]]:
    n = len(rows) if isinstance(rows := table.data[key], list) else 1
    return [list(map(float, row)) for row in table.array(key, (n, n))]


def _ends(table: Table, key: str) -> list[float]:
    return [float(end) for end in table.array(key, (2,), entries="first, last")]


def _pair(table: Table, key: str) -> tuple[int, int]:
    first, last = _ends(table, key)
    if not (first.is_integer() and last.is_integer() and 0 <= first < last):
        table.fail(f"key '{key}': expected two whole numbers, the first below the second")
    return int(first), int(last)


#: Option -> how it is taken from the table.
_OPTIONS: dict[str, Callable[[Table, str], Any]] = {
    "columns": _names_of,
    "units": _names_of,
    "text": _layout,
    "rate": Table.number,
    "time_scale": Table.number,
    "degrees": Table.flag,
    "gains": Table.numbers,
    "transmission": _square,
    "position_offset": Table.numbers,
    "unwrap": Table.flag,
    "rows": _pair,
    "between": _ends,
    "topic": Table.text,
    "name": Table.text,
}


def read_dataset(
    path: str | Path,
    *,
    columns: Names | None = None,
    units: Mapping[str, str | Sequence[str]] | None = None,
    text: Mapping[str, Any] | None = None,
    rate: float | None = None,
    time_scale: float | None = None,
    degrees: bool = False,
    gains: ArrayLike | None = None,
    transmission: ArrayLike | None = None,
    position_offset: ArrayLike | None = None,
    unwrap: bool = False,
    rows: Sequence[int] | None = None,
    between: Sequence[float] | None = None,
    topic: str | None = None,
    name: str | None = None,
    rate_without_time: float | None = None,
) -> Dataset:
    """Read a recording.

    Parameters
    ----------
    path
        ``.npz``, ``.csv``, ``.csv.gz``, ``.mat``, ``.mcap``, ``.db3``, a rosbag2 folder, or a TOML that describes one.
    columns
        Names of the arrays in the file: ``{"tau": "tau_sensor"}``; by default t, q, dq, ddq, tau and their usual
        synonyms. In a csv, ``q`` stands for the columns ``q1 q2 ...`` (also ``q_1``, ``q[0]``), or for one column a
        joint (``q_<joint>``, ``/joint_states/<joint>/position``); joint names are kept in the result. A list names the
        column of each joint, by its name or its number from 1.
    units
        Unit of a signal, or of each of its columns: ``{"q": "deg", "dq": "rpm", "t": "ms"}``; default SI.
    text
        Layout of a text table that is no plain csv: ``encoding``, ``separator``, ``decimal``, ``header`` (which
        lines name the columns), ``first`` (line of numbers). ``casid import`` finds them.
    rate
        Sampling rate of a file without a time column [Hz].
    time_scale
        Factor to seconds: 1e-3 for milliseconds; by default 1, or the unit in the column's name (``t_ms``).
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
    rate_without_time
        Taken for ``rate`` where neither the file has a time column nor its TOML a rate [Hz].
    topic
        Topic of the ``JointState`` messages of a bag; by default the only one.

    Raises
    ------
    DatasetError
        If the file cannot be read, a column is missing or misspelt, holds other than real numbers, time seems to be in
        milliseconds, or the content is not a recording. Fewer than `MOST_LOST` of the samples may hold numbers that
        are not finite: they are left out, which `Dataset.notes` state.
    """
    path = Path(path)
    if path.suffix == ".toml":
        file, options = read_description(path)
        if columns is not None:
            options["columns"] = {**options.get("columns", {}), **columns}
        return read_dataset(file, **options, rate_without_time=rate_without_time)
    where, columns = path.name, _checked_names(columns)
    table = read_columns(path, topic, None if text is None else TextLayout.of(text, where))
    found, joints = choose_signals(table, columns, where)
    found.pop("q_des", None)
    n = found["q"].shape[1] if found["q"].ndim == 2 else 0
    if units is not None:
        if "t" in units and time_scale is None:
            time_scale = float(factors(units["t"], "t", 1, where)[0])
        found.update(_in_si(found, units, degrees, where))
    found["t"] = time_of(found, rate_without_time if rate is None else rate, time_scale, where)
    steps = [f"read {where}: " + ", ".join(f"{k} {np.shape(v)}" for k, v in found.items())]
    steps += [] if units is None else [f"units: {', '.join(f'{k} {v}' for k, v in units.items())}"]
    if rows is not None:
        first, end = rows
        if first >= len(found["q"]):
            raise DatasetError(f"{where}: rows {first} to {end - 1} are beyond its {len(found['q'])} samples")
        end = min(end, len(found["q"]))
        steps.append(f"kept rows {first} to {end - 1}")
        found = {key: value[first:end] for key, value in found.items()}
    found, missing = _finite(found, where)
    if degrees is not True and degrees is not False:
        raise DatasetError(f"{where}: degrees must be True or False, got {shown(degrees)}")
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused as not finite
        if degrees:
            found.update({key: np.deg2rad(found[key]) for key in _MOTION if key in found})
            steps.append("degrees to radians")
        if gains is not None:
            found["tau"] = found["tau"] * numeric_array(gains, f"{where}: gains", DatasetError, finite=True, shape=(n,))
            steps.append("torque = gain * signal")
        if transmission is not None:
            found.update(_at_joints(found, transmission, where))
            steps.append("motor side to joint side: q = R^-1 q_m, tau = R' tau_m")
        if position_offset is not None:
            key = f"{where}: position_offset"
            found["q"] = found["q"] + numeric_array(position_offset, key, DatasetError, finite=True, shape=(n,))
        if unwrap:
            found["q"] = np.unwrap(found["q"], axis=0)
            steps.append("positions unwrapped")
    signals: dict[str, Any] = dict(found)
    notes = (*torque_notes(table, columns, where), *table.notes, *missing)
    name = name or where.split(".")[0]
    try:
        dataset = Dataset(**signals, joints=joints, name=name, steps=tuple(steps), notes=notes)
    except DatasetError as error:
        raise DatasetError(f"{where}: {error.message.removeprefix(f'{name}: ')}") from None
    return dataset if between is None else dataset.between(*between)


def _checked_names(columns: Names | None) -> Names:
    values = columns.values() if isinstance(columns, Mapping) else () if columns is None else [None]
    entries = [one for value in values for one in (value if isinstance(value, (list, tuple)) else (value,))]
    if not all(isinstance(entry, str) or type(entry) is int for entry in entries):
        raise DatasetError(f"columns must map signals to names of arrays, or to lists of columns, got {shown(columns)}")
    return columns or {}


def _in_si(found: Mapping[str, Array], units: Mapping[str, Any], degrees: bool, where: str) -> dict[str, Array]:
    """Signals whose unit is stated, in SI."""
    if degrees and any(key in units for key in _MOTION):
        raise DatasetError(f"{where}: 'degrees' and the unit of a motion are both given; leave one out")
    for key in units:
        if key not in found:
            raise DatasetError(f"{where}: unit of {shown(key)}, which it does not have{near(str(key), found)}")
    return {key: found[key] * factors(units[key], key, found[key].shape[1], where) for key in units if key != "t"}


def _finite(found: dict[str, Array], where: str) -> tuple[dict[str, Array], tuple[str, ...]]:
    """The samples whose numbers are all finite, and a note about the others; too many of them are left for `Dataset`.

    What is left out is a gap for all that follows: short ones are interpolated, long ones are masked and named.
    """
    count = len(found["t"])
    if not count or any(value.shape[:1] != (count,) for value in found.values()):
        return found, ()
    off = {key: ~np.isfinite(value.reshape(count, -1)) for key, value in found.items()}
    rows = np.any([flags.any(axis=1) for flags in off.values()], axis=0)
    if not rows.any() or rows.mean() >= MOST_LOST:
        return found, ()
    pairs = [(key, k + 1) for key, flags in off.items() for k in np.flatnonzero(flags.any(axis=0))]
    of = ", ".join(f"{key} of joint {joint}" if key != "t" else "time" for key, joint in pairs)
    first = int(np.argmax(rows))
    which = f"sample {first} holds" if rows.sum() == 1 else f"{int(rows.sum())} samples, the first {first}, hold"
    note = f"{where}: {which} no finite number ({of}): left out"
    return {key: value[~rows] for key, value in found.items()}, (note,)


def time_of(found: Mapping[str, Array], rate: float | None, scale: float | None, where: str) -> Array:
    """Time of every sample [s]."""
    if "t" not in found:
        if rate is None:
            raise DatasetError(
                f"{where}: no time column ({', '.join(found)}); name it (columns), or give the sampling rate (rate)"
            )
        if not finite_number(rate, f"{where}: rate", DatasetError) > 0:
            raise DatasetError(f"{where}: the sampling rate must be positive [Hz], got {rate:g}")
        return np.arange(len(found["q"])) / rate
    t = np.ravel(found["t"])
    if scale is not None:
        if not finite_number(scale, f"{where}: time_scale", DatasetError) > 0:
            raise DatasetError(f"{where}: time_scale must be positive, got {scale:g}")
        with np.errstate(over="ignore"):
            return t * scale
    if not np.isfinite(t).all():
        return t  # refused with the number of the sample
    steps = np.diff(t[:1000])
    steps = steps[steps > 0]
    whole = len(steps) > 1 and not np.any(t[:1000] % 1.0)
    if whole and len(t) > 50:
        raise DatasetError(
            f"{where}: time goes in steps of {np.median(steps):g} s: it seems to count milliseconds or microseconds; "
            "give time_scale (0.001 for milliseconds, 1 if these are seconds), e.g. in a .toml beside the file with "
            f'file = "{where}"'
        )
    return t


def _at_joints(found: Mapping[str, Array], transmission: ArrayLike, where: str) -> dict[str, Array]:
    """Signals of the motors' side at the joints."""
    n = found["q"].shape[1]
    R = numeric_array(transmission, f"{where}: transmission", DatasetError, finite=True, shape=(n, n))
    try:
        made = {key: np.linalg.solve(R, found[key].T).T for key in _MOTION if key in found}
    except np.linalg.LinAlgError:
        raise DatasetError(f"{where}: the transmission is singular: motors do not determine the joints") from None
    return {**made, "tau": found["tau"] @ R}


# ---------------------------------------------------------------------- what the robot's dynamics leave open: nothing

#: What a note repeats of a proposal.
_NOTED = ("positions", "torques", "time", "angles", "unit of torques")


def read_log(path: str | Path, robot: Robot, **options: Any) -> Dataset:
    """A recording as `read_dataset` reads it, or else as `propose` finds it to be read without a question.

    Parameters
    ----------
    path
        The file.
    robot
        Its joints, limits and dynamics are the measure of what is found.
    options
        Of `read_dataset`. Where they name columns, nothing is looked for.

    Returns
    -------
    Dataset
        Its notes state what was found.

    Raises
    ------
    DatasetError
        Why the file cannot be read as it is, with what is open where that is all that is missing.
    """
    path, options = Path(path), {name: value for name, value in options.items() if value is not None}
    try:
        return read_dataset(path, **options)
    except DatasetError:
        found = None if "columns" in options else _proposed(path, robot, options.get("rate_without_time"))
        if found is None:
            raise
    found.check_closed()
    data = read_dataset(path, **{**found.settings, **options})
    guesses = "; ".join(f"{what}: {guess}" for what, guess, _ in found.evidence if what in _NOTED)
    note = f"{path.name} is read as its names and the robot's dynamics say ({guesses}); `casid import` writes it down"
    return replace(data, notes=(*data.notes, note))


def described_files(path: Path) -> tuple[str | None, ...]:
    """Files that a TOML describes alike (``file``: a list, or a pattern with ``*``); None: the path itself, or its one.

    Raises
    ------
    DatasetError
        If ``file`` is no list of names, or a pattern fits none.
    """
    given = read_toml(path, "recording", DatasetError).get("file") if path.suffix == ".toml" else None
    if given is None or (isinstance(given, str) and "*" not in given):
        return (None,)
    made: list[str] = []
    for name in [given] if isinstance(given, str) else column_names(given, path.name, "file"):
        fits = (
            sorted(one.relative_to(path.parent).as_posix() for one in path.parent.glob(name)) if "*" in name else [name]
        )
        if not fits:
            raise DatasetError(f"{path.name}: key 'file': no file fits {shown(name)} in the folder of this TOML")
        made += fits
    return tuple(made)


def has_commands_only(path: str | Path) -> bool | None:
    """Whether a recording is to be identified from its commands: its TOML describes a servo, or it has no torques.

    Torques that are never negative are magnitudes, as of servos' currents, and none unless they are named.
    None: a file without a TOML whose columns are not understood, or may hold torques; its layout is looked for, see
    `propose`.

    Raises
    ------
    DatasetError
        If a TOML, or the file that it describes, cannot be read.
    """
    path = Path(path)
    options: dict[str, Any] = {}
    if path.suffix == ".toml":
        tables = read_toml(path, "recording", DatasetError)
        if "servo" in tables or "unknown" in tables:
            return True
        path, options = read_description(path, described_files(path)[0])
    try:
        table = described_columns(path, options)
        found, _ = choose_signals(table, options.get("columns", {}), path.name, ())
    except DatasetError:
        if options:
            raise
        return None
    hidden = "tau" not in found and not options and torque_columns(table)
    if "q" not in found or not {"q_des", "tau"} & set(found) or hidden:
        return None
    return "q_des" in found and ("tau" not in found or is_unsigned(found, options))


def is_unsigned(found: Mapping[str, Array], options: Mapping[str, Any]) -> bool:
    """Whether torques that nobody named have no sign."""
    return "tau" in found and "tau" not in options.get("columns", {}) and bool((found["tau"] >= 0.0).all())


def column_names(value: Any, where: str, key: str = "joints") -> tuple[str, ...]:
    """Names that a key of a TOML lists; DatasetError, naming the key, if it lists none."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise DatasetError(f"{where}: {key}: expected a list of names, got {shown(value)}")
    return tuple(value)


def described_columns(path: Path, options: Mapping[str, Any]) -> Columns:
    """Columns of a file as its TOML describes it."""
    layout = TextLayout.of(options["text"], path.name) if "text" in options else None
    return read_columns(path, options.get("topic"), layout)


def command_settings(path: str | Path, robot: Robot) -> dict[str, Any] | None:
    """How a log without torques whose names are not understood is read, as `read_commands` takes it.

    Returns
    -------
    dict or None
        None where it is no such log, or no table at all.

    Raises
    ------
    DatasetError
        If it is one and something is left open.
    """
    found = _proposed(Path(path), robot)
    if found is None or "q_des" not in found.settings.get("columns", {}):
        return None
    found.check_closed()
    return dict(found.settings)


def _proposed(path: Path, robot: Robot, rate: float | None = None) -> Proposal | None:
    """How a file without a TOML is to be read; ``None`` where it is no table."""
    if path.suffix == ".toml" or not exists(path):
        return None
    try:
        return propose(path, robot, Answers(rate=rate))
    except DatasetError:
        return None
