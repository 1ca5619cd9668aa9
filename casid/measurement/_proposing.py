"""A log of any layout on its way to a recording: columns, units, gains and signs, each with evidence or a question."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from casid.arrays import Array
from casid.description import Robot, assignments
from casid.errors import DatasetError, printable
from casid.files import listed, shown
from casid.measurement._checks import explained
from casid.measurement._columns import LARGEST, Evidence, Group, best, chosen_group, joint_of, signal_groups
from casid.measurement._defects import CORRELATED, same_velocity, velocity_factors
from casid.measurement._evidence import (
    FASTEST,
    LEAST_SPEED,
    LEAST_STROKE,
    MOST_SPEED,
    SLOWEST,
    advances,
    beyond_limits,
    blocks,
    clock_of,
    even_clock,
    rate_text,
    speed_of,
)
from casid.measurement._formats import read_columns, text_content
from casid.measurement._names import UNITS, meaning
from casid.measurement._text import text_lines

#: Explained share of the torques below which the columns are not taken for the robot's.
DOUBTFUL = 0.5
#: Least correlation of positions with the commands that they follow.
FOLLOWS = 0.5
#: Torques over the robot's limits outside of which their unit is another: thousandths are, small motions are not.
LEAST_TORQUE, MOST_TORQUE = 0.002, 3.0


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
    evidence: Evidence
    joints: tuple[tuple[str, ...], ...] = ()
    questions: tuple[Question, ...] = ()
    unused: tuple[str, ...] = ()

    def check_closed(self) -> None:
        """Refuse a log that leaves something open, by the first question.

        Raises
        ------
        DatasetError
        """
        for question in self.questions[:1]:
            raise DatasetError(
                f"{self.path.name}: answer by {question.option} of `casid import {self.path} ROBOT`, whose TOML is "
                f"the recording then; open is: {question.text}"
            )

    def toml(self, folder: Path | None = None) -> str:
        """The recording's TOML, each key with what speaks for it; for another folder it names the log's whole path."""
        beside = folder is None or folder.resolve() == self.path.parent.resolve()
        lines = [
            _comment(f"How to read {self.path.name}, found by `casid import`; correct what is wrong."),
            _comment(f"Use it as the recording:  casid identify ROBOT {self.path.stem}.toml --out result"),
            *assignments({"file": self.path.name if beside else str(self.path.resolve())}),
        ]
        last = "columns"  # a table stands last in TOML
        for key, value in sorted(self.settings.items(), key=lambda item: item[0] == last):
            reasons = {
                w: f"{guess}: {why}" for w, guess, why in self.evidence if w.split(",")[0] in _STATED.get(key, ())
            }
            lines += ["", *map(_comment, reasons.values())]
            lines += [f"[{key}]", *assignments(value)] if key == last else assignments({key: value})
        unused = [_comment(f"Not read: {listed(self.unused)}")] if self.unused else []
        return "\n".join([*lines, *unused, ""])


def _comment(text: str) -> str:
    """A comment of TOML, in which control characters, of columns' names for instance, are forbidden."""
    return f"# {printable(text)}"


#: Key of the TOML -> the guesses that it states.
_STATED: Mapping[str, tuple[str, ...]] = {
    "text": ("encoding", "cells", "decimal mark", "header"),
    "units": ("time", "angles", "velocities", "unit of torques"),
    "rate": ("time",),
    "gains": ("torques", "signs"),
}


def propose(path: Path, robot: Robot, answers: Answers | None = None) -> Proposal:
    """Find out how a log is to be read.

    Parameters
    ----------
    path
        A recording of any format of casid, or a text table with any ending.
    robot
        Its joints, limits and dynamics are the measure of what is found.
    answers
        What the user says.

    Raises
    ------
    DatasetError
        If there is no table in the file, or an answer does not fit it.
    """
    return _Reading(path, robot, answers or Answers()).proposal()


