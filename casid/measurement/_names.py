"""What the names of columns say in the words of controllers' logs; columns gathered to signals of all joints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np

from casid.arrays import Array
from casid.description import Robot
from casid.errors import DatasetError
from casid.files import listed, shown
from casid.measurement._columns import Columns

#: No signal in any unit is larger.
LARGEST = 1e20
#: Units as files write them -> signal, unit of `casid.measurement._columns` (empty: no SI unit of a torque).
_UNITS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("deg", "°", "º", "grad", "degree", "degrees"), ("q", "deg")),
    **dict.fromkeys(("rad", "radian", "radians"), ("q", "rad")),
    **{"mrad": ("q", "mrad"), "rev": ("q", "rev"), "turns": ("q", "rev"), "mm": ("q", "mm")},
    **dict.fromkeys(("deg/s", "°/s", "º/s", "grad/s", "deg/sec", "dps"), ("dq", "deg/s")),
    **dict.fromkeys(("rad/s", "rad/sec", "rads"), ("dq", "rad/s")),
    **dict.fromkeys(("rpm", "1/min", "u/min", "min-1", "min^-1", "tr/min"), ("dq", "rpm")),
    **{"mrad/s": ("dq", "mrad/s"), "rev/s": ("dq", "rev/s"), "mm/s": ("dq", "mm/s"), "m/s": ("dq", "m/s")},
    **dict.fromkeys(("rad/s^2", "rad/s2", "rad/s²", "rad/s/s"), ("ddq", "rad/s^2")),
    **dict.fromkeys(("deg/s^2", "deg/s2", "°/s²", "°/s^2", "°/s2"), ("ddq", "deg/s^2")),
    **dict.fromkeys(("nm", "n.m", "n·m", "n*m", "n-m", "n⋅m"), ("tau", "N.m")),
    **dict.fromkeys(("mnm", "mn.m", "mn·m"), ("tau", "mN.m")),
    **dict.fromkeys(("knm", "kn.m"), ("tau", "kN.m")),
    **dict.fromkeys(("a", "arms", "amp", "amps", "ampere"), ("current", "A")),
    **{"ma": ("current", "mA"), "%": ("share", "%"), "‰": ("share", "‰"), "v": ("other", "V"), "k": ("other", "K")},
    **dict.fromkeys(("°c", "degc", "celsius"), ("other", "°C")),
    **dict.fromkeys(("s", "sec", "secs", "seconds", "sek"), ("t", "s")),
    **dict.fromkeys(("ms", "msec", "milliseconds"), ("t", "ms")),
    **dict.fromkeys(("us", "µs", "μs", "usec", "microseconds"), ("t", "us")),
    **dict.fromkeys(("ns", "nsec", "nanoseconds"), ("t", "ns")),
}  # fmt: skip
#: Units that a name may end with, after an underscore.
_SUFFIXES = {"deg", "degrees", "rad", "nm", "ms", "us", "ns", "rpm", "ma", "dps", "sec", "rads", "mm"}
#: Words of each signal: whole ones, and parts of a longer one.
_WHOLE: Mapping[str, frozenset[str]] = {
    "t": frozenset({"t", "ts", "sec", "seconds", "stamp", "clock"}),
    "ddq": frozenset({"ddq", "qdd", "qddot", "acc"}),
    "dq": frozenset({"dq", "qd", "qdot", "vel", "omega", "dtheta", "w"}),
    "tau": frozenset({"tau", "tq", "mom", "trq", "tor"}),
    "current": frozenset({"i", "cur", "iq", "curr"}),
    "q": frozenset({"q", "th", "theta", "phi", "pos", "lage", "joints", "qpos"}),
}
_PARTS: Mapping[str, tuple[str, ...]] = {
    "t": ("time", "zeit", "stamp", "uhr", "temps", "tempo"),
    "ddq": ("accel", "beschl"),
    "dq": ("veloc", "geschw", "speed", "drehzahl", "vitesse"),
    "tau": ("torq", "moment", "effort", "coppia", "couple"),
    "current": ("strom", "current", "corrent", "courant"),
    "q": ("posit", "winkel", "angle", "stellung", "angolo", "posiz"),
}
_COMMANDED = frozenset({
    "soll", "sollwert", "des", "desired", "d", "cmd", "command", "commanded", "ref", "reference", "target", "goal",
    "set", "setpoint", "demand", "action", "consigne", "nominal", "plan", "planned", "ipo",
    "model",
})  # fmt: skip
_MEASURED = frozenset({
    "ist", "istwert", "act", "actual", "mes", "meas", "measured", "msr", "real", "feedback", "fb", "fbk", "is",
    "observation", "sensor", "present",
})  # fmt: skip
_OTHER = (
    "temper", "force", "kraft", "tcp", "cart", "error", "fehler", "abweich", "delta", "diff", "ext", "gripper", "volt",
    "spannung", "status", "enabl", "fault", "valid", "filter", "override", "limit", "brems", "brake", "frict", "reib",
    "gravit",
)  # fmt: skip
_COUNTERS = frozenset(
    {"index", "idx", "sample", "samples", "nr", "no", "row", "counter", "seq", "cycle", "zyklus", "frame"}
)
_MOTOR = frozenset({"motor", "mot", "rotor"})
_WORD = re.compile(r"[^\W\d_]+|\d+")
_CAMEL = re.compile(r"(?<=[a-zäöüß])(?=[A-ZÄÖÜ])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True)
class Meaning:
    """What a name says.

    Attributes
    ----------
    signal : str
        ``t q dq ddq tau current share counter other``, or empty: nothing.
    role : str
        ``measured``, ``commanded``, or empty where the name does not say it.
    motor : bool
        Whether it is the motor's side.
    label : str
        What is left: the joint's name or letter and, at the end, its number.
    unit : str
        Unit of `signal`, empty where it is not stated.
    """

    signal: str
    role: str
    motor: bool
    label: str
    unit: str


def meaning(name: str) -> Meaning:
    """What the name of a column says."""
    unit_signal, unit, rest = _unit(name)
    words = [word for word in _WORD.findall(_CAMEL.sub(" ", rest).replace("_", " "))]
    lower = [word.lower() for word in words]
    found = ""
    used: set[int] = set()
    for k, word in enumerate(lower):
        if any(part in word for part in _OTHER if len(part) > 3 or part == word):
            found, used = "other", used | {k}
    for signal in _WHOLE if not found else ():
        hits = [k for k, word in enumerate(lower) if word in _WHOLE[signal] or any(p in word for p in _PARTS[signal])]
        if signal == "current" and hits and _another(lower, hits):  # "current position": the present one
            used |= set(hits)
        elif hits and not found:
            found, used = signal, used | set(hits)
    if found == "t" and unit_signal not in ("", "t"):
        found = ""
    if any(word in _COUNTERS for word in lower) and not found and not unit_signal:
        found = "counter"
    role = _role(lower, found)
    used |= {k for k, word in enumerate(lower) if word in _COMMANDED | _MEASURED | _MOTOR or _role([word], found)}
    left = "".join(word for k, word in enumerate(lower) if k not in used)
    if not found or (unit_signal == "share" and found in ("tau", "current")):
        found = unit_signal if unit_signal != "t" or not left else ""
    elif found == "tau" and unit_signal == "current":
        found = "current"
    stated = unit if unit_signal == found else ""
    return Meaning(found, role, bool(set(lower) & _MOTOR), left, stated)


def unit_cells(cells: Sequence[str]) -> bool:
    """Whether a line of a header holds units and no names."""
    words = [cell.strip(" []()").lower() for cell in cells if cell.strip(" -[]()")]
    return bool(words) and sum(word in _UNITS for word in words) > len(words) / 2


def _unit(name: str) -> tuple[str, str, str]:
    """Signal and unit that a name states, and the name without it."""
    for match in (*re.finditer(r"[\[(]([^\])]*)[\])]", name), *re.finditer(r"(?<=\s)(\S+)$", name)):
        word = match[1].strip().lower().replace("â", "")
        bare = match[0] == match[1]
        if word in _UNITS and not (bare and word in ("a", "s", "v", "k")):
            return *_UNITS[word], name[: match.start()] + name[match.end() :]
    head, _, last = name.rpartition("_")
    if head and last.lower() in _SUFFIXES:
        return *_UNITS[last.lower()], head
    return "", "", name


def _another(words: Sequence[str], hits: Sequence[int]) -> bool:
    """Whether the words name a signal apart from those of a current."""
    rest = [word for k, word in enumerate(words) if k not in hits]
    return any(
        word in _WHOLE[signal] or any(part in word for part in _PARTS[signal])
        for word in rest for signal in ("q", "dq", "ddq", "tau")
    )  # fmt: skip


def _role(words: Sequence[str], signal: str) -> str:
    if any(word in _COMMANDED or word.startswith(("soll", "command", "desir", "target")) for word in words):
        return "commanded"
    present = signal != "current" and any(word in ("current", "cur") for word in words)
    return "measured" if present or any(w in _MEASURED or (w.startswith("ist") and signal) for w in words) else ""


#: A column stands still that moves by less than this part of another group's; a motor turns up to some 300 times more.
_STILL = 1e-3
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
        if isinstance(self.names, str):
            return self.names
        return f"{self.names[0]} ... {self.names[-1]}" if len(self.names) > 1 else str(self.names[0])


def signal_groups(table: Columns, robot: Robot) -> list[Group]:
    """Groups of columns that say of the same signal, each in the order of the robot's joints."""
    names = [name for name, _ in table.cells]
    joints = [joint.name for joint in robot.coordinates if meaning(joint.name).label != _letters(joint.name)]
    gathered: dict[tuple[str, str, bool, str, str], list[tuple[str, int]]] = {}
    for k, (name, value) in enumerate(table.cells):
        if value.dtype.kind != "f":
            continue
        of_name = _meaning_of(name, joints)
        label = of_name.label
        prefix = _NUMBER.sub("", label) if _NUMBER.search(label) and joint_of(label, robot) is None else ""
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


