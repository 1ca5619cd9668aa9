"""Columns of a file gathered to signals: by names alone (strict), and as candidates for a robot's joints."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

import numpy as np

from casid.arrays import Array
from casid.description import Robot
from casid.errors import DatasetError
from casid.files import listed, near, numeric_array, shown
from casid.measurement._defects import MOST_LOST
from casid.measurement._names import SYNONYMS, UNITS, Meaning, meaning, time_unit
from casid.measurement._text import Cells, TextLayout, clock_seconds

#: What `columns` may say of a signal: the name of an array, or the names or numbers (from 1) of its columns.
Names = Mapping[str, str | Sequence[str | int]]
#: What was found of a log: what, the guess, and why.
Evidence = tuple[tuple[str, str, str], ...]

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
    evidence: Evidence = ()

    @property
    def names(self) -> list[str]:
        """Names of the columns of a text table, or of the arrays."""
        return [name for name, _ in self.cells] or list(self.arrays)

    def gathered(self, where: str) -> Columns:
        """With the numeric columns of a text table gathered by signal: by numbers, then by joint names.

        Raises
        ------
        DatasetError
            If two columns have one name, or mean the same signal of the same joint.
        """
        numeric = tuple((name, value) for name, value in self.cells if value.dtype.kind == "f")
        if not numeric:
            return self
        arrays, joints, numbers = _gathered(numeric, where)
        return replace(self, arrays=arrays, joints=joints, numbers=numbers)

    def finite(self) -> Columns:
        """A text table without the rows in which a number is missing of a column that has nearly all."""
        numeric = [np.isfinite(value) for _, value in self.cells if value.dtype.kind == "f"]
        full = [one for one in numeric if one.mean() > 1.0 - MOST_LOST]
        rows = np.all(full, axis=0) if full else np.ones(1, dtype=bool)
        return self if rows.all() else replace(self, cells=tuple((name, value[rows]) for name, value in self.cells))


# ---------------------------------------------------------------------- by names alone


def _gathered(
    cells: Cells, where: str
) -> tuple[dict[str, Array], dict[str, tuple[str, ...]], dict[str, tuple[int, ...]]]:
    """Arrays, names of joints, and numbers of columns, by signal."""
    header, table = [name for name, _ in cells], np.column_stack([value for _, value in cells])
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
        arrays[label] = table[:, group[_NO_NUMBER] if order == [_NO_NUMBER] else [group[k] for k in order]]
        if _NO_NUMBER not in order:
            numbers[label] = tuple(order)
    joints: dict[str, tuple[str, ...]] = {}
    for signal in _BY_JOINT:
        if _present(arrays, signal) is None and (found := _by_joint(header, signal, where)):
            by_number = all(name.isascii() and name.isdigit() and len(name) < 7 for name in found)
            names = sorted(found, key=int) if by_number else list(found)
            arrays[signal] = table[:, [found[name] for name in names]]
            if by_number:
                numbers[signal] = tuple(map(int, names))
            else:
                joints[signal] = tuple(names)
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
    return arrays, joints, numbers


def _by_joint(header: Sequence[str], signal: str, where: str, known: Collection[str] = ()) -> dict[str, int]:
    """Column of each joint of a signal, for names such as ``q_shoulder`` and ``/states/shoulder/position``.

    Where a name can be read in several ways, as that of one of the ``known`` joints.
    """
    found: dict[str, int] = {}
    for column, word in enumerate(header):
        joint = _joint_of(word, signal, known)
        if joint in found:
            raise DatasetError(
                f"{where}: columns {shown(header[found[joint]])} and {shown(word)} both look like {signal} of joint "
                f"{shown(joint)}; leave one out of the file"
            )
        if joint is not None:
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
    if len(tokens) != 1:
        return None
    own = [w for w in SYNONYMS[signal] if word.lower().startswith(f"{w}_") and len(word) > len(w) + 1]
    longest = max(map(len, own), default=0)
    longer = [w for others in SYNONYMS.values() for w in others if len(w) > longest]
    if any(word.lower() == w or word.lower().startswith(f"{w}_") for w in longer):
        return None  # 'q_des_shoulder' is no joint 'des_shoulder'
    read = [word[len(w) + 1 :] for w in sorted(own, key=len, reverse=True)]
    read = [joint for joint in read if joint.lower() not in _NO_JOINT]
    return next((joint for joint in read if joint in known), read[0] if read else None)


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
        if key == "t" and "t" not in names:
            found[key] = value * UNITS["t"].get(time_unit(name), 1.0)
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
    for key, what in (("q", "joint positions"), ("tau", "torques"), ("q_des", "commanded positions")):
        if key in needed and key not in found:
            option = " or --tau NAME" if key == "tau" else ""
            raise DatasetError(
                f'{where}: no {what}: it has {listed(arrays)}; name the column: columns = {{ {key} = "NAME" '
                f"}} in a TOML for the recording{option}{''.join(f'; {note}' for note in columns.notes)}"
            )
    if "tau" in needed and found["tau"].shape != found["q"].shape:
        raise DatasetError(f"{where}: torques {found['tau'].shape} and positions {found['q'].shape} differ in shape")
    return found, joints


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
    """Which of several torque columns is used, where the user (``names``, by signal) named none."""
    used = _present(arrays, "tau")
    if "tau" in names or used is None:
        return ()
    alike = [name for name, values in arrays.items() if name != used and values.shape == arrays[used].shape]
    others = [name for name in alike if _TORQUE.search(name.lower())]
    words = f"{where}: torques are {shown(used)}; there are also {listed(others)} (--tau names another)"
    return (words,) if others else ()


def _present(arrays: Mapping[str, Array], signal: str) -> str | None:
    """Name of the array that holds a signal; exact words come before unusual ones."""
    folded = {name.lower(): name for name in reversed(list(arrays))}
    timed = (name for name in arrays if signal == "t" and time_unit(name))
    return next((folded[name] for name in SYNONYMS[signal] if name in folded), next(timed, None))


def _check_complete(numbers: Sequence[int], name: str, where: str) -> None:
    missing = [k for k in range(min(numbers[0], 1), numbers[-1]) if k not in numbers] if numbers else []
    if missing:
        raise DatasetError(f"{where}: it has {name}{numbers[-1]} but no {name}{missing[0]}")


# ---------------------------------------------------------------------- candidates for a robot's joints

#: No signal in any unit is larger: nanoseconds since 1970 are 2e18.
LARGEST = 1e20
#: A column stands still that moves by less than this part of another group's; a motor turns up to some 300 times more.
_STILL = 1e-3
#: The last number of a label.
_NUMBER = re.compile(r"(?<!\d)(\d+)(?=\D*$)")


@dataclass(frozen=True, eq=False)
class Group:
    """One signal of several joints.

    Attributes
    ----------
    meaning : Meaning
        What the names state, without the joint.
    names : str or tuple of (str or int)
        As `columns` of a recording's TOML takes them: an array, or the columns in the order of the joints.
    labels : tuple of str
        What the names state of the joints.
    values : ndarray, shape (N, k)
    ordered : bool
        Whether names or numbers of the joints give the order of the columns.
    """

    meaning: Meaning
    names: str | tuple[str | int, ...]
    labels: tuple[str, ...]
    values: Array
    ordered: bool = True

    @classmethod
    def of(
        cls, table: Columns, columns: Sequence[int], meaning: Meaning, labels: Sequence[str], ordered: bool
    ) -> Group:
        """Columns of a text table by their indices; those whose names are not unique by their numbers."""
        names = [name for name, _ in table.cells]
        called = tuple(names[k] if names.count(names[k]) == 1 else k + 1 for k in columns)
        return cls(meaning, called, tuple(labels), np.column_stack([table.cells[k][1] for k in columns]), ordered)

    @property
    def each(self) -> tuple[str | int, ...]:
        """Name of the array, or of each of its columns."""
        return (self.names,) if isinstance(self.names, str) else self.names

    def column(self, k: int) -> str:
        """Name of the column of a joint, or of the array."""
        return str(self.each[k if len(self.each) > 1 else 0])

    def check_measured(self, where: str) -> None:
        """DatasetError for a value that no sensor measures: a mark of a missing one, or a damaged file."""
        wild = np.argwhere(np.abs(self.values) > LARGEST)
        if len(wild):
            sample, column = wild[0]
            raise DatasetError(
                f"{where}: sample {sample + 1} of {self}, joint {column + 1}, is {self.values[sample, column]:g}, "
                "which no sensor measures; remove such lines, or name other columns"
            )

    def __str__(self) -> str:
        return f"{self.each[0]} ... {self.each[-1]}" if len(self.each) > 1 else str(self.each[0])


def signal_groups(table: Columns, robot: Robot) -> list[Group]:
    """Groups of columns that state the same signal, each in the order of the robot's joints."""
    joints = [joint.name for joint in robot.coordinates if meaning(joint.name).label != _letters(joint.name)]
    gathered: dict[tuple[str, str, bool, str, str], list[tuple[str, int]]] = {}
    for k, (name, value) in enumerate(table.cells):
        if value.dtype.kind != "f":
            continue
        of_name = _meaning_of(name, joints)
        label = of_name.label
        prefix = _NUMBER.sub("", label) if _NUMBER.search(label) and joint_of(label, robot) is None else ""
        key = (of_name.signal, of_name.role, of_name.motor, of_name.unit, prefix)
        gathered.setdefault(key, []).append((label, k))
    found = []
    for (signal, role, motor, unit, _), members in gathered.items():
        order, ordered = _order([label for label, _ in members], robot)
        labels, columns = zip(*(members[k] for k in order), strict=True)
        found.append(Group.of(table, columns, Meaning(signal, role, motor, "", unit), labels, ordered))
    for name, array in () if table.cells else table.arrays.items():
        if array.dtype.kind in "fiu" and array.ndim in (1, 2):
            values = np.asarray(array, dtype=float).reshape(len(array), -1)
            numbers = tuple(str(k) for k in range(values.shape[1])) if array.ndim == 2 else ("",)
            of_name = meaning(name) if array.ndim == 1 else replace(meaning(name), label="")
            found.append(Group(of_name, name, table.joints.get(name, numbers), values))
    return found


