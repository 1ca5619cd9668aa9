"""Columns of a file gathered to signals: by their names alone (strict), or for a robot's joints, and which are which.

One mechanism decides what a column is: `signal_groups`. Of its groups the strict reader, `choose_signals`, takes those
that casid's own words state, and refuses what is left open; `casid.measurement.propose` weighs all of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

import numpy as np

from casid.arrays import Array
from casid.description import Robot
from casid.errors import DatasetError
from casid.files import listed, near, numeric_array, shown
from casid.measurement._defects import MOST_LOST
from casid.measurement._names import SYNONYMS, UNITS, Meaning, meaning, numbered, readings
from casid.measurement._text import Cells, TextLayout, clock_seconds

#: What `columns` may say of a signal: the name of an array, or the names or numbers (from 1) of its columns.
Names = Mapping[str, str | Sequence[str | int]]
#: What was found of a log: what, the guess, and why.
Evidence = tuple[tuple[str, str, str], ...]

#: No signal in any unit is larger: nanoseconds since 1970 are 2e18.
LARGEST = 1e20
#: A column stands still that moves by less than this part of another group's; a motor turns up to some 300 times more.
_STILL = 1e-3
#: The last number of a label.
_NUMBER = re.compile(r"(?<!\d)(\d+)(?=\D*$)")


@dataclass(frozen=True, eq=False)
class Columns:
    """Signals of a file by name.

    Attributes
    ----------
    arrays : mapping of str to ndarray
        Rows are samples.
    joints : mapping of str to tuple of str
        Names of the joints of an array's columns, where the file has them.
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
    cells: Cells = ()
    notes: tuple[str, ...] = ()
    layout: TextLayout | None = None
    evidence: Evidence = ()

    @property
    def names(self) -> list[str]:
        """Names of the columns of a text table, or of the arrays."""
        return [name for name, _ in self.cells] or list(self.arrays)

    @property
    def stems(self) -> list[str]:
        """These names, each without a number after it."""
        return list(dict.fromkeys(numbered(name)[0] if self.cells else name for name in self.names))

    @property
    def single(self) -> Cells:
        """Name and content of every single column."""
        return self.cells or tuple((name, value) for name, value in self.arrays.items() if value.ndim == 1)

    def numbered(self, name: str) -> list[int]:
        """Indices of the columns of a text table that this name and a number call, in the order of the numbers."""
        found = {number: k for k, (of, number) in enumerate(map(numbered, self.names)) if of == name and number}
        return [found[number] for number in sorted(found, key=int)] if self.cells else []

    def array(self, name: str) -> Array | None:
        """The array or column of a name, or else its numbered columns; ``None`` where there is none."""
        if name in self.names:
            return {**self.arrays, **dict(self.cells)}[name]
        found = self.numbered(name)
        return np.column_stack([self.cells[k][1] for k in found]) if found else None

    def finite(self) -> Columns:
        """A text table without the rows in which a number is missing of a column that has nearly all."""
        numeric = [np.isfinite(value) for _, value in self.cells if value.dtype.kind == "f"]
        full = [one for one in numeric if one.mean() > 1.0 - MOST_LOST]
        rows = np.all(full, axis=0) if full else np.ones(1, dtype=bool)
        return self if rows.all() else replace(self, cells=tuple((name, value[rows]) for name, value in self.cells))


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
        names = [name for name, _ in table.single]
        called = tuple(names[k] if names.count(names[k]) == 1 else k + 1 for k in columns)
        return cls(meaning, called, tuple(labels), np.column_stack([table.single[k][1] for k in columns]), ordered)

    @classmethod
    def of_array(cls, table: Columns, name: str) -> Group:
        """An array of the file."""
        array = table.arrays[name]
        numbers = tuple(map(str, range(array.shape[1]))) if array.ndim == 2 else ("",)
        found = _meaning_of(name) if all(not one.label for one in readings(name)) else meaning(name)
        found = found if array.ndim == 1 else replace(found, label="")
        return cls(found, name, table.joints.get(name, numbers), array[:, None] if array.ndim == 1 else array)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of the joints where the names of columns state nothing else of them."""
        plain = not isinstance(self.names, str) and all(re.fullmatch("[0-9]{1,6}", label) for label in self.labels)
        return tuple(map(int, self.labels)) if plain else ()

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints where the columns have them."""
        return self.labels if all(label and not label.isdigit() for label in self.labels) else ()

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