def _meaning_of(name: str, joints: Sequence[str]) -> Meaning:
    """What a name says, one of these joints' own names apart: ``wrist_angle_current`` is of the joint 'wrist_angle'."""
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
    """Groups of n columns that come first: measured before unsaid before commanded, the joint's before the motor's.

    A group with a column that stands still where another group's moves does not come before that one.
    """
    ranks: Mapping[str, int] = {"measured": 0, "": 1, "commanded": 2}

    def rank(group: Group) -> tuple[int, int, bool]:
        return ranks[group.meaning.role] // 2, signals.index(group.meaning.signal), group.meaning.motor

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
    if len({joints[k] for k in known}) == len(known) and (len(known) == len(labels) or len(known) == robot.n):
        return sorted(known, key=lambda k: joints[k] or 0), True
    numbers = [_NUMBER.search(label) for label in labels]
    if all(numbers) and len({one[1] for one in numbers if one}) == len(labels):
        values = [int(one[1]) for one in numbers if one]
        contiguous = sorted(values) in (list(range(len(labels))), list(range(1, len(labels) + 1)))
        return sorted(range(len(labels)), key=values.__getitem__), contiguous
    return list(range(len(labels))), len(labels) == 1


def joint_of(label: str, robot: Robot) -> int | None:
    """Index of the joint that a label names: the same letters and digits, or one the end or beginning of the other."""
    plain, names = _letters(label), [_letters(joint.name) for joint in robot.coordinates]
    exact = [k for k, name in enumerate(names) if name == plain]
    part = [
        k
        for k, name in enumerate(names)
        if len(plain) > 2 and (name.startswith(plain) or name.endswith(plain) or plain.endswith(name))
    ]
    fitting = exact or part
    return fitting[0] if len(fitting) == 1 else None


def _letters(name: str) -> str:
    """Letters and digits alone, lower-case."""
    return re.sub(r"[\W_]", "", name.lower())
