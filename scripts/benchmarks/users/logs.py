"""Forty logs as controllers write them, and what `casid import` makes of each: right, asked, or wrong.

Half of them (even numbers) were looked at while the assistant was written; of the other half 19 were right at first and
one asked, which is right since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby, product
from pathlib import Path
from typing import Any

import numpy as np

import casid
from benchmarks.measure import Rows, scratch
from casid.dynamics import Model
from casid.errors import CasidError, DatasetError
from casid.files import read_toml
from casid.measurement import Answers, Dataset, propose, read_dataset
from casid.retrieval.plausible import plausible_bodies
from casid.testing import motion

row = Rows()

Array = np.ndarray


@dataclass(frozen=True)
class Log:
    """One file: how it is written, and the answers that it needs.

    Attributes
    ----------
    name : str
        Name of the file.
    columns : sequence of (name, signal, joint)
        Signals ``t q dq tau``, those with ``*`` commanded ones, or the text of a status column; joint from 0, -1: none.
    """

    name: str
    columns: Sequence[tuple[str, str, int]]
    robot: str = "ur10e"
    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    before: Sequence[str] = ()
    units_line: Sequence[str] = ()
    groups_line: Sequence[str] = ()
    no_header: bool = False
    after: Sequence[str] = ()
    scale: Mapping[str, float] = field(default_factory=dict)
    gains: Sequence[float] = ()
    form: Mapping[str, Callable[[float], str]] = field(default_factory=dict)
    end: str = "\n"
    trailing: bool = False
    quoted: bool = False
    start: float = 0.0
    negative: Sequence[int] = ()
    asked: Answers | None = None
    """Answers, where the log leaves something open; then it has to be asked for."""
    refused: bool = False


@cache
def truth(robot: str) -> tuple[Any, Any]:
    """A robot, and a recording of it with plausible bodies and friction, within its limits, at 100 Hz."""
    loaded = casid.load_robot(robot)
    model = Model(loaded, ("viscous", "coulomb", "offset"))
    values = np.concatenate([plausible_bodies(loaded).parameters.ravel(), np.tile([2.0, 1.5, 0.1], loaded.n)])
    t, q, dq, ddq = motion(loaded.n, 1001, 3, speed=0.8)
    middle = np.where(np.isfinite(loaded.limits.lower), (loaded.limits.lower + loaded.limits.upper) / 2, 0.0)
    stroke = np.where(np.isfinite(loaded.limits.lower), loaded.limits.upper - loaded.limits.lower, 2 * np.pi)
    share = np.minimum(1.0, 0.4 * stroke / np.abs(q).max(axis=0))
    q, dq, ddq = q * share + middle, dq * share, ddq * share
    tau = model.inverse_dynamics(q, dq, ddq, values)
    tau = tau + 0.05 * np.random.default_rng(4).normal(size=tau.shape)
    return loaded, Dataset(t, q, tau, dq)


def content(log: Log) -> bytes:
    """Bytes of the file."""
    robot, data = truth(log.robot)
    rng = np.random.default_rng(1)
    arrays = {"t": data.t[:, None] + log.start, "q": data.q, "dq": data.dq, "tau": data.tau.copy()}
    arrays["tau"] = arrays["tau"] * [-1.0 if k in log.negative else 1.0 for k in range(robot.n)]
    arrays |= {"q*": data.q + 0.01 * np.sin(7 * data.t)[:, None], "dq*": data.dq + 0.01, "tau*": 0.9 * data.tau + 1.0}
    if log.gains:
        arrays["tau"] = arrays["tau"] / np.array(log.gains)
    rows = []
    for k in range(len(data)):
        cells = []
        for _, signal, joint in log.columns:
            if signal not in arrays:
                fixed = {"count": str(k), "noise": f"{20 + rng.normal():.2f}"}.get(signal, signal)
                cells.append(fixed.replace(".", log.decimal))
                continue
            value = float(arrays[signal][k, max(joint, 0)]) * log.scale.get(signal.rstrip("*"), 1.0)
            text = log.form.get(signal, lambda one: f"{one:.6f}")(value)
            cells.append(text.replace(".", log.decimal) if signal not in log.form else text)
        rows.append(_line(cells, log))
    names = [_line([name for name, *_ in log.columns], log)] if not log.no_header else []
    extra = [_line(list(cells), log) for cells in (log.units_line,) if cells]
    above = [_line(list(cells), log) for cells in (log.groups_line,) if cells]
    text = log.end.join([*log.before, *above, *names, *extra, *rows, *log.after]) + log.end
    return text.encode(log.encoding)


def _line(cells: Sequence[str], log: Log) -> str:
    if log.quoted:
        cells = [f'"{cell}"' for cell in cells]
    return log.separator.join(cells) + (log.separator if log.trailing else "")


def judged(log: Log) -> tuple[str, str]:
    """``right``, ``asked`` or ``wrong``, and why."""
    robot, data = truth(log.robot)
    with scratch() as folder:
        path = folder / log.name
        path.write_bytes(content(log))
        try:
            found = propose(path, robot)
            open_ = "; ".join(f"{one.option}: {one.text}" for one in found.questions)
            if found.questions and log.asked is not None:
                found = propose(path, robot, log.asked)
            if found.questions:
                more = "; ".join(f"{one.option}: {one.text}" for one in found.questions)
                return ("wrong", f"the answers leave open: {more}") if log.asked is not None else ("asked", more)
            if not open_ and (log.asked is not None or log.refused):
                return "wrong", "not asked"
            made = path.with_name("read.toml")
            made.write_text(found.toml(), encoding="utf-8")
            read = read_dataset(made)
        except CasidError as error:
            return "asked", error.message
    pairs = [("t", read.t - read.t[0], data.t - data.t[0]), ("q", read.q, data.q), ("tau", read.tau, data.tau)]
    pairs += [("dq", read.dq, data.dq)] if read.dq is not None else []
    off = [
        f"{name} off by {worst:.2g}"
        for name, got, true in pairs
        if got.shape != true.shape
        or (worst := float(np.abs(got - true).max())) > 2e-3 * max(1.0, float(np.abs(true).max()))
    ]
    if off:
        return "wrong", ", ".join(off)
    return ("asked", open_) if open_ else ("right", "")


def _clock(seconds: float) -> str:
    whole = 12 * 3600 + 59 * 60 + 58 + seconds
    return f"2026-05-01 {int(whole // 3600) % 24:02d}:{int(whole // 60) % 60:02d}:{whole % 60:09.6f}"


def _german(seconds: float) -> str:
    return _clock(seconds).replace("2026-05-01", "01.05.2026").replace(".", ",").replace("01,05,2026", "01.05.2026")


@cache
def _names(robot: str) -> tuple[str, ...]:
    return tuple(joint.name for joint in casid.load_robot(robot).joints)


def _columns(log: dict[str, Any]) -> Iterator[tuple[str, str, int]]:
    """Name, signal and joint of every column, see ``logs.toml``."""
    names, first = _names(log.get("robot", "ur10e")), log.pop("first", 1)
    by_joint = log.pop("by_joint", False)
    for each, group in groupby(log["columns"], lambda column: bool({"@", "&"} & set(column[0]))):
        if not each:
            yield from ((name, signal, *(joint or [-1])) for name, signal, *joint in group)
            continue
        pairs = list(product(group, range(len(names))))
        for (name, signal), k in sorted(pairs, key=lambda pair: pair[1]) if by_joint else pairs:
            yield name.replace("@", str(k + first)).replace("&", names[k]), signal, k


#: How a number is written: by a function, or as a format of Python's.
FORMS = {
    "clock": _clock,
    "german": _german,
    "thousands": lambda one: f"{one:,.2f}".replace(",", "_").replace(".", ",").replace("_", "."),
}


def _log(given: dict[str, Any]) -> Log:
    columns = list(_columns(given))
    form = {signal: FORMS.get(name, name.format) for signal, name in given.get("form", {}).items()}
    asked: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in given.get("asked", {}).items()}
    return Log(**given | {"columns": columns, "form": form, "asked": Answers(**asked) if asked else None})


LOGS = tuple(map(_log, read_toml(Path(__file__).with_suffix(".toml"), "logs", DatasetError)["log"]))


@row("40 messy logs through `casid import`", "36 right without a question, 4 asked, 0 wrong without a word", "0.2: 3")
def _logs() -> tuple[str, bool]:
    found = {log.name: judged(log) for log in LOGS}
    counts = {word: sum(what == word for what, _ in found.values()) for word in ("right", "asked", "wrong")}
    bad = "; ".join(f"{name}: {why}" for name, (what, why) in found.items() if what == "wrong")
    text = ", ".join(f"{count} {word}" for word, count in counts.items())
    return f"{text}{f' ({bad})' if bad else ''}", counts["right"] >= 36 and counts["wrong"] == 0
