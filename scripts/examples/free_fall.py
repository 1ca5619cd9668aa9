"""Free fall of the WAM with four sets of base parameters (Sousa 2014, Sec. 5.1.2, Fig. 5.1-5.4).

    python scripts/examples/free_fall.py --out out

Prints which simulation stops, when and why, and where the energy went; writes pictures of the joints, the energies and
of the divergence with the infeasible set. Needs the published tables: set CASID_DATA to the data folder.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from papers import wam_cases as thesis
from papers.pictures import panels

from casid.files import prepare_directory, write_files
from casid.report import BLUE, GREEN, MUTED, ORANGE, energy_figure, png_bytes
from casid.simulation import Simulation, SmoothCoulomb


def joints_figure(done: Simulation, title: str, until: float = np.inf) -> Figure:
    """Positions of all joints over time [s]."""
    figure, (axes,) = panels(title, 9.0, 4.6)
    for k in range(done.n):
        shown = done.t <= until
        axes.plot(done.t[shown], done.q[shown, k], linewidth=1.2, label=f"joint {k + 1}")
    axes.set(xlabel="time [s]", ylabel="position [rad]")
    axes.legend(fontsize=8, frameon=False, labelcolor=MUTED, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def totals_figure(falls: dict[str, Simulation]) -> Figure:
    """Kinetic and potential energy of each set until it rests."""
    figure, (axes,) = panels("Total energy of the free fall", 9.0, 4.2)
    for (name, done), colour in zip(falls.items(), (BLUE, GREEN, ORANGE), strict=True):
        shown = done.t <= 6.0
        axes.plot(done.t[shown], done.energy.total[shown], color=colour, linewidth=1.3, label=name)
    axes.set(xlabel="time [s]", ylabel="kinetic + potential [J]")
    axes.legend(fontsize=9, frameon=False, labelcolor=MUTED)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--out", type=Path, default=Path("free_fall"))
    options = parser.parse_args()
    folder = prepare_directory(options.out)
    table = Table(title="Free fall of the WAM, motors off, from q = 0")
    for column in ("set", "dry friction", "end", "at rest after [s]", "taken by friction [J]", "imbalance"):
        table.add_column(column)
    checked = thesis.free_fall("beta_WLS", options.seconds, SmoothCoulomb(1e-3))
    blind = thesis.divergence("beta_WLS")
    table.add_row("beta_WLS", "sigmoid", str(checked.end), "-", "-", "-")
    table.add_row("beta_WLS", "sigmoid, M not checked", str(blind.end), "-", "-", "-")
    falls = {name: thesis.free_fall(name, options.seconds) for name in thesis.FEASIBLE}
    for name, done in falls.items():
        moving = np.flatnonzero(np.abs(done.dq).max(axis=1) > 0)
        table.add_row(
            name, "exact", str(done.end), f"{done.t[moving[-1]]:.3f}", f"{done.energy.dissipated[-1]:.2f}",
            f"{done.energy.relative_imbalance:.1e}",
        )  # fmt: skip
    Console(width=150).print(table)
    best = falls["beta*e"]
    files = {
        "divergence.png": png_bytes(joints_figure(blind, "Free fall with beta_WLS, mass matrix not checked")),
        "divergence_energy.png": png_bytes(energy_figure(blind)),
        "joints.png": png_bytes(joints_figure(best, "Free fall with beta*e")),
        "energy.png": png_bytes(energy_figure(best)),
        "totals.png": png_bytes(totals_figure(falls)),
    }
    written = write_files(folder, files)
    Console(width=150).print(f"Written to {folder}: {', '.join(path.name for path in written)}", highlight=False)


if __name__ == "__main__":
    main()