class _Reading:
    """One log on its way to a proposal."""

    def __init__(self, path: Path, robot: Robot, answers: Answers) -> None:
        self.path, self.robot, self.answers = path, robot, answers
        answers.check(robot.n)
        self.questions: list[Question] = []
        self.settings: dict[str, Any] = {}
        self.units: dict[str, str] = {}
        self.table = read_columns(path).finite()
        self.evidence = list(self.table.evidence)
        for note in self.table.notes:
            self._say("cells that are no row or no number", "left out", note)
        layout = self.table.layout
        if layout is not None:
            self.settings["text"] = {k: list(v) if k == "header" else v for k, v in vars(layout).items()}
        self.groups = [
            g for g in signal_groups(self.table, robot) if g.values.ndim == 2 and g.values.dtype.kind in "fiu"
        ]
        self.used: list[Group] = []
        self.why = "as asked for"
        if layout is not None and not layout.header and not answers.columns:
            self._unnamed()

    def _say(self, what: str, guess: str, why: str) -> None:
        self.evidence.append((what, guess, why))

    def _ask(self, option: str, text: str) -> None:
        self.questions.append(Question(option, text))

    def proposal(self) -> Proposal:
        """What is found of columns, units, gains and signs."""
        joints = self._commanded() if self._of_commands() else self._measured()
        if self.units:
            self.settings["units"] = self.units
        taken = {name for group in self.used for name in group.each}
        unused = tuple(name for k, name in enumerate(self.table.names, 1) if name not in taken and k not in taken)
        return Proposal(self.path, self.settings, tuple(self.evidence), joints, tuple(self.questions), unused)

    def _unnamed(self) -> None:
        """Columns without names, where the numbers decide."""
        table = [value for _, value in self.table.cells]
        if any(value.dtype.kind != "f" or (np.abs(value) > LARGEST).any() for value in table):
            return
        clock = even_clock(table)
        if clock is None:
            return
        step = float(np.median(np.diff(table[clock])))
        units = [unit for unit, size in UNITS["t"].items() if 1.0 / FASTEST <= step * size <= 1.0 / SLOWEST]
        rest = [k for k in range(len(table)) if k != clock]
        found = blocks(self.robot, table[clock] * UNITS["t"][units[0]], rest, table) if len(units) == 1 else None
        if found is not None:
            spans = {signal: f"{part[0] + 1}-{part[-1] + 1}" for signal, part in found.items()}
            self.answers = replace(self.answers, columns={"t": f"{clock + 1}-{clock + 1}", **spans}, angles="rad")
            self.why = "no names; no other order fits the robot's dynamics"

    # ------------------------------------------------------------------ columns

    def _take(self, signal: str, group: Group, what: str, why: str) -> Group:
        group.check_measured(self.path.name)
        self._say(what, str(group), why)
        names = group.names if isinstance(group.names, str) else list(group.names)
        self.settings.setdefault("columns", {})[signal] = names
        self.used.append(group)
        return group

    def _pick(
        self, signal: str, signals: Sequence[str], what: str, needed: bool = True, among: Sequence[Group] | None = None
    ) -> Group | None:
        """The group of a signal, of all by the order of `best` or ``among`` some, or a question where it is needed."""
        n, option = self.robot.n, f"--columns {signal}="
        if signal in self.answers.columns:
            group = chosen_group(self.table, self.answers.columns[signal], self.path.name, n)
            return self._take(signal, group, what, self.why)
        found = best(self.groups, signals, n) if among is None else [one for one in among if one.ordered] or among
        only = found[0] if len(found) == 1 else None
        if only is None or (among is None and only.meaning.role == "commanded") or not only.ordered:
            if needed:
                self._ask(option, self._unclear(found, signals, what))
            return None
        side = ", the motor's side" if only.meaning.motor else ""
        why = f"{only.meaning.role or 'by their names'}{side}; joints {listed(only.labels)}"
        if only.meaning.motor and signal == "q":
            self._say(what, str(only), why)
            self._ask(option, f"{only} are the motor's positions; name the joint's, or add a transmission")
            return None
        return self._take(signal, only, what, why)

    def _unclear(self, found: Sequence[Group], signals: Sequence[str], what: str) -> str:
        """What is open about the columns of a signal."""
        if not found:
            return self._none_found([group for group in self.groups if group.meaning.signal in signals], what)
        if len(found) > 1:
            return f"which are the {what}: {' or '.join(map(str, found))}?"
        (group,) = found
        if group.meaning.role == "commanded" and group.ordered:
            return f"only commanded {what} are found ({group}); are they to be taken?"
        joints = ", ".join(joint.name for joint in self.robot.coordinates)
        return (
            f"{group} say of {listed(group.labels)}; in which order are these the joints {joints}? Give the names "
            "with | between"
        )

    def _none_found(self, others: Sequence[Group], what: str) -> str:
        """Why no group is a signal of all joints; with fewer columns, which joints may be locked."""
        names = [joint.name for joint in self.robot.coordinates]
        fewer = [group for group in others if 1 < group.values.shape[1] < len(names)]
        whole = any(group.values.shape[1] == len(names) for group in self.groups)  # no joint is missing in the log
        if fewer and not whole:
            group = max(fewer, key=lambda one: one.values.shape[1])
            count = group.values.shape[1]
            named = {joint_of(label, self.robot) for label in group.labels} - {None}
            named = named if len(named) == count else set(range(count))
            rest = ",".join(name for k, name in enumerate(names) if k not in named)
            return f"the robot has {len(names)} joints, the log {what} of {count} ({group}): --lock {rest}?"
        there = "; ".join(f"{group} ({group.values.shape[1]})" for group in others) or "none by their names"
        return f"which {len(names)} columns are the {what}? Candidates: {there}; columns: {listed(self.table.names)}"

    # ------------------------------------------------------------------ time

    def _time(self) -> Array | None:
        """Time in the file's unit, or seconds where its text or the rate says so."""
        if self.answers.rate is not None:
            self.settings["rate"] = self.answers.rate
            self._say("time", f"{self.answers.rate:g} Hz", "as asked for")
            self.units["t"] = "s"
            count = len(self.table.cells[0][1]) if self.table.cells else max(len(g.values) for g in self.groups)
            return np.arange(count) / self.answers.rate
        found = self._clocks()
        good = [one for one in found if advances(one[1])]
        if not good:
            names = [(name, value) for name, value in self.table.cells if value.dtype.kind == "f"]
            clock = even_clock([value for _, value in names])
            good = [] if clock is None else [(*names[clock], "")]
        if not good:
            unusable = "; ".join(f"'{name}' does not advance from sample to sample" for name, *_ in found)
            lines = [shown(line) for line in self._preamble()][:4]
            above = f" Lines above the table: {'; '.join(lines)}" if lines else ""
            text = f"no time column ({unusable or 'none by its name'}): at what rate was it sampled?{above}"
            self._ask("--sampling-rate HZ", text)
            return None
        if len({round(float(np.ptp(t) / np.median(np.diff(t)))) for _, t, _ in good}) > 1:
            self._ask("--columns t=", f"which column is the time: {' or '.join(str(name) for name, *_ in good)}?")
            return None
        name, t, unit = next((one for one in good if one[2]), good[0])
        self.settings.setdefault("columns", {})["t"] = name if isinstance(name, str) else [name]
        self.used.append(Group(meaning(str(name)), (name,), (), t[:, None]))
        if unit == "clock":
            self.units["t"] = "s"
            self._say("time", str(name), f"times of day; {rate_text(t, 1.0)}")
        elif self.answers.time_unit or unit:
            self.units["t"] = self.answers.time_unit or unit
            why = "as asked for" if self.answers.time_unit else "by its name"
            self._say("time", f"{name} in {self.units['t']}", f"{why}; {rate_text(t, UNITS['t'][self.units['t']])}")
        return t

    def _clocks(self) -> list[tuple[str | int, Array, str]]:
        """Name, values and unit of each column that may be the time: the one that is named, or all by their names."""
        if "t" in self.answers.columns:
            groups = [chosen_group(self.table, self.answers.columns["t"], self.path.name, 1)]
            found: list[tuple[str | int, Array, str]] = []
        else:
            groups = [g for g in self.groups if g.meaning.signal == "t" and g.values.shape[1] == 1]
            texts = [
                (name, clock_of(cells, self.path.name)) for name, cells in self.table.cells if cells.dtype.kind == "U"
            ]
            found = [(name, times, "clock") for name, times in texts if times is not None]
        return [*found, *((group.each[0], group.values[:, 0], group.meaning.unit) for group in groups)]

    def _preamble(self) -> list[str]:
        """Lines above the table."""
        layout = self.settings.get("text")
        if layout is None:
            return []
        lines = text_lines(text_content(self.path), layout["encoding"], "")
        return [line.strip() for line in lines[: min([*layout["header"], layout["first"]]) - 1] if line.strip()]

    # ------------------------------------------------------------------ commands and encoders

    def _of_commands(self) -> bool:
        """Whether the log has commands and encoders, and no torques (or none that are to be read)."""
        said = self.answers.columns
        if "tau" in said or "q_des" in said:
            return said.get("tau", "none") == "none"
        torques = any(group.meaning.signal in ("tau", "current", "share") for group in self.groups)
        return not torques and bool(self._by_role("commanded"))

    def _by_role(self, role: str) -> list[Group]:
        """Groups of positions of all joints in a role, or else of columns whose names state the role and no signal."""
        fitting = [g for g in self.groups if g.values.shape[1] == self.robot.n and g.meaning.role == role]
        return [g for g in fitting if g.meaning.signal == "q"] or [g for g in fitting if role and not g.meaning.signal]

    def _commanded(self) -> tuple[tuple[str, ...], ...]:
        """Of a log of commands and encoders: times, positions, commands; one row a joint."""
        q = self._pick("q", ("q",), "positions", among=self._by_role("measured") or self._by_role(""))
        commands = self._pick("q_des", ("q",), "commanded positions", among=self._by_role("commanded"))
        t = self._time()
        scaled = None if q is None or commands is None or t is None else self._units(t, q, None)
        if scaled is None or q is None or commands is None:
            return ()
        self.settings["joints"] = [joint.name for joint in self.robot.coordinates]
        return self._followed(scaled[1], q, commands)

    def _followed(self, q: Array, positions: Group, commands: Group) -> tuple[tuple[str, ...], ...]:
        """The commands' unit, in which the positions follow them; one row a joint."""
        asked = commands.values
        moves = (np.ptp(q, axis=0) > 0) & (np.ptp(asked, axis=0) > 0)
        stated = commands.meaning.unit
        units = [stated] if stated else list(dict.fromkeys((self.units["q"], "rad", "deg")))
        spread = np.std(asked[:, moves], axis=0) / np.maximum(np.std(q[:, moves], axis=0), 1e-300)
        ratio = float(np.median(spread)) if moves.any() else 1.0
        unit = min(units, key=lambda one: abs(np.log(max(ratio * UNITS["q"][one], 1e-300))))
        self.units["q_des"] = unit
        rho = [float(np.corrcoef(q[:, k], asked[:, k])[0, 1]) if moves[k] else np.nan for k in range(q.shape[1])]
        middle = float(np.median(np.array(rho)[moves])) if moves.any() else np.nan
        strokes = 1 / (ratio * UNITS["q"][unit])
        text = f"the positions follow them, correlation {middle:.2f}, strokes {strokes:.2f} times theirs"
        self._say("unit of commands", unit, text)
        if not middle > FOLLOWS and not self.answers.as_is:
            text = f"the positions do not follow {commands} (correlation {middle:.2f}): are these the goals?"
            self._ask("--as-is", text)
        return self._rows(q, positions, commands, [(_number(value),) for value in rho])

    def _rows(
        self, q: Array, positions: Group, others: Group, ends: Sequence[tuple[str, ...]]
    ) -> tuple[tuple[str, ...], ...]:
        """One row a joint: its name, columns, range of positions, and what speaks for them."""
        rows = []
        for k, (joint, end) in enumerate(zip(self.robot.coordinates, ends, strict=True)):
            scale, unit = (180.0 / np.pi, "deg") if joint.type == "revolute" else (1e3, "mm")
            stroke = f"{scale * q[:, k].min():.1f} to {scale * q[:, k].max():.1f} {unit}"
            rows.append((joint.name, positions.column(k), others.column(k), stroke, *end))
        return tuple(rows)

    # ------------------------------------------------------------------ torques

    def _measured(self) -> tuple[tuple[str, ...], ...]:
        """Of a log with torques: times, positions, torques; one row a joint."""
        q = self._pick("q", ("q",), "positions")
        tau = self._pick("tau", ("tau", "current", "share"), "torques")
        dq = self._pick("dq", ("dq",), "velocities", needed=False)
        t = self._time()
        if q is not None and t is not None:
            scaled = self._units(t, q, dq)
            return () if scaled is None or tau is None else self._torques(*scaled, q, tau)
        if tau is not None:
            self._gains(tau)
        return ()

    def _units(self, t: Array, q: Group, dq: Group | None) -> tuple[Array, Array] | None:
        """Time and positions in SI: the only pair of units that limits, rates and velocities allow; or a question."""
        times = [self.units["t"]] if "t" in self.units else ["s", "ms", "us", "ns"]
        stated = self.answers.angles or q.meaning.unit
        angles = [stated] if stated else ["rad", "deg"]
        fitting = []
        for time in times:
            step = float(np.median(np.diff(t))) * UNITS["t"][time]
            if not 1.0 / FASTEST <= step <= 1.0 / SLOWEST and len(times) > 1:
                continue
            for angle in angles:
                scaled = q.values * UNITS["q"][angle]
                speed = speed_of(self.robot, t * UNITS["t"][time], scaled)
                small = len(angles) > 1 and float(np.ptp(scaled, axis=0).max()) < LEAST_STROKE
                bad = small or beyond_limits(self.robot, scaled) or not LEAST_SPEED <= speed <= MOST_SPEED
                if not bad or len(times) == len(angles) == 1:
                    fitting.append((time, angle, speed))
        if dq is not None and dq.meaning.unit and len(fitting) > 1:
            fitting = [one for one in fitting if _agrees(t, q, dq, one[0], one[1])] or fitting
        if len(fitting) != 1:
            options = [o for o, among in (("--time-unit", times), ("--angles", angles)) if len(among) > 1]
            ways = " or ".join(f"time in {time}, angles in {angle}" for time, angle, _ in fitting)
            lead = f"may be {ways}" if ways else "no unit of time and angles fits the robot's limits and speeds"
            self._ask(" and ".join(options) or "--columns", f"{lead}; say it")
            return None
        ((time, angle, speed),) = fitting
        if "t" not in self.units:
            self._say("time", f"counts {time}", f"{rate_text(t, UNITS['t'][time])}; fits limits and speeds")
        self.units |= {"t": time, "q": angle}
        if "rate" in self.settings:
            del self.units["t"]
        t, scaled = t * UNITS["t"][time], q.values * UNITS["q"][angle]
        why = "as asked for" if self.answers.angles else "by their names" if q.meaning.unit else (
            f"fits limits, speeds and strokes; as {'deg' if angle == 'rad' else 'rad'} it does not"
        )  # fmt: skip
        limits = "; OUTSIDE the joint limits" if beyond_limits(self.robot, scaled) else ""
        reach = float(np.abs(q.values).max())
        text = f"{why}; up to {reach:.4g}, fastest joint at {100 * speed:.0f} % of its limit{limits}"
        self._say("angles", angle, text)
        if limits or not LEAST_SPEED / 3 <= speed <= 2 * MOST_SPEED:
            self._ask("--angles, --time-unit", f"positions in {angle} and time in {time} do not fit the robot: {text}")
        if dq is not None:
            self._velocities(t, scaled, dq)
        return t, scaled

    def _velocities(self, t: Array, q: Array, dq: Group) -> None:
        """Keep measured velocities that are the derivative of the positions in some unit; leave others out."""
        factor, correlation = velocity_factors(t, q, dq.values)
        middle = float(np.nanmedian(factor)) if np.isfinite(factor).any() else np.nan
        off = {unit: abs(np.log(max(middle, 1e-12) / size)) for unit, size in UNITS["dq"].items()}
        stated = dq.meaning.unit
        unit = stated if stated and same_velocity(middle / UNITS["dq"][stated]) else min(off, key=lambda one: off[one])
        even = (np.isnan(factor) | same_velocity(factor / middle)).all()
        least = np.nanmin(correlation, initial=1.0)
        if same_velocity(middle / UNITS["dq"][unit]) and even and least > CORRELATED:
            self.units["dq"] = unit
            why = f"differences of the positions: factor {middle:.4g}, correlation {least:.3f}"
            self._say("velocities", unit, why)
            return
        del self.settings["columns"]["dq"]
        self.used.remove(dq)
        why = f"not the derivative of the positions (factors {np.array2string(factor, precision=3)}): the motor's side?"
        self._say("velocities", "left out", why)

    def _gains(self, tau: Group) -> Array:
        """Factors of the torques, from their unit and the gains that the user gives."""
        n, unit = self.robot.n, self.answers.torque_unit or tau.meaning.unit
        if self.answers.gains:
            if len(self.answers.gains) != n:
                raise DatasetError(f"--gains: {len(self.answers.gains)} numbers for {n} joints")
            self._say("torques", f"{tau} times gains", "as asked for")
            return np.array(self.answers.gains) * UNITS["current"].get(unit, 1.0)
        if tau.meaning.signal in ("current", "share") and not self.answers.torque_unit:
            what = "currents" if tau.meaning.signal == "current" else "shares of a rated torque"
            commands = self._by_role("commanded")
            alone = "; --columns tau=none identifies from the commands without them" if commands else ""
            self._ask(
                "--gains", f"{tau} are {what}: give the torque of one {tau.meaning.unit or 'A'} at each joint, torque "
                f"constant times gear ratio; --torque-unit if they are torques{alone}"
            )  # fmt: skip
        elif unit and unit not in UNITS["tau"]:
            raise DatasetError(f"--torque-unit: {shown(unit)}; known are {listed(UNITS['tau'])}")
        elif unit:
            self.units["tau"] = unit
            self._say("unit of torques", unit, "as asked for" if self.answers.torque_unit else "by name")
        else:
            self._say("unit of torques", "N.m", "not stated: taken as such")
        return np.ones(n)

    def _torques(self, t: Array, q: Array, positions: Group, tau: Group) -> tuple[tuple[str, ...], ...]:
        """One row a joint; questions about signs, and about columns that the dynamics do not explain."""
        gains = self._gains(tau)
        values = tau.values * gains * UNITS["tau"][self.units.get("tau", "N.m")]
        fit = explained(self.robot, t, q, values)
        flips = self.answers.reversed
        if fit is not None:
            shares = fit.share[np.isfinite(fit.share)]
            if len(shares) and np.median(shares) < DOUBTFUL and not self.answers.as_is:
                known = ", ".join(f"{100 * s:.0f}" for s in fit.share)
                self._ask("--as-is", f"the robot's dynamics explain {known} % of the torques: are these its columns?")
            if fit.reversed and flips is None:
                named = ",".join(str(k + 1) for k in fit.reversed)
                self._ask(
                    "--reversed",
                    f"is the sign of the torques of joints {named} reversed? As they are they contradict the "
                    f"others', or friction and inertia are negative; --reversed {named}, or --reversed none",
                )
        for k in flips or ():
            gains[k - 1] *= -1.0
        if (gains != 1.0).any():
            self.settings["gains"] = [float(g) for g in gains]
        if flips:
            self._say("signs", f"joints {', '.join(map(str, flips))} reversed", "as asked for")
        self._in_limits(values)
        peaks = np.fmax.reduce(np.abs(values))
        fits = np.full((2, len(peaks)), np.nan) if fit is None else (fit.gravity, fit.share)
        ends = [(f"{peak:.4g}", _number(rho), _number(share)) for peak, rho, share in zip(peaks, *fits, strict=True)]
        return self._rows(q, positions, tau, ends)

    def _in_limits(self, values: Array) -> None:
        """Torques far beyond what the drives can give, or far below, are of another unit."""
        limit = self.robot.limits.effort
        known = np.isfinite(limit) & (limit > 0)
        if not known.any() or "tau" in self.units or "gains" in self.settings:
            return
        ratio = float(np.fmax.reduce(np.fmax.reduce(np.abs(values))[known] / limit[known]))
        if ratio <= LEAST_TORQUE or ratio >= MOST_TORQUE:
            self._ask("--torque-unit", f"torques reach {ratio:.3g} times the robot's limits: what is their unit?")


def _number(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else "-"


def _agrees(t: Array, q: Group, dq: Group, time: str, angle: str) -> bool:
    """Whether velocities in their stated unit are the differences of the positions in these units."""
    speeds = dq.values * UNITS["dq"][dq.meaning.unit]
    factor, _ = velocity_factors(t * UNITS["t"][time], q.values * UNITS["q"][angle], speeds)
    return bool(same_velocity(float(np.nanmedian(factor))))
