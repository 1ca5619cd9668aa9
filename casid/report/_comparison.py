"""Report of two identifications compared: what differs beyond chance, links, errors of each joint."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from rich.table import Table

from casid.identification import Comparison, Difference
from casid.report._section import Report, SectionOf, picked, report_of
from casid.report._style import BLUE, MUTED, ORANGE, Figure, new_figure, tidy
from casid.report._tables import NAME, WORD, PlainTable, numbers, summary_table

#: Differences that the terminal shows beyond the significant ones.
_SHOWN = 5


class ComparisonSection(SectionOf[Comparison]):
    """Differences of base parameters with their torques; links and errors side by side."""

    def tables(self) -> Sequence[Table]:
        """Base parameters, links, and the result in one line."""
        return (self._differences(), self._links(), self._errors(), summary_table("Comparison", self._summary()))

    def record(self) -> Mapping[str, Any]:
        """All differences."""
        found = self.result
        names = ("name", "expression", "before", "after", "sd", "p", "significant", "torque", "joint")
        return {
            "before": found.names[0],
            "after": found.names[1],
            **picked(found, "line", "inflation"),
            "differences": [picked(one, *names) for one in found.differences],
            "unmatched": list(found.unmatched),
            "notes": list(found.notes),
        }

    def pictures(self) -> Mapping[str, Callable[..., Figure]]:
        """Differences in standard deviations."""
        return {"comparison": lambda: comparison_figure(self.result)}

    def _differences(self) -> Table:
        found = self.result
        others = [one for one in found.differences if not one.significant]
        columns = {"parameter": NAME} | numbers("before", "change", "p", "torque") | {"joint": WORD}
        note = "torque [N.m]: what the difference makes in the recordings, at the joint where it is largest"
        rows = map(_cells, (*found.significant, *others[:_SHOWN]))
        return PlainTable("Base parameters (SI), significant ones first", columns, rows, note)

    def _links(self) -> Table:
        """Masses of the links; for the eye, since torques determine base parameters only."""
        before, after = (
            {name: record["parameters"].get(f"m{k + 1}", 0.0) for k, name in enumerate(record["links"])}
            for record in (self.result.before, self.result.after)
        )
        shared = [(name, before[name], after[name]) for name in before if name in after]
        masses = (*shared, ("all", sum(before.values()), sum(after.values())))
        rows = [(name, f"{one:.3f}", f"{other:.3f}", f"{other - one:+.3f}") for name, one, other in masses]
        note = "plausible choices: torques determine only the base parameters above"
        columns = {"link": NAME} | numbers("before", "after", "change")
        return PlainTable("Masses of the links [kg]", columns, [*rows[:-1], None, rows[-1]], note)

    def _errors(self) -> Table:
        after = {entry["name"]: entry["relative_error"] for entry in self.result.after["joints"]}
        before = {entry["name"]: entry["relative_error"] for entry in self.result.before["joints"]}
        rows = [(name, f"{one:.2f}", f"{after[name]:.2f}" if name in after else "") for name, one in before.items()]
        return PlainTable("Torque errors [%]", {"joint": NAME} | numbers("before", "after"), rows)

    def _summary(self) -> list[tuple[str, str]]:
        found = self.result
        rows = [("result", found.line)]
        if found.inflation > 1.0:
            words = f"widened {found.inflation:.2f} times, so that the bulk of the differences is chance"
            rows.append(("deviations", words))
        return [*rows, *(("note", note) for note in found.notes)]


def comparison_figure(found: Comparison) -> Figure:
    """Differences over their standard deviations, one dot a base parameter; significant ones in colour."""
    figure = new_figure(9.0, 3.6, "Differences of base parameters, in standard deviations")
    axes = figure.subplots()
    ordered = sorted(found.differences, key=lambda one: one.expression)
    sizes = np.array([one.change / one.sd if one.sd > 0 else 0.0 for one in ordered])
    colours = [ORANGE if one.significant else BLUE for one in ordered]
    axes.axhspan(-2, 2, color=MUTED, alpha=0.12, linewidth=0)
    axes.scatter(np.arange(len(ordered)), sizes, c=colours, s=22)
    for index, one in enumerate(ordered):
        if one.significant:
            axes.annotate(one.name, (index, sizes[index]), xytext=(3, 4), textcoords="offset points", fontsize=8)
    tidy(axes, x="base parameter", y="after - before")
    return figure


def _cells(one: Difference) -> tuple[str, ...]:
    p = f"{one.p:.2g}" if one.p else "< 1e-300"  # the least number that is not 0
    torque = f"{one.torque:.3g}" if np.isfinite(one.torque) else ""
    return (one.name, f"{one.before:.4g}", f"{one.change:+.3g}", p, torque, one.joint)


@report_of.register
def _(result: Comparison) -> Report:
    return Report("Comparison", (ComparisonSection(result),), "comparison.json", "comparison.html", result.line)