def signal_groups(table: Columns, robot: Robot | None = None) -> list[Group]:
    """Groups of columns that state the same signal, each in the order of the robot's joints, or of their numbers.

    Without a robot every text may be a joint's name.
    """
    named = [(k, name) for k, (name, value) in enumerate(table.cells) if value.dtype.kind == "f"]
    signals = Counter(label for _, name in named for label in {one.label for one in readings(name)})
    joints = {label for label, count in signals.items() if count > 1 and robot is None}
    gathered: dict[tuple[Meaning, str], list[tuple[str, int]]] = {}
    for k, name in named:
        of_name = _meaning_of(name, robot, joints)
        label = of_name.label
        if of_name.word:
            prefix = "by name" if label and not label.isdigit() else ""
        else:
            prefix = _NUMBER.sub("", label) if _NUMBER.search(label) and joint_of(label, robot) is None else ""
        gathered.setdefault((replace(of_name, label=""), prefix), []).append((label, k))
    found = []
    for (of_group, _), members in gathered.items():
        order, ordered = _order([label for label, _ in members], robot)
        labels, columns = zip(*(members[k] for k in order), strict=True)
        found.append(Group.of(table, columns, of_group, labels, ordered))
    return found or [Group.of_array(table, name) for name in table.arrays]


def _meaning_of(name: str, robot: Robot | None = None, joints: Collection[str] = ()) -> Meaning:
    """What a name states, a joint's own name apart: ``wrist_angle_current`` is of 'wrist_angle'.

    Where it can be read in several ways, as of one of the robot's joints, or of ``joints`` where that is not known.
    """
    stated = readings(name)
    fitting = [one for one in stated if one.label in joints or joint_of(one.label, robot) is not None]
    plain = [one for one in stated if robot is None or not one.label or one.label.isdigit()]
    for one in (*fitting, *plain)[:1]:
        before, _, after = name.rpartition(one.label) if one.label else (name, "", "")
        rest = meaning(f"{before} {after}".strip())
        role = "commanded" if one.signal == "q_des" else rest.role
        return replace(rest, signal=one.signal.removesuffix("_des"), role=role, label=one.label, word=one.word)
    known = [] if robot is None else [joint.name for joint in robot.coordinates]
    for joint in sorted(known, key=len, reverse=True):
        match = re.search(rf"(?<![^\W_]){re.escape(joint)}(?![^\W_])", name, re.IGNORECASE)
        if match is not None and meaning(joint).label != _letters(joint):
            rest = meaning(" ".join((name[: match.start()], name[match.end() :])))
            if rest.signal or rest.role:
                return replace(rest, label=_letters(joint))
    return meaning(name)


