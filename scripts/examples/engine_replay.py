"""A recorded motion of the Panda replayed in physics engines (Gaz et al. 2019, supplement IV: Table V, Fig. 5-7).

    python scripts/examples/engine_replay.py --out out

The Panda is identified from the recording `trajectory_1`, written to MJCF and URDF, and driven along the measured
motion in MuJoCo and PyBullet by computed torque. Prints the mean torque error of each joint and the error of the
flange's pose, beside the published ones of V-REP's engines, and writes pictures of torques and errors. Needs the
recordings and the published tables: set CASID_DATA to the data folder; and `pip install casid[peers]`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import published
from benchmarks.measure import NotMeasured
from benchmarks.motion.engines import ENGINES, Replay, replay
from papers.pictures import joints_figure, panels

from casid.files import prepare_directory, write_files
from casid.report import BLUE, INK, MUTED, ORANGE, png_bytes

COLOURS = (BLUE, ORANGE)


def torque_figure(replays: Mapping[str, Replay]) -> Figure:
    """Measured torques and those of each engine, joint by joint (Fig. 5)."""
    first = next(iter(replays.values()))
    series = {"measured": first.measured} | {name: done.replayed for name, done in replays.items()}
    title = "Panda, trajectory_1: torques of the machine and of engines with the identified robot"
    return joints_figure(first.t, series, title, "N·m")


def error_figure(replays: Mapping[str, Replay]) -> Figure:
    """Mean and standard deviation of the torque errors (Fig. 6), and the flange's errors over time (Fig. 7)."""
    title = "Torque errors (mean, standard deviation) and pose errors of the flange"
    figure, (bars, place, angle) = panels(title, 11.0, 3.6, 1, 3, width_ratios=(2, 1, 1))
    for number, (colour, (name, done)) in enumerate(zip(COLOURS, replays.items(), strict=False)):
        at = np.arange(1, 8) + 0.16 * (2 * number - 1)
        bars.errorbar(at, done.mean_error, done.error.std(axis=0), fmt="o", color=colour, ms=5, capsize=3, label=name)
        place.plot(done.t, 1e3 * done.distance, color=colour, linewidth=0.8)
        angle.plot(done.t, done.angle, color=colour, linewidth=0.8)
    bars.axhline(0, color=MUTED, linewidth=0.6)
    bars.set_xlabel("joint")
    bars.set_ylabel("N·m")
    bars.legend(fontsize=8, frameon=False, labelcolor=MUTED)
    for axes, what in ((place, "position [mm]"), (angle, "orientation [deg]")):
        axes.set_xlabel("time [s]")
        axes.set_title(what, loc="left", fontsize=9, color=INK)
    return figure


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("engine_replay"))
    options = parser.parse_args()
    folder = prepare_directory(options.out)
    console = Console(width=150)
    table = Table(title="Mean torque error \\[N.m] (measured minus simulated) and mean error of the flange's pose")
    for column in ("engine", *(f"joint {k}" for k in range(1, 8)), "position \\[mm]", "angle \\[deg]"):
        table.add_column(column, justify="left" if column == "engine" else "right")
    replays: dict[str, Replay] = {}
    for kind in ENGINES:
        try:
            done = replays[kind.name] = replay(kind)
        except NotMeasured as reason:
            console.print(f"{kind.name}: not measured: {reason}")
            continue
        pose = (f"{1e3 * done.distance.mean():.3f}", f"{done.angle.mean():.4f}")
        table.add_row(f"{kind.name}, here", *(f"{error:+.4f}" for error in done.mean_error), *pose)
    for row in published.table("panda_table_V_engine_torque_errors"):
        errors = [float(row[f"joint_{k}_Nm"]) for k in range(1, 8)]
        pose = ("< 5", "< 1.2") if row["engine"] == "ODE" else ("< 15", "< 3")
        table.add_row(f"{row['engine']}, Table V", *(f"{error:+.4f}" for error in errors), *pose)
    console.print(table)
    if not replays:
        return 1
    files = {"torques.png": png_bytes(torque_figure(replays)), "errors.png": png_bytes(error_figure(replays))}
    written = write_files(folder, files)
    console.print(f"Written to {folder}: {', '.join(path.name for path in written)}", highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
