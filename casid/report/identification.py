"""What is written of an identification and of a validation: JSON, CSV, pictures, one HTML page; checks of files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure
from rich.table import Table

from casid.files import write_files
from casid.files._texts import csv_bytes, json_bytes
from casid.identification import Identification, Prediction
from casid.identification.repair._check import FileCheck
from casid.inertia._parameter_files import parameter_csv
from casid.report.identification_page import identification_page
from casid.report.identification_plots import base_figure, friction_figure, torque_figure
from casid.report.links_plot import links_figure
from casid.report.plain_table import PlainTable
from casid.report.write import pictures

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
    base = result.record()["base_parameters"]
    files = {
        "identification.json": json_bytes(result.record()),
        "parameters.csv": parameter_csv(result.parameters),
        "base_parameters.csv": csv_bytes(
            ["name", "expression", "unconstrained", "sd", "feasible"],
            [
                [b["name"], b["expression"], b["unconstrained"], "" if b["sd"] is None else b["sd"], b["feasible"]]
                for b in base
            ],
        ),
        **drawn,
        "report.html": identification_page(result, drawn).encode(),
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
    return identification_page(result, _pictures(result) if drawn is None else drawn)


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
