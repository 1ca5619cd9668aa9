"""What is shown and written of a payload and of drive gains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.markup import escape
from rich.table import Table

from casid.description import Robot
from casid.errors import RobotError
from casid.identification import Gains, Payload
from casid.report.tables import summary_table

Array = NDArray[np.float64]


def flange_of(robot: Robot, name: str | None = None) -> tuple[str, Array]:
    """Frame that a load is given in: the one of that name, by default `Robot.flange`.

    Raises
    ------
    RobotError
        If the robot has no such frame on its last link.
    """
    frame = robot.flange if name is None else robot.frame(name)
    if frame.joint != len(robot.links) - 1:
        raise RobotError(
            f"robot '{robot.name}': frame '{frame.name}' is not fixed to the last link '{robot.links[-1].name}', which "
            "carries the load; give a frame of that link"
        )
    return frame.name, np.asarray(frame.placement)


def payload_tables(found: Payload, frame: str, placement: Array) -> list[Table]:
    """The load with its intervals, and what to type into controllers."""
    mass, com, inertia = found.in_frame(placement)
    table = Table(title="Payload", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("quantity", style="bold")
    for column in ("value", "95 % interval"):
        table.add_column(column, justify="right")
    table.add_row(r"mass \[kg]", f"{mass:.4f}", _interval(found.intervals["m"]))
    for axis, value in zip("xyz", found.com, strict=True):
        low, high = found.intervals[f"c{axis}"]
        table.add_row(rf"c{axis} \[mm], link frame", f"{1e3 * value:.2f}", _interval((1e3 * low, 1e3 * high)))
    for name, value in zip(("Lxx", "Lxy", "Lxz", "Lyy", "Lyz", "Lzz"), found.standard[:6], strict=True):
        table.add_row(rf"{name} \[kg.m^2], link frame", f"{value:.5f}", _interval(found.intervals[name]))
    rows = [
        (f"centre of mass in {frame}", f"{', '.join(f'{1e3 * c:.2f}' for c in com)} mm"),
        ("principal moments", ", ".join(f"{value:.3e}" for value in np.linalg.eigvalsh(inertia)) + " kg.m^2"),
        ("torque error", f"{found.error_without:.2f} % without the load, {found.error:.2f} % with it"),
        ("certificate", f"{found.solution.status}, relative gap {found.solution.gap:.1e}"),
        *found.controller_fields(placement).items(),
        *(("note", note) for note in found.notes),
    ]
    return [table, summary_table("Controllers", rows)]


def payload_record(found: Payload, frame: str, placement: Array) -> dict[str, Any]:
    """Plain numbers of a payload."""
    mass, com, inertia = found.in_frame(placement)
    return {
        "frame": frame,
        "mass": mass,
        "com": com.tolist(),
        "inertia_com": inertia.tolist(),
        "link_frame": {"standard_parameters": found.standard.tolist(), "com": found.com.tolist()},
        "intervals": {
            name: [float(v) if np.isfinite(v) else None for v in pair] for name, pair in found.intervals.items()
        },
        "drift": dict(found.drift),
        "relative_error": {"without_load": found.error_without, "with_load": found.error},
        "certified": found.solution.certified,
        "controllers": found.controller_fields(placement),
        "notes": list(found.notes),
    }


def gains_tables(found: Gains, joints: Sequence[str]) -> list[Table]:
    """One factor for all joints, and one for each where the recordings tell it."""
    table = Table(title="Drive gains", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("joint", style="bold")
    for column in ("factor", "sd"):
        table.add_column(column, justify="right")
    for name, value, sd in zip(joints, found.joints, found.sd, strict=True):
        table.add_row(
            escape(name), "not told" if np.isnan(value) else f"{value:.4f}", "" if np.isnan(sd) else f"{sd:.4f}"
        )
    rows = [
        ("all joints", f"torques times {found.common:.4f}, 95 %: {found.interval[0]:.4f} to {found.interval[1]:.4f}"),
        ("load", f"{found.mass:g} kg; {found.payload.mass:.4f} kg with the gains as they were"),
    ]
    return [table, summary_table("Gains", rows)]


def _interval(pair: tuple[float, float]) -> str:
    if not np.isfinite(pair).all():
        return "not told by the data"
    return rf"\[{pair[0]:.4g}, {pair[1]:.4g}]"
