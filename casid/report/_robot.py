"""Reports about a robot: the shipped robots, its joints, base parameters, operation counts, checks of its bodies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from rich.table import Table

from casid.codegen._graph import Operations
from casid.description import Robot
from casid.dynamics import BaseParameters
from casid.errors import RobotError
from casid.identification.repair._check import FileCheck
from casid.report._links import links_figure
from casid.report._section import Report, ReportSection, report_of
from casid.report._tables import PlainTable, summary_table


def robots_table(robots: Iterable[Robot]) -> Table:
    """One row for each robot: joints, their types, mass of the moving links where known, source of the kinematics."""
    table = PlainTable("Robots")
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("joints", justify="right")
    table.add_column("types", no_wrap=True)
    table.add_column("mass [kg]", justify="right")
    table.add_column("kinematics from")
    for robot in robots:
        types = "".join("P" if joint.type == "prismatic" else "R" for joint in robot.joints)
        table.add_row(robot.name, str(robot.n), types, _mass(robot), _source(robot))
    return table


def identified_table(entries: Iterable[tuple[Robot, Mapping[str, Any]]]) -> Table:
    """One row for each identified robot: mass, error on data that were held out, licence, the machine."""
    table = PlainTable("Identified robots: 'casid robots NAME' shows one")
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("mass [kg]", justify="right")
    table.add_column("held-out error", justify="right")
    table.add_column("licence", no_wrap=True)
    table.add_column("robot")
    for robot, facts in entries:
        table.add_row(robot.name, _mass(robot), _error(facts, "held_out"), facts["licence"], facts["robot"])
    return table


def identified_tables(robot: Robot, facts: Mapping[str, Any]) -> Sequence[Table]:
    """What is known of an identified robot: source, hashes, verdict; intervals; ranges of masses."""
    about = PlainTable(f"{robot.name}: {facts['robot']}", header=False)
    about.add_column(style="bold", no_wrap=True)
    about.add_column(overflow="fold")
    for key in ("source", "licence", "kind", "verdict"):
        about.add_row(key, facts[key])
    for key, label in (("error", "error"), ("held_out", "held out")):
        if key in facts:
            about.add_row(label, _error(facts, key))
    for file, digest in facts.get("sha256", {}).items():
        about.add_row("SHA-256", f"{digest} {file}")
    about.add_row("made", f"{facts['date']}, casid {facts['version']}: {facts['command']}")
    tables = [about]
    if "intervals" in facts:
        values = PlainTable("Parameters, SI units: value, and the interval of 95 % by the data alone")
        values.add_column("name", style="bold", no_wrap=True)
        for column in ("value", "low", "high"):
            values.add_column(column, justify="right", no_wrap=True)
        for name, numbers in facts["intervals"].items():
            values.add_row(name, *(f"{number:.4g}" for number in numbers))
        outside = sum(not low <= value <= high for value, low, high in facts["intervals"].values())
        if outside:
            values.note(
                f"{outside} of {len(facts['intervals'])} values lie outside: the interval is that of the fit without "
                "physical consistency, the value that of the most plausible consistent links"
            )
        tables.append(values)
    if "masses" in facts:
        masses = PlainTable("Masses [kg]: proven ranges of all consistent sets that explain the recording")
        masses.add_column("link", style="bold", no_wrap=True)
        for column in ("value", "low", "high"):
            masses.add_column(column, justify="right", no_wrap=True)
        values_of = {link.name: link.inertial.mass for link in robot.links if link.inertial}
        for name, (low, high) in facts["masses"].items():
            masses.add_row(name, f"{values_of[name]:.4g}", f"{low:.4g}", f"{high:.4g}")
        tables.append(masses)
    return tables


def described_tables(robot: Robot) -> Sequence[Table]:
    """What is known of a robot's description: sources, mass, joints."""
    rows = [(key.replace("_", " "), value) for key, value in robot.source.items()]
    return (
        summary_table(robot.name, [*rows, ("mass of the moving links [kg]", _mass(robot))]),
        *JointsSection(robot).tables(),
    )


def base_table(name: str, base: BaseParameters) -> Table:
    """Base parameters written out; standard parameters without effect in the caption."""
    table = PlainTable(f"{name}: {base.rank} base parameters of {len(base.parameter_names)} standard parameters")
    table.add_column("#", justify="right", style="dim")
    table.add_column("leads", style="bold", no_wrap=True)
    table.add_column("base parameter", overflow="fold")
    for k, (leader, expression) in enumerate(zip(base.names, base.expressions, strict=True)):
        table.add_row(str(k + 1), leader, expression)
    if base.unidentifiable:
        table.note(f"Without effect on the torques: {', '.join(base.unidentifiable)}")
    return table


