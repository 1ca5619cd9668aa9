"""Tables and files of a designed excitation trajectory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from casid.description import Robot
from casid.excitation import CollisionConstraint, Design, Designer, certify_clearance, certify_limits, weak_parameters
from casid.excitation.limits._motion_limits import LimitCheck
from casid.files import write_files
from casid.files._texts import json_bytes
from casid.files._write import prepare_directory
from casid.motion import trajectory_text
from casid.report.excitation_plots import animation_gif, deviations_figure, motion_figure, singular_values_figure
from casid.report.plain_table import PlainTable
from casid.report.tables import summary_table
from casid.report.write import pictures
from casid.version import __version__


def excitation_tables(designer: Designer, design: Design) -> list[Table]:
    """Summary of a design, its certified limits, and its weakest parameters."""
    best = design.starts[0]
    checks = certify_limits(design.trajectory, designer.limits)
    rows = [
        (design.criterion, f"{design.value:.5g}  (random start: {best.initial:.5g})"),
        ("condition number of this motion", f"{design.condition_number:.5g}"),
        ("starts", ", ".join(f"{start.value:.5g}" for start in design.starts)),
        ("time", f"{sum(start.seconds for start in design.starts):.1f} s"),
        ("joint limits at every instant", _limits_text(checks)),
    ]
    for constraint in designer.constraints:
        where = "at all poses" if design.trajectory.basis.static else "on a grid 10 times finer"
        text = f"largest violation {design.violations[constraint.name]:.2g} {where}"
        if isinstance(constraint, CollisionConstraint) and not design.trajectory.basis.static:
            least = min(certify_clearance(design.trajectory, constraint), key=lambda check: check.clearance)
            text += f"; at every instant clearance >= {1000 * least.clearance:.1f} mm ({least.pair})"
            if constraint.touching:
                text += f"; not checked, capsules overlap: {', '.join(constraint.touching)}"
        rows.append((constraint.name, text))
    if design.interrupted:
        rows.append(("interrupted", "the best motion so far; it keeps all limits"))
    weak = PlainTable("Weakest parameters")
    for name, justify in (("parameter", "left"), ("standard deviation", "right"), ("why", "left")):
        weak.add_column(name, justify=justify)
    for parameter in weak_parameters(design.observation, design.information, count=5):
        weak.add_row(parameter.name, f"{parameter.deviation:.3g}", parameter.reason)
    return [summary_table(f"Excitation of {design.trajectory.robot or 'the robot'}", rows), weak]


def _limits_text(checks: list[LimitCheck]) -> str:
    broken = [check for check in checks if check.excess > 0]
    if broken:
        worst = max(broken, key=lambda check: check.excess)
        return f"NOT kept: {worst.quantity} of {worst.joint} by {worst.excess:.3g}"
    used = [
        (max(abs(check.low) / abs(check.lower), abs(check.high) / abs(check.upper)), check)
        for check in checks
        if check.quantity != "position" and np.isfinite([check.lower, check.upper]).all()
    ]
    if not used:
        return "certified"
    share, check = max(used, key=lambda pair: pair[0])
    return f"certified; nearest: {check.quantity} of {check.joint} at {100 * share:.1f} %"


def excitation_record(designer: Designer, design: Design) -> dict[str, Any]:
    """Return the design as plain values."""
    checks = certify_limits(design.trajectory, designer.limits)
    return {
        "robot": design.trajectory.robot,
        "criterion": design.criterion,
        "value": design.value,
        "condition_number": design.condition_number,
        "parameters": list(design.observation.names),
        "standard_deviations": design.deviations(),
        "noise": design.observation.noise,
        "violations": design.violations,
        "limits": [
            {
                "joint": check.joint, "quantity": check.quantity, "low": check.low, "high": check.high,
                "certified": check.excess <= 0,
            }
            for check in checks
        ],
        "starts": [
            {"value": s.value, "initial": s.initial, "seconds": s.seconds, "iterations": s.iterations}
            for s in design.starts
        ],
        "interrupted": design.interrupted,
        "basis": design.trajectory.basis.record(),
        "versions": {"casid": __version__},
    }  # fmt: skip


def write_excitation(
    robot: Robot, designer: Designer, design: Design, folder: str | Path, rate: float = 100.0
) -> list[Path]:
    """Write the trajectory, what is predicted of it, pictures and an animation.

    Parameters
    ----------
    folder
        Made if it does not exist.
    rate
        Of the CSV and the ROS 2 file [Hz].

    Returns
    -------
    list of Path
        ``trajectory.toml`` (read back by `casid.motion.read_trajectory`), ``trajectory.csv``,
        ``joint_trajectory.yaml``, ``excitation.json``, ``motion.png``, ``singular_values.png``, ``deviations.png``,
        ``animation.gif``.

    Raises
    ------
    ExportError
        If the folder cannot be written; then no file has changed.
    """
    directory = prepare_directory(folder)
    trajectory = design.trajectory
    samples = len(designer.objective.matrices[0])
    alone = 1.0 / np.sqrt(np.diagonal(design.information))
    files = {
        "trajectory.toml": trajectory_text(trajectory).encode(),
        "trajectory.csv": trajectory_text(trajectory, "csv", rate).encode(),
        "excitation.json": json_bytes(excitation_record(designer, design)),
    }
    files |= pictures(
        lambda: {
            "motion": motion_figure(trajectory, designer.limits),
            "singular_values": singular_values_figure(design.observation, trajectory, samples),
            "deviations": deviations_figure(design.observation.names, design.deviations(), alone),
        }
    )
    files["animation.gif"] = animation_gif(robot, trajectory)
    if not trajectory.basis.static:
        files["joint_trajectory.yaml"] = trajectory_text(trajectory, "ros2", rate).encode()
    return write_files(directory, files)
