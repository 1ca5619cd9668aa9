"""Report of a simulation: tracking errors, energy, animation."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from rich.table import Table

from casid.description import robot_reference
from casid.errors import DatasetError
from casid.inertia import parameter_record
from casid.report._excitation import skeleton_gif
from casid.report._section import Report, SectionOf, report_of
from casid.report._style import BLUE, GREEN, INK, MUTED, ORANGE, RED, Figure, new_figure, tidy
from casid.report._tables import NAME, PlainTable, numbers, summary_table
from casid.simulation import Simulation
from casid.version import __version__


class MotionSection(SectionOf[Simulation]):
    """The simulated motion: tracking errors and torques of each joint, the recording, an animation."""

    def tables(self) -> Sequence[Table]:
        """One row for each joint."""
        simulation = self.result
        robot, error, tau = simulation.plant.model.robot, simulation.tracking_error, simulation.tau
        values = {
            "largest error": np.abs(error).max(axis=0),
            "rms error": np.sqrt(np.mean(error**2, axis=0)),
            "largest speed": np.abs(simulation.dq).max(axis=0),
            "largest torque": np.abs(tau).max(axis=0),
            "rms torque": np.sqrt(np.mean(tau**2, axis=0)),
        }
        rows = [(j.name, *(f"{value[k]:.4g}" for value in values.values())) for k, j in enumerate(robot.coordinates)]
        return (PlainTable(f"{robot.name}: {simulation.end}", {"joint": NAME} | numbers(*values), rows),)

    def record(self) -> Mapping[str, Any]:
        """End of the simulation, parameters of the plant, errors of each joint."""
        simulation, end, error = self.result, self.result.end, self.result.tracking_error
        model = simulation.plant.model
        return {
            **robot_reference(model.robot),
            "end": {"time": end.time, "reason": end.reason.value, "detail": end.detail},
            "samples": len(simulation),
            **parameter_record(model.named(simulation.plant.parameters)),
            "rms_error": np.sqrt(np.mean(error**2, axis=0)),
            "largest_error": np.abs(error).max(axis=0),
            "versions": {"casid": __version__},
        }

    def files(self) -> Mapping[str, bytes]:
        """``animation.gif``; ``recording.npz``, the sensors' values, unless there are too few for a recording."""
        contents = {"animation.gif": _animation(self.result)}
        try:
            dataset = self.result.dataset()
        except DatasetError:
            return contents  # too few samples; the record gives the time and the reason of the end
        arrays = {name: value for name in ("t", "q", "dq", "tau") if (value := getattr(dataset, name)) is not None}
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)  # as `casid.read_dataset` reads it
        contents["recording.npz"] = buffer.getvalue()
        return contents

    def pictures(self) -> Mapping[str, Callable[..., Figure]]:
        """``motion``."""
        return {"motion": lambda: motion_figure(self.result)}


class EnergySection(SectionOf[Simulation]):
    """Energy of the plant: work of the motors, dissipation, error of integration."""

    def tables(self) -> Sequence[Table]:
        """Values at the end."""
        energy = self.result.energy
        rows = [
            ("work of the motors", f"{energy.work[-1]:.6g}"),
            ("dissipated by joint terms", f"{energy.dissipated[-1]:.6g}"),
            ("imbalance", f"{energy.relative_imbalance:.1e} of the largest entry"),
        ]
        return (summary_table("Energy [J]", rows),)

    def record(self) -> Mapping[str, Any]:
        """Values at the end [J]."""
        energy = self.result.energy
        last = {name: getattr(energy, name)[-1] for name in ("kinetic", "potential", "work", "dissipated")}
        return {"energy": last | {"relative_imbalance": energy.relative_imbalance}}

    def pictures(self) -> Mapping[str, Callable[..., Figure]]:
        """``energy``."""
        return {"energy": lambda: energy_figure(self.result)}


@report_of.register(Simulation)
def _of_simulation(simulation: Simulation) -> Report:
    sections = (MotionSection(simulation), EnergySection(simulation))
    return Report(f"{simulation.plant.model.robot.name}: simulation", sections, json="simulation.json")


def motion_figure(simulation: Simulation) -> Figure:
    """Positions and torques of every joint; dashed: the reference."""
    n, joints = simulation.n, simulation.plant.model.robot.coordinates
    figure = new_figure(11.0, 0.5 + 1.35 * n, f"{simulation.plant.model.robot.name}: {simulation.end}")
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
    """Energies and works over time, and below them the error of integration."""
    energy = simulation.energy
    figure = new_figure(9.0, 5.6, f"{simulation.plant.model.robot.name}: energy")
    entries, rest = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    for values, label, colour in (
        (energy.kinetic, "kinetic", BLUE),
        (energy.potential, "potential", GREEN),
        (energy.work, "work of the motors", ORANGE),
        (energy.dissipated, "dissipated by friction and other joint terms", RED),
    ):
        entries.plot(simulation.t, values, color=colour, linewidth=1.2, label=label)
    entries.plot(simulation.t, energy.total, "--", color=INK, linewidth=0.9, label="kinetic + potential")
    rest.plot(simulation.t, energy.imbalance, color=MUTED, linewidth=0.9)
    tidy(entries, y="J", legend=True)
    tidy(rest, x="time [s]", y="imbalance [J]")
    return figure


def _animation(simulation: Simulation) -> bytes:
    fine, shown = (np.unique(np.linspace(0, len(simulation) - 1, count).astype(int)) for count in (400, 60))
    robot, t, q = simulation.plant.model.robot, simulation.t, simulation.q
    labels = [f"{t[i]:5.1f} s" for i in shown]
    return skeleton_gif(robot, q[shown].T, labels, robot.name, max(0.02, np.ptp(t) / len(shown)), q[fine].T)
