"""Report of an identification: verdict, errors, links, what the data determine, base parameters, summary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from rich.table import Table

from casid.files import csv_bytes
from casid.identification import Identification
from casid.inertia import parameter_csv
from casid.report._intervals import IntervalsSection
from casid.report._joints import ErrorsSection, JointTermsSection
from casid.report._links import links_figure, links_table
from casid.report._section import Report, SectionOf, report_of
from casid.report._solution import solver_time
from casid.report._style import BAND, FAINT, GREEN, MUTED, Figure, new_figure, tidy
from casid.report._tables import NAME, TEXT, PlainTable, numbers, summary_table
from casid.report.viewer import Page, nominal_bodies
from casid.version import __version__


class VerdictSection(SectionOf[Identification]):
    """Verdict on the recordings, its findings, and the main numbers."""

    def tables(self) -> Sequence[Table]:
        """The two headlines, then what they do not give in full, with the remedy that was tried."""
        found = self.result.verdict
        if found is None:
            return ()
        rows = [("torques", found.torques), ("links", found.links)]
        rows += [(f.kind, f"{f.text}; {f.advice}" if f.advice else f.text) for f in found.further]
        return (summary_table("Verdict", rows),)

    def show(self, page: Page, drawn: Mapping[str, bytes]) -> None:
        """The verdict, cards with the main numbers, notes."""
        result, fit, feasible = self.result, self.result.unconstrained, self.result.feasible
        solution, held = feasible.solution, result.held_out
        if result.verdict is not None:
            judged = result.verdict
            for about, headline in (("torques", judged.torques), ("links", judged.links)):
                wrong = any(f.level in ("wrong", "fault") for f in judged.findings if f.about == about)
                page.text(f"{about}: {headline}", f"verdict {'wrong' if wrong else 'right'}")
            for f in judged.further:
                page.add(f'<p class="note">{escape(f.kind)}: {escape(f.text)}. <b>{escape(f.advice)}</b></p>')
        cards = [
            (f"{feasible.relative_error:.2f} %", "torque error, physically consistent"),
            (f"{fit.relative_error:.2f} %", f"unconstrained, {fit.method}"),
            (f"{feasible.residual_ratio:.4f}", "weighted residual, consistent / unconstrained"),
            *([(f"{held.tested['consistent'].total:.2f} %", "held out, physically consistent")] if held else []),
            (f"{raw_error(result):.2f} %", "against the unfiltered torques"),
            (f"{solution.gap:.1e}", "certified gap" if solution.certified else "gap, not certified"),
            (f"{fit.rank} of {fit.data.base.rank}", "base parameters determined"),
            (f"{fit.condition_number:.3g}", "condition number"),
        ]
        pieces = (f'<div class="card"><b>{escape(v)}</b><span>{escape(t)}</span></div>' for v, t in cards)
        page.add(f'<div class="cards">{"".join(pieces)}</div>')
        page.heading("Notes")
        notes = other_notes(result)
        for note in notes:
            page.text(note, "note")
        if not notes:
            page.text("None.")


class IdentifiedLinksSection(SectionOf[Identification]):
    """The physically consistent links."""

    def tables(self) -> Sequence[Table]:
        """One row for each link."""
        return (links_table(self.result.feasible.link_parameters),)

    def files(self) -> Mapping[str, bytes]:
        """``parameters.csv``, joint terms included."""
        return {"parameters.csv": parameter_csv(self.result.parameters)}

    def pictures(self) -> Mapping[str, Callable[..., Figure]]:
        """``links``."""
        robot, parameters = self.result.model.robot, self.result.feasible.standard_parameters
        title = f"{robot.name}: links as ellipsoids of uniform density"
        return {"links": lambda: links_figure(robot, parameters, title=title)}

    def show(self, page: Page, drawn: Mapping[str, bytes]) -> None:
        """The robot with its bodies before and after, and one row for each link."""
        result, feasible, robot = self.result, self.result.feasible, self.result.model.robot
        bodies = nominal_bodies(robot) | {"identified, physically consistent": feasible.standard_parameters}
        page.heading("Links")
        page.text(
            "Each body as the ellipsoid of uniform density with its mass and inertia. Drag: turn; wheel: "
            "zoom; point at a body for its numbers."
        )
        page.robot(robot, bodies, posture=result.datasets[0].q[0] if result.datasets else None)
        page.table(*self.tables())


class DeterminedSection(SectionOf[Identification]):
    """Parameters that the data determine, proven ranges of masses, bounds that are reached."""

    def tables(self) -> Sequence[Table]:
        """Proven ranges, where they were asked for."""
        return () if self.result.intervals is None else IntervalsSection(self.result.intervals).tables()

    def show(self, page: Page, drawn: Mapping[str, bytes]) -> None:
        """Intervals and bounds."""
        result = self.result
        rows = [[e.name, f"{e.value:.5g}", f"{e.low:.5g}", f"{e.high:.5g}"] for e in result.determined if e.by_data]
        page.text(f"Determined by the data alone: {determined_text(result)}.")
        page.add("<details><summary>95 % intervals of these, from the unconstrained fit</summary>")
        columns = {"parameter": NAME} | numbers("chosen", "at least", "at most")
        page.table(PlainTable("Determined by the data alone", columns, rows))
        page.add("</details>")
        if result.intervals is not None:
            page.text(
                "Proven ranges [kg]: no physically consistent set that explains the data has a mass outside; what is "
                "open is the plausible choice."
            )
            page.table(*self.tables())
        page.heading("Bounds that are reached")
        for text in [bound.text for bound in result.feasible.active] or ["None."]:
            page.text(text)


class BaseParametersSection(SectionOf[Identification]):
    """Base parameters, unconstrained and consistent."""

    def files(self) -> Mapping[str, bytes]:
        """``base_parameters.csv``."""
        columns = ("name", "expression", "unconstrained", "sd", "feasible")
        rows = [[base[column] for column in columns] for base in self.result.record()["base_parameters"]]
        return {"base_parameters.csv": csv_bytes(list(columns), rows)}

    def pictures(self) -> Mapping[str, Callable[..., Figure]]:
        """``base_parameters``."""
        return {"base_parameters": lambda: base_figure(self.result)}

    def show(self, page: Page, drawn: Mapping[str, bytes]) -> None:
        """The picture, and one row for each base parameter."""
        fit, feasible = self.result.unconstrained, self.result.feasible
        base = []
        values = (fit.data.base.names, fit.beta, fit.sd, fit.relative_sd, feasible.beta, fit.data.base.expressions)
        for name, beta, sd, share, consistent, expression in zip(*values, strict=True):
            errors = [f"{v:{form}}" if np.isfinite(v) else "-" for v, form in ((sd, ".2g"), (share, ".1f"))]
            base.append([name, f"{beta:.5g}", *errors, f"{consistent:.5g}", expression])
        page.heading("Base parameters")
        page.image(drawn.get("base_parameters.png"))
        columns = {"leads": NAME} | numbers(fit.method, "sd", "sd [%]", "consistent") | {"grouping": TEXT}
        page.table(PlainTable("Base parameters", columns, base))


class SummarySection(SectionOf[Identification]):
    """The whole identification in numbers: recordings, fits, certificate, held-out error; all of it as JSON."""

    def tables(self) -> Sequence[Table]:
        """One row for each quantity."""
        result = self.result
        fit, feasible = result.unconstrained, result.feasible
        solution = feasible.solution
        rows = [
            ("recordings", f"{', '.join(fit.data.datasets)}: {int(fit.data.counts.max())} samples a joint"),
            (
                "base parameters",
                f"{fit.rank} of {fit.data.base.rank} determined, condition number {fit.condition_number:.3g}",
            ),
            (f"unconstrained ({fit.method})", f"{fit.relative_error:.3f} % of the torque"),
            (
                "physically consistent",
                f"{feasible.relative_error:.3f} % ({raw_error(result):.3f} % of the unfiltered torque), weighted "
                f"residual x {feasible.residual_ratio:.4f}",
            ),
            (
                "certificate",
                f"{solution.status}, relative gap {solution.gap:.1e}, largest violation {solution.max_violation:.1e}",
            ),
            *_choice_rows(result),
            *_held_out_rows(result),
            solver_time(solution),
            ("determined by the data", determined_text(result)),
            *_processing_rows(result),
            *(("note", note) for note in other_notes(result)),
        ]
        return (summary_table(f"{result.model.robot.name} identification", rows),)

    def record(self) -> Mapping[str, Any]:
        """See `Identification.record`."""
        return self.result.record()

    def show(self, page: Page, drawn: Mapping[str, bytes]) -> None:
        """Steps of processing, and the end of the solver."""
        solution = self.result.feasible.solution
        page.heading("Processing and solver")
        steps = self.result.unconstrained.data.steps
        page.add("<ul>" + "".join(f"<li>{escape(step)}</li>" for step in steps) + "</ul>")
        page.text(
            f"{solution.status}, {solution.iterations} iterations; largest violation of a constraint on re-check "
            f"{solution.max_violation:.1e}."
        )


@report_of.register(Identification)
def _of_identification(result: Identification) -> Report:
    sections = (
        VerdictSection(result),
        ErrorsSection(result),
        IdentifiedLinksSection(result),
        DeterminedSection(result),
        JointTermsSection(result),
        BaseParametersSection(result),
        SummarySection(result),
    )
    data = result.unconstrained.data
    lead = f"casid {__version__} · {', '.join(data.datasets)} · {int(data.counts.max())} samples a joint"
    title = f"{result.model.robot.name}: identification"
    return Report(title, sections, json="identification.json", page="report.html", lead=lead)


def other_notes(result: Identification) -> tuple[str, ...]:
    """Notes that the verdict does not give."""
    said = () if result.verdict is None else tuple(finding.text for finding in result.verdict.findings)
    return tuple(note for note in result.notes if not any(note in text for text in said))


def raw_error(result: Identification) -> float:
    """Error of the consistent fit against the torques before filtering [%]."""
    return result.feasible.data.relative_errors(result.feasible.beta, raw=True)[0]


def determined_text(result: Identification) -> str:
    """Names of the single parameters that the data determine; the others are the plausible choice."""
    names = [entry.name for entry in result.determined if entry.by_data]
    count = len(result.model.parameter_names)
    listed = ", ".join(names) if names else "no single parameter"
    return f"{listed}: {len(names)} of {count}, the rest is the plausible choice among all that explain the data"


def _processing_rows(result: Identification) -> list[tuple[str, str]]:
    """How each recording was filtered, differentiated and trimmed; recordings that were treated alike together."""
    treated: dict[str, list[str]] = {}
    for data in result.datasets:
        treated.setdefault("; ".join(data.steps[1:]) or "as recorded", []).append(data.name)
    return [("processing", f"{', '.join(names)}: {steps}") for steps, names in treated.items()]


def _choice_rows(result: Identification) -> list[tuple[str, str]]:
    choice = result.feasible.believable
    if choice is None:
        return []
    text = (
        f"most plausible within {100 * choice.share:.2f} % of the best fit: divergence {choice.divergence:.4g}, "
        f"relative gap {choice.gap:.1e}; plausible bodies from: {', '.join(dict.fromkeys(choice.bodies.origins))}"
    )
    if result.share is None:
        return [("links", text)]
    path = "; ".join(
        f"{100 * step.share:.3g} % {step.error:.3g} % ({step.ratio:.3f} x) {step.mass:.4g} kg"
        for step in result.share.steps
    )
    rests = result.share.reason
    if path:
        rests += f". Share, held-out error (over the least of each joint), total mass: {path}"
    return [("links", text), ("share of plausibility", rests)]


def _held_out_rows(result: Identification) -> list[tuple[str, str]]:
    apart = result.held_out
    if apart is None:
        return []
    text = "; ".join(
        f"{kind} {apart.tested[kind].total:.3f} % (training {apart.training[kind].total:.3f} %)"
        for kind in apart.tested
    )
    left = result.unconstrained.data.base.rank - result.unconstrained.rank
    other = f"not stated: {f'{left} base parameters are not excited' if left else 'the verdict is WRONG'}"
    if result.other_motion_errors is not None:
        other = "{:.2g} to {:.2g} % in nine of ten, while the robot moves".format(*result.other_motion_errors)
    return [
        ("held-out error", f"{text}; each of {apart.folds} parts of the same motion predicted from the others"),
        ("error on other motions", other),
    ]


def base_figure(identification: Identification) -> Figure:
    """How far consistency moves each base parameter, in standard deviations of the unconstrained fit."""
    fit, feasible = identification.unconstrained, identification.feasible
    known = np.flatnonzero(np.isfinite(fit.sd) & (fit.sd > 0))
    names = [fit.data.base.names[k] for k in known]
    moved = (feasible.beta[known] - fit.beta[known]) / fit.sd[known]
    title = "Base parameters: consistent fit against the unconstrained one (band: 2 sd)"
    figure = new_figure(max(8.0, 0.17 * len(names) + 2.0), 3.4, title)
    ax = figure.subplots()
    positions = np.arange(len(names))
    ax.axhspan(-2, 2, color=BAND, zorder=0)
    ax.axhline(0, color=FAINT, linewidth=0.8)
    limit = max(5.0, float(np.abs(moved).max(initial=0.0)) * 1.15)
    ax.vlines(positions, 0, moved, color=MUTED, linewidth=0.8)
    ax.plot(positions, moved, "o", markersize=4, color=GREEN)
    ax.set_ylim(-limit, limit)
    ax.set_xticks(positions, names, rotation=90, fontsize=7)
    ax.set_xlim(-1, len(names))
    tidy(ax, "y", y="shift / sd")
    return figure
