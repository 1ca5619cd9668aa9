"""Reports of a simulation (tracking errors, energy, animation) and of an identification by simulation."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from rich.table import Table

from casid.description._document import robot_reference
from casid.drives import CommandIdentification, CommandRecording
from casid.drives._servo import UNITS
from casid.drives._statistics import Estimate
from casid.drives._verdict import CommandFinding
from casid.errors import DatasetError
from casid.inertia._parameter_files import parameter_record
from casid.measurement import Dataset
from casid.report._excitation import skeleton_gif
from casid.report._section import Report, ReportSection, report_of
from casid.report._style import BLUE, GREEN, INK, MUTED, ORANGE, RED, new_figure, set_title, tidy
from casid.report._tables import NAME, PlainTable, numbers, summary_table, texts
from casid.report.viewer import Page
from casid.simulation import Simulation
from casid.version import __version__


@dataclass(frozen=True, eq=False)
class MotionSection(ReportSection):
    """The simulated motion: tracking errors and torques of each joint, the recording, an animation."""

    simulation: Simulation

    def tables(self) -> Sequence[Table]:
        """One row for each joint."""
        simulation = self.simulation
        robot, error, tau = simulation.plant.model.robot, simulation.tracking_error, simulation.tau
        values = {
            "largest error": np.abs(error).max(axis=0),
            "rms error": np.sqrt(np.mean(error**2, axis=0)),
            "largest speed": np.abs(simulation.dq).max(axis=0),
            "largest torque": np.abs(tau).max(axis=0),
            "rms torque": np.sqrt(np.mean(tau**2, axis=0)),
        }
        rows = [(j.name, *(f"{value[k]:.4g}" for value in values.values())) for k, j in enumerate(robot.coordinates)]
        return (PlainTable(f"{robot.name}: {simulation.end}", {"joint": NAME} | numbers(*values), rows),)

    def record(self) -> Mapping[str, Any]:
        """End of the simulation, parameters of the plant, errors of each joint."""
        simulation, end, error = self.simulation, self.simulation.end, self.simulation.tracking_error
        model = simulation.plant.model
        return {
            **robot_reference(model.robot),
            "end": {"time": end.time, "reason": end.reason.value, "detail": end.detail},
            "samples": len(simulation),
            **parameter_record(model.named(simulation.plant.parameters)),
            "rms_error": np.sqrt(np.mean(error**2, axis=0)),
            "largest_error": np.abs(error).max(axis=0),
            "versions": {"casid": __version__},
        }

    def files(self) -> Mapping[str, bytes]:
        """``animation.gif``; ``recording.npz``, the sensors' values, unless there are too few for a recording."""
        contents = {"animation.gif": _animation(self.simulation)}
        try:
            contents["recording.npz"] = recording_npz(self.simulation.dataset())
        except DatasetError:
            pass  # too few samples; the record gives the time and the reason of the end
        return contents

    def pictures(self) -> Mapping[str, Callable[..., Figure]]:
        """``motion``."""
        return {"motion": lambda: motion_figure(self.simulation)}


@dataclass(frozen=True, eq=False)
class EnergySection(ReportSection):
    """Energy of the plant: work of the motors, dissipation, error of integration."""

    simulation: Simulation

    def tables(self) -> Sequence[Table]:
        """Values at the end."""
        energy = self.simulation.energy
        rows = [
            ("work of the motors", f"{energy.work[-1]:.6g}"),
            ("dissipated by joint terms", f"{energy.dissipated[-1]:.6g}"),
            ("imbalance", f"{energy.relative_imbalance:.1e} of the largest entry"),
        ]
        return (summary_table("Energy [J]", rows),)

    def record(self) -> Mapping[str, Any]:
        """Values at the end [J]."""
        energy = self.simulation.energy
        last = {name: getattr(energy, name)[-1] for name in ("kinetic", "potential", "work", "dissipated")}
        return {"energy": last | {"relative_imbalance": energy.relative_imbalance}}

    def pictures(self) -> Mapping[str, Callable[..., Figure]]:
        """``energy``."""
        return {"energy": lambda: energy_figure(self.simulation)}