def _meaning_of(name: str, joints: Sequence[str]) -> Meaning:
    """What a name states, one of these joints' own names apart: ``wrist_angle_current`` is of 'wrist_angle'."""
    for joint in sorted(joints, key=len, reverse=True):
        match = re.search(rf"(?<![^\W_]){re.escape(joint)}(?![^\W_])", name, re.IGNORECASE)
        if match is not None:
            rest = meaning(" ".join((name[: match.start()], name[match.end() :])))
            if rest.signal or rest.role:
                return replace(rest, label=_letters(joint))
    return meaning(name)


def chosen_group(table: Columns, pattern: str, n: int, where: str) -> Group:
    """The columns that a user names: ``Strom_*`` (in the order of the file), ``2-7``, or names with bars between.

    Raises
    ------
    DatasetError
        If they are not as many as the robot's joints.
    """
    if not table.cells and pattern in table.arrays:
        array = np.asarray(table.arrays[pattern], dtype=float)
        return Group(replace(meaning(pattern), label=""), pattern, ("",) * n, array.reshape(len(array), -1))
    names = [name for name, _ in table.cells]
    span = re.fullmatch(r"(\d+)-(\d+)", pattern)
    if span:
        picked = [k for k in range(int(span[1]) - 1, int(span[2])) if 0 <= k < len(names)]
    elif "|" in pattern:
        picked = [names.index(part.strip()) for part in pattern.split("|") if part.strip() in names]
    else:
        plain = pattern.replace("[", "[[]")
        picked = [k for k, name in enumerate(names) if fnmatchcase(name, plain) or name == pattern]
    if len(picked) != n or any(table.cells[k][1].dtype.kind != "f" for k in picked):
        raise DatasetError(
            f"{where}: {shown(pattern)} names {len(picked)} columns of numbers, {n} are needed; there are "
            f"{listed(table.names)}"
        )
    each = [meaning(names[k]) for k in picked]
    unit = each[0].unit if len({one.unit for one in each}) == 1 else ""
    return Group.of(table, picked, replace(each[0], label="", unit=unit), [one.label for one in each], True)


