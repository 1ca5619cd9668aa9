"""The one table of what recorders call signals and units, and what the name of a column states by it.

Understood are controllers' logs in several languages (``A1_Ist [°]``, ``Motorstrom A2 [A]``), numbers (``q1 q[0]``),
joint names (``q_shoulder``, ``shoulder.position``) and the paths that PlotJuggler and ROS tools write.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from casid.errors import DatasetError
from casid.files import listed, shown

_DEG, _RPM, _TURN = math.pi / 180.0, 2.0 * math.pi / 60.0, 2.0 * math.pi
#: Signal -> unit -> factor to SI, and how files write it.
_UNITS: Mapping[str, Mapping[str, tuple[float, str]]] = {
    "t": {
        "s": (1.0, "s sec secs seconds sek"), "ms": (1e-3, "ms msec milliseconds"),
        "us": (1e-6, "us µs μs usec microseconds"), "ns": (1e-9, "ns nsec nanoseconds"), "min": (60.0, ""),
    },
    "q": {
        "rad": (1.0, "rad radian radians"), "deg": (_DEG, "deg ° º grad degree degrees"), "mrad": (1e-3, "mrad"),
        "rev": (_TURN, "rev turns"), "m": (1.0, ""), "mm": (1e-3, "mm"),
    },
    "dq": {
        "rad/s": (1.0, "rad/s rad/sec rads"), "deg/s": (_DEG, "deg/s °/s º/s grad/s deg/sec dps"),
        "mrad/s": (1e-3, "mrad/s"), "rpm": (_RPM, "rpm 1/min u/min min-1 min^-1 tr/min"), "rev/s": (_TURN, "rev/s"),
        "m/s": (1.0, "m/s"), "mm/s": (1e-3, "mm/s"),
    },
    "ddq": {
        "rad/s^2": (1.0, "rad/s^2 rad/s2 rad/s² rad/s/s"), "deg/s^2": (_DEG, "deg/s^2 deg/s2 °/s² °/s^2 °/s2"),
        "m/s^2": (1.0, ""), "mm/s^2": (1e-3, ""),
    },
    "tau": {
        "N.m": (1.0, "nm n.m n·m n*m n-m n⋅m"), "mN.m": (1e-3, "mnm mn.m mn·m"), "kN.m": (1e3, "knm kn.m"),
        "N": (1.0, ""), "kN": (1e3, ""),
    },
    "current": {"A": (1.0, "a arms amp amps ampere"), "mA": (1e-3, "ma")},
    "share": {"%": (1.0, "%"), "‰": (1.0, "‰")},
    "other": {"V": (1.0, "v"), "K": (1.0, "k"), "°C": (1.0, "°c degc celsius")},
}  # fmt: skip
#: Signal -> unit -> factor to SI.
UNITS = {signal: {unit: factor for unit, (factor, _) in units.items()} for signal, units in _UNITS.items()}
#: Unit as files write it -> signal, unit.
_WRITTEN = {
    word: (signal, unit)
    for signal, units in _UNITS.items() for unit, (_, words) in units.items() for word in words.split()
}  # fmt: skip
#: Units that a name may end with, after an underscore; and those that end one, after a blank, by chance.
_SUFFIXES = {"deg", "degrees", "rad", "nm", "ms", "us", "ns", "rpm", "ma", "dps", "sec", "rads", "mm"}
_CHANCE = {"a", "s", "v", "k"}

#: Signals of a recording, and the names under which arrays are taken for them without a robot, in this order.
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
_SIGNAL_OF = {word: signal for signal, words in SYNONYMS.items() for word in words}
#: Words that stand in the place of a joint's name and are none: ``torque_enable`` is no torque.
_NO_JOINT = ("enable", "enabled", "limit", "error", "mode", "status")
#: What separates the parts of a path.
_SEPARATORS = re.compile(r"[/.:\[\]()\s]+")
#: Words of each signal in any other name: whole ones, and parts of a longer one.
_WORDS: Mapping[str, tuple[frozenset[str], tuple[str, ...]]] = {
    signal: (frozenset(whole.split()), tuple(parts.split()))
    for signal, whole, parts in (
        ("t", "t ts sec seconds stamp clock", "time zeit stamp uhr temps tempo"),
        ("ddq", "ddq qdd qddot acc", "accel beschl"),
        ("dq", "dq qd qdot vel omega dtheta w", "veloc geschw speed drehzahl vitesse"),
        ("tau", "tau tq mom trq tor", "torq moment effort coppia couple"),
        ("current", "i cur iq curr", "strom current corrent courant"),
        ("q", "q th theta phi pos lage joints qpos", "posit winkel angle stellung angolo posiz"),
    )
}
_COMMANDED = frozenset(
    "soll sollwert des desired d cmd command commanded ref reference target goal set setpoint demand action consigne "
    "nominal plan planned ipo model".split()
)
_MEASURED = frozenset(
    "ist istwert act actual mes meas measured msr real feedback fb fbk is observation sensor present".split()
)
_OTHER = tuple(
    "temper force kraft tcp cart error fehler abweich delta diff ext gripper volt spannung status enabl fault valid "
    "filter override limit brems brake frict reib gravit".split()
)
_COUNTERS = frozenset("index idx sample samples nr no row counter seq cycle zyklus frame".split())
_MOTOR = frozenset({"motor", "mot", "rotor"})
_WORD = re.compile(r"[^\W\d_]+|\d+")
_CAMEL = re.compile(r"(?<=[a-zäöüß])(?=[A-ZÄÖÜ])|(?<=[A-Z])(?=[A-Z][a-z])")


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


@dataclass(frozen=True)
class Meaning:
    """What a name states.

    Attributes
    ----------
    signal : str
        ``t q dq ddq tau current share counter other``, or empty: nothing.
    role : str
        ``measured``, ``commanded``, or empty where the name has neither.
    motor : bool
        Whether it is the motor's side.
    label : str
        What is left: the joint's name or letter and, at the end, its number.
    unit : str
        Unit of `signal`, empty where it is not stated.
    word : str
        The word of `SYNONYMS` that alone states the signal; empty for other names.
    """

    signal: str
    role: str
    motor: bool
    label: str
    unit: str
    word: str = ""


class Reading(NamedTuple):
    """A name as one of casid's own words: the signal of `SYNONYMS`, the word, and the joint's name or number."""

    signal: str
    word: str
    label: str


def numbered(name: str) -> tuple[str, str]:
    """``q_1, q[1], q(1) -> q, 1``; the name itself where it has no number."""
    inner = name[:-1] if name[-1:] in ("]", ")") else name
    stem = inner.rstrip("0123456789")
    number, stem = inner[len(stem) :], stem.rstrip("_[(")
    return (stem, number) if stem and 0 < len(number) < 7 else (name, "")


def readings(name: str) -> list[Reading]:
    """Ways to read a name as one of casid's words with a joint: ``q_1``, ``q_elbow``, ``/states/elbow/position``."""
    stem, number = numbered(name)
    if stem.lower() in _SIGNAL_OF:
        whole = [Reading(_SIGNAL_OF[stem.lower()], stem.lower(), number)]
        return whole + (_prefixed(name) if number else [])
    unit_signal, unit, rest = _unit(name.lower())
    if unit:
        word = rest.strip()
        return [Reading("t", word, "")] if unit_signal == "t" and word in SYNONYMS["t"] else []
    tokens = [token for token in _SEPARATORS.split(name) if token]
    if len(tokens) < 2:
        return _prefixed(name)
    signals = [_SIGNAL_OF.get(token.lower(), "t") for token in tokens]
    if "q_des" in signals and len(tokens) > 2:  # 'action.shoulder.pos' is a command
        tokens = [token for token, signal in zip(tokens, signals, strict=True) if signal != "q"]
    for k in reversed(range(len(tokens)) if len(tokens) > 1 else ()):
        signal = _SIGNAL_OF.get(tokens[k].lower(), "t")
        if signal != "t":
            return [Reading(signal, tokens[k].lower(), (tokens[k + 1 :] or tokens[:k])[-1])]
    return []


