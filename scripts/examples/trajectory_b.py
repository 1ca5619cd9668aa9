"""Control of the WAM along trajectory B with four sets of base parameters (Sousa 2014, Sec. 5.2, Fig. 5.6-5.8).

    python scripts/examples/trajectory_b.py --out out

Gravity and Coriolis compensation from 0 s, PD control from 2 s, the trajectory from 4 s; 1 kHz, positions alone as the
reference, friction and rotor inertia unknown to the controller. Prints each joint's error with PD control, PD control
with gravity compensation, and computed torque with the gains of Tables 4.3, 5.1 and 5.2, and writes pictures. Needs the
published tables: set CASID_DATA to the data folder.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from papers import wam_cases as thesis

from casid.files import prepare_directory, write_files
from casid.report import BLUE, GREEN, MUTED, ORANGE, motion_figure, new_figure, png_bytes, set_title, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from casid.simulation import Simulation


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("trajectory_b"))
    options = parser.parse_args()
    folder = prepare_directory(options.out)
    console = Console(width=150)
    table = Table(
        title=f"Trajectory B, rms error of each joint \\[deg]; the machine is {thesis.MACHINE} with its friction"
    )
    for column in ("control", "set", *(str(k + 1) for k in range(7)), "end"):
        table.add_column(column)
    files = {}
    for law in thesis.LAWS:
        runs = {name: thesis.track(name, law) for name in thesis.SETS}
        for name, done in runs.items():
            errors = [f"{e:.2f}" for e in thesis.rms_degrees(done)] if done.end.finished else ["-"] * 7
            table.add_row(law, name, *errors, str(done.end))
        label = law.replace(" ", "_").replace(",", "").replace("+", "and")
        files[f"{label}.png"] = png_bytes(tracking_figure(runs, f"Trajectory B: {law}"))
    for name, picture in (("beta_WLS", "diverging.png"), ("beta*", "tracking.png")):
        files[picture] = png_bytes(motion_figure(thesis.track(name, "computed torque, tight")))
    console.print(table)
    written = write_files(folder, files)
    console.print(f"Written to {folder}: {', '.join(path.name for path in written)}", highlight=False)


def tracking_figure(runs: dict[str, Simulation], title: str) -> Figure:
    """Tracking errors of each joint [deg], a curve a run."""
    first = next(iter(runs.values()))
    rows = (first.n + 1) // 2
    figure = new_figure(11.0, 1.0 + 1.7 * rows)
    set_title(figure, title)
    grid = figure.subplots(rows, 2, sharex=True, squeeze=False).ravel()
    for k, joint in enumerate(first.plant.model.robot.coordinates):
        for (label, run), colour in zip(runs.items(), (BLUE, GREEN, ORANGE, MUTED), strict=True):
            error = np.degrees(np.clip(run.tracking_error[:, k], -np.pi, np.pi))
            grid[k].plot(run.t, error, color=colour, linewidth=0.9, label=None if k else label)
        tidy(grid[k], x="time [s]" if k >= first.n - 2 else "")
        grid[k].set_ylabel(f"{joint.name} [deg]", fontsize=8)
    for axes in grid[first.n :]:
        axes.set_visible(False)
    figure.legend(loc="lower right", fontsize=8, frameon=False, labelcolor=MUTED)
    return figure


if __name__ == "__main__":
    main()
