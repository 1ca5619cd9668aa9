"""Report of an identification from commands: verdict, parameters with intervals, measured motion and free runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from casid.arrays import Array
from casid.drives._identify import CommandIdentification
from casid.drives._recording import CommandRecording
from casid.drives._servo import UNITS
from casid.drives._statistics import Estimate
from casid.errors import DatasetError
from casid.evidence import Finding
from casid.report import (
    BLUE,
    INK,
    MUTED,
    NAME,
    ORANGE,
    PlainTable,
    Report,
    ReportSection,
    link_colours,
    new_figure,
    numbers,
    report_of,
    set_title,
    summary_table,
    texts,
    tidy,
)
from casid.report.viewer import Page

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class CommandSection(ReportSection):
    """What was found, how sure it is, and how far free runs are from the encoders."""

    found: CommandIdentification

    def tables(self) -> Sequence[Table]:
        """Verdict, parameters, ratios where only those are known."""
        found = self.found
        several = len({data.motion for data in found.recordings}) > 1
        parts = "motions held out" if several else "stretches of the same motion held out, no other motion"
        held = "" if np.isnan(found.held_out) else f", {1e3 * found.held_out:.3g} mrad on {parts}"
        rows = [
            ("verdict", found.headline),
            ("free-run error", f"{1e3 * found.error:.3g} mrad{held} (convex start {1e3 * found.start_error:.3g})"),
            *(("finding", _text(f)) for f in found.findings),
            *(("note", note) for data in found.recordings for note in data.notes),
            ("effort", f"{found.rollouts:.0f} runs of {found.simulated:.0f} s each, {found.seconds:.1f} s"),
        ]
        tables = [summary_table(f"{found.robot.name}: identified from commands", rows), self._parameters()]
        loose = {found.robot.coordinates[k].name for k in found.start.ratios}
        ratios = [
            (name, f"{value:.4g} +- {half:.2g}")
            for name, (value, half) in found.ratios.items()
            if loose & {*name.split(" / ")[0].split(" ", 1)[1].split("=")}
        ]
        again = [(one.name, f"{one.value:.4g} {one.unit}: {one.words}") for one in found.profiles]
        titled = (("Ratios, where the gain is not fixed", ratios), ("Profiles: all others optimised again", again))
        return [*tables, *(summary_table(title, rows) for title, rows in titled if rows)]

    def _parameters(self) -> PlainTable:
        """One row a joint, one column an attribute; what is known is not repeated."""
        found = self.found
        attributes = [a for a in UNITS if any(e.attribute == a and not e.common for e in found.estimates)]
        heads = (f"{name} {UNITS[name] and f'[{UNITS[name]}]'}".strip() for name in attributes)
        cells = {(e.attribute, k): _value(e) for e in found.estimates for k in e.joints}
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
        """``free_runs``: measured and simulated positions of a recording: one of these, counted from 0, or another.

        ``parameters``: every parameter with its interval.
        """
        return {"free_runs": self._free_runs, "parameters": self._intervals}

    def show(self, page: Page, drawn: Mapping[str, bytes]) -> None:
        """Verdict, the moving arm, free runs to zoom, the parameters as picture and table."""
        found = self.found
        summary, _, *others = self.tables()
        page.table(summary, titled=True)
        page.heading("Free runs")
        page.text(
            "Each run starts at the encoders' positions and follows the commands alone: what it misses, the servo's "
            "parameters do not explain. The arm moves as its encoders were read."
        )
        robot, first = found.robot, found.recordings[0]
        known = all(link.inertial is not None for link in robot.links)
        bodies = {"of the description": robot.standard_parameters()} if known else {}
        page.robot(robot, bodies, motion=(first.t, first.q))
        for data in found.recordings:
            free = np.full_like(data.q, np.nan)
            for rows, q in self._simulated(data):
                free[rows] = q
            curves = {"encoder": data.q, "free run": free, "command": data.q_des}
            page.curves(data.t, curves, [f"{joint.name} [rad]" for joint in robot.coordinates], "rad", data.name)
        page.heading("Parameters")
        page.image(drawn.get("parameters.png"))
        rows = [(e.name, f"{e.value:.4g}", f"[{e.low:.4g}, {e.high:.4g}]" if e.determined else "open", e.unit, e.words)
                for e in found.estimates]  # fmt: skip
        columns = {"parameter": NAME} | numbers("value", "95 % interval") | texts("unit", "what is known of it")
        for table in (PlainTable("Parameters", columns, rows), *others):
            page.table(table, titled=True)

    def _simulated(self, data: CommandRecording) -> list[tuple[Any, Array]]:
        """Rows of a recording and positions of each free run."""
        runs = self.found.runs.of([data])
        return [(p.rows, q) for p, q in zip(runs.pieces, runs.simulate(runs.point(self.found.theta)), strict=True)]

    def _intervals(self) -> Figure:
        """One panel an attribute, a joint a row; hollow where the data do not determine the value."""
        estimates, joints = self.found.estimates, self.found.robot.coordinates
        attributes = list(dict.fromkeys(e.attribute for e in estimates))
        columns = min(4, len(attributes))
        lines = -(-len(attributes) // columns)
        figure = new_figure(2.6 * columns + 1.0, lines * (0.9 + 0.24 * len(joints)) + 0.6)
        panels = figure.subplots(lines, columns, squeeze=False).ravel()
        colours = link_colours(len(joints))
        for axes, name in zip(panels, attributes, strict=False):
            for e in (e for e in estimates if e.attribute == name):
                for colour, row in [(MUTED, -0.5)] if e.common else [(colours[k], -k) for k in e.joints]:
                    if e.determined:
                        axes.plot([e.low, e.high], [row, row], "-", color=colour, linewidth=2.0)
                    axes.plot(e.value, row, "o", ms=5, color=colour, mfc=colour if e.determined else "white")
            common = all(e.common for e in estimates if e.attribute == name)
            axes.set_yticks(
                [-0.5] if common else [-k for k in range(len(joints))], ["all"] if common else [j.name for j in joints]
            )
            axes.set_title(f"{name} [{UNITS[name]}]" if UNITS.get(name) else name, fontsize=9, loc="left", color=INK)
            axes.margins(0.15, 0.15)
            tidy(axes, "x")
        for axes in panels[len(attributes) :]:
            axes.set_axis_off()
        set_title(figure, "Parameters with their 95 % intervals; hollow: not determined")
        return figure

    def _free_runs(self, recording: int | CommandRecording = 0) -> Figure:
        found = self.found
        if isinstance(recording, int) and not 0 <= recording < len(found.recordings):
            raise DatasetError(f"there is no recording {recording}: there are {len(found.recordings)}, counted from 0")
        data = found.recordings[recording] if isinstance(recording, int) else recording
        figure = new_figure(10.0, 1.2 + 1.6 * data.n)
        axes, simulated = figure.subplots(data.n, 1, sharex=True, squeeze=False)[:, 0], self._simulated(data)
        for k, (one, joint) in enumerate(zip(axes, found.robot.coordinates, strict=True)):
            one.plot(data.t, data.q_des[:, k], color=MUTED, linewidth=0.8, label="command")
            one.plot(data.t, data.q[:, k], color=INK, linewidth=1.2, label="encoder")
            for number, (rows, q) in enumerate(simulated):
                label = "free run" if not number else None
                one.plot(data.t[rows], q[:, k], color=ORANGE if number % 2 else BLUE, linewidth=0.9, label=label)
            one.set_ylabel(joint.name)
            tidy(one)
        axes[0].legend(fontsize=8, ncols=3)
        axes[-1].set_xlabel("time [s]")
        beyond = found.beyond(data)
        more = f" (and {len(beyond) - 1} more)" if beyond[1:] else ""
        words = f"\nbeyond the fit: {beyond[0]}{more}" if beyond else ""
        set_title(figure, f"{data.name}: encoders and free runs [rad]{words}")
        return figure


def _text(finding: Finding) -> str:
    joint = f" of {finding.joint}" if finding.joint else ""
    return f"{finding.kind}{joint}: {finding.text}{f' ({finding.remedy})' if finding.remedy else ''}"


def _value(e: Estimate) -> str:
    """Value and half width with as many digits as that has."""
    if not e.determined:
        return f"({e.value:.2g})"
    if e.bounded_above_only:
        return f"< {e.high:.2g}"
    digits = max(0, min(6, 1 - int(np.floor(np.log10(max(e.half, 1e-9))))))
    return f"{e.value:.{digits}f} ±{e.half:.{digits}f}"


def _remarks(found: CommandIdentification) -> list[str]:
    """Common parameters, and in words what the data leave open, alike ones together."""
    notes: dict[str, list[str]] = {}
    common = [e for e in found.estimates if e.common]
    for e in found.estimates:
        if e.words and not e.common:
            notes.setdefault(e.words, []).append(e.name)
    lines = [f"{e.name} of all joints {e.value:.4g} ±{e.half:.2g} {e.unit}"
             f"{f' ({e.words})' if e.words else ''}" for e in common]  # fmt: skip
    return lines + [f"{', '.join(names)}: {words}" for words, names in notes.items()]


@report_of.register(CommandIdentification)
def _of_commands(found: CommandIdentification) -> Report:
    title = f"{found.robot.name}: identified from commands"
    return Report(title, (CommandSection(found),), json="identification.json", page="report.html", lead=found.headline)