def operations_table(title: str, rows: Iterable[tuple[str, Operations]]) -> Table:
    """Operation counts, one row for each function."""
    table = PlainTable(title)
    table.add_column("function", style="bold")
    for name in ("mul", "add", "div", "sin/cos", "other", "negations"):
        table.add_column(name, justify="right")
    for label, count in rows:
        arithmetic = (count.multiplications, count.additions, count.divisions)
        table.add_row(label, *map(str, (*arithmetic, count.trigonometric, count.other, count.negations)))
    return table


class JointsSection(ReportSection):
    """Joints of a robot with limits and masses; its bodies on the robot."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot

    def tables(self) -> Sequence[Table]:
        """One row for each joint."""
        robot, limits = self.robot, self.robot.limits
        table = PlainTable(f"{robot.name}: {robot.n} joints")
        branched = any(joint.parent != k - 1 for k, joint in enumerate(robot.joints))
        for column in ("joint", "type", *(["parent"] if branched else []), "positions", "speed", "effort", "link"):
            table.add_column(column)
        table.add_column("mass [kg]", justify="right")
        table.note("positions [rad, m], speed [rad/s, m/s], effort [N.m, N]: limits")
        for joint in robot.joints:
            own = [k for k, other in enumerate(robot.coordinates) if other is joint]
            moving = (
                [
                    f"{limits.lower[k]:.4g} to {limits.upper[k]:.4g}",
                    f"{limits.velocity[k]:.4g}",
                    f"{limits.effort[k]:.4g}",
                ]
                for k in own
            )
            inertial = joint.link.inertial
            parent = "base" if joint.parent < 0 else robot.joints[joint.parent].link.name
            row = [joint.name, joint.type, *([parent] if branched else []), *next(moving, ["follows", "", ""])]
            table.add_row(*row, joint.link.name, "-" if inertial is None else f"{inertial.mass:.4g}")
        return (table,)

    def pictures(self) -> Mapping[str, Callable[..., Figure]]:
        """``links``, at a posture."""
        return {"links": self._links}

    def _links(self, posture: Any = None) -> Figure:
        robot = self.robot
        unknown = [link.name for link in robot.links if link.inertial is None]
        if unknown:
            raise RobotError(
                f"robot '{robot.name}': the mass of link '{unknown[0]}' is not known; draw a solution or an "
                "identification of it, or give it parameters with robot.with_parameters(...)"
            )
        return links_figure(robot, robot.standard_parameters(), posture)


class CheckSection(ReportSection):
    """Physical consistency of the bodies in a file: margins, violations, what the repair changes; the repaired file."""

    def __init__(self, check: FileCheck, name: str) -> None:
        self.check, self.name = check, name

    def tables(self) -> Sequence[Table]:
        """One row for each link."""
        result = self.check
        title = f"{Path(self.name).name}: {len(result.unphysical)} of {len(result.links)} links unphysical"
        if result.unphysical and result.repair is not None:
            title += f"\n{result.verdict}"
        table = PlainTable(title)
        table.add_column("link", style="bold")
        margins = ("mass [kg]", "smallest moment [kg.m^2]", "triangle margin [kg.m^2]")
        for column in (*margins, "repair moves inertia", "mass by [kg]", "centre by [mm]"):
            table.add_column(column, justify="right", no_wrap=True)
        table.add_column("verdict")
        for link in result.links:
            state = link.state
            table.add_row(
                link.name,
                f"{state.mass:.5g}",
                f"{state.smallest_principal_moment:.3g}",
                f"{state.triangle_margin:.3g}",
                f"{link.change:.3g}" if link.changed else "-",
                f"{link.mass_change:+.3g}" if link.changed else "-",
                f"{1e3 * link.com_change:.3g}" if link.changed else "-",
                "physical" if state.full else state.complaint(),
            )
        if result.massless:
            table.note(f"Without mass and inertia, left alone: {', '.join(result.massless)}")
        return (table,)

    def files(self) -> Mapping[str, bytes]:
        """The repaired file."""
        return {self.check.repaired_name: self.check.repaired}


@report_of.register(Robot)
def _of_robot(robot: Robot) -> Report:
    return Report(robot.name, (JointsSection(robot),))


@report_of.register(FileCheck)
def _of_check(check: FileCheck, name: str) -> Report:
    return Report(name, (CheckSection(check, name),))


def _error(facts: Mapping[str, Any], key: str) -> str:
    return f"{facts[key]:.3g} {facts['unit']}" if key in facts else "-"


def _mass(robot: Robot) -> str:
    if any(link.inertial is None for link in robot.links):
        low, high = robot.total_mass
        return f"{low:g} to {high:g}" if np.isfinite(high) else "-"
    return f"{sum(link.inertial.mass for link in robot.links if link.inertial):.3g}"


def _source(robot: Robot) -> str:
    """Source of the kinematics."""
    return robot.source.get("kinematics", "-")