def _prefixed(name: str) -> list[Reading]:
    """``q_shoulder``; the longest word first."""
    words = [word for word in _SIGNAL_OF if name.lower().startswith(f"{word}_") and len(name) > len(word) + 1]
    words.sort(key=len, reverse=True)
    made = [Reading(_SIGNAL_OF[word], word, name[len(word) + 1 :]) for word in words]
    alike = [one for one in made if one.signal == made[0].signal != "t"]
    return [one for one in alike if one.label.lower() not in _NO_JOINT]


def meaning(name: str) -> Meaning:
    """What the name of a column states."""
    unit_signal, unit, rest = _unit(name)
    words = [word.lower() for word in _WORD.findall(_CAMEL.sub(" ", rest).replace("_", " "))]
    other = {k for k, word in enumerate(words) if any(p in word for p in _OTHER if len(p) > 3 or p == word)}
    found, used = ("other", other) if other else ("", set())
    for signal in _WORDS if not found else ():
        hits = {k for k, word in enumerate(words) if _is_of(word, signal)}
        if signal == "current" and hits and _another(words, hits):  # "current position": the present one
            used |= hits
        elif hits and not found:
            found, used = signal, used | hits
    if found == "t" and unit_signal not in ("", "t"):
        found = ""
    if not found and not unit_signal and _COUNTERS & set(words):
        found = "counter"
    role = _role(words, found)
    used |= {k for k, word in enumerate(words) if word in _COMMANDED | _MEASURED | _MOTOR or _role([word], found)}
    left = "".join(word for k, word in enumerate(words) if k not in used)
    if not found or (unit_signal == "share" and found in ("tau", "current")):
        found = unit_signal if unit_signal != "t" or not left else ""
    elif found == "tau" and unit_signal == "current":
        found = "current"
    return Meaning(found, role, bool(set(words) & _MOTOR), left, unit if unit_signal == found else "")


