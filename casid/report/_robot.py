"""Reports about a robot: the shipped ones, its joints, base parameters and their feasibility, operations, checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from casid.codegen import Operations
from casid.description import Robot
from casid.dynamics import BaseParameters
from casid.errors import RobotError
from casid.files import csv_bytes
from casid.identification.repair import Feasibility, FileCheck
from casid.inertia import parameter_csv, parameter_record
from casid.report._links import links_figure
from casid.report._section import Report, ReportSection, SectionOf, picked, report_of
from casid.report._style import Figure
from casid.report._tables import NAME, NUMBER, TEXT, WORD, PlainTable, numbers, summary_table, texts


def robots_table(robots: Iterable[Robot]) -> Table:
    """One row for each robot: joints, their types, mass of the moving links where known, source of the kinematics."""
    columns = {"name": NAME, "joints": NUMBER, "types": WORD, "mass [kg]": NUMBER, "kinematics from": TEXT}
    rows = []
    for robot in robots:
        types = "".join("P" if joint.type == "prismatic" else "R" for joint in robot.joints)
        rows.append((robot.name, str(robot.n), types, _mass(robot), robot.source.get("kinematics", "-")))
    return PlainTable("Robots", columns, rows)


def identified_table(entries: Iterable[tuple[Robot, Mapping[str, Any]]]) -> Table:
    """One row for each identified robot: mass, error on data that were held out, licence, the machine."""
    columns = {"name": NAME} | numbers("mass [kg]", "held-out error") | {"licence": WORD, "robot": TEXT}
    rows = [
        (robot.name, _mass(robot), _error(facts, "held_out"), facts["licence"], facts["robot"])
        for robot, facts in entries
    ]
    return PlainTable("Identified robots: 'casid robots NAME' shows one", columns, rows)


def identified_tables(robot: Robot, facts: Mapping[str, Any]) -> Sequence[Table]:
    """What is known of an identified robot: source, hashes, verdict; intervals; ranges of masses."""
    rows = [(key, facts[key]) for key in ("source", "licence", "kind", "verdict")]
    rows += [(key.replace("_", " "), _error(facts, key)) for key in ("error", "held_out") if key in facts]
    rows += [("SHA-256", f"{digest} {file}") for file, digest in facts.get("sha256", {}).items()]
    rows.append(("made", f"{facts['date']}, casid {facts['version']}: {facts['command']}"))
    tables = [summary_table(f"{robot.name}: {facts['robot']}", rows)]
    found = facts.get("intervals", {})
    outside = sum(not low <= value <= high for value, low, high in found.values())
    note = (
        f"{outside} of {len(found)} values lie outside: the interval is that of the fit without physical consistency, "
        "the value that of the most plausible consistent links"
    )
    bodies = {link.name: link.inertial.mass for link in robot.links if link.inertial}
    masses = {name: (bodies[name], *ends) for name, ends in facts.get("masses", {}).items()}
    for title, first, values, remark in (
        ("Parameters, SI units: value, and the interval of 95 % by the data alone", "name", found, outside and note),
        ("Masses [kg]: proven ranges of all consistent sets that explain the recording", "link", masses, ""),
    ):
        if values:
            lines = [(name, *(f"{number:.4g}" for number in given)) for name, given in values.items()]
            tables.append(PlainTable(title, {first: NAME} | numbers("value", "low", "high"), lines, remark or ""))
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
    title = f"{name}: {base.rank} base parameters of {len(base.parameter_names)} standard parameters"
    pairs = enumerate(zip(base.names, base.expressions, strict=True))
    rows = [(str(k + 1), leader, expression) for k, (leader, expression) in pairs]
    note = f"Without effect on the torques: {', '.join(base.unidentifiable)}" if base.unidentifiable else ""
    return PlainTable(title, {"#": NUMBER, "leads": NAME, "base parameter": TEXT}, rows, note)


def operations_table(title: str, rows: Iterable[tuple[str, Operations]]) -> Table:
    """Operation counts, one row for each function."""
    columns = {"function": NAME} | numbers("mul", "add", "div", "sin/cos", "other", "negations")
    return PlainTable(title, columns, [(label, *map(str, astuple(count))) for label, count in rows])


class JointsSection(SectionOf[Robot]):
    """Joints of a robot with limits and masses; its bodies on the robot."""

    def tables(self) -> Sequence[Table]:
        """One row for each joint."""
        robot, limits = self.result, self.result.limits
        branched = any(joint.parent != k - 1 for k, joint in enumerate(robot.joints))
        heads = ("joint", "type", *(["parent"] if branched else []), "positions", "speed", "effort", "link")
        own = zip(limits.lower, limits.upper, limits.velocity, limits.effort, strict=True)
        rows = []
        for joint in robot.joints:
            moving = ["follows", "", ""]
            if joint.mimic is None:
                lower, upper, velocity, effort = next(own)
                moving = [f"{lower:.4g} to {upper:.4g}", f"{velocity:.4g}", f"{effort:.4g}"]
            inertial = joint.link.inertial
            parent = "base" if joint.parent < 0 else robot.joints[joint.parent].link.name
            row = [joint.name, joint.type, *([parent] if branched else []), *moving]
            rows.append((*row, joint.link.name, "-" if inertial is None else f"{inertial.mass:.4g}"))
        columns = dict.fromkeys(heads, WORD) | numbers("mass [kg]")
        note = "positions [rad, m], speed [rad/s, m/s], effort [N.m, N]: limits"
        return (PlainTable(f"{robot.name}: {robot.n} joints", columns, rows, note),)

    def pictures(self) -> Mapping[str, Callable[..., Figure]]:
        """``links``, at a posture."""
        return {"links": self._links}

    def _links(self, posture: Any = None) -> Figure:
        robot = self.result
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
        margins = ("mass [kg]", "smallest moment [kg.m^2]", "triangle margin [kg.m^2]")
        moved = ("repair moves inertia", "mass by [kg]", "centre by [mm]")
        rows = []
        for link in result.links:
            state = link.state
            changes = (f"{link.change:.3g}", f"{link.mass_change:+.3g}", f"{1e3 * link.com_change:.3g}")
            found = (f"{state.mass:.5g}", f"{state.smallest_principal_moment:.3g}", f"{state.triangle_margin:.3g}")
            verdict = "physical" if state.full else state.complaint()
            rows.append((link.name, *found, *(changes if link.changed else ["-"] * 3), verdict))
        note = f"Without mass and inertia, left alone: {', '.join(result.massless)}" if result.massless else ""
        columns = {"link": NAME} | numbers(*margins, *moved) | texts("verdict")
        return (PlainTable(title, columns, rows, note),)

    def files(self) -> Mapping[str, bytes]:
        """The repaired file."""
        return {self.check.repaired_name: self.check.repaired}


@dataclass(frozen=True, eq=False)
class FeasibilitySection(ReportSection):
    """Verdict on given base parameters, the nearest feasible ones, and how much each has to change."""

    found: Feasibility
    base: BaseParameters
    consistency: str

    @property
    def _rows(self) -> list[list[Any]]:
        given, corrected = self.found.given, self.found.corrected
        change = corrected - given
        share = 100 * change**2 / max(float(change @ change), np.finfo(float).tiny)
        columns = (self.base.names, self.base.expressions, given, corrected, change, share)
        return [list(row) for row in zip(*columns, strict=True)]

    def tables(self) -> Sequence[Table]:
        """The verdict; one row for each base parameter."""
        found, size = self.found, float(np.linalg.norm(self.found.given))
        rows = [
            ("consistency", self.consistency),
            ("verdict", found.verdict),
            ("nearest feasible ones", f"at {found.distance:.4g}, {100 * found.distance / size:.3g} % of the norm"),
            ("proven: none is nearer than", f"{found.proven_distance:.4g}"),
        ]
        columns = {"parameter": NAME} | numbers("given", "nearest feasible", "change", "share of the distance [%]")
        lines = [(row[0], *(f"{value:.4g}" for value in row[2:5]), f"{row[5]:.1f}") for row in self._rows]
        return summary_table("Feasibility", rows), PlainTable("Base parameters", columns, lines)

    def record(self) -> Mapping[str, Any]:
        """Verdict and distances."""
        found = self.found
        proof = picked(found, "verdict", "distance", "proven_distance")
        return {"consistency": self.consistency, **proof, **parameter_record(found.parameters)}

    def files(self) -> Mapping[str, bytes]:
        """``base_parameters.csv``, ``parameters.csv``: consistent ones with the nearest feasible base parameters."""
        head = ["parameter", "expression", "given", "value", "change", "share of the distance [%]"]
        return {
            "base_parameters.csv": csv_bytes(head, self._rows),
            "parameters.csv": parameter_csv(self.found.parameters),
        }


@report_of.register(Robot)
def _of_robot(robot: Robot) -> Report:
    return Report(robot.name, (JointsSection(robot),))


@report_of.register(FileCheck)
def _of_check(check: FileCheck, name: str) -> Report:
    return Report(name, (CheckSection(check, name),))


@report_of.register(Feasibility)
def _of_feasibility(found: Feasibility, base: BaseParameters, consistency: str = "full") -> Report:
    return Report("feasibility", (FeasibilitySection(found, base, consistency),), json="feasibility.json")


def _error(facts: Mapping[str, Any], key: str) -> str:
    return f"{facts[key]:.3g} {facts['unit']}" if key in facts else "-"


def _mass(robot: Robot) -> str:
    if any(link.inertial is None for link in robot.links):
        low, high = robot.total_mass
        return f"{low:g} to {high:g}" if np.isfinite(high) else "-"
    return f"{sum(link.inertial.mass for link in robot.links if link.inertial):.3g}"
