"""Report of an identification from commands: verdict, parameters with intervals, measured motion and free runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from casid.drives._identify import CommandIdentification
from casid.drives._recording import CommandRecording
from casid.drives._servo import UNITS
from casid.drives._statistics import Estimate
from casid.drives._verdict import CommandFinding
from casid.errors import DatasetError
from casid.report import (
    BLUE,
    INK,
    MUTED,
    NAME,
    ORANGE,
    PlainTable,
    Report,
    ReportSection,
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
        """The terminal's tables, with the interval and the words of each parameter."""
        found = self.found
        summary, _, *others = self.tables()
        rows = [(e.name, f"{e.value:.4g}", f"[{e.low:.4g}, {e.high:.4g}]" if e.determined else "open", e.unit, e.words)
                for e in found.estimates]  # fmt: skip
        columns = {"parameter": NAME} | numbers("value", "95 % interval") | texts("unit", "what is known of it")
        for table in (summary, PlainTable("Parameters", columns, rows), *others):
            page.table(table, titled=True)

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
    """Common parameters, and in words what the data leave open, alike ones together."""
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
