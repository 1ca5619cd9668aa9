"""What is shown and written of an identification and of a validation: tables, JSON, CSV, pictures, one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.table import Table

from casid.files import csv_bytes, json_bytes, write_files
from casid.identification import FileCheck, Identification, Prediction
from casid.inertia import parameter_csv
from casid.report.identification_plots import base_figure, friction_figure, torque_figure
from casid.report.links_plot import links_figure
from casid.report.plain_table import PlainTable
from casid.report.tables import links_table, summary_table
from casid.report.viewer import html_table, image, page, plot_box, robot_box, scene, torque_charts
from casid.report.write import pictures
from casid.version import __version__


def identification_tables(result: Identification) -> list[Table]:
    """Tables for the terminal: errors per joint, links, summary."""
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
            f"{feasible.relative_error:.3f} % ({_raw_error(result):.3f} % of the unfiltered torque), weighted "
            f"residual x {feasible.residual_ratio:.4f}",
        ),
        (
            "certificate",
            f"{solution.status}, relative gap {solution.gap:.1e}, largest violation {solution.max_violation:.1e}",
        ),
        *_choice_rows(result),
        *_held_out_rows(result),
        ("time", f"{solution.build_time + solution.solve_time:.2f} s, {solution.iterations} iterations"),
        ("determined by the data", _told(result)),
        *(("note", note) for note in result.notes),
    ]
    return [
        *verdict_tables(result),
        joints_table(result),
        links_table(feasible.link_parameters),
        summary_table(f"{result.model.robot.name} identification", rows),
    ]


def verdict_tables(result: Identification) -> list[Table]:
    """The verdict in one line, then each finding with what mends it."""
    if result.verdict is None:
        return []
    rows = [("", result.verdict.line)]
    rows += [(finding.kind, f"{finding.text}; {finding.remedy}") for finding in result.verdict.findings]
    return [summary_table("Verdict", rows)]


def _raw_error(result: Identification) -> float:
    """Error of the consistent fit against the torques before filtering [%]."""
    return result.feasible.data.relative_errors(result.feasible.beta, raw=True)[0]


def _told(result: Identification) -> str:
    """Single parameters that the data determine; the others are the plausible choice."""
    told = [entry.name for entry in result.determined if entry.by_data]
    count = len(result.model.parameter_names)
    listed = ", ".join(told) if told else "no single parameter"
    return f"{listed}: {len(told)} of {count}, the rest is the plausible choice among all that explain the data"


def _choice_rows(result: Identification) -> list[tuple[str, str]]:
    choice = result.feasible.believable
    if choice is None:
        return []
    text = (
        f"most plausible within {100 * choice.share:.2f} % of the best fit: divergence {choice.divergence:.4g}, "
        f"relative gap {choice.gap:.1e}"
    )
    return [("links", text)]


def _held_out_rows(result: Identification) -> list[tuple[str, str]]:
    apart = result.held_out
    if apart is None:
        return []
    text = "; ".join(
        f"{kind} {apart.tested[kind].total:.3f} % (training {apart.training[kind].total:.3f} %)"
        for kind in apart.tested
    )
    return [("held-out error", f"{text}; each of {apart.folds} parts predicted from the others")]


def joints_table(result: Identification) -> Table:
    """Error of each joint, in N.m and in percent: a large percentage of a small torque is a small error."""
    table = PlainTable("Joints")
    table.add_column("joint", style="bold", no_wrap=True)
    for column in joint_columns(result)[1:]:
        table.add_column(column, justify="right", no_wrap=True)
    for row in _joint_rows(result):
        table.add_row(*row)
    return table


def joint_columns(result: Identification) -> list[str]:
    """Columns of the joints' table; held-out errors where there are any."""
    columns = ["joint", "torque RMS [N.m]", "error RMS [N.m]", "error [%]", "unconstrained [%]"]
    return columns if result.held_out is None else [*columns, "held out [%]", "unconstrained, held out [%]"]


