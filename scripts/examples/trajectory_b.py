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

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from papers import wam_cases as thesis

from casid.files import prepare_directory, write_files
from casid.report import motion_figure, png_bytes, tracking_figure


def main() -> int:
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
        files[f"{label}.png"] = png_bytes(tracking_figure(runs, f"Trajectory B: {law}", 0.0))
    for name, picture in (("beta_WLS", "diverging.png"), ("beta*", "tracking.png")):
        files[picture] = png_bytes(motion_figure(thesis.track(name, "computed torque, tight")))
    console.print(table)
    written = write_files(folder, files)
    console.print(f"Written to {folder}: {', '.join(path.name for path in written)}", highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
