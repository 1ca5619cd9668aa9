"""Reports of a payload and of drive gains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.table import Table

from casid.arrays import Array
from casid.description import Robot
from casid.errors import RobotError
from casid.inertia import tensor_entries
from casid.loads._gains import Gains
from casid.loads._payload import Payload
from casid.report import NAME, PlainTable, Report, ReportSection, numbers, report_of, summary_table
from casid.report.viewer import Page, nominal_bodies


def mounting(robot: Robot) -> tuple[str, Array]:
    """Frame in which controllers take loads: ``tool0``, the flange as they have it (REP 199), or the flange."""
    last = len(robot.links) - 1
    named = [frame for frame in robot.frames if frame.joint == last and frame.name.endswith("tool0")]
    frame = named[0] if named else robot.flange
    return frame.name, np.asarray(frame.placement)


def flange_of(robot: Robot, name: str | None = None) -> tuple[str, Array]:
    """Frame in which a load is given, by default `Robot.flange`, and its placement in the last link.

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


@dataclass(frozen=True, eq=False)
class PayloadSection(ReportSection):
    """A load with its intervals, in the frame and with the fields of robot controllers.

    Attributes
    ----------
    found : Payload
    robot : Robot
    frame, placement : str, ndarray, shape (4, 4)
        Frame of the result and its placement in the last link, see `flange_of`.
    """

    found: Payload
    robot: Robot
    frame: str
    placement: Array

    def commands(self) -> dict[str, str]:
        """Commands of controllers, each with the frame that it takes the load in, and where its inertia is assumed."""
        flange, placement = mounting(self.robot)
        assumed = "" if self.found.inertia_determined else ", inertia assumed"
        fields = self.found.controller_fields(placement)
        return {f"{brand}, in {flange}{assumed}": command for brand, command in fields.items()}

    def tables(self) -> Sequence[Table]:
        """Values with intervals, which hold together: mass and centre, inertia; and the fields of controllers."""
        found = self.found
        mass, com, inertia = found.in_frame(self.placement)
        values = [("mass [kg]", f"{mass:.4f}", _interval(found.intervals["m"]))]
        for axis, value in zip("xyz", found.com, strict=True):
            low, high = found.intervals[f"c{axis}"]
            values.append((f"c{axis} [mm], link frame", f"{1e3 * value:.2f}", _interval((1e3 * low, 1e3 * high))))
        moments = tensor_entries(found.inertia_com)
        for name, value in zip(("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz"), moments, strict=True):
            values.append((f"{name} [kg.m^2], about centre", f"{value:.5f}", _interval(found.intervals[name])))
        table = PlainTable("Payload", {"quantity": NAME} | numbers("value", "95 %, together"), values)
        rows = [
            (f"centre of mass in {self.frame}", f"{', '.join(f'{1e3 * c:.2f}' for c in com)} mm"),
            ("principal moments", ", ".join(f"{value:.3e}" for value in np.linalg.eigvalsh(inertia)) + " kg.m^2"),
            ("torque error", f"{found.error_without:.2f} % without the load, {found.error:.2f} % with it"),
            ("certificate", f"{found.solution.status}, relative gap {found.solution.gap:.1e}"),
            *self.commands().items(),
            *(("note", note) for note in found.notes),
        ]
        return (table, summary_table("Controllers", rows))

    def show(self, page: Page, drawn: Mapping[str, bytes]) -> None:
        """The load on the robot, and the tables."""
        load = np.zeros(10 * len(self.robot.links))
        load[-10:] = self.found.standard
        page.robot(self.robot, {**nominal_bodies(self.robot), "the load, in the frame of the last link": load})
        for table in self.tables():
            page.table(table, titled=True)

    def record(self) -> Mapping[str, Any]:
        """All values."""
        found, (flange, placement) = self.found, mounting(self.robot)
        mass, com, inertia = found.in_frame(self.placement)
        return {
            "frame": self.frame,
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
            "controllers": {
                "frame": flange,
                "inertia_determined": found.inertia_determined,
                **found.controller_fields(placement),
            },
            "notes": list(found.notes),
        }


@dataclass(frozen=True, eq=False)
class GainsSection(ReportSection):
    """One factor for all joints, and one for each joint whose gain the recordings determine."""

    found: Gains
    joints: Sequence[str]

    def tables(self) -> Sequence[Table]:
        """One row for each joint, and a summary."""
        found = self.found
        factors = [
            (name, "not determined" if np.isnan(value) else f"{value:.4f}", "" if np.isnan(sd) else f"{sd:.4f}")
            for name, value, sd in zip(self.joints, found.joints, found.sd, strict=True)
        ]
        table = PlainTable("Drive gains", {"joint": NAME} | numbers("factor", "sd"), factors)
        common = f"torques times {found.common:.4f}, 95 %: {found.interval[0]:.4f} to {found.interval[1]:.4f}"
        known = np.isfinite(found.joints)
        own = ", ".join(f"{g:.4f}" if here else "-" for g, here in zip(found.joints, known, strict=True))
        whose = (
            "all joints" if not known.any() else "one factor for all" if known.all() else "one factor for the others"
        )
        rows = [
            *([("each joint", f"torques times {own}")] if known.any() else []),
            (whose, common),
            ("load", f"{found.mass:g} kg; {found.payload.mass:.4f} kg with the present gains"),
        ]
        return (table, summary_table("Gains", rows))


@report_of.register(Payload)
def _of_payload(found: Payload, robot: Robot, frame: str | None = None) -> Report:
    section = PayloadSection(found, robot, *flange_of(robot, frame))
    return Report(f"{robot.name}: payload", (section,), json="payload.json", page="payload.html")


@report_of.register(Gains)
def _of_gains(found: Gains, joints: Sequence[str]) -> Report:
    return Report("Drive gains", (GainsSection(found, joints),))


def _interval(pair: tuple[float, float]) -> str:
    if not np.isfinite(pair).all():
        return "not determined by the data"
    return f"[{pair[0]:.4g}, {pair[1]:.4g}]"