def validation_tables(prediction: Prediction, names: Sequence[str]) -> list[Table]:
    """RMS, MSE and relative error of each joint on another recording."""
    title = f"{prediction.dataset.name}: predicted by Newton-Euler"
    table = PlainTable(title)
    table.add_column("joint", style="bold", no_wrap=True)
    for column in ("torque RMS [N.m]", "error RMS [N.m]", "MSE [(N.m)^2]", "error [%]"):
        table.add_column(column, justify="right", no_wrap=True)
    size = np.sqrt(np.mean(prediction.dataset.tau**2, axis=0))
    for k, name in enumerate(names):
        table.add_row(
            name,
            f"{size[k]:.3f}",
            f"{prediction.rms[k]:.4f}",
            f"{prediction.mse[k]:.3e}",
            f"{prediction.relative_errors[k]:.2f}",
        )
    table.add_section()
    table.add_row("all", "", "", "", f"{prediction.relative_error:.3f}")
    return [table]


Array = NDArray[np.float64]

#: Widest table whose title is kept on its line.
_WIDEST = 140


def check_table(what: str, result: FileCheck) -> Table:
    """One row a link: margins of physical consistency, what is wrong, and how much the repair changes."""
    title = f"{Path(what).name}: {len(result.unphysical)} of {len(result.links)} links unphysical"
    if result.unphysical and result.repair is not None:
        title += f"\n{result.verdict}"
    table = PlainTable(title)
    table.min_width = min(max(map(len, title.splitlines())), _WIDEST)  # a title wraps at its table's width
    table.add_column("link", style="bold")
    margins = ("mass [kg]", "smallest moment [kg.m^2]", "triangle margin [kg.m^2]")
    for column in (*margins, "repair moves inertia", "mass by [kg]", "centre by [mm]"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("verdict")
    for link in result.links:
        state = link.state
        table.add_row(
            link.name,
            f"{state.mass:.5g}",
            f"{state.smallest_principal_moment:.3g}",
            f"{state.triangle_margin:.3g}",
            f"{link.change:.3g}" if link.changed else "-",
            f"{link.mass_change:+.3g}" if link.changed else "-",
            f"{1e3 * link.com_change:.3g}" if link.changed else "-",
            "physical" if state.full else state.complaint(),
        )
    if result.massless:
        table.note(f"Without mass and inertia, left alone: {', '.join(result.massless)}")
    return table


def write_identification(result: Identification, directory: Path) -> list[Path]:
    """Write JSON, CSV files, the pictures and ``report.html``: all of them or none."""
    drawn = _pictures(result)
    model, feasible = result.model, result.feasible
    base = result.record()["base_parameters"]
    files = {
        "identification.json": json_bytes(result.record()),
        "parameters.csv": parameter_csv(model.named(feasible.parameters)),
        "base_parameters.csv": csv_bytes(
            ["name", "expression", "unconstrained", "sd", "feasible"],
            [
                [b["name"], b["expression"], b["unconstrained"], "" if b["sd"] is None else b["sd"], b["feasible"]]
                for b in base
            ],
        ),
        **drawn,
        "report.html": html_report(result, drawn).encode(),
    }
    return write_files(directory, files)


def write_validation(prediction: Prediction, names: Sequence[str], directory: Path) -> list[Path]:
    """Write ``validation.json`` and ``torques.png``."""
    record = {
        "recording": prediction.dataset.name,
        "samples": len(prediction.dataset),
        "relative_error": prediction.relative_error,
        "joints": [
            {
                "name": name,
                "rms": float(prediction.rms[k]),
                "mse": float(prediction.mse[k]),
                "relative_error": float(prediction.relative_errors[k]),
            }
            for k, name in enumerate(names)
        ],
        "steps": list(prediction.dataset.steps),
        "notes": list(prediction.dataset.notes),
    }
    title = f"{prediction.dataset.name}: measured and predicted torques"
    drawn = pictures(lambda: {"torques": torque_figure(prediction, tuple(names), title)})
    return write_files(directory, {"validation.json": json_bytes(record), **drawn})


def html_report(result: Identification, drawn: dict[str, bytes] | None = None) -> str:
    """One self-contained page, no link to anything outside: the robot to turn, curves to zoom, tables to sort."""
    fit, feasible = result.unconstrained, result.feasible
    solution = feasible.solution
    cards = [
        (f"{feasible.relative_error:.2f} %", "torque error, physically consistent"),
        (f"{fit.relative_error:.2f} %", f"unconstrained, {fit.method}"),
        (f"{feasible.residual_ratio:.4f}", "weighted residual, consistent / unconstrained"),
        *(
            [(f"{result.held_out.tested['consistent'].total:.2f} %", "held out, physically consistent")]
            if result.held_out
            else []
        ),
        (f"{_raw_error(result):.2f} %", "against the unfiltered torques"),
        (f"{solution.gap:.1e}", "certified gap" if solution.certified else "gap, not certified"),
        (f"{fit.rank} of {fit.data.base.rank}", "base parameters determined"),
        (f"{fit.condition_number:.3g}", "condition number"),
    ]
    base = [
        [
            name,
            f"{fit.beta[k]:.5g}",
            f"{fit.sd[k]:.2g}" if np.isfinite(fit.sd[k]) else "-",
            f"{fit.relative_sd[k]:.1f}" if np.isfinite(fit.relative_sd[k]) else "-",
            f"{feasible.beta[k]:.5g}",
            expression,
        ]
        for k, (name, expression) in enumerate(zip(fit.data.base.names, fit.data.base.expressions, strict=True))
    ]
    links = [
        [
            p.name,
            f"{p.mass:.4f}",
            *(f"{1e3 * c:.1f}" for c in p.com),
            *(f"{value:.2e}" for value in p.principal_moments),
        ]
        for p in feasible.link_parameters
    ]
    terms = [
        [result.model.parameter_names[c], term.doc, f"{feasible.parameters[c]:.5g}", term.unit]
        for c, (term, _) in sorted(result.model.term_columns.items())
    ]
    drawn = _pictures(result) if drawn is None else drawn
    body = [
        f"<h1>{escape(result.model.robot.name)}: identification</h1>",
        f'<p class="lead">casid {escape(__version__)} · {escape(", ".join(fit.data.datasets))} · '
        f"{int(fit.data.counts.max())} samples a joint</p>",
        *_verdict_lines(result),
        '<div class="cards">'
        + "".join(f'<div class="card"><b>{escape(v)}</b><span>{escape(t)}</span></div>' for v, t in cards)
        + "</div>",
        "<h2>Notes</h2>" + ("".join(f'<p class="note">{escape(note)}</p>' for note in result.notes) or "<p>None.</p>"),
        "<h2>Joints</h2><p>A percentage relates the error to the joint's own torque: on a joint that carries little "
        "it is large although the error in N·m is small. Compare both columns.</p>",
        html_table([column.replace("N.m", "N·m") for column in joint_columns(result)], _joint_rows(result), feet=1),
        "<h2>Torques</h2><p>Wheel: zoom; drag: move; double click: all. With the keyboard: +, -, arrows, 0.</p>",
        *(f"<h3>{escape(data.name)}</h3>{plot_box(str(k))}" for k, data in enumerate(result.datasets)),
        "<h2>Links</h2><p>Each body as the ellipsoid of uniform density with its mass and inertia. Drag: turn; wheel: "
        "zoom; point at a body for its numbers.</p>",
        robot_box("links"),
        html_table(
            [
                "link",
                "mass [kg]",
                "c<sub>x</sub> [mm]",
                "c<sub>y</sub> [mm]",
                "c<sub>z</sub> [mm]",
                "I<sub>1</sub> [kg·m²]",
                "I<sub>2</sub>",
                "I<sub>3</sub>",
            ],
            links,
        ),
        f"<p>Determined by the data alone: {escape(_told(result))}.</p>",
        "<h2>Bounds that are reached</h2>"
        + ("".join(f"<p>{escape(bound.text)}</p>" for bound in feasible.active) or "<p>None.</p>"),
        "<h2>Friction and drive train</h2>",
        html_table(["parameter", "meaning", "value", "unit"], terms) if terms else "<p>None.</p>",
        image(drawn.get("friction.png")),
        *_candidates(result),
        "<h2>Base parameters</h2>",
        image(drawn.get("base_parameters.png")),
        html_table(["leads", fit.method, "sd", "sd [%]", "consistent", "grouping"], base, text=(5,)),
        "<h2>What was done</h2><ul>" + "".join(f"<li>{escape(step)}</li>" for step in fit.data.steps) + "</ul>",
        f"<p>{escape(solution.status)}: {escape(solution.solver_status)}, {solution.iterations} iterations; largest "
        f"violation of a constraint on re-check {solution.max_violation:.1e}.</p>",
    ]
    robot = result.model.robot
    bodies: dict[str, Array] = {}
    if all(link.inertial is not None for link in robot.links):
        bodies["nominal, of the description"] = np.asarray(robot.standard_parameters(), dtype=float)
    bodies["identified, physically consistent"] = feasible.standard_parameters
    posture = result.datasets[0].q[0] if result.datasets else None
    return page(
        f"{robot.name}: identification", body, {"links": scene(robot, bodies, posture=posture)}, _charts(result)
    )


def _charts(result: Identification) -> dict[str, list[dict[str, Any]]]:
    """Measured and predicted torques of every recording."""
    names = [joint.name for joint in result.model.robot.joints if joint.mimic is None]
    charts = {}
    for number, data in enumerate(result.datasets):
        prediction = result.predict(data)
        curves = {
            "measured (filtered)": prediction.dataset.tau,
            "predicted": prediction.predicted,
            "residual": prediction.residual,
        }
        titles = [f"{name} [N·m]: error RMS {rms:.3g}" for name, rms in zip(names, prediction.rms, strict=True)]
        charts[str(number)] = torque_charts(prediction.dataset.t, curves, titles, "N·m", f"recording {number}")
    return charts


def _candidates(result: Identification) -> list[str]:
    """Friction laws that were tried, joint by joint, by their held-out error."""
    if not result.candidates:
        return []
    rows = [
        [
            c.joint,
            c.law + (" (chosen)" if c.chosen else ""),
            ", ".join(f"{name} {value:.3g}" for name, value in c.shape.items()),
            f"{c.held_out:.4f}",
            f"{c.training:.4f}",
            str(c.parameters),
        ]
        for c in result.candidates
    ]
    header = ["joint", "law", "shape (rad/s, rad)", "held out [N·m]", "training [N·m]", "parameters"]
    return ["<h2>Friction laws tried</h2>", html_table(header, rows, text=(1, 2))]


def _verdict_lines(result: Identification) -> list[str]:
    if result.verdict is None:
        return []
    kind = "right" if result.verdict.right else "wrong"
    found = "".join(
        f'<p class="note">{escape(f.kind)}: {escape(f.text)}. <b>{escape(f.remedy)}</b></p>'
        for f in result.verdict.findings
    )
    return [f'<p class="verdict {kind}">{escape(result.verdict.line)}</p>{found}']


def _joint_rows(result: Identification) -> list[list[str]]:
    data, feasible, fit = result.feasible.data, result.feasible, result.unconstrained
    size = np.sqrt(data.squared_torques / np.maximum(data.counts, 1))
    kept = [] if result.held_out is None else [result.held_out.tested[kind] for kind in ("consistent", "unconstrained")]
    rows = [
        [
            joint.name,
            f"{size[k]:.3f}",
            f"{feasible.rms[k]:.4f}",
            f"{feasible.relative_errors[k]:.2f}",
            f"{fit.relative_errors[k]:.2f}",
            *(f"{errors.joints[k]:.2f}" for errors in kept),
        ]
        if data.counts[k]
        else [joint.name, "not used", "-", "-", "-", *("-" for _ in kept)]
        for k, joint in enumerate(result.model.robot.coordinates)
    ]
    total = ["all", "", "", f"{feasible.relative_error:.3f}", f"{fit.relative_error:.3f}"]
    return [*rows, [*total, *(f"{errors.total:.3f}" for errors in kept)]]


def _pictures(result: Identification) -> dict[str, bytes]:
    return pictures(lambda: _figures(result))


def _figures(result: Identification) -> dict[str, Figure]:
    names = tuple(joint.name for joint in result.model.robot.coordinates)
    figures: dict[str, Figure] = {}
    for number, data in enumerate(result.datasets):
        key = "torques" if len(result.datasets) == 1 else f"torques_{number + 1}"
        figures[key] = torque_figure(result.predict(data), names, f"{data.name}: measured and predicted torques")
    title = f"{result.model.robot.name}: links as ellipsoids of uniform density"
    figures["links"] = links_figure(result.model.robot, result.feasible.standard_parameters, title=title)
    figures["friction"] = friction_figure(result)
    figures["base_parameters"] = base_figure(result)
    return figures
