"""A log of any layout on its way to a proposal: columns, units, gains and signs, each with evidence or a question."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from casid.arrays import Array
from casid.description import Robot
from casid.errors import DatasetError
from casid.files import listed, shown
from casid.measurement._columns import UNITS
from casid.measurement._defects import velocity_factors
from casid.measurement._evidence import (
    FASTEST,
    LEAST_SPEED,
    LEAST_STROKE,
    MOST_SPEED,
    SLOWEST,
    Explained,
    beyond_limits,
    explained,
    rate_text,
    speed_of,
)
from casid.measurement._names import Group
from casid.measurement._picking import Picking
from casid.measurement._proposal import Answers, Proposal

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


class _Reading(Picking):
    """One log on its way to a proposal."""

    def proposal(self) -> Proposal:
        if self._of_commands():
            joints = self._commanded()
        else:
            joints = self._measured()
        if self.units:
            self.settings["units"] = self.units
        taken = {
            name for group in self.used for name in ([group.names] if isinstance(group.names, str) else group.names)
        }
        names = [name for name, _ in self.table.cells] or list(self.table.arrays)
        unused = tuple(name for k, name in enumerate(names, start=1) if name not in taken and k not in taken)
        return Proposal(self.path, self.settings, tuple(self.evidence), joints, tuple(self.questions), unused)

    def _of_commands(self) -> bool:
        """Whether the log has commands and encoders, and no torques (or none that are to be read)."""
        said = self.answers.columns
        if "tau" in said or "q_des" in said:
            return said.get("tau", "none") == "none"
        torques = any(group.meaning.signal in ("tau", "current", "share") for group in self.groups)
        return not torques and bool(self._by_role("commanded"))

    def _by_role(self, role: str) -> list[Group]:
        """Groups of positions of all joints in a role, or else of columns whose names say the role and no signal."""
        fitting = [g for g in self.groups if g.values.shape[1] == self.robot.n and g.meaning.role == role]
        return [g for g in fitting if g.meaning.signal == "q"] or [g for g in fitting if g.meaning.signal == ""]

    def _commanded(self) -> tuple[tuple[str, ...], ...]:
        """Of a log of commands and encoders: times, positions, commands; one row a joint."""
        unsaid = [
            g
            for g in self.groups
            if g.values.shape[1] == self.robot.n and (g.meaning.signal, g.meaning.role) == ("q", "")
        ]
        q = self._of("q", self._by_role("measured") or unsaid, "positions")
        commands = self._of("q_des", self._by_role("commanded"), "commanded positions")
        t = self._time()
        if q is None or commands is None or t is None:
            return ()
        scaled = self._units(t, q, None)
        if scaled is None:
            return ()
        self.settings["joints"] = [joint.name for joint in self.robot.coordinates]
        return self._followed(scaled[1], q, commands)

    def _of(self, signal: str, found: Sequence[Group], what: str) -> Group | None:
        """The group of a signal as the user says, or the only one, or a question."""
        if signal in self.answers.columns:
            return self._pick(signal, (), what)
        ordered = [group for group in found if group.ordered]
        if len(ordered) == 1:
            joints = f"joints {listed(ordered[0].labels)}"
            self.evidence.append((what, str(ordered[0]), f"{ordered[0].meaning.role or 'by their names'}; {joints}"))
            return self._take(signal, ordered[0])
        names = listed([name for name, _ in self.table.cells] or self.table.arrays)
        which = " or ".join(map(str, found)) or f"none by their names; columns: {names}"
        self._ask(f"--columns {signal}=", f"which {self.robot.n} columns are the {what}: {which}?")
        return None

    def _followed(self, q: Array, positions: Group, commands: Group) -> tuple[tuple[str, ...], ...]:
        """The commands' unit, in which the positions follow them; one row a joint."""
        moves = (np.ptp(q, axis=0) > 0) & (np.ptp(commands.values, axis=0) > 0)
        stated = commands.meaning.unit
        sizes = {
            unit: UNITS["q"][unit] for unit in ([stated] if stated else dict.fromkeys((self.units["q"], "rad", "deg")))
        }
        spread = np.std(commands.values[:, moves], axis=0) / np.maximum(np.std(q[:, moves], axis=0), 1e-300)
        ratio = float(np.median(spread)) if moves.any() else 1.0
        unit = min(sizes, key=lambda one: abs(np.log(max(ratio * sizes[one], 1e-300))))
        self.units["q_des"] = unit
        rho = [
            float(np.corrcoef(q[:, k], commands.values[:, k])[0, 1]) if moves[k] else np.nan for k in range(q.shape[1])
        ]
        middle = float(np.median(np.array(rho)[moves])) if moves.any() else np.nan
        text = (
            f"the positions follow them, correlation {middle:.2f}, strokes {1 / (ratio * sizes[unit]):.2f} times theirs"
        )
        self.evidence.append(("unit of commands", unit, text))
        if not middle > 0.5 and not self.answers.as_is:
            self._ask(
                "--as-is", f"the positions do not follow {commands} (correlation {middle:.2f}): are these the goals?"
            )
        rows = []
        for k, joint in enumerate(self.robot.coordinates):
            columns = [g.names if isinstance(g.names, str) else str(g.names[k]) for g in (positions, commands)]
            follows = "-" if np.isnan(rho[k]) else f"{rho[k]:.2f}"
            rows.append((joint.name, *columns, self._stroke(q, k), follows))
        return tuple(rows)

    def _stroke(self, q: Array, k: int) -> str:
        """Range of a joint's positions in words."""
        turning = self.robot.coordinates[k].type == "revolute"
        scale, unit = (180.0 / np.pi, "deg") if turning else (1e3, "mm")
        return f"{scale * q[:, k].min():.1f} to {scale * q[:, k].max():.1f} {unit}"

    def _measured(self) -> tuple[tuple[str, ...], ...]:
        """Of a log with torques: times, positions, torques; one row a joint."""
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
        return joints

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
            alone = (
                "; --columns tau=none identifies from the commands without them" if self._by_role("commanded") else ""
            )
            self._ask(
                "--gains", f"{tau} are {what}: give the torque of one {tau.meaning.unit or 'A'} at each joint, torque "
                f"constant times gear ratio; --torque-unit if they are torques{alone}"
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
            known = (
                [("-" if not np.isfinite(v) else f"{v:.2f}") for v in (fit.gravity[k], fit.share[k])]
                if fit
                else ["-", "-"]
            )
            rows.append((joint.name, *columns, self._stroke(q, k), f"{np.abs(tau[:, k]).max():.4g}", *known))
        return tuple(rows)
