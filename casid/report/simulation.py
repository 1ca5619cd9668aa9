"""Report of a simulation: a table, a recording, pictures, an animation."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from casid.errors import DatasetError
from casid.files import write_files
from casid.files._texts import json_bytes
from casid.files._write import prepare_directory
from casid.measurement import Dataset
from casid.report.excitation_plots import skeleton_gif
from casid.report.simulation_plots import energy_figure, motion_figure
from casid.report.write import png_bytes
from casid.simulation import Simulation
from casid.version import __version__


def simulation_table(simulation: Simulation) -> Table:
    """What happened at every joint."""
    table = Table(title=f"{simulation.plant.model.robot.name}: {simulation.end}", title_justify="left")
    table.add_column("joint")
    for column in ("largest error", "rms error", "largest speed", "largest torque", "rms torque"):
        table.add_column(column, justify="right")
    error = simulation.tracking_error
    for k, joint in enumerate(simulation.plant.model.robot.coordinates):
        values = (
            np.abs(error[:, k]).max(), np.sqrt(np.mean(error[:, k] ** 2)), np.abs(simulation.dq[:, k]).max(),
            np.abs(simulation.tau[:, k]).max(), np.sqrt(np.mean(simulation.tau[:, k] ** 2)),
        )  # fmt: skip
        table.add_row(joint.name, *(f"{value:.4g}" for value in values))
    return table


def simulation_record(simulation: Simulation) -> dict[str, Any]:
    """The simulation in a few plain values."""
    book, error = simulation.energy, simulation.tracking_error
    return {
        "robot": simulation.plant.model.robot.name,
        "end": {"time": simulation.end.time, "reason": simulation.end.reason.value, "detail": simulation.end.detail},
        "samples": len(simulation),
        "parameters": dict(zip(simulation.plant.model.parameter_names, simulation.plant.parameters, strict=True)),
        "rms_error": np.sqrt(np.mean(error**2, axis=0)),
        "largest_error": np.abs(error).max(axis=0),
        "energy": {
            "kinetic": book.kinetic[-1], "potential": book.potential[-1], "work": book.work[-1],
            "dissipated": book.dissipated[-1], "relative_imbalance": book.relative_imbalance,
        },
        "versions": {"casid": __version__},
    }  # fmt: skip


def recording_npz(dataset: Dataset) -> bytes:
    """A recording as npz: ``t, q, dq, tau``, as `casid.read_dataset` reads it."""
    arrays = {name: value for name in ("t", "q", "dq", "tau") if (value := getattr(dataset, name)) is not None}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def write_simulation(simulation: Simulation, folder: str | Path) -> list[Path]:
    """Write a simulation.

    Parameters
    ----------
    folder
        Made if it does not exist.

    Returns
    -------
    list of Path
        ``recording.npz`` (what the sensors saw, read by `casid.read_dataset`; not for a simulation that ended after a
        few samples), ``simulation.json``, ``motion.png``, ``energy.png``, ``animation.gif``.

    Raises
    ------
    ExportError
        If the folder cannot be written; then no file has changed.
    """
    directory = prepare_directory(folder)
    files = {
        "simulation.json": json_bytes(simulation_record(simulation)),
        "motion.png": png_bytes(motion_figure(simulation)),
        "energy.png": png_bytes(energy_figure(simulation)),
        "animation.gif": _animation(simulation),
    }
    try:
        files["recording.npz"] = recording_npz(simulation.dataset())
    except DatasetError:
        pass  # too few samples to be a recording; the table and simulation.json say when and why it ended
    return write_files(directory, files)


def _animation(simulation: Simulation, frames: int = 60) -> bytes:
    fine = np.unique(np.linspace(0, len(simulation) - 1, 400).astype(int))
    shown = np.unique(np.linspace(0, len(simulation) - 1, frames).astype(int))
    robot = simulation.plant.model.robot
    length = float(simulation.t[-1] - simulation.t[0])
    labels = [f"{simulation.t[i]:5.1f} s" for i in shown]
    return skeleton_gif(
        robot, simulation.q[shown].T, labels, robot.name, max(0.02, length / len(shown)), path=simulation.q[fine].T
    )
