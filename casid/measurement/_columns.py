"""Which columns of a table are which signal of which joint, from the names that recorders give them; their units.

Understood are numbers (``q1 q_2 q[0] q(3)``), joint names (``q_shoulder``, ``shoulder.position``) and the paths that
PlotJuggler and ROS tools write (``/joint_states/shoulder/position``, ``/joint_states/effort[0]``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from casid.arrays import Array
from casid.errors import DatasetError
from casid.files import listed, near, numeric_array, shown
from casid.measurement._text import MOST_MISSING, Cells, TextLayout, clock_seconds

_DEG, _RPM = math.pi / 180.0, 2.0 * math.pi / 60.0
#: Signal -> unit -> factor to SI.
UNITS: Mapping[str, Mapping[str, float]] = {
    "t": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0},
    "q": {"rad": 1.0, "deg": _DEG, "mrad": 1e-3, "rev": 2 * math.pi, "m": 1.0, "mm": 1e-3},
    "dq": {"rad/s": 1.0, "deg/s": _DEG, "mrad/s": 1e-3, "rpm": _RPM, "rev/s": 2 * math.pi, "m/s": 1.0, "mm/s": 1e-3},
    "ddq": {"rad/s^2": 1.0, "deg/s^2": _DEG, "m/s^2": 1.0, "mm/s^2": 1e-3},
    "tau": {"N.m": 1.0, "mN.m": 1e-3, "kN.m": 1e3, "N": 1.0, "kN": 1e3},
}


def factors(units: object, signal: str, n: int, where: str) -> NDArray[np.float64]:
    """Factor to SI of each column of a signal, shape (n,).

    Parameters
    ----------
    units
        One unit for all columns, or one a column.
    signal
        ``t``, ``q``, ``dq``, ``ddq`` or ``tau``; others have the units of ``q``.
    n
        Number of columns.
    where
        Name of the file, for messages.

    Raises
    ------
    DatasetError
        If a unit is not known, or their number is not that of the columns.
    """
    known = UNITS.get(signal, UNITS["q"])
    given = [units] * n if isinstance(units, str) else list(units) if isinstance(units, Sequence) else [units]
    for unit in given:
        if unit not in known:
            raise DatasetError(f"{where}: unit of {signal} is {shown(unit)}; known are {listed(known)}")
    if len(given) != n:
        raise DatasetError(f"{where}: {len(given)} units of {signal} for {n} columns")
    return np.array([known[str(unit)] for unit in given])


#: What `columns` may say of a signal: the name of an array, or the names or numbers (from 1) of its columns.
Names = Mapping[str, str | Sequence[str | int]]

#: Signals of a recording, and the words under which they are looked for, in this order.
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "t": ("t", "time", "timestamp", "t_s", "time_s", "__time", "stamp", "seconds"),
    "q": (
        "q", "position", "positions", "pos", "qpos", "joint_position", "joint_positions", "dof_pos",
        "present_position", "actual_position", "measured_position", "observation.state",
    ),
    "dq": ("dq", "qd", "velocity", "velocities", "vel", "qvel", "joint_velocity", "joint_velocities", "dof_vel"),
    "ddq": ("ddq", "qdd", "acceleration", "accelerations", "acc", "qacc"),
    "q_des": (
        "q_des", "q_cmd", "q_goal", "q_target", "q_ref", "goal_position", "target_position", "commanded_position",
        "desired_position", "command", "commands", "action", "des_dof_pos",
    ),
    "tau": ("tau", "torque", "torques", "effort", "efforts", "tau_sensor", "tau_joint", "tau_j", "joint_torque"),
}  # fmt: skip
#: Time columns that name another unit -> factor to seconds.
SCALED_TIMES: Mapping[str, float] = {
    "t_ms": 1e-3, "time_ms": 1e-3, "timestamp_ms": 1e-3, "t_us": 1e-6, "time_us": 1e-6, "timestamp_us": 1e-6,
    "t_ns": 1e-9, "time_ns": 1e-9, "timestamp_ns": 1e-9,
}  # fmt: skip
#: Signals that have one column a joint.
_BY_JOINT = ("q", "dq", "ddq", "q_des", "tau")
#: Words that stand in the place of a joint's name and are none: ``torque_enable`` is no torque.
_NO_JOINT = ("enable", "enabled", "limit", "error", "mode", "status")
#: What separates the parts of a path.
_SEPARATORS = re.compile(r"[/.:\[\]()\s]+")
#: What the name of an array of torques or currents has in it.
_TORQUE = re.compile(r"(?<![a-z])(tau|torques?|efforts?|currents?)(?![a-z])")
#: Stands for the number of a column that has none.
_NO_NUMBER = -1


@dataclass(frozen=True, eq=False)
class Columns:
    """Signals of a file by name.

    Attributes
    ----------
    arrays : mapping of str to ndarray
        Rows are samples.
    joints : mapping of str to tuple of str
        Names of the joints of an array's columns, where the file has them.
    numbers : mapping of str to tuple of int
        Numbers of an array's columns, where the file has them.
    cells : tuple of (str, ndarray)
        Name and content of every column of a text table, text left as text.
    notes : tuple of str
        What was left out of the file.
    layout : TextLayout, optional
        Of a text table.
    evidence : tuple of (str, str, str)
        What was found about the layout, the guess, and why.
    """

    arrays: Mapping[str, Array]
    joints: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    numbers: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    cells: Cells = ()
    notes: tuple[str, ...] = ()
    layout: TextLayout | None = None
    evidence: tuple[tuple[str, str, str], ...] = ()

    def gathered(self, where: str) -> Columns:
        """With the numeric columns of a text table gathered by signal.

        Raises
        ------
        DatasetError
            As `group_columns`.
        """
        numeric = [(name, value) for name, value in self.cells if value.dtype.kind == "f"]
        if not numeric:
            return self
        made = group_columns([name for name, _ in numeric], np.column_stack([value for _, value in numeric]), where)
        return replace(self, arrays=made.arrays, joints=made.joints, numbers=made.numbers)

    def finite(self) -> Columns:
        """A text table without the rows in which a number is missing of a column that has nearly all."""
        numeric = [np.isfinite(value) for _, value in self.cells if value.dtype.kind == "f"]
        full = [one for one in numeric if one.mean() > 1.0 - MOST_MISSING]
        rows = np.all(full, axis=0) if full else np.ones(1, dtype=bool)
        return self if rows.all() else replace(self, cells=tuple((name, value[rows]) for name, value in self.cells))


def group_columns(header: Sequence[str], table: Array, where: str) -> Columns:
    """Columns of a table as one array a signal: by their numbers, and where that finds no signal, by joint names.

    Raises
    ------
    DatasetError
        If two columns have one name, or mean the same signal of the same joint.
    """
    groups: dict[str, dict[int, int]] = {}
    for column, word in enumerate(header):
        label, number = _numbered(word)
        group = groups.setdefault(label, {})
        if number in group:
            raise DatasetError(f"{where}: columns {shown(header[group[number]])} and {shown(word)} mean the same")
        group[number] = column
    arrays: dict[str, Array] = {}
    numbers: dict[str, tuple[int, ...]] = {}
    for label, group in groups.items():
        order = sorted(group)
        single = order == [_NO_NUMBER]
        arrays[label] = table[:, group[_NO_NUMBER]] if single else table[:, [group[number] for number in order]]
        if _NO_NUMBER not in order:
            numbers[label] = tuple(order)
    joints: dict[str, tuple[str, ...]] = {}
    for signal in _BY_JOINT:
        if _present(arrays, signal) is None and (found := _by_joint(header, signal, where)):
            arrays[signal] = table[:, list(found.values())]
            if all(name.isascii() and name.isdigit() and len(name) < 7 for name in found):
                names = sorted(found, key=int)
                arrays[signal], numbers[signal] = table[:, [found[name] for name in names]], tuple(map(int, names))
            else:
                joints[signal] = tuple(found)
    for signal in _BY_JOINT if joints else ():  # 'tau_joint1', 'tau_joint_a': joints 'joint1', 'joint_a' as others are
        name = _present(arrays, signal)
        if name is None or not (name in numbers or name in joints):
            continue
        for known in {frozenset(of) for other, of in joints.items() if other != name}:
            found = _by_joint(header, signal, where, known)
            if set(found) == known:
                arrays[name], joints[name] = table[:, list(found.values())], tuple(found)
                numbers.pop(name, None)
                break
    return Columns(arrays, joints, numbers)


def _by_joint(header: Sequence[str], signal: str, where: str, known: Collection[str] = ()) -> dict[str, int]:
    """Column of each joint of a signal, for names such as ``q_shoulder`` and ``/states/shoulder/position``.

    Where a name can be read in several ways, as that of one of the ``known`` joints.
    """
    found: dict[str, int] = {}
    for column, word in enumerate(header):
        joint = _joint_of(word, signal, known)
        if joint is None:
            continue
        if joint in found:
            raise DatasetError(
                f"{where}: columns {shown(header[found[joint]])} and {shown(word)} both look like {signal} of joint "
                f"{shown(joint)}; leave one out of the file"
            )
        found[joint] = column
    return found


def _numbered(word: str) -> tuple[str, int]:
    """``q_1, q[1], q(1) -> q, 1``; the word itself where it has no number."""
    inner = word[:-1] if word[-1:] in ("]", ")") else word
    label = inner.rstrip("0123456789")
    number, label = inner[len(label) :], label.rstrip("_[(")
    return (label, int(number)) if label and 0 < len(number) < 7 else (word, _NO_NUMBER)


def _joint_of(word: str, signal: str, known: Collection[str] = ()) -> str | None:
    """Name or number of the joint whose ``signal`` a column holds; None for other columns; see `_by_joint`."""
    tokens = [token for token in _SEPARATORS.split(word) if token]
    if signal in ("q", "q_des") and len(tokens) > 2 and any(token.lower() in SYNONYMS["q_des"] for token in tokens):
        if signal == "q":
            return None  # 'action.shoulder.pos' is a command
        tokens = [token for token in tokens if token.lower() not in SYNONYMS["q"]]
    for k in reversed(range(len(tokens)) if len(tokens) > 1 else ()):
        if tokens[k].lower() in SYNONYMS[signal]:
            return (tokens[k + 1 :] or tokens[:k])[-1]
    if len(tokens) == 1:
        own = max((len(w) for w in SYNONYMS[signal] if word.lower().startswith(f"{w}_")), default=0)
        longer = [w for others in SYNONYMS.values() for w in others if len(w) > own]
        if any(word.lower() == w or word.lower().startswith(f"{w}_") for w in longer):
            return None  # 'q_des_shoulder' is no joint 'des_shoulder'
        read = [word[len(synonym) + 1 :] for synonym in sorted(SYNONYMS[signal], key=len, reverse=True)
                if word.lower().startswith(f"{synonym}_") and len(word) > len(synonym) + 1]  # fmt: skip
        read = [joint for joint in read if joint.lower() not in _NO_JOINT]
        return next((joint for joint in read if joint in known), read[0] if read else None)
    return None


def choose_signals(
    columns: Columns, names: Names, where: str, needed: Sequence[str] = ("q", "tau")
) -> tuple[dict[str, Array], tuple[str, ...]]:
    """Arrays t (where there is one), q, dq, ddq, q_des, tau of a file, and the names of its joints.

    Parameters
    ----------
    names
        Names of arrays that the user gives, by signal; a list names the column of each joint.

    Raises
    ------
    DatasetError
        If an array is missing or misspelt, holds other than real numbers, or arrays name different joints.
    """
    arrays = columns.arrays
    for key in names:
        if key not in SYNONYMS:
            raise DatasetError(
                f"{where}: columns may name {listed(SYNONYMS)}, not {shown(key)}{near(str(key), SYNONYMS)}"
            )
    found: dict[str, Array] = {}
    joints: tuple[str, ...] = ()
    counted = ""
    for key in SYNONYMS:
        name = names.get(key) or _present(arrays, key)
        if name is None:
            continue
        if not isinstance(name, str) or (key == "t" and name not in arrays and columns.cells):
            found[key] = _listed_columns(columns, [name] if isinstance(name, str) else name, key, where)
            continue
        if name not in arrays:
            raise DatasetError(f"{where}: no column {shown(name)}{near(str(name), arrays)}; it has {listed(arrays)}")
        _check_complete(columns.numbers.get(name, ()), name, where)
        value = numeric_array(arrays[name], f"{where}: {name}", DatasetError)
        found[key] = value[:, None] if value.ndim == 1 and key != "t" else value
        theirs = columns.joints.get(name, ())
        if joints and theirs and set(joints) != set(theirs):
            raise DatasetError(f"{where}: {name} is of joints {listed(theirs)}, others are of {listed(joints)}")
        if joints and theirs:
            found[key] = found[key][:, [theirs.index(joint) for joint in joints]]
        joints = joints or theirs
        counted = counted or (name if name in columns.numbers else "")
        if joints and counted and key == "tau":
            raise DatasetError(
                f"{where}: some signals are of joints {listed(joints)}, '{counted}' is numbered: name all columns "
                "alike, by joint or by number"
            )
    _check_needed(found, needed, columns, where)
    if "t" in found and names.get("t") is None:
        found["t"] = found["t"] * SCALED_TIMES.get(str(_present(arrays, "t")).lower(), 1.0)
    if "tau" in needed and found["tau"].shape != found["q"].shape:
        raise DatasetError(f"{where}: torques {found['tau'].shape} and positions {found['q'].shape} differ in shape")
    return found, joints


def _check_needed(found: Mapping[str, Array], needed: Sequence[str], columns: Columns, where: str) -> None:
    """Refuse a file without a signal that is needed."""
    meanings = {"q": "joint positions", "tau": "torques", "q_des": "commanded positions"}
    for key, meaning in meanings.items():
        if key in needed and key not in found:
            option = " or --tau NAME" if key == "tau" else ""
            raise DatasetError(
                f'{where}: no {meaning}: it has {listed(columns.arrays)}; name the column: columns = {{ {key} = "NAME" '
                f"}} in a TOML for the recording{option}{''.join(f'; {note}' for note in columns.notes)}"
            )


def _listed_columns(columns: Columns, names: Sequence[str | int], key: str, where: str) -> Array:
    """The columns of a table that a list names, one beside the other; a column of times alone."""
    cells = columns.cells or tuple((name, value) for name, value in columns.arrays.items() if value.ndim == 1)
    known = [name for name, _ in cells]
    found = []
    for name in names:
        if isinstance(name, str) and known.count(name) != 1:
            raise DatasetError(
                f"{where}: {known.count(name) or 'no'} column{'s' * (name in known)} {shown(name)}"
                f"{'; give its number from 1 instead' if name in known else near(name, known)}; it has {listed(known)}"
            )
        if not isinstance(name, str) and not 0 < name <= len(cells):
            raise DatasetError(f"{where}: there is no column {name}; columns are 1 to {len(cells)}")
        label, value = cells[known.index(name) if isinstance(name, str) else name - 1]
        if key == "t" and value.dtype.kind == "U":
            value = clock_seconds(value, f"{where}: column {shown(label)}")
        found.append(numeric_array(value, f"{where}: column {shown(label)}", DatasetError))
    return found[0] if key == "t" else np.column_stack(found)


def torque_notes(arrays: Mapping[str, Array], names: Names, where: str) -> tuple[str, ...]:
    """Which of several torque columns is used, where the user named none.

    Parameters
    ----------
    names
        Names of arrays that the user gives, by signal.
    """
    used = _present(arrays, "tau")
    if "tau" in names or used is None:
        return ()
    alike = [name for name, values in arrays.items() if name != used and values.shape == arrays[used].shape]
    others = [name for name in alike if _TORQUE.search(name.lower())]
    if not others:
        return ()
    return (f"{where}: torques are {shown(used)}; there are also {listed(others)} (--tau names another)",)


def _present(arrays: Mapping[str, Array], signal: str) -> str | None:
    """Name of the array that holds a signal; exact words come before unusual ones."""
    candidates = (*SYNONYMS[signal], *(SCALED_TIMES if signal == "t" else ()))
    folded = {name.lower(): name for name in reversed(list(arrays))}
    return next((folded[name] for name in candidates if name in folded), None)


def _check_complete(numbers: Sequence[int], name: str, where: str) -> None:
    if not numbers:
        return
    missing = [k for k in range(min(numbers[0], 1), numbers[-1]) if k not in numbers]
    if missing:
        raise DatasetError(f"{where}: it has {name}{numbers[-1]} but no {name}{missing[0]}")
