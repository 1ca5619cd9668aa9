"""Results in a notebook, and pictures in one call: `casid.display` asks, this draws.

Pictures are made by pyplot here and nowhere else, so that a notebook shows them and ``plt.show()`` opens them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.table import Table

from casid.description import Robot
from casid.errors import DatasetError, ProblemError, RobotError
from casid.excitation import Design, MotionLimits
from casid.identification import Identification
from casid.report.coefficients import coefficients
from casid.report.excitation_plots import deviations_figure, motion_figure, singular_values_figure
from casid.report.fit_plot import fit_figure
from casid.report.identification_plots import base_figure, friction_figure, torque_figure
from casid.report.identification_tables import identification_tables
from casid.report.intervals import intervals_figure, intervals_table
from casid.report.links_plot import links_figure
from casid.report.plain_table import PlainTable, html_of
from casid.report.simulation import simulation_table
from casid.report.simulation_plots import energy_figure
from casid.report.simulation_plots import motion_figure as simulated_figure
from casid.report.solution import solution_figures, solution_tables
from casid.report.style import with_pyplot
from casid.report.tables import summary_table
from casid.retrieval._problem import Problem
from casid.retrieval._solution import Solution
from casid.retrieval.insight._intervals import Intervals
from casid.retrieval.study._study import Study
from casid.simulation import Simulation

#: Samples at which the singular values of a designed motion are taken.
_SAMPLES = 160


def html(result: Any) -> str:
    """A result as tables in HTML, as the terminal would show them, without anything outside it."""
    tables = next(make for kind, make in _TABLES.items() if isinstance(result, kind))(result)
    return "".join(html_of(table) for table in tables)


def plot(result: Any, picture: str, **options: Any) -> tuple[Axes, ...]:
    """Draw a picture of a result; its axes, whose ``figure`` may be changed and saved.

    Raises
    ------
    CasidError
        If the result does not hold what the picture shows.
    """
    draw = next(pictures[picture] for kind, pictures in _PICTURES.items() if isinstance(result, kind))
    with with_pyplot():
        return tuple(draw(result, **options).axes)


# ---------------------------------------------------------------------- tables


def _robot_tables(robot: Robot) -> list[Table]:
    limits = robot.limits
    table = PlainTable(f"{robot.name}: {robot.n} joints")
    for column in ("joint", "type", "parent", "positions [rad, m]", "speed [rad/s, m/s]", "effort [N.m, N]", "link",
                   "mass [kg]"):  # fmt: skip
        table.add_column(column)
    for joint in robot.joints:
        own = [k for k, other in enumerate(robot.coordinates) if other is joint]
        moving = (
            [f"{limits.lower[k]:.4g} to {limits.upper[k]:.4g}", f"{limits.velocity[k]:.4g}", f"{limits.effort[k]:.4g}"]
            for k in own
        )
        inertial = joint.link.inertial
        parent = "base" if joint.parent < 0 else robot.joints[joint.parent].link.name
        table.add_row(
            joint.name, joint.type, parent, *next(moving, ["follows", "", ""]), joint.link.name,
            "-" if inertial is None else f"{inertial.mass:.4g}",
        )  # fmt: skip
    return [table]


def _problem_tables(problem: Problem) -> list[Table]:
    soft = sum(not constraint.hard for constraint in problem.constraints)
    rows = [
        ("robot", f"{problem.variables.robot.name}, {len(problem.variables)} links"),
        ("unknowns", str(problem.variables.size)),
        ("rows of the objective", str(problem.objective.matrix.shape[0])),
        ("constraints", f"{len(problem.constraints)}, {soft} of them soft"),
        ("consistency", f"{problem.consistency.name}, margin {max(entry.margin for entry in problem.cones):g}"),
        *([("source", problem.source)] if problem.source else []),
    ]
    table = PlainTable("Constraints")
    for column in ("label", "from", "to", "entries", "kind"):
        table.add_column(column)
    for constraint in problem.constraints:
        low, high = (f"{float(end(np.asarray(bound))):.4g}" for end, bound in (
            (np.min, constraint.lower), (np.max, constraint.upper)))  # fmt: skip
        kind = "hard" if constraint.hard else f"soft, weight {np.max(constraint.weight):.4g}"
        table.add_row(constraint.label, low, high, str(constraint.size), kind)
    return [summary_table(f"Problem {problem.name}", rows), *([table] if problem.constraints else [])]


def _design_tables(design: Design) -> list[Table]:
    rows = [
        (design.criterion, f"{design.value:.5g}"),
        ("condition number of this motion", f"{design.condition_number:.5g}"),
        ("starts", ", ".join(f"{start.value:.5g}" for start in design.starts)),
        *((name, f"largest violation {amount:.2g}") for name, amount in design.violations.items()),
    ]
    return [summary_table(f"Excitation of {design.trajectory.robot or 'the robot'}", rows)]


_TABLES: Mapping[type, Callable[[Any], list[Table]]] = {
    Robot: _robot_tables,
    Problem: _problem_tables,
    Solution: solution_tables,
    Study: solution_tables,
    Intervals: lambda result: [intervals_table(result)],
    Identification: identification_tables,
    Design: _design_tables,
    Simulation: lambda result: [simulation_table(result)],
}


# ---------------------------------------------------------------------- pictures


def _robot_links(robot: Robot, posture: Any = None) -> Figure:
    unknown = [link.name for link in robot.links if link.inertial is None]
    if unknown:
        raise RobotError(
            f"robot '{robot.name}': nothing is known of the mass of link '{unknown[0]}'; draw a solution or an "
            "identification of it, or give it parameters with robot.with_parameters(...)"
        )
    return links_figure(robot, robot.standard_parameters(), posture)


def _solution_links(solution: Solution) -> Figure:
    robot = solution.problem.variables.robot
    return links_figure(robot, solution.standard_parameters, title=f"{solution.problem.name}: the links")


def _fit(solution: Solution) -> Figure:
    fit = coefficients(solution)
    if fit is None:
        raise ProblemError(
            f"problem '{solution.problem.name}' was made from samples, not from coefficients: there is no fit of each "
            "to draw"
        )
    return fit_figure(fit.expressions, fit.fitted, fit.given, fit.sd, fit.used)


def _torques(result: Identification, recording: int = 0) -> Figure:
    if not 0 <= recording < len(result.datasets):
        raise DatasetError(f"there is no recording {recording}: there are {len(result.datasets)}, counted from 0")
    data = result.datasets[recording]
    names = tuple(joint.name for joint in result.model.robot.coordinates)
    return torque_figure(result.predict(data), names, f"{data.name}: measured and predicted torques")


def _identified_links(result: Identification) -> Figure:
    return links_figure(result.model.robot, result.standard_parameters, title="The identified links")


def _motion(design: Design, limits: MotionLimits | None = None) -> Figure:
    motion = design.trajectory
    ends = np.full((4, motion.n), np.inf)
    return motion_figure(motion, limits or MotionLimits(motion.joints, -ends, ends), "The designed motion")


def _deviations(design: Design) -> Figure:
    alone = 1.0 / np.sqrt(np.diagonal(design.information))
    return deviations_figure(design.observation.names, design.deviations(), alone)


_PICTURES: Mapping[type, Mapping[str, Callable[..., Figure]]] = {
    Robot: {"links": _robot_links},
    Solution: {"links": _solution_links, "fit": _fit},
    Study: {"starts": lambda result: solution_figures(result)["starts"]},
    Intervals: {"intervals": intervals_figure},
    Identification: {
        "torques": _torques, "friction": friction_figure, "base_parameters": base_figure, "links": _identified_links,
    },
    Design: {
        "motion": _motion,
        "singular_values": lambda result: singular_values_figure(result.observation, result.trajectory, _SAMPLES),
        "deviations": _deviations,
    },
    Simulation: {"motion": simulated_figure, "energy": energy_figure},
}  # fmt: skip
