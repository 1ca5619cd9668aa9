"""Tables for the terminal (rich): what a person wants to see first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from rich.table import Table

from casid.codegen._graph import Operations
from casid.description import Robot
from casid.dynamics import BaseParameters
from casid.report.plain_table import PlainTable

if TYPE_CHECKING:
    from casid.inertia import LinkParameters


def robots_table(robots: Iterable[Robot]) -> Table:
    """One row a robot: joints, their types, mass of the moving links where known, source of the kinematics."""
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


def base_table(name: str, base: BaseParameters) -> Table:
    """Base parameters written out; those without effect in the caption."""
    table = PlainTable(f"{name}: {base.rank} base parameters of {len(base.parameter_names)} standard parameters")
    table.min_width = 80  # the title in one line
    table.add_column("#", justify="right", style="dim")
    table.add_column("leads", style="bold", no_wrap=True)
    table.add_column("base parameter", overflow="fold")
    for k, (leader, expression) in enumerate(zip(base.names, base.expressions, strict=True)):
        table.add_row(str(k + 1), leader, expression)
    if base.unidentifiable:
        table.note(f"Without effect on the torques: {', '.join(base.unidentifiable)}")
    return table


def operations_table(title: str, rows: Iterable[tuple[str, Operations]]) -> Table:
    """Operation counts, one row a function."""
    table = PlainTable(title)
    table.add_column("function", style="bold")
    for name in ("mul", "add", "div", "sin/cos", "other", "negations"):
        table.add_column(name, justify="right")
    for label, count in rows:
        arithmetic = (count.multiplications, count.additions, count.divisions)
        table.add_row(label, *map(str, (*arithmetic, count.trigonometric, count.other, count.negations)))
    return table


def links_table(links: Iterable[LinkParameters], title: str = "Links") -> Table:
    """Mass, centre of mass and principal moments about it, one row a link."""
    table = PlainTable(title)
    table.add_column("link", style="bold", no_wrap=True)
    table.add_column("mass [kg]", justify="right", no_wrap=True)
    table.add_column("centre of mass [m]", justify="right", no_wrap=True)
    table.add_column("principal moments [kg m²]", justify="right", no_wrap=True)
    total = 0.0
    for link in links:
        total += link.mass
        com = "  ".join(f"{round(value, 4) + 0.0:+.4f}" for value in link.com)
        moments = "  ".join(f"{value:.2e}" for value in link.principal_moments)
        table.add_row(link.name, f"{link.mass:.4f}", com, moments)
    table.add_section()
    table.add_row("total", f"{total:.4f}", "", "")
    return table


def summary_table(title: str, rows: Iterable[tuple[str, str]]) -> Table:
    """Two columns: what, value."""
    table = PlainTable(title, header=False)
    table.add_column("what", style="dim", no_wrap=True)
    table.add_column("value")
    for what, value in rows:
        table.add_row(what, value)
    return table


def _mass(robot: Robot) -> str:
    if any(link.inertial is None for link in robot.links):
        low, high = robot.total_mass
        return f"{low:g} to {high:g}" if np.isfinite(high) else "-"
    return f"{sum(link.inertial.mass for link in robot.links if link.inertial):.3g}"


def _source(robot: Robot) -> str:
    """Where the kinematics come from, which is what makes it this robot."""
    return robot.source.get("kinematics", "-")
