"""Recordings of robots that have encoders and position commands, and no torque sensor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.description import Robot
from casid.errors import DatasetError
from casid.evidence import REPEATED
from casid.files import listed, near, numeric_array, read_toml, shown
from casid.measurement import (
    Columns,
    check_angles,
    choose_signals,
    column_names,
    described_columns,
    factors,
    is_unsigned,
    read_description,
    time_gaps,
    time_of,
)

#: Keys of ``[servo]`` that name columns of the file.
_COLUMNS = ("enabled", "gain", "torque")
#: Text that says whether a servo is on.
_SWITCH = frozenset(word for true in ("true", "false") for word in (true, true.capitalize(), true.upper()))
#: Fewest samples of a piece: what one error is worth.
FEWEST = int(REPEATED)
#: Samples lost in a row from which the motion goes on in another piece; over fewer the last command is held.
FEWEST_LOST = 5


@dataclass(frozen=True, eq=False)
class CommandRecording:
    """Commanded and measured positions, one row a sample, one column a joint.

    Attributes
    ----------
    t : ndarray, shape (N,)
        Time [s], increasing.
    q : ndarray, shape (N, n)
        Encoders [rad or m].
    q_des : ndarray, shape (N, n)
        Commands to the position servos, each in force from its sample on (or interpolated, see `casid.drives`).
        Zero where a torque drives the joints.
    enabled : ndarray, shape (N,) or (N, n), optional
        Whether the servo is on; default: always.
    gain : float
        Setting of the servos' gains in this recording, e.g. the firmware's P: torques are proportional to it.
    torque : ndarray, shape (N, n), optional
        Known torque beside the servo's, or in its place [N.m or N].
    name : str
        For messages and figures; recordings of one motion carry the same `motion`.
    motion : str
        What is held out together; default: the name.
    joints : tuple of str
        Names of the joints where known.
    known : mapping of str to ndarray
        Values of the servos that the file has, by attribute of `Servo`, shape (n,) each.
    notes : tuple of str
        How the file was read, where its names left that open.

    Raises
    ------
    DatasetError
        Naming the field, joint and sample.
    """

    t: Array
    q: Array
    q_des: Array
    enabled: Array | None = None
    gain: float = 1.0
    torque: Array | None = None
    name: str = "recording"
    motion: str = ""
    joints: tuple[str, ...] = ()
    known: Mapping[str, Array] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        t = np.array(self.t, dtype=float)
        if t.ndim != 1 or len(t) < FEWEST:
            raise DatasetError(f"{self.name}: expected at least {FEWEST} samples with one time each, got {t.shape}")
        q = np.array(self.q, dtype=float)
        if q.ndim != 2 or len(q) != len(t) or not q.shape[1]:
            raise DatasetError(f"{self.name}: q has shape {q.shape}; expected ({len(t)}, joints)")
        commands = np.array(self.q_des, dtype=float)
        if commands.shape != q.shape:
            more = "more commands than encoders" if commands.size > q.size else "commands are missing"
            raise DatasetError(f"{self.name}: q_des has shape {commands.shape}, q {q.shape}: {more}; name one command "
                               "column for each encoder (columns, joints)")  # fmt: skip
        values = {"t": t, "q": q, "q_des": commands}
        if self.torque is not None:
            values["torque"] = np.array(self.torque, dtype=float)
        if self.enabled is not None:
            on = np.array(self.enabled, dtype=float)
            values["enabled"] = np.array(np.broadcast_to(on[:, None] if on.ndim == 1 else on, q.shape))
        for name, value in values.items():
            if name != "t" and value.shape != q.shape:
                raise DatasetError(f"{self.name}: {name} has shape {value.shape}; expected {q.shape}")
            bad = np.argwhere(~np.isfinite(value))
            if len(bad):
                where = f" of joint {bad[0][1] + 1}" if value.ndim == 2 else ""
                raise DatasetError(f"{self.name}: {name}{where}, sample {bad[0][0]} is not a finite number "
                                   f"({len(bad)} in all); drop these samples first")  # fmt: skip
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        back = np.flatnonzero(np.diff(t) <= 0)
        if len(back):
            raise DatasetError(f"{self.name}: time does not increase after sample {back[0]} ({len(back)} such "
                               "samples); cut the recording there, or leave repeated samples out")  # fmt: skip
        if not (np.isfinite(self.gain) and self.gain > 0):
            raise DatasetError(f"{self.name}: a gain of {self.gain:g} drives nothing; give the servo's setting (> 0), "
                               "or mark the samples without drive (enabled)")  # fmt: skip
        object.__setattr__(self, "joints", tuple(self.joints))
        object.__setattr__(self, "motion", self.motion or self.name)
        if self.joints and len(self.joints) != q.shape[1]:
            raise DatasetError(f"{self.name}: {len(self.joints)} joint names for {q.shape[1]} joints")

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.t)

    def __repr__(self) -> str:
        span, rate = f"{self.t[-1] - self.t[0]:.4g} s", f"{1 / self.period:.4g} Hz"
        return f"CommandRecording({self.name}: {len(self)} samples of {self.n} joints, {span} at {rate})"

    @property
    def n(self) -> int:
        """Number of joints."""
        return int(self.q.shape[1])

    @property
    def period(self) -> float:
        """Median time between samples [s]."""
        return float(np.median(np.diff(self.t)))

    def on(self) -> Array:
        """Factor of the gains at each sample and joint: 0 where the servo is off."""
        return self.gain * (np.ones(self.q.shape) if self.enabled is None else np.asarray(self.enabled))

    def rows(self, which: slice) -> CommandRecording:
        """Some consecutive samples."""
        arrays = {name: getattr(self, name) for name in ("t", "q", "q_des", "enabled", "torque")}
        kept: dict[str, Any] = {name: None if value is None else value[which] for name, value in arrays.items()}
        return replace(self, **kept)

    def pieces(self, longest: float = np.inf) -> Iterator[slice]:
        """Stretches without gaps, cut into parts of at most ``longest`` seconds; too short ones are left out."""
        gaps = [end for gap in time_gaps(self.t, FEWEST_LOST) for end in gap.spans[:, 1]]
        ends = [0, *np.searchsorted(self.t, gaps), len(self.t)]
        for first, end in pairwise(ends):
            if end - first < FEWEST:
                continue
            parts = max(1, int(np.ceil((self.t[end - 1] - self.t[first]) / longest)))
            cuts = np.linspace(first, end, parts + 1).astype(int)
            yield from (slice(int(a), int(b)) for a, b in pairwise(cuts) if b - a >= FEWEST)


def held_commands(t: ArrayLike, u: ArrayLike, at: ArrayLike, linear: bool = False) -> tuple[Array, Array]:
    """Command and its integral from ``t[0]`` at the times ``at``, each command held until the next (or interpolated).

    Parameters
    ----------
    t, u
        Times (N,) and commands (N,) of one joint; the first and the last hold beyond the ends.

    Returns
    -------
    u, integral : ndarray, as ``at``
    """
    t, u, at = (np.asarray(value, dtype=float) for value in (t, u, at))
    k = np.clip(np.searchsorted(t, at, side="right") - 1, 0, len(t) - 1)
    steps = np.diff(t)
    slopes = np.append(np.diff(u) / steps, 0.0) if linear else np.zeros(len(u))
    whole = np.concatenate([[0.0], np.cumsum(steps * (u[:-1] + slopes[:-1] * steps / 2))])
    since = at - t[k]
    slope = np.where(since < 0, 0.0, slopes[k])
    return u[k] + slope * since, whole[k] + since * (u[k] + slope * since / 2)


def read_commands(path: str | Path, robot: Robot, settings: Mapping[str, Any] | None = None) -> CommandRecording:
    """Read a recording of commands and encoders.

    A TOML may name the ``columns`` (``q_des`` among them), and in ``[servo]``: ``enabled``, a column that is 0 while
    the servos are off, ``gain``, the setting of their gains (a number or a column), and ``torque``, known torques that
    act beside the servo's (feed-forward; an array, or a list of columns) [N.m or N]. ``joints`` names the columns
    in their order where the file does not; joints that the robot does not have (locked ones) are left out.
    Where no TOML describes the servo, constant ``kp`` and ``kd`` of the file, or one ``kp`` a joint, are known gains
    [N.m/rad, N.m.s/rad], and a single ``kp`` alone is the setting of the gains; a note says so.

    Parameters
    ----------
    robot
        Columns come in the order of its joints.
    settings
        Keys of such a TOML, for a file without one; of a TOML of several files: ``file``, the one to read.

    Raises
    ------
    DatasetError
        Naming file, column and joint.
    """
    path = Path(path)
    options: dict[str, Any] = dict(settings or {})
    servo: Mapping[str, Any] = {}
    motion, given, described = "", column_names(options.pop("joints", []), path.name), False
    if path.suffix == ".toml":
        tables = read_toml(path, "recording", DatasetError)
        servo, given = tables.get("servo", {}), column_names(tables.get("joints", []), path.name)
        motion, (path, options) = str(tables.get("motion", "")), read_description(path, options.get("file"))
        described = "servo" in tables or "unknown" in tables
    where, table = path.name, described_columns(path, options)
    found, joints = choose_signals(table, options.get("columns", {}), where, ("q", "q_des"))
    joints = given or joints
    if found["q_des"].shape != found["q"].shape:
        more = "more" if found["q_des"].shape[1] > found["q"].shape[1] else "fewer"
        raise DatasetError(f"{where}: {more} commands {found['q_des'].shape} than encoders {found['q'].shape}; name "
                           'the columns: columns = { q_des = "NAME" } in a TOML for the recording')  # fmt: skip
    units = options.get("units", {})
    clock = float(factors(units["t"], "t", 1, where)[0]) if "t" in units else options.get("time_scale")
    t = time_of(found, options.get("rate"), clock, where)
    extra = {key: _extra(table, servo[key], where, key) for key in _COLUMNS if isinstance(servo.get(key), (str, list))}
    gain = servo.get("gain", 1.0)
    if "gain" in extra:
        gain = float(np.ravel(extra["gain"])[0])
        if np.ptp(extra["gain"]) > 0:
            raise DatasetError(f"{where}: the gain '{servo['gain']}' changes during the recording; split it there")
    q, u = (_positions(found[key], key, options, where) for key in ("q", "q_des"))
    if not joints and q.shape[1] != robot.n and robot.origin is not None and robot.origin.locked:
        whole = tuple(joint.name for joint in robot.origin.unlocked().coordinates)
        joints = whole if len(whole) == q.shape[1] else joints
    which = _chosen(robot, joints, q.shape[1], where)
    if "q" not in units and "degrees" not in options:
        check_angles(q[:, which], robot, where)
    enabled, torque = extra.get("enabled"), extra.get("torque")
    if torque is not None:
        torque = torque.reshape(len(t), -1)
        if torque.shape != q.shape:
            raise DatasetError(f"{where}: torque {torque.shape} beside encoders {q.shape}; one column each")
        torque = torque[:, which]
    known, gain, notes = ({}, float(gain), ()) if described else _gains(table, q.shape[1], where)
    if is_unsigned(found, options):
        unused = f"{where}: torques are never negative: magnitudes, not used (columns = {{ tau = ... }} names them)"
        notes = (*notes, unused)
    if gone := [f"{joint} (moves by {np.ptp(q[:, k]):.2g})" for k, joint in enumerate(joints) if k not in which]:
        notes = (*notes, f"{where}: columns left out: {listed(gone)}")
    data = CommandRecording(t, q[:, which], u[:, which], None if enabled is None else np.ravel(enabled), gain,
                            torque, name=options.get("name", where.split(".")[0]), motion=motion,
                            joints=tuple(joint.name for joint in robot.coordinates),
                            known={key: value[which] for key, value in known.items()}, notes=notes)  # fmt: skip
    if "rows" in options:
        data = data.rows(slice(*options["rows"]))
    if "between" in options:
        first, last = np.searchsorted(data.t, options["between"])
        data = data.rows(slice(int(first), int(last)))
    return data


def _gains(table: Columns, n: int, where: str) -> tuple[dict[str, Array], float, tuple[str, ...]]:
    """Gains of ``n`` joints that a file has, or the setting of its gains, else 1, and notes on them."""
    rows: dict[str, Array] = {}
    for key in ("kp", "kd"):
        values = table.array(key)
        if values is None or values.dtype.kind not in "iuf":
            continue
        values = np.asarray(values, dtype=float)
        row = values if values.shape in ((), (1,), (n,)) else values[0]
        if not (np.shape(row) in ((), (1,), (n,)) and (values == row).all() and (row >= 0.0).all()):
            return {}, 1.0, (f"{where}: {key} changes, or has not one value a joint: not used ([servo] in a TOML)",)
        rows[key] = np.ravel(row)
    if set(rows) == {"kp"} and rows["kp"].size == 1:
        setting = float(rows["kp"][0])
        return {}, setting or 1.0, (f"{where}: kp = {setting:g} is taken as the setting of the gains (gain)",)
    if "kp" not in rows:
        return {}, 1.0, ()
    words = " and ".join(f"{key} = {listed(list(dict.fromkeys(map('{:g}'.format, row))))}" for key, row in rows.items())
    note = f"{where}: {words} are taken as known gains in N.m/rad; [servo] in a TOML says otherwise"
    return {key: np.broadcast_to(row, n).copy() for key, row in rows.items()}, 1.0, (note,)


def _positions(values: Array, key: str, options: Mapping[str, Any], where: str) -> Array:
    """Encoders or commands in SI, with the offset of the recording's TOML."""
    units = options.get("units", {})
    usual = np.pi / 180 if options.get("degrees") else 1.0
    scale = factors(units[key], key, values.shape[1], where) if key in units else usual
    return np.asarray(values * scale + np.asarray(options.get("position_offset", 0.0)))


