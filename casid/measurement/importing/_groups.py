"""Columns of a file gathered to signals of all joints, and which of them are taken."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from casid.description import Robot
from casid.errors import DatasetError
from casid.files._words import listed, shown
from casid.measurement._columns import Columns
from casid.measurement.importing._names import Meaning, meaning

Array = NDArray[np.float64]
#: The last number of a label.
_NUMBER = re.compile(r"(\d+)(?=\D*$)")


@dataclass(frozen=True, eq=False)
class Group:
    """One signal of several joints.

    Attributes
    ----------
    meaning : Meaning
        What the names say, without the joint.
    names : str or tuple of (str or int)
        As `columns` of a recording's TOML takes them: an array, or the columns in the order of the joints.
    labels : tuple of str
        What the names say of the joints.
    values : ndarray, shape (N, k)
    ordered : bool
        Whether names or numbers of the joints give the order of the columns.
    """

    meaning: Meaning
    names: str | tuple[str | int, ...]
    labels: tuple[str, ...]
    values: Array
    ordered: bool = True

    def __str__(self) -> str:
        if isinstance(self.names, str):
            return self.names
        return f"{self.names[0]} ... {self.names[-1]}" if len(self.names) > 1 else str(self.names[0])


def signal_groups(table: Columns, robot: Robot) -> list[Group]:
    """Groups of columns that say of the same signal, each in the order of the robot's joints."""
    names = [name for name, _ in table.cells]
    gathered: dict[tuple[str, str, bool, str, str], list[tuple[str, int]]] = {}
    for k, (name, value) in enumerate(table.cells):
        if value.dtype.kind != "f":
            continue
        of_name = meaning(name)
        label = of_name.label
        prefix = _NUMBER.sub("", label) if _NUMBER.search(label) and _joint(label, robot) is None else ""
        gathered.setdefault((of_name.signal, of_name.role, of_name.motor, of_name.unit, prefix), []).append((label, k))
    found = []
    for (signal, role, motor, unit, _), members in gathered.items():
        order, ordered = _order([label for label, _ in members], robot)
        columns = [members[i][1] for i in order]
        called = tuple(names[k] if names.count(names[k]) == 1 else k + 1 for k in columns)
        values = np.column_stack([table.cells[k][1] for k in columns])
        labels = tuple(members[i][0] for i in order)
        found.append(Group(Meaning(signal, role, motor, "", unit), called, labels, values, ordered))
    for name, array in () if table.cells else table.arrays.items():
        if array.dtype.kind in "fiu" and array.ndim == 2:
            labels = table.joints.get(name, tuple(str(k) for k in range(array.shape[1])))
            found.append(Group(replace(meaning(name), label=""), name, labels, np.asarray(array, dtype=float)))
        elif array.dtype.kind in "fiu" and array.ndim == 1:
            found.append(Group(meaning(name), name, ("",), np.asarray(array, dtype=float)[:, None]))
    return found


def chosen_group(table: Columns, pattern: str, n: int, where: str) -> Group:
    """The columns that a user names: ``Strom_*`` (in the order of the file), ``2-7``, or names with bars between.

    Raises
    ------
    DatasetError
        If they are not as many as the robot's joints.
    """
    names = [name for name, _ in table.cells]
    span = re.fullmatch(r"(\d+)-(\d+)", pattern)
    if span:
        picked = [k for k in range(int(span[1]) - 1, int(span[2])) if 0 <= k < len(names)]
    elif "|" in pattern:
        picked = [names.index(part.strip()) for part in pattern.split("|") if part.strip() in names]
    else:
        picked = [
            k for k, name in enumerate(names) if fnmatchcase(name, pattern.replace("[", "[[]")) or name == pattern
        ]
    if not table.cells and pattern in table.arrays:
        array = np.asarray(table.arrays[pattern], dtype=float)
        return Group(replace(meaning(pattern), label=""), pattern, ("",) * n, array.reshape(len(array), -1))
    if len(picked) != n or any(table.cells[k][1].dtype.kind != "f" for k in picked):
        raise DatasetError(
            f"{where}: {shown(pattern)} names {len(picked)} columns of numbers, {n} are needed; there are "
            f"{listed(names or table.arrays)}"
        )
    each = [meaning(names[k]) for k in picked]
    unit = each[0].unit if len({one.unit for one in each}) == 1 else ""
    called = tuple(names[k] if names.count(names[k]) == 1 else k + 1 for k in picked)
    values = np.column_stack([table.cells[k][1] for k in picked])
    return Group(replace(each[0], label="", unit=unit), called, tuple(one.label for one in each), values)


def best(groups: Iterable[Group], signals: Sequence[str], n: int) -> list[Group]:
    """Groups of n columns that come first: measured before unsaid before commanded, the joint's before the motor's."""
    ranks: Mapping[str, int] = {"measured": 0, "": 1, "commanded": 2}

    def rank(group: Group) -> tuple[int, int, bool]:
        return ranks[group.meaning.role] // 2, signals.index(group.meaning.signal), group.meaning.motor

    fitting = [group for group in groups if group.meaning.signal in signals and group.values.shape[1] == n]
    first = min(map(rank, fitting), default=None)
    tied = [group for group in fitting if rank(group) == first]
    return [group for group in tied if group.meaning.role == "measured"] or tied


def _order(labels: Sequence[str], robot: Robot) -> tuple[list[int], bool]:
    """Indices of columns in the order of the robot's joints, and whether their labels give it."""
    joints = [_joint(label, robot) for label in labels]
    if None not in joints and len(set(joints)) == len(joints):
        return sorted(range(len(labels)), key=lambda k: joints[k] or 0), True
    numbers = [_NUMBER.search(label) for label in labels]
    if all(numbers) and len({one[1] for one in numbers if one}) == len(labels):
        values = [int(one[1]) for one in numbers if one]
        contiguous = sorted(values) in (list(range(len(labels))), list(range(1, len(labels) + 1)))
        return sorted(range(len(labels)), key=values.__getitem__), contiguous
    return list(range(len(labels))), len(labels) == 1


def _joint(label: str, robot: Robot) -> int | None:
    """Index of the joint that a label names: the same letters and digits, or one the end or beginning of the other."""
    plain = re.sub(r"[\W_]", "", label.lower())
    names = [re.sub(r"[\W_]", "", joint.name.lower()) for joint in robot.coordinates]
    exact = [k for k, name in enumerate(names) if name == plain]
    part = [
        k
        for k, name in enumerate(names)
        if len(plain) > 2 and (name.startswith(plain) or name.endswith(plain) or plain.endswith(name))
    ]
    fitting = exact or part
    return fitting[0] if len(fitting) == 1 else None