@report_of.register(Simulation)
def _of_simulation(simulation: Simulation) -> Report:
    sections = (MotionSection(simulation), EnergySection(simulation))
    return Report(f"{simulation.plant.model.robot.name}: simulation", sections, json="simulation.json")


def recording_npz(dataset: Dataset) -> bytes:
    """A recording as npz: ``t, q, dq, tau``, as `casid.read_dataset` reads it."""
    arrays = {name: value for name in ("t", "q", "dq", "tau") if (value := getattr(dataset, name)) is not None}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def motion_figure(simulation: Simulation) -> Figure:
    """Positions and torques of every joint; dashed: the reference."""
    n, joints = simulation.n, simulation.plant.model.robot.coordinates
    figure = new_figure(11.0, 0.5 + 1.35 * n)
    set_title(figure, f"{simulation.plant.model.robot.name}: {simulation.end}")
    grid = figure.subplots(n, 2, sharex=True, squeeze=False)
    for k in range(n):
        positions, torques = grid[k]
        positions.plot(simulation.t, simulation.q_ref[:, k], "--", color=MUTED, linewidth=1.0, label="reference")
        positions.plot(simulation.t, simulation.q[:, k], color=BLUE, linewidth=1.2, label="motion")
        torques.plot(simulation.t, simulation.tau[:, k], color=ORANGE, linewidth=0.9)
        positions.set_ylabel(joints[k].name, fontsize=8)
        for axes in (positions, torques):
            tidy(axes)
            axes.tick_params(labelsize=7)
    revolute = all(joint.type == "revolute" for joint in joints)
    grid[0, 0].set_title("position [rad]" if revolute else "position [rad, m]", fontsize=9, color=INK)
    grid[0, 1].set_title("torque [N.m]" if revolute else "torque [N.m, N]", fontsize=9, color=INK)
    grid[0, 0].legend(fontsize=7, frameon=False, loc="best", labelcolor=MUTED)
    for axes in grid[-1]:
        axes.set_xlabel("time [s]", fontsize=9)
    return figure


def energy_figure(simulation: Simulation) -> Figure:
    """Energies and works over time, and below them the error of integration."""
    energy = simulation.energy
    figure = new_figure(9.0, 5.6)
    set_title(figure, f"{simulation.plant.model.robot.name}: energy")
    entries, rest = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    for values, label, colour in (
        (energy.kinetic, "kinetic", BLUE),
        (energy.potential, "potential", GREEN),
        (energy.work, "work of the motors", ORANGE),
        (energy.dissipated, "dissipated by friction and other joint terms", RED),
    ):
        entries.plot(simulation.t, values, color=colour, linewidth=1.2, label=label)
    entries.plot(simulation.t, energy.total, "--", color=INK, linewidth=0.9, label="kinetic + potential")
    entries.set_ylabel("J", fontsize=9)
    entries.legend(fontsize=8, frameon=False, labelcolor=MUTED)
    rest.plot(simulation.t, energy.imbalance, color=MUTED, linewidth=0.9)
    rest.set_ylabel("imbalance [J]", fontsize=9)
    rest.set_xlabel("time [s]", fontsize=9)
    for axes in (entries, rest):
        tidy(axes)
    return figure


