"""What the name of a column says: signal, measured or commanded, joint, unit; in the words of controllers' logs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: Units as files write them -> signal, unit of `casid.measurement._units` (empty: no SI unit of a torque).
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
})  # fmt: skip
_MEASURED = frozenset({
    "ist", "istwert", "act", "actual", "mes", "meas", "measured", "msr", "real", "feedback", "fb", "fbk", "is",
    "observation",
})  # fmt: skip
_OTHER = (
    "temper", "force", "kraft", "tcp", "cart", "error", "fehler", "abweich", "delta", "diff", "ext", "gripper", "volt",
    "spannung", "status", "fault", "valid", "filter", "override", "limit", "brems", "brake", "frict", "reib", "gravit",
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
