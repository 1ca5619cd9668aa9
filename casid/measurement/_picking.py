"""Which columns of a log are the time and the signals of all joints, each with evidence or a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from casid.arrays import Array
from casid.description import Robot
from casid.files import listed, shown
from casid.measurement._columns import UNITS, Columns
from casid.measurement._evidence import FASTEST, SLOWEST, advances, blocks, clock_of, even_clock, rate_text
from casid.measurement._formats import read_columns, text_content
from casid.measurement._names import LARGEST, Group, best, chosen_group, joint_of, meaning, signal_groups
from casid.measurement._proposal import Answers, Question
from casid.measurement._text import text_lines


class Picking:
    """One log whose columns are picked: positions, torques, times."""

    def __init__(self, path: Path, robot: Robot, answers: Answers) -> None:
        self.path, self.robot, self.answers = path, robot, answers
        answers.check(robot.n)
        self.evidence: list[tuple[str, str, str]] = []
        self.questions: list[Question] = []
        self.settings: dict[str, Any] = {}
        self.units: dict[str, str] = {}
        self.table = read_columns(path).finite()
        layout = self.table.layout
        self.evidence += self.table.evidence
        self.evidence += [("cells that are no row or no number", "left out", note) for note in self.table.notes]
        if layout is not None:
            self.settings["text"] = {k: list(v) if k == "header" else v for k, v in vars(layout).items()}
        self.groups = signal_groups(self.table, robot)
        self.used: list[Group] = []
        self.why = "as asked for"
        if layout is not None and not layout.header and not answers.columns:
            self._unnamed()

    def _unnamed(self) -> None:
        """Columns without names, where the numbers decide."""
        table = [value for _, value in self.table.cells]
        if any(value.dtype.kind == "f" and (np.abs(value) > LARGEST).any() for value in table):
            return
        clock = even_clock([value for value in table if value.dtype.kind == "f"])
        if clock is None or any(value.dtype.kind != "f" for value in table):
            return
        step = float(np.median(np.diff(table[clock])))
        units = [unit for unit, size in UNITS["t"].items() if 1.0 / FASTEST <= step * size <= 1.0 / SLOWEST]
        rest = [k for k in range(len(table)) if k != clock]
        found = blocks(self.robot, table[clock] * UNITS["t"][units[0]], rest, table) if len(units) == 1 else None
        if found is not None:
            spans = {signal: f"{part[0] + 1}-{part[-1] + 1}" for signal, part in found.items()}
            self.answers = replace(self.answers, columns={"t": f"{clock + 1}-{clock + 1}", **spans}, angles="rad")
            self.why = "no names; no other order fits the robot's dynamics"

    def _ask(self, option: str, text: str) -> None:
        self.questions.append(Question(option, text))

    def _take(self, signal: str, group: Group) -> Group:
        group.check_measured(self.path.name)
        self.settings.setdefault("columns", {})[signal] = (
            group.names if isinstance(group.names, str) else list(group.names)
        )
        self.used.append(group)
        return group

    def _pick(self, signal: str, signals: Sequence[str], what: str, needed: bool = True) -> Group | None:
        """The group of a signal, or a question."""
        n = self.robot.n
        if signal in self.answers.columns:
            group = chosen_group(self.table, self.answers.columns[signal], n, self.path.name)
            self.evidence.append((what, str(group), self.why))
            return self._take(signal, group)
        found = best(self.groups, signals, n)
        if not found and not needed:
            return None
        others = [group for group in self.groups if group.meaning.signal in signals]
        if not found:
            self._ask(f"--columns {signal}=", _none_found(self.table, self.robot, others, what))
            return None
        if len(found) > 1:
            if needed:
                self._ask(f"--columns {signal}=", f"which are the {what}: {' or '.join(map(str, found))}?")
            return None
        group = found[0]
        if group.meaning.role == "commanded":
            if needed:
                self._ask(f"--columns {signal}=", f"only commanded {what} are found ({group}); are they to be taken?")
            return None
        if not group.ordered:
            if needed:
                joints = ", ".join(joint.name for joint in self.robot.coordinates)
                self._ask(
                    f"--columns {signal}=", f"{group} say of {listed(group.labels)}; in which order are these the "
                    f"joints {joints}? Give the names with | between"
                )  # fmt: skip
            return None
        side = ", the motor's side" if group.meaning.motor else ""
        why = f"{group.meaning.role or 'by their names'}{side}; joints {listed(group.labels)}"
        self.evidence.append((what, str(group), why))
        if group.meaning.motor and signal == "q":
            self._ask("--columns q=", f"{group} are the motor's positions; name the joint's, or add a transmission")
            return None
        return self._take(signal, group)

    def _time(self) -> Array | None:
        """Time in the file's unit, or seconds where its text or the rate says so."""
        if self.answers.rate is not None:
            self.settings["rate"] = self.answers.rate
            self.evidence.append(("time", f"{self.answers.rate:g} Hz", "as asked for"))
            self.units["t"] = "s"
            return np.arange(self._length()) / self.answers.rate
        found: list[tuple[str | int, Array, str]] = []
        if "t" in self.answers.columns:
            group = chosen_group(self.table, self.answers.columns["t"], 1, self.path.name)
            name = group.names if isinstance(group.names, str) else group.names[0]
            found = [(name, group.values[:, 0], group.meaning.unit)]
        else:
            for name, cells in self.table.cells:
                if cells.dtype.kind == "U" and (times := clock_of(cells, self.path.name)) is not None:
                    found.append((name, times, "clock"))
            for group in self.groups:
                if group.meaning.signal == "t" and group.values.shape[1] == 1:
                    name = group.names if isinstance(group.names, str) else group.names[0]
                    found.append((name, group.values[:, 0], group.meaning.unit))
        good = [one for one in found if advances(one[1])]
        if not good:
            names = [(name, value) for name, value in self.table.cells if value.dtype.kind == "f"]
            clock = even_clock([value for _, value in names])
            good = [] if clock is None else [(*names[clock], "")]
        if not good:
            unusable = "; ".join(f"'{name}' does not advance from sample to sample" for name, *_ in found)
            lines = [shown(line) for line in self._preamble()][:4]
            above = f" Lines above the table: {'; '.join(lines)}" if lines else ""
            self._ask(
                "--sampling-rate HZ",
                f"no time column ({unusable or 'none by its name'}): at what rate was it sampled?{above}",
            )
            return None
        if len(good) > 1 and len({round(float(np.ptp(t) / np.median(np.diff(t)))) for _, t, _ in good}) > 1:
            self._ask("--columns t=", f"which column is the time: {' or '.join(str(name) for name, *_ in good)}?")
            return None
        stated = [one for one in good if one[2]]
        name, t, unit = (stated or good)[0]
        self.settings.setdefault("columns", {})["t"] = name if isinstance(name, str) else [name]
        self.used.append(Group(meaning(str(name)), (name,), (), t[:, None]))
        if unit == "clock":
            self.units["t"] = "s"
            self.evidence.append(("time", str(name), f"times of day; {rate_text(t, 1.0)}"))
        elif unit or self.answers.time_unit:
            self.units["t"] = self.answers.time_unit or unit
            why = "as asked for" if self.answers.time_unit else "by its name"
            self.evidence.append(
                ("time", f"{name} in {self.units['t']}", f"{why}; {rate_text(t, UNITS['t'][self.units['t']])}")
            )
        return t

    def _length(self) -> int:
        return len(self.table.cells[0][1]) if self.table.cells else max(len(g.values) for g in self.groups)

    def _preamble(self) -> list[str]:
        layout = self.settings.get("text")
        if layout is None:
            return []
        end = min([*layout["header"], layout["first"]]) - 1
        return [
            line.strip() for line in text_lines(text_content(self.path), layout["encoding"], "")[:end] if line.strip()
        ]


def _none_found(table: Columns, robot: Robot, others: Sequence[Group], what: str) -> str:
    """Why no group of columns is a signal of all joints; with fewer of them, which joints may be locked."""
    fewer = [group for group in others if 1 < group.values.shape[1] < robot.n]
    if fewer:
        group = max(fewer, key=lambda one: one.values.shape[1])
        count = group.values.shape[1]
        named = {joint_of(label, robot) for label in group.labels} - {None}
        named = named if len(named) == count else set(range(count))
        rest = ",".join(joint.name for k, joint in enumerate(robot.coordinates) if k not in named)
        return f"the robot has {robot.n} joints, the log {what} of {count} ({group}): --lock {rest}?"
    there = "; ".join(f"{group} ({group.values.shape[1]})" for group in others) or "none by their names"
    names = listed([name for name, _ in table.cells] or table.arrays)
    return f"which {robot.n} columns are the {what}? Candidates: {there}; columns: {names}"