def tracking_figure(simulations: dict[str, Simulation], title: str, start: float = 0.0) -> Figure:
    """Tracking errors of several simulations of one motion; ``start`` is the first instant shown [s]."""
    first = next(iter(simulations.values()))
    rows = (first.n + 1) // 2
    figure = new_figure(11.0, 1.0 + 1.7 * rows)
    set_title(figure, title)
    grid = figure.subplots(rows, 2, sharex=True, squeeze=False).ravel()
    colours = (RED, BLUE, GREEN, ORANGE, MUTED, INK)
    for k, joint in enumerate(first.plant.model.robot.coordinates):
        for number, (label, simulation) in enumerate(simulations.items()):
            late = simulation.t >= start
            error = np.degrees(np.clip(simulation.tracking_error[late, k], -np.pi, np.pi))
            grid[k].plot(
                simulation.t[late], error, color=colours[number % len(colours)], linewidth=0.9,
                label=label if k == 0 else None,
            )  # fmt: skip
        grid[k].set_ylabel(f"{joint.name} [deg]", fontsize=8)
        tidy(grid[k])
    for axes in grid[first.n :]:
        axes.set_visible(False)
    for axes in grid[-2:]:
        axes.set_xlabel("time [s]", fontsize=9)
    figure.legend(loc="lower right", fontsize=8, frameon=False, labelcolor=MUTED)
    return figure


def _animation(simulation: Simulation, frames: int = 60) -> bytes:
    fine = np.unique(np.linspace(0, len(simulation) - 1, 400).astype(int))
    shown = np.unique(np.linspace(0, len(simulation) - 1, frames).astype(int))
    robot = simulation.plant.model.robot
    length = float(simulation.t[-1] - simulation.t[0])
    labels = [f"{simulation.t[i]:5.1f} s" for i in shown]
    return skeleton_gif(
        robot, simulation.q[shown].T, labels, robot.name, max(0.02, length / len(shown)), path=simulation.q[fine].T
    )


@dataclass(frozen=True, eq=False)
class CommandSection(ReportSection):
    """What was found, how sure it is, and how far free runs are from the encoders."""

    found: CommandIdentification

    def tables(self) -> Sequence[Table]:
        """Verdict, parameters, ratios where only those are known."""
        found = self.found
        held = "" if np.isnan(found.held_out) else f", {1e3 * found.held_out:.3g} mrad on motions held out"
        rows = [
            ("verdict", found.headline),
            ("free-run error", f"{1e3 * found.error:.3g} mrad{held} (convex start {1e3 * found.start_error:.3g})"),
            *(("finding", _text(f)) for f in found.findings),
            ("effort", f"{found.rollouts:.0f} runs of {found.simulated:.0f} s each, {found.seconds:.1f} s"),
        ]
        tables = [summary_table(f"{found.robot.name}: identified from commands", rows), self._parameters()]
        loose = {found.robot.coordinates[k].name for k in found.start.ratios}
        ratios = [
            (name, f"{value:.4g} +- {half:.2g}")
            for name, (value, half) in found.ratios.items()
            if any(name.split(" / ")[0].endswith(f" {joint}") for joint in loose)
        ]
        again = [(one.name, f"{one.value:.4g} {one.unit}: {one.words}") for one in found.profiles]
        titled = (("Ratios, where the gain is not fixed", ratios), ("Profiles: all others optimised again", again))
        return [*tables, *(summary_table(title, rows) for title, rows in titled if rows)]

    def _parameters(self) -> PlainTable:
        """One row a joint, one column an attribute; what is known is not repeated."""
        found = self.found
        attributes = [a for a in UNITS if any(e.attribute == a and e.joint >= 0 for e in found.estimates)]
        heads = (f"{name} {UNITS[name] and f'[{UNITS[name]}]'}".strip() for name in attributes)
        cells = {(e.attribute, e.joint): _value(e) for e in found.estimates}
        rows = [
            (joint.name, *(cells.get((name, k), "") for name in attributes))
            for k, joint in enumerate(found.robot.coordinates)
        ]
        title = "Parameters with half widths of their 95 % intervals; in brackets: not determined"
        return PlainTable(title, {"joint": NAME} | numbers(*heads), rows, "; ".join(_remarks(found)))

    def record(self) -> Mapping[str, Any]:
        """All numbers."""
        return self.found.record()

    def pictures(self) -> Mapping[str, Callable[..., Figure]]:
        """``free_runs``: measured and simulated positions of a recording: one of these, counted from 0, or another."""
        return {"free_runs": self._free_runs}

    def show(self, page: Page, drawn: Mapping[str, bytes]) -> None:
        """The tables' content."""
        found = self.found
        page.heading("Verdict")
        page.text(found.headline)
        for finding in found.findings:
            page.text(_text(finding))
        page.heading("Parameters")
        rows = [(e.name, f"{e.value:.4g}", f"[{e.low:.4g}, {e.high:.4g}]" if e.determined else "open", e.unit, e.words)
                for e in found.estimates]  # fmt: skip
        columns = {"parameter": NAME} | numbers("value", "95 % interval") | texts("unit", "what the data tell")
        page.table(PlainTable("Parameters", columns, rows))
        if found.profiles:
            page.heading("Profiles: all others optimised again")
            lines = [(one.name, f"{one.value:.4g}", one.unit, one.words) for one in found.profiles]
            page.table(
                PlainTable("Profiles", {"parameter": NAME} | numbers("value") | texts("unit", "interval"), lines)
            )

    def _free_runs(self, recording: int | CommandRecording = 0) -> Figure:
        found = self.found
        if isinstance(recording, int) and not 0 <= recording < len(found.recordings):
            raise DatasetError(f"there is no recording {recording}: there are {len(found.recordings)}, counted from 0")
        data = found.recordings[recording] if isinstance(recording, int) else recording
        runs = found.runs.of([data])
        simulated = runs.simulate(runs.point(found.theta))
        figure = new_figure(10.0, 1.2 + 1.6 * data.n)
        axes = figure.subplots(data.n, 1, sharex=True, squeeze=False)[:, 0]
        for k, (one, joint) in enumerate(zip(axes, found.robot.coordinates, strict=True)):
            one.plot(data.t, data.q_des[:, k], color=MUTED, linewidth=0.8, label="command")
            one.plot(data.t, data.q[:, k], color=INK, linewidth=1.2, label="encoder")
            for number, (piece, q) in enumerate(zip(runs.pieces, simulated, strict=True)):
                label = "free run" if not number else None
                one.plot(data.t[piece.rows], q[:, k], color=ORANGE if number % 2 else BLUE, linewidth=0.9, label=label)
            one.set_ylabel(joint.name)
            tidy(one)
        axes[0].legend(fontsize=8, ncols=3)
        axes[-1].set_xlabel("time [s]")
        set_title(figure, f"{data.name}: encoders and free runs [rad]")
        return figure


