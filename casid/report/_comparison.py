"""Report of two identifications compared: what differs beyond chance, links, errors of each joint."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from rich.table import Table

from casid.identification._comparison import Comparison, Difference
from casid.report._section import Report, ReportSection, report_of
from casid.report._style import BLUE, MUTED, ORANGE, new_figure, set_title, tidy
from casid.report._tables import PlainTable, html_of, summary_table
from casid.report.viewer import Page

#: Differences that the terminal shows beyond the significant ones.
_SHOWN = 5


@dataclass(frozen=True, eq=False)
class ComparisonSection(ReportSection):
    """Differences of base parameters with their torques; links and errors side by side."""

    found: Comparison

    def tables(self) -> Sequence[Table]:
        """Base parameters, links, and the result in one line."""
        return (self._differences(), self._links(), self._errors(), summary_table("Comparison", self._summary()))

    def record(self) -> Mapping[str, Any]:
        """All differences."""
        found = self.found
        return {
            "before": found.names[0],
            "after": found.names[1],
            "line": found.line,
            "inflation": found.inflation,
            "differences": [
                {
                    "name": one.name,
                    "expression": one.expression,
                    "before": one.before,
                    "after": one.after,
                    "sd": one.sd,
                    "p": one.p,
                    "significant": one.significant,
                    "torque": one.torque if np.isfinite(one.torque) else None,
                    "joint": one.joint,
                }
                for one in found.differences
            ],
            "unmatched": list(found.unmatched),
            "notes": list(found.notes),
        }

    def pictures(self) -> Mapping[str, Callable[..., Figure]]:
        """Differences in standard deviations."""
        return {"comparison": lambda: comparison_figure(self.found)}

    def show(self, page: Page, drawn: Mapping[str, bytes]) -> None:
        """The result, the picture, the tables."""
        page.text(self.found.line)
        page.image(drawn.get("comparison.png"))
        for table in self.tables():
            page.add(f'<div class="scroll">{html_of(table)}</div>')

    def _differences(self) -> Table:
        found = self.found
        table = PlainTable("Base parameters (SI), significant ones first")
        table.caption = "torque [N.m]: what the difference makes in the recordings, at the joint where it is largest"
        table.add_column("parameter", style="bold")
        for column in ("before", "change", "p", "torque"):
            table.add_column(column, justify="right")
        table.add_column("joint")
        for one in (*found.significant, *[d for d in found.differences if not d.significant][:_SHOWN]):
            table.add_row(*_cells(one))
        return table

    def _links(self) -> Table:
        """Masses of the links; for the eye, since torques determine base parameters only."""
        before, after = (
            {name: record["parameters"].get(f"m{k + 1}", 0.0) for k, name in enumerate(record["links"])}
            for record in (self.found.before, self.found.after)
        )
        table = PlainTable("Masses of the links [kg]")
        table.caption = "plausible choices: torques determine only the base parameters above"
        table.add_column("link", style="bold")
        for column in ("before", "after", "change"):
            table.add_column(column, justify="right")
        shared = [(name, before[name], after[name]) for name in before if name in after]
        for name, one, other in (*shared, ("all", sum(before.values()), sum(after.values()))):
            table.add_row(name, f"{one:.3f}", f"{other:.3f}", f"{other - one:+.3f}")
        return table

    def _errors(self) -> Table:
        table = PlainTable("Torque errors [%]")
        table.add_column("joint", style="bold")
        for column in ("before", "after"):
            table.add_column(column, justify="right")
        after = {entry["name"]: entry["relative_error"] for entry in self.found.after["joints"]}
        for entry in self.found.before["joints"]:
            other = after.get(entry["name"])
            table.add_row(entry["name"], f"{entry['relative_error']:.2f}", "" if other is None else f"{other:.2f}")
        return table

    def _summary(self) -> list[tuple[str, str]]:
        found = self.found
        rows = [("result", found.line)]
        if found.inflation > 1.0:
            rows.append(
                ("deviations", f"widened {found.inflation:.2f} times, so that the bulk of the differences is chance")
            )
        return [*rows, *(("note", note) for note in found.notes)]


def comparison_figure(found: Comparison) -> Figure:
    """Differences over their standard deviations, one dot a base parameter; significant ones in colour."""
    figure = new_figure(9.0, 3.6)
    set_title(figure, "Differences of base parameters, in standard deviations")
    axes = figure.subplots()
    ordered = sorted(found.differences, key=lambda one: one.expression)
    sizes = np.array([one.change / one.sd if one.sd > 0 else 0.0 for one in ordered])
    colours = [ORANGE if one.significant else BLUE for one in ordered]
    axes.axhspan(-2, 2, color=MUTED, alpha=0.12, linewidth=0)
    axes.scatter(np.arange(len(ordered)), sizes, c=colours, s=22)
    for index, one in enumerate(ordered):
        if one.significant:
            axes.annotate(one.name, (index, sizes[index]), xytext=(3, 4), textcoords="offset points", fontsize=8)
    axes.set(xlabel="base parameter", ylabel="after - before")
    tidy(axes)
    return figure


def _cells(one: Difference) -> tuple[str, ...]:
    p = f"{one.p:.3f}" if one.p >= 1e-3 else f"{one.p:.0e}" if one.p >= 1e-99 else "< 1e-99"
    torque = f"{one.torque:.3g}" if np.isfinite(one.torque) else ""
    return (one.name, f"{one.before:.4g}", f"{one.change:+.3g}", p, torque, one.joint)


@report_of.register
def _(result: Comparison) -> Report:
    return Report("Comparison", (ComparisonSection(result),), "comparison.json", "comparison.html", result.line)