def _extra(table: Columns, name: str | list[str], where: str, key: str) -> Array:
    """A column, or an array of one a joint, or the columns of a list."""
    if isinstance(name, list):
        return np.column_stack([_extra(table, str(one), where, key) for one in name])
    value, names = table.array(name), table.stems
    if value is None:
        raise DatasetError(f"{where}: no column {shown(name)} for '{key}'{near(name, names)}; it has {listed(names)}")
    if key == "enabled" and (value.dtype.kind == "b" or (value.dtype.kind == "U" and set(value) <= _SWITCH)):
        return np.char.equal(np.char.lower(value.astype(str)), "true").astype(float)
    return numeric_array(value, f"{where}: {name}", DatasetError)


def _chosen(robot: Robot, joints: Sequence[str], count: int, where: str) -> list[int]:
    """Columns in the order of the robot's joints."""
    names = [joint.name for joint in robot.coordinates]
    if joints and len(joints) != count:
        raise DatasetError(f"{where}: joints names {len(joints)} columns, there are {count}")
    if joints:
        missing = [name for name in names if name not in joints]
        if missing:
            raise DatasetError(f"{where}: no column of joint '{missing[0]}'; it has {listed(joints)}; lock the joint, "
                               "or name the columns (joints)")  # fmt: skip
        return [list(joints).index(name) for name in names]
    if count != len(names):
        raise DatasetError(f"{where}: {count} encoders for the {len(names)} joints of robot '{robot.name}' "
                           f"({listed(names)}); name the columns (joints), or lock the others")  # fmt: skip
    return list(range(count))