def chosen_group(table: Columns, given: str | Sequence[str | int], where: str, n: int | None = None) -> Group:
    """The array or the columns that a user names, one by one in a list, or in one text.

    A text names an array, numbered columns without their numbers, or columns as ``Strom_*`` (in the order of the file),
    ``2-7``, or their names with bars between.

    Raises
    ------
    DatasetError
        If they are not there, or not as many as the robot's joints (``n``).
    """
    if isinstance(given, str) and given in table.arrays:
        return Group.of_array(table, given)
    names = [name for name, _ in table.single]
    labels: list[str] = []
    if not isinstance(given, str):
        picked = [_index(names, name, where) for name in given]
    elif span := re.fullmatch(r"(\d+)-(\d+)", given):
        picked = [k for k in range(int(span[1]) - 1, int(span[2])) if 0 <= k < len(names)]
    elif names.count(given) == 1:
        picked = [names.index(given)]
    elif picked := table.numbered(given):
        labels = [numbered(names[k])[1] for k in picked]
    elif "|" in given:
        picked = [names.index(part.strip()) for part in given.split("|") if part.strip() in names]
    else:
        plain = given.replace("[", "[[]")
        picked = [k for k, name in enumerate(names) if fnmatchcase(name, plain)]
    if n is not None and (len(picked) != n or any(table.single[k][1].dtype.kind != "f" for k in picked)):
        raise DatasetError(
            f"{where}: {shown(given)} names {len(picked)} columns of numbers, {n} are needed; there are "
            f"{listed(table.names)}"
        )
    if not picked:
        known = dict.fromkeys([*table.stems, *table.names])
        raise DatasetError(f"{where}: no column {shown(given)}{near(str(given), known)}; it has {listed(table.stems)}")
    each = [meaning(names[k]) for k in picked]
    unit = each[0].unit if len({one.unit for one in each}) == 1 else ""
    return Group.of(table, picked, replace(each[0], label="", unit=unit), labels, True)


def _index(names: Sequence[str], name: str | int, where: str) -> int:
    """Index of the column of a name or number."""
    if not isinstance(name, str) and 0 < name <= len(names):
        return name - 1
    if isinstance(name, str) and names.count(name) == 1:
        return names.index(name)
    if name in names:
        raise DatasetError(f"{where}: {names.count(str(name))} columns {shown(name)}; give its number from 1 instead")
    known = listed(names) if isinstance(name, str) else f"columns 1 to {len(names)}"
    raise DatasetError(f"{where}: no column {shown(name)}{near(str(name), names)}; it has {known}")


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


def _order(labels: Sequence[str], robot: Robot | None) -> tuple[list[int], bool]:
    """Indices of columns in the order of the robot's joints, and whether their labels give it.

    Columns of other joints (locked ones) are left out where every joint of the robot is named.
    """
    joints = [joint_of(label, robot) for label in labels]
    known = [k for k, joint in enumerate(joints) if joint is not None]
    if robot and len({joints[k] for k in known}) == len(known) and len(known) in (len(labels), robot.n):
        return sorted(known, key=lambda k: joints[k] or 0), True
    counted = labels if robot or all(map(str.isdigit, labels)) else ()
    values = [float(match[1]) for label in counted if (match := _NUMBER.search(label))]
    if len(set(values)) == len(labels):
        contiguous = sorted(values) in (list(range(len(labels))), list(range(1, len(labels) + 1)))
        return sorted(range(len(labels)), key=values.__getitem__), contiguous
    return list(range(len(labels))), len(labels) == 1


def joint_of(label: str, robot: Robot | None) -> int | None:
    """Index of the joint that a label names: the same letters and digits, or one the end or beginning of the other."""
    plain, names = _letters(label), [_letters(joint.name) for joint in robot.coordinates] if robot else []
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


# ---------------------------------------------------------------------- by casid's own words alone


