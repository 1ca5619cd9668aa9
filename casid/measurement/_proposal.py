"""What is found of a log: the guesses with their evidence, what has to be asked, and the recording's TOML."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from casid.errors import DatasetError
from casid.files import listed
from casid.measurement._columns import UNITS


@dataclass(frozen=True)
class Answers:
    """What the user says where a log leaves it open; empty or ``None``: to be found.

    Attributes
    ----------
    columns : mapping of str to str
        Columns of ``t q dq q_des tau``: a name with ``*``, numbers ``2-7``, or names with ``|`` between; ``none`` for
        ``tau``: what there is is left out, and the robot is identified from its commands.
    time_unit, angles, torque_unit : str
        ``s ms us ns``; ``rad deg``; ``N.m mN.m ...``.
    rate : float, optional
        Sampling rate [Hz], for a log without time.
    gains : tuple of float
        Torque of one unit of the signal at each joint, e.g. torque constant times gear ratio [N.m/A].
    reversed : tuple of int, optional
        Joints (from 1) whose torque has the other sign; ``()``: none.
    as_is : bool
        Take the columns although the robot's dynamics do not explain the torques.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    time_unit: str = ""
    angles: str = ""
    torque_unit: str = ""
    rate: float | None = None
    gains: tuple[float, ...] = ()
    reversed: tuple[int, ...] | None = None
    as_is: bool = False

    def check(self, n: int) -> None:
        """DatasetError for a unit that is not known, a rate that is none, and joints that a robot of n has not."""
        for option, unit, signal in (("--time-unit", self.time_unit, "t"), ("--angles", self.angles, "q")):
            if unit and unit not in UNITS[signal]:
                raise DatasetError(f"{option}: expected {listed(UNITS[signal])}, got '{unit}'")
        if self.rate is not None and not 0.0 < self.rate < math.inf:
            raise DatasetError(f"--sampling-rate: expected a positive number [Hz], got {self.rate:g}")
        beyond = [k for k in self.reversed or () if not 1 <= k <= n]
        if beyond:
            raise DatasetError(f"--reversed: expected joints from 1 to {n}, got {beyond[0]}")


@dataclass(frozen=True)
class Question:
    """What the log leaves open: the option that answers it, and why it is open."""

    option: str
    text: str


@dataclass(frozen=True, eq=False)
class Proposal:
    """How a log is to be read.

    Attributes
    ----------
    path : Path
    settings : mapping
        Keys of the recording's TOML.
    evidence : tuple of (str, str, str)
        What, the guess, and what speaks for it.
    joints : tuple of tuple of str
        One row a joint: name, columns, range, what speaks for them.
    questions : tuple of Question
        Empty where everything is clear.
    unused : tuple of str
        Columns that are not read.
    """

    path: Path
    settings: Mapping[str, Any]
    evidence: tuple[tuple[str, str, str], ...]
    joints: tuple[tuple[str, ...], ...] = ()
    questions: tuple[Question, ...] = ()
    unused: tuple[str, ...] = ()

    def toml(self, folder: Path | None = None) -> str:
        """The recording's TOML, each key with what speaks for it; for another folder it names the log's whole path."""
        beside = folder is None or folder.resolve() == self.path.parent.resolve()
        reasons = {what: f"{guess}: {why}" for what, guess, why in self.evidence}
        lines = [
            f"# How to read {self.path.name}, found by `casid import`; correct what is wrong.",
            f"# Use it as the recording:  casid identify ROBOT {self.path.stem}.toml --out result",
            f"file = {_toml(self.path.name if beside else str(self.path.resolve()))}",
        ]
        for key, value in self.settings.items():
            given = [text for what, text in reasons.items() if what.split(",")[0] in _STATED.get(key, ())]
            lines += ["", *(f"# {text}" for text in given)]
            if isinstance(value, Mapping) and key == "columns":
                lines += [f"[{key}]", *(f"{name} = {_toml(entry)}" for name, entry in value.items())]
            else:
                lines.append(f"{key} = {_toml(value)}")
        tables = [k for k, line in enumerate(lines) if line == "[columns]"]
        if tables:  # tables stand last in TOML
            end = next((k for k in range(tables[0] + 1, len(lines)) if not lines[k]), len(lines))
            start = max(k for k in range(tables[0]) if not lines[k])
            lines = [*lines[:start], *lines[end:], *lines[start:end]]
        unused = [f"# Not read: {listed(self.unused)}"] if self.unused else []
        return "\n".join([*lines, *unused, ""])


#: Key of the TOML -> the guesses that it states.
_STATED: Mapping[str, tuple[str, ...]] = {
    "text": ("encoding", "cells", "decimal mark", "header"),
    "units": ("time", "angles", "velocities", "unit of torques"),
    "rate": ("time",),
    "gains": ("torques", "signs"),
}


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(entry)}" for key, entry in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (str, bool, int)) else repr(value)
