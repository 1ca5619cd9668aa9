"""A log of any layout on its way to a proposal: columns, units, gains and signs, each with evidence or a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from casid.description import Robot
from casid.errors import DatasetError
from casid.files._words import listed, shown
from casid.measurement._columns import UNITS
from casid.measurement._formats import text_content
from casid.measurement._text import text_lines
from casid.measurement.importing._evidence import (
    FASTEST,
    LEAST_SPEED,
    LEAST_STROKE,
    MOST_SPEED,
    SLOWEST,
    Array,
    Explained,
    advances,
    beyond_limits,
    blocks,
    clock_of,
    even_clock,
    explained,
    rate_text,
    speed_of,
    velocity_factors,
)
from casid.measurement.importing._layout import columns_of
from casid.measurement.importing._names import LARGEST, Group, best, chosen_group, meaning, signal_groups
from casid.measurement.importing._proposal import Answers, Proposal, Question

#: Explained share of the torques below which the columns are not taken for the robot's, and the least that decides.
DOUBTFUL, CLEAR = 0.5, 0.8


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
        self.evidence: list[tuple[str, str, str]] = []
        self.questions: list[Question] = []
        self.settings: dict[str, Any] = {}
        self.units: dict[str, str] = {}
        self.table, layout = columns_of(path, self.evidence)
        if layout is not None:
            self.settings["text"] = {k: list(v) if k == "header" else v for k, v in vars(layout).items()}
        self.groups = signal_groups(self.table, robot)
        self.used: list[Group] = []
        self.why = "as asked for"
        if layout is not None and not layout.header and not answers.columns:
            self._unnamed()

    def proposal(self) -> Proposal:
        q = self._pick("q", ("q",), "positions")
        tau = self._pick("tau", ("tau", "current", "share"), "torques")
        dq = self._pick("dq", ("dq",), "velocities", needed=False)
        t = self._time()
        joints: tuple[tuple[str, ...], ...] = ()
        if q is not None and t is not None:
            scaled = self._units(t, q, dq)
            if scaled is not None and tau is not None:
                joints = self._torques(*scaled, q, tau)
        elif tau is not None:
            self._gains(tau)
        if self.units:
            self.settings["units"] = self.units
        taken = {
            name for group in self.used for name in ([group.names] if isinstance(group.names, str) else group.names)
        }
        names = [name for name, _ in self.table.cells] or list(self.table.arrays)
        unused = tuple(name for k, name in enumerate(names, start=1) if name not in taken and k not in taken)
        return Proposal(self.path, self.settings, tuple(self.evidence), joints, tuple(self.questions), unused)

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
            there = "; ".join(f"{group} ({group.values.shape[1]})" for group in others) or "none by their names"
            names = listed([name for name, _ in self.table.cells] or self.table.arrays)
            self._ask(
                f"--columns {signal}=", f"which {n} columns are the {what}? Candidates: {there}; columns: {names}"
            )
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
                factor = UNITS["q"][angle]
                speed = speed_of(self.robot, t * UNITS["t"][time], q.values * factor)
                small = len(angles) > 1 and float(np.ptp(q.values * factor, axis=0).max()) < LEAST_STROKE
                bad = small or beyond_limits(self.robot, q.values * factor) or not LEAST_SPEED <= speed <= MOST_SPEED
                if not bad or (len(times) == 1 and len(angles) == 1):
                    fitting.append((time, angle, speed))
        if dq is not None and dq.meaning.unit and len(fitting) > 1:
            fitting = [one for one in fitting if self._agrees(t, q, dq, one[0], one[1])] or fitting
        if len(fitting) != 1:
            self._undecided(fitting, times, angles)
            return None
        time, angle, speed = fitting[0]
        factor = UNITS["t"][time]
        if "t" not in self.units:
            self.evidence.append(("time", f"counts {time}", f"{rate_text(t, factor)}; fits limits and speeds"))
        self.units |= {"t": time, "q": angle} if "rate" not in self.settings else {"q": angle}
        if "rate" in self.settings:
            self.units.pop("t", None)
        reach = float(np.abs(q.values).max())
        why = "as asked for" if self.answers.angles else "by their names" if q.meaning.unit else (
            f"fits limits, speeds and strokes; as {'deg' if angle == 'rad' else 'rad'} it does not"
        )  # fmt: skip
        limits = "; OUTSIDE the joint limits" if beyond_limits(self.robot, q.values * UNITS["q"][angle]) else ""
        text = f"{why}; up to {reach:.4g}, fastest joint at {100 * speed:.0f} % of its limit{limits}"
        self.evidence.append(("angles", angle, text))
        if limits or not LEAST_SPEED / 3 <= speed <= 2 * MOST_SPEED:
            self._ask("--angles, --time-unit", f"positions in {angle} and time in {time} do not fit the robot: {text}")
        t, scaled = t * factor, q.values * UNITS["q"][angle]
        if dq is not None:
            self._velocities(t, scaled, dq)
        return t, scaled

    def _undecided(
        self, fitting: Sequence[tuple[str, str, float]], times: Sequence[str], angles: Sequence[str]
    ) -> None:
        options = " and ".join(
            option for option, open_ in (("--time-unit", len(times) > 1), ("--angles", len(angles) > 1)) if open_
        )
        ways = " or ".join(f"time in {time}, angles in {angle}" for time, angle, _ in fitting)
        lead = f"may be {ways}" if ways else "no unit of time and angles fits the robot's limits and speeds"
        self._ask(options or "--columns", f"{lead}; say it")

    def _agrees(self, t: Array, q: Group, dq: Group, time: str, angle: str) -> bool:
        factor, _ = velocity_factors(
            t * UNITS["t"][time], q.values * UNITS["q"][angle], dq.values * UNITS["dq"][dq.meaning.unit]
        )
        return bool(0.8 < np.nanmedian(factor) < 1.25)

    def _velocities(self, t: Array, q: Array, dq: Group) -> None:
        """Keep measured velocities that are the derivative of the positions in some unit; leave others out."""
        factor, correlation = velocity_factors(t, q, dq.values)
        middle = float(np.nanmedian(factor)) if np.isfinite(factor).any() else np.nan
        near = {unit: abs(np.log(max(middle, 1e-12) / size)) for unit, size in UNITS["dq"].items()}
        unit = (
            dq.meaning.unit if dq.meaning.unit and near[dq.meaning.unit] < 0.1 else min(near, key=lambda one: near[one])
        )
        even = np.nanmax(np.abs(factor / middle - 1), initial=0.0) < 0.2
        if near[unit] < 0.1 and even and np.nanmin(correlation, initial=1.0) > 0.8:
            self.units["dq"] = unit
            why = f"differences of the positions: factor {middle:.4g}, correlation {np.nanmin(correlation):.3f}"
            self.evidence.append(("velocities", unit, why))
            return
        del self.settings["columns"]["dq"]
        self.used.remove(dq)
        why = f"not the derivative of the positions (factors {np.array2string(factor, precision=3)}): the motor's side?"
        self.evidence.append(("velocities", "left out", why))

    def _gains(self, tau: Group) -> Array:
        """Factors of the torques, from their unit and the gains that the user gives."""
        n, unit = self.robot.n, self.answers.torque_unit or tau.meaning.unit
        if self.answers.gains:
            if len(self.answers.gains) != n:
                raise DatasetError(f"--gains: {len(self.answers.gains)} numbers for {n} joints")
            gains = np.array(self.answers.gains) * (1e-3 if unit == "mA" else 1.0)
            self.evidence.append(("torques", f"{tau} times gains", "as asked for"))
            return gains
        if tau.meaning.signal in ("current", "share") and not self.answers.torque_unit:
            what = "currents" if tau.meaning.signal == "current" else "shares of a rated torque"
            self._ask(
                "--gains", f"{tau} are {what}: give the torque of one {tau.meaning.unit or 'A'} at each joint, torque "
                "constant times gear ratio; --torque-unit if they are torques"
            )  # fmt: skip
            return np.ones(n)
        if unit and unit in UNITS["tau"]:
            self.units["tau"] = unit
            self.evidence.append(("unit of torques", unit, "as asked for" if self.answers.torque_unit else "by name"))
        elif unit:
            raise DatasetError(f"--torque-unit: {shown(unit)}; known are {listed(UNITS['tau'])}")
        else:
            self.evidence.append(("unit of torques", "N.m", "not stated: taken as such"))
        return np.ones(n)

    def _torques(self, t: Array, q: Array, positions: Group, tau: Group) -> tuple[tuple[str, ...], ...]:
        """One row a joint; questions about signs, and about columns that the dynamics do not explain."""
        gains = self._gains(tau)
        values = tau.values * gains * (UNITS["tau"][self.units["tau"]] if "tau" in self.units else 1.0)
        fit = explained(self.robot, t, q, values)
        flips = self.answers.reversed
        if fit is not None:
            shares = fit.share[np.isfinite(fit.share)]
            if len(shares) and np.median(shares) < DOUBTFUL and not self.answers.as_is:
                self._ask(
                    "--as-is", "the robot's dynamics explain "
                    f"{', '.join(f'{100 * s:.0f}' for s in fit.share)} % of the torques: are these its columns?"
                )  # fmt: skip
            wrong = [k + 1 for k in fit.reversed]
            if wrong and flips is None:
                named = ",".join(map(str, wrong))
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
            self.evidence.append(("signs", f"joints {', '.join(map(str, flips))} reversed", "as asked for"))
        self._in_limits(values)
        return self._rows(q, values, fit, positions, tau)

    def _in_limits(self, values: Array) -> None:
        """Torques far beyond what the drives can give, or far below, are of another unit."""
        limit = self.robot.limits.effort
        known = np.isfinite(limit) & (limit > 0)
        if not known.any() or "tau" in self.units or "gains" in self.settings:
            return
        ratio = float((np.abs(values).max(axis=0)[known] / limit[known]).max())
        if not 0.002 < ratio < 3.0:
            self._ask("--torque-unit", f"torques reach {ratio:.3g} times the robot's limits: what is their unit?")

    def _rows(
        self, q: Array, tau: Array, fit: Explained | None, positions: Group, torque: Group
    ) -> tuple[tuple[str, ...], ...]:
        rows = []
        for k, joint in enumerate(self.robot.coordinates):
            columns = [g.names if isinstance(g.names, str) else str(g.names[k]) for g in (positions, torque)]
            scale = 180.0 / np.pi if joint.type == "revolute" else 1e3
            unit = "deg" if joint.type == "revolute" else "mm"
            stroke = f"{scale * q[:, k].min():.1f} to {scale * q[:, k].max():.1f} {unit}"
            known = (
                [("-" if not np.isfinite(v) else f"{v:.2f}") for v in (fit.gravity[k], fit.share[k])]
                if fit
                else ["-", "-"]
            )
            rows.append((joint.name, *columns, stroke, f"{np.abs(tau[:, k]).max():.4g}", *known))
        return tuple(rows)