def choose_signals(
    table: Columns, names: Names, where: str, needed: Sequence[str] = ("q", "tau")
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
    for key in names:
        if key not in SYNONYMS:
            raise DatasetError(
                f"{where}: columns may name {listed(SYNONYMS)}, not {shown(key)}{near(str(key), SYNONYMS)}"
            )
    listed_all = table.cells and not any(isinstance(names.get(key, ""), str) for key in ("q", "tau"))
    groups = [] if listed_all else signal_groups(table)
    found: dict[str, Array] = {}
    named: tuple[str, ...] = ()
    for key in SYNONYMS:
        group = chosen_group(table, names[key], where) if names.get(key) else _stated(groups, key, where)
        if group is None:
            continue
        _check_complete(group, key, where)
        if key == "t" and group.values.dtype.kind == "U":
            found[key] = clock_seconds(np.ravel(group.values), f"{where}: column {shown(str(group))}")
            continue
        found[key] = numeric_array(group.values, f"{where}: {group}", DatasetError)
        if key == "t" and "t" not in names:
            found[key] = found[key] * UNITS["t"].get(group.meaning.unit, 1.0)
        labels = group.joints or tuple(map(str, group.numbers))
        if named and labels and (group.joints or not named[0].isdigit()) and set(labels) != set(named):
            raise DatasetError(
                f"{where}: {key} is of joints {listed(labels)}, others are of {listed(named)}: name all columns alike"
            )
        if group.joints and named:
            found[key] = found[key][:, [labels.index(joint) for joint in named]]
        named = named or labels
    for key, what in (("q", "joint positions"), ("tau", "torques"), ("q_des", "commanded positions")):
        if key in needed and key not in found:
            raise DatasetError(
                f'{where}: no {what}: it has {listed(table.stems)}; name the column: columns = {{ {key} = "NAME" '
                f"}} in a TOML for the recording{''.join(f'; {note}' for note in table.notes)}"
            )
    if "tau" in needed and found["tau"].shape != found["q"].shape:
        raise DatasetError(f"{where}: torques {found['tau'].shape} and positions {found['q'].shape} differ in shape")
    return found, () if named and named[0].isdigit() else named


def torque_columns(table: Columns) -> list[Group]:
    """Groups of columns that mean measured torques, under whatever names."""
    return [g for g in signal_groups(table) if g.meaning.signal == "tau" and g.meaning.role != "commanded"]


def _stated(groups: Sequence[Group], signal: str, where: str) -> Group | None:
    """The group that casid's own words state for a signal: by number before by joint, words in the order of the list.

    Raises
    ------
    DatasetError
        If there are two.
    """
    words = SYNONYMS[signal]
    commanded = signal == "q_des"

    def rank(group: Group) -> tuple[bool, bool, int]:
        return bool(group.joints), bool(group.meaning.unit), words.index(group.meaning.word)

    fitting = [group for group in groups if group.meaning.word in words and not group.meaning.motor]
    fitting = [group for group in fitting if (group.meaning.role == "commanded") is commanded]
    first = min(map(rank, fitting), default=None)
    tied = [group for group in fitting if rank(group) == first]
    if len(tied) > 1:
        raise DatasetError(
            f"{where}: which is {signal}: {' or '.join(map(str, tied))}? Name the columns in a TOML for the recording"
        )
    return tied[0] if tied else None


def _check_complete(group: Group, signal: str, where: str) -> None:
    """DatasetError for two columns of one joint, and for a number that is missing."""
    alike = [k for k, label in enumerate(group.labels) if label and group.labels.count(label) > 1]
    if alike:
        raise DatasetError(
            f"{where}: columns {listed([group.column(k) for k in alike])} all look like {signal} of joint "
            f"{shown(group.labels[alike[0]])}; leave one out of the file"
        )
    numbers = group.numbers
    missing = [k for k in range(min(numbers[0], 1), numbers[-1]) if k not in numbers] if numbers else []
    if missing:
        name = group.meaning.word or signal
        raise DatasetError(f"{where}: it has {name}{numbers[-1]} but no {name}{missing[0]}")


def torque_notes(table: Columns, names: Names, where: str) -> tuple[str, ...]:
    """Which of several torque columns is used, where the user (``names``, by signal) named none."""
    if "tau" in names:
        return ()
    groups = signal_groups(table)
    used = _stated(groups, "tau", where)
    alike = [group for group in groups if group.meaning.signal in ("tau", "current") and group is not used]
    others = [_stem(group) for group in alike if used and group.values.shape == used.values.shape]
    if not used or not others:
        return ()
    return (f"{where}: torques are '{_stem(used)}', not {listed(others)} (columns = {{ tau = ... }} names another)",)


def _stem(group: Group) -> str:
    """Its name, or that of its columns without numbers."""
    stems = {numbered(str(name))[0] for name in group.each}
    return stems.pop() if len(stems) == 1 and len(group.each) > 1 else str(group)