def best(groups: Iterable[Group], signals: Sequence[str], n: int) -> list[Group]:
    """Groups of n columns that come first: measured before unsaid before commanded, the joint's before the motor's.

    A group with a column that stands still where another group's moves does not come before that one.
    """

    def rank(group: Group) -> tuple[bool, int, bool]:
        return group.meaning.role == "commanded", signals.index(group.meaning.signal), group.meaning.motor

    fitting = [group for group in groups if group.meaning.signal in signals and group.values.shape[1] == n]
    first = min(map(rank, fitting), default=None)
    tied = [group for group in fitting if rank(group) == first]
    found = [group for group in tied if group.meaning.role == "measured"] or tied
    rivals = [group for group in fitting if group not in found and group.meaning.role != "commanded"]
    return found + [group for group in rivals if len(found) == 1 and _moves_where_still(group, found[0])]


def _moves_where_still(group: Group, other: Group) -> bool:
    stroke, still = np.ptp(group.values, axis=0), np.ptp(other.values, axis=0)
    return group.meaning.signal == other.meaning.signal and bool(np.any(still < _STILL * stroke))


def _order(labels: Sequence[str], robot: Robot) -> tuple[list[int], bool]:
    """Indices of columns in the order of the robot's joints, and whether their labels give it.

    Columns of other joints (locked ones) are left out where every joint of the robot is named.
    """
    joints = [joint_of(label, robot) for label in labels]
    known = [k for k, joint in enumerate(joints) if joint is not None]
    if len({joints[k] for k in known}) == len(known) and len(known) in (len(labels), robot.n):
        return sorted(known, key=lambda k: joints[k] or 0), True
    values = [float(match[1]) for label in labels if (match := _NUMBER.search(label))]
    if len(set(values)) == len(labels):
        contiguous = sorted(values) in (list(range(len(labels))), list(range(1, len(labels) + 1)))
        return sorted(range(len(labels)), key=values.__getitem__), contiguous
    return list(range(len(labels))), len(labels) == 1


def joint_of(label: str, robot: Robot) -> int | None:
    """Index of the joint that a label names: the same letters and digits, or one the end or beginning of the other."""
    plain, names = _letters(label), [_letters(joint.name) for joint in robot.coordinates]
    exact = [k for k, name in enumerate(names) if name == plain]
    part = [
        k for k, name in enumerate(names)
        if len(plain) > 2 and (name.startswith(plain) or name.endswith(plain) or plain.endswith(name))
    ]  # fmt: skip
    fitting = exact or part
    return fitting[0] if len(fitting) == 1 else None


def _letters(name: str) -> str:
    """Letters and digits alone, lower-case."""
    return re.sub(r"[\W_]", "", name.lower())