def unit_cells(cells: Sequence[str]) -> bool:
    """Whether a line of a header holds units and no names."""
    words = [cell.strip(" []()").lower() for cell in cells if cell.strip(" -[]()")]
    return bool(words) and sum(word in _WRITTEN for word in words) > len(words) / 2


def _unit(name: str) -> tuple[str, str, str]:
    """Signal and unit that a name states, and the name without it."""
    for match in (*re.finditer(r"[\[(]([^\])]*)[\])]", name), *re.finditer(r"(?<=\s)(\S+)$", name)):
        word = match[1].strip().lower().replace("â", "")
        if word in _WRITTEN and not (match[0] == match[1] and word in _CHANCE):
            return *_WRITTEN[word], name[: match.start()] + name[match.end() :]
    head, _, last = name.rpartition("_")
    if head and last.lower() in _SUFFIXES:
        return *_WRITTEN[last.lower()], head
    return "", "", name


def _is_of(word: str, signal: str) -> bool:
    whole, parts = _WORDS[signal]
    return word in whole or any(part in word for part in parts)


def _another(words: Sequence[str], hits: set[int]) -> bool:
    """Whether the words name a signal apart from those of a current."""
    rest = [word for k, word in enumerate(words) if k not in hits]
    return any(_is_of(word, signal) for word in rest for signal in ("q", "dq", "ddq", "tau"))


def _role(words: Sequence[str], signal: str) -> str:
    if any(word in _COMMANDED or word.startswith(("soll", "command", "desir", "target")) for word in words):
        return "commanded"
    present = signal != "current" and any(word in ("current", "cur") for word in words)
    return "measured" if present or any(w in _MEASURED or (w.startswith("ist") and signal) for w in words) else ""
