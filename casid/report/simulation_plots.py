"""Pictures of a simulated motion."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from casid.report.style import BLUE, GREEN, INK, MUTED, ORANGE, RED, new_figure, set_title, tidy
from casid.simulation import Simulation


def motion_figure(simulation: Simulation) -> Figure:
    """Positions and torques of every joint; dashed: the reference."""
    n, joints = simulation.n, simulation.plant.model.robot.coordinates
    figure = new_figure(11.0, 0.5 + 1.35 * n)
    set_title(figure, f"{simulation.plant.model.robot.name}: {simulation.end}")
    grid = figure.subplots(n, 2, sharex=True, squeeze=False)
    for k in range(n):
        positions, torques = grid[k]
        positions.plot(simulation.t, simulation.q_ref[:, k], "--", color=MUTED, linewidth=1.0, label="reference")
        positions.plot(simulation.t, simulation.q[:, k], color=BLUE, linewidth=1.2, label="motion")
        torques.plot(simulation.t, simulation.tau[:, k], color=ORANGE, linewidth=0.9)
        positions.set_ylabel(joints[k].name, fontsize=8)
        for axes in (positions, torques):
            tidy(axes)
            axes.tick_params(labelsize=7)
    revolute = all(joint.type == "revolute" for joint in joints)
    grid[0, 0].set_title("position [rad]" if revolute else "position [rad, m]", fontsize=9, color=INK)
    grid[0, 1].set_title("torque [N.m]" if revolute else "torque [N.m, N]", fontsize=9, color=INK)
    grid[0, 0].legend(fontsize=7, frameon=False, loc="best", labelcolor=MUTED)
    for axes in grid[-1]:
        axes.set_xlabel("time [s]", fontsize=9)
    return figure


def energy_figure(simulation: Simulation) -> Figure:
    """The book of energy, and below it what the integration lost."""
    book = simulation.energy
    figure = new_figure(9.0, 5.6)
    set_title(figure, f"{simulation.plant.model.robot.name}: energy")
    entries, rest = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    for values, label, colour in (
        (book.kinetic, "kinetic", BLUE),
        (book.potential, "potential", GREEN),
        (book.work, "work of the motors", ORANGE),
        (book.dissipated, "taken by friction and other joint terms", RED),
    ):
        entries.plot(simulation.t, values, color=colour, linewidth=1.2, label=label)
    entries.plot(simulation.t, book.total, "--", color=INK, linewidth=0.9, label="kinetic + potential")
    entries.set_ylabel("J", fontsize=9)
    entries.legend(fontsize=8, frameon=False, labelcolor=MUTED)
    rest.plot(simulation.t, book.imbalance, color=MUTED, linewidth=0.9)
    rest.set_ylabel("imbalance [J]", fontsize=9)
    rest.set_xlabel("time [s]", fontsize=9)
    for axes in (entries, rest):
        tidy(axes)
    return figure


def tracking_figure(simulations: dict[str, Simulation], title: str, start: float = 0.0) -> Figure:
    """Joint errors of several simulations of one motion, beside each other; from an instant on [s]."""
    first = next(iter(simulations.values()))
    rows = (first.n + 1) // 2
    figure = new_figure(11.0, 1.0 + 1.7 * rows)
    set_title(figure, title)
    grid = figure.subplots(rows, 2, sharex=True, squeeze=False).ravel()
    colours = (RED, BLUE, GREEN, ORANGE, MUTED, INK)
    for k, joint in enumerate(first.plant.model.robot.coordinates):
        for number, (label, simulation) in enumerate(simulations.items()):
            late = simulation.t >= start
            error = np.degrees(np.clip(simulation.tracking_error[late, k], -np.pi, np.pi))
            grid[k].plot(
                simulation.t[late], error, color=colours[number % len(colours)], linewidth=0.9,
                label=label if k == 0 else None,
            )  # fmt: skip
        grid[k].set_ylabel(f"{joint.name} [deg]", fontsize=8)
        tidy(grid[k])
    for axes in grid[first.n :]:
        axes.set_visible(False)
    for axes in grid[-2:]:
        axes.set_xlabel("time [s]", fontsize=9)
    figure.legend(loc="lower right", fontsize=8, frameon=False, labelcolor=MUTED)
    return figure