def _text(finding: CommandFinding) -> str:
    joint = f" of {finding.joint}" if finding.joint else ""
    return f"{finding.kind}{joint}: {finding.text}{f' ({finding.remedy})' if finding.remedy else ''}"


def _value(e: Estimate) -> str:
    """Value and half width with as many digits as that has."""
    half = max(e.high - e.value, e.value - e.low)
    if not e.determined:
        return f"({e.value:.2g})"
    if e.bounded_above_only:
        return f"< {e.high:.2g}"
    digits = max(0, min(6, 1 - int(np.floor(np.log10(max(half, 1e-9))))))
    return f"{e.value:.{digits}f} ±{half:.{digits}f}"


def _remarks(found: CommandIdentification) -> list[str]:
    """Common parameters, and in words what the data do not tell, alike ones together."""
    notes: dict[str, list[str]] = {}
    common = [e for e in found.estimates if e.joint < 0]
    for e in found.estimates:
        if e.words and e.joint >= 0:
            notes.setdefault(e.words, []).append(e.name)
    lines = [f"{e.name} of all joints {e.value:.4g} ±{max(e.high - e.value, e.value - e.low):.2g} {e.unit}"
             f"{f' ({e.words})' if e.words else ''}" for e in common]  # fmt: skip
    return lines + [f"{', '.join(names)}: {words}" for words, names in notes.items()]


@report_of.register(CommandIdentification)
def _of_commands(found: CommandIdentification) -> Report:
    title = f"{found.robot.name}: identified from commands"
    return Report(title, (CommandSection(found),), json="identification.json", page="report.html", lead=found.headline)
