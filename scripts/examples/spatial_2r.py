"""The spatial 2R example of Gaz et al. (2019), supplement Sec. V: exact shapes, validation, joint wrenches.

    cd scripts && python -m examples.spatial_2r --out out

Prints the retrieved parameters beside the true ones and the joint wrenches with feasible and infeasible parameters (its
Fig. 10), and writes pictures of both (Fig. 9 and 10).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from benchmarks.published import by_name
from casid.problems.spatial_2r import true_parameters
from matplotlib.figure import Figure
from papers.pictures import legend, panels
from papers.two_links import outside_shapes, relaxed_retrieval, torques, validation_motion, wrenches
from rich.console import Console
from rich.table import Table

import casid
from casid.files import prepare_directory
from casid.motion import Samples
from casid.report import BLUE, ORANGE, RED

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[2])]


STYLE = {"true": (BLUE, "-", 2.6), "feasible": (RED, "--", 1.4), "infeasible": (ORANGE, ":", 1.8)}


def torque_figure(motion: Samples, series: dict[str, np.ndarray]) -> Figure:
    """Joint torques of every parameter set (the supplement's Fig. 9)."""
    title = "Joint torques on the validation motion: feasible or not, they agree"
    figure, both = panels(title, 10.0, 5.0, 2, sharex=True)
    for k, axes in enumerate(both):
        for name, values in series.items():
            colour, line, width = STYLE[name]
            axes.plot(motion.t, values[:, k], line, color=colour, linewidth=width, label=name)
        axes.set_ylabel(f"torque of joint {k + 1} [N m]")
    both[1].set_xlabel("time [s]")
    legend(figure)
    return figure


def wrench_figure(motion: Samples, series: dict[str, np.ndarray]) -> Figure:
    """Forces that the joints transmit (the supplement's Fig. 10); an infeasible set much larger is divided to fit."""
    figure, each = panels("Forces that the joints transmit: torques do not tell them", 10.0, 7.0, 3, 2, sharex=True)
    largest = np.abs(series["true"][:, :, :3]).max()
    divisor = max(1.0, 10 ** np.floor(np.log10(np.abs(series["infeasible"][:, :, :3]).max() / largest)))
    for place, axes in enumerate(each):
        row, k = divmod(place, 2)
        for name, values in series.items():
            colour, line, width = STYLE[name]
            shown = values[k][:, row] / (divisor if name == "infeasible" else 1.0)
            label = f"infeasible / {divisor:.0e}" if name == "infeasible" and divisor > 1 else name
            axes.plot(motion.t, shown, line, color=colour, linewidth=width, label=label)
        axes.set_ylabel(f"F{'xyz'[row]} of joint {k + 1} [N]")
        axes.set_xlabel("time [s]" if row == 2 else "")
    legend(figure)
    return figure


def parameter_table(solution: casid.Solution, truth: np.ndarray) -> Table:
    """True and retrieved values of both links."""
    table = Table(title="link parameters: both sets generate the same torques")
    for column in ("quantity", "unit", "true", "retrieved"):
        table.add_column(column, justify="left" if column in ("quantity", "unit") else "right")
    found = by_name(solution.standard_parameters)
    for name, value in by_name(truth).items():
        table.add_row(name, {"m": "kg", "c": "m", "I": "kg.m^2"}[name[0]], f"{value:.4f}", f"{found[name]:.4f}")
    return table


def wrench_table(series: dict[str, np.ndarray]) -> Table:
    """Largest force and moment of each joint, and their ratio to the true ones."""
    table = Table(title="largest joint wrenches on the validation motion")
    for column in ("parameters", "joint", "force [N]", "x true", "moment [N.m]", "x true"):
        table.add_column(column, justify="left" if column == "parameters" else "right")
    for name, values in series.items():
        for k in range(len(values)):
            cells = [name, str(k + 1)]
            for part in (slice(0, 3), slice(3, 6)):
                size = np.linalg.norm(values[k][:, part], axis=1).max()
                true = np.linalg.norm(series["true"][k][:, part], axis=1).max()
                cells += [f"{size:.4g}", f"{size / true:.3g}"]
            table.add_row(*cells)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--seed", type=int, default=0, help="of the relaxed retrieval's random start")
    options = parser.parse_args()
    console = Console()
    folder = prepare_directory(options.out)

    problem = casid.load_problem("spatial_2r")
    robot = problem.variables.robot
    truth = true_parameters()
    solution = casid.solve(problem)
    sets = {
        "true": truth,
        "feasible": solution.standard_parameters,
        "infeasible": relaxed_retrieval(problem, options.seed).parameters,
    }
    motion = validation_motion()
    moments = {name: torques(robot, p, motion) for name, p in sets.items()}
    forces = {name: wrenches(robot, p, motion) for name, p in sets.items()}
    console.print(parameter_table(solution, truth))
    for name in ("feasible", "infeasible"):
        error = np.abs(moments[name] - moments["true"]).max() / np.abs(moments["true"]).max()
        console.print(f"{name}: largest torque error {error:.1e} of the largest torque")
    console.print(f"outside the shapes by {outside_shapes(solution.standard_parameters):.1e} m; {solution.status}")
    console.print(wrench_table(forces))
    torque_figure(motion, moments).savefig(folder / "spatial_2r_torques.png")
    wrench_figure(motion, forces).savefig(folder / "spatial_2r_wrenches.png")
    console.print(f"pictures in {folder}")


if __name__ == "__main__":
    main()
