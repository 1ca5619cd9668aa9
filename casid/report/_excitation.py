"""Report of a designed excitation trajectory: design, weakest parameters, motion in its limits, the moving arm."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import casadi as ca
import numpy as np
from PIL import Image
from rich.table import Table

from casid.arrays import Array
from casid.description import Robot, robot_reference
from casid.dynamics import Kinematics
from casid.excitation import Design, Designer, MotionLimits, Observation, certify_limits, weak_parameters
from casid.excitation.limits import LimitCheck, StateConstraint
from casid.motion import Trajectory, trajectory_text
from casid.report._section import Report, ReportSection, picked, report_of
from casid.report._style import BLUE, FAINT, GREEN, INK, MUTED, RED, Figure, link_colours, new_figure, png_bytes, tidy
from casid.report._tables import NAME, NUMBER, TEXT, PlainTable, summary_table
from casid.version import __version__

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d import Axes3D

_UNITS = ("rad", "rad/s", "rad/s²")
_NAMES = ("position", "velocity", "acceleration")
#: Pictures of an animation.
_FRAMES = 72


@dataclass(frozen=True, eq=False)
class DesignSection(ReportSection):
    """Value of the criterion, starts, certified limits and violations of a design.

    Attributes
    ----------
    design : Design
    designer : Designer, optional
        Limits and constraints; without it they are not checked again.
    robot : Robot, optional
        Whose file the record names.
    """

    design: Design
    designer: Designer | None = None
    robot: Robot | None = None

    def tables(self) -> Sequence[Table]:
        """One row for each quantity."""
        design, designer = self.design, self.designer
        best = design.starts[0]
        rows = [
            (design.criterion, f"{design.value:.5g}  (random start: {best.initial:.5g})"),
            ("condition number of this motion", f"{design.condition_number:.5g}"),
            ("starts", ", ".join(f"{start.value:.5g}" for start in design.starts)),
            ("time", f"{sum(start.seconds for start in design.starts):.1f} s"),
        ]
        if designer is None:
            rows += [(name, f"largest violation {amount:.2g}") for name, amount in design.violations.items()]
        else:
            checks = certify_limits(design.trajectory, designer.limits)
            rows.append(("joint limits at every instant", _limits_text(checks)))
            rows += [(constraint.name, _violation_text(design, constraint)) for constraint in designer.constraints]
        if best.limited:
            rows.append(("stopped by the limit", f"{best.limited}, still improving; the best motion until then"))
        if design.interrupted:
            rows.append(("interrupted", "the best motion so far; it keeps all limits"))
        return (summary_table(f"Excitation of {design.trajectory.robot or 'the robot'}", rows),)

    def record(self) -> Mapping[str, Any]:
        """The design as plain values."""
        design, designer = self.design, self.designer
        checks = [] if designer is None else certify_limits(design.trajectory, designer.limits)
        return {
            "robot": design.trajectory.robot,
            **({} if self.robot is None else robot_reference(self.robot)),
            **picked(design, "criterion", "value", "condition_number", "violations", "interrupted"),
            "parameters": list(design.observation.names),
            "standard_deviations": design.deviations(),
            "noise": design.observation.noise,
            "limits": [
                picked(check, "joint", "quantity", "low", "high") | {"certified": check.excess <= 0} for check in checks
            ],
            "starts": [picked(start, "value", "initial", "seconds", "iterations") for start in design.starts],
            "basis": design.trajectory.basis.record(),
            "versions": {"casid": __version__},
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class AccuracySection(ReportSection):
    """Predicted standard deviations of the parameters, and the weakest of them."""

    design: Design
    samples: int = Designer.samples

    def tables(self) -> Sequence[Table]:
        """The weakest parameters."""
        weakest = weak_parameters(self.design.observation, self.design.information, count=5)
        rows = [(one.name, f"{one.deviation:.3g}", one.reason) for one in weakest]
        columns = {"parameter": NAME, "standard deviation": NUMBER, "why": TEXT}
        return (PlainTable("Weakest parameters", columns, rows),)

    def pictures(self) -> Mapping[str, Callable[..., Figure]]:
        """``singular_values``, ``deviations``."""
        design = self.design
        alone = 1.0 / np.sqrt(np.diagonal(design.information))
        return {
            "singular_values": lambda: singular_values_figure(design.observation, design.trajectory, self.samples),
            "deviations": lambda: deviations_figure(design.observation.names, design.deviations(), alone),
        }


@dataclass(frozen=True, eq=False)
class TrajectorySection(ReportSection):
    """The motion: its files and its limits.

    Attributes
    ----------
    trajectory : Trajectory
    limits : MotionLimits, optional
    rate : float
        Of the CSV and the ROS 2 file [Hz].
    """

    trajectory: Trajectory
    limits: MotionLimits | None = None
    rate: float = 100.0

    def files(self) -> Mapping[str, bytes]:
        """``trajectory.toml`` (see `read_trajectory`), ``.csv``, ``joint_trajectory.yaml``."""
        contents = {
            "trajectory.toml": trajectory_text(self.trajectory).encode(),
            "trajectory.csv": trajectory_text(self.trajectory, "csv", self.rate).encode(),
        }
        if not self.trajectory.basis.static:
            contents["joint_trajectory.yaml"] = trajectory_text(self.trajectory, "ros2", self.rate).encode()
        return contents

    def pictures(self) -> Mapping[str, Callable[..., Figure]]:
        """``motion``, against ``limits`` where they are given."""
        return {"motion": self._motion}

    def _motion(self, limits: MotionLimits | None = None) -> Figure:
        motion = self.trajectory
        ends = np.full((4, motion.n), np.inf)
        return motion_figure(motion, limits or self.limits or MotionLimits(motion.joints, -ends, ends))


@dataclass(frozen=True, eq=False)
class AnimationSection(ReportSection):
    """The robot along the motion; drawing it takes ten times as long as everything else."""

    robot: Robot
    trajectory: Trajectory

    def files(self) -> Mapping[str, bytes]:
        """``animation.gif``."""
        return {"animation.gif": animation_gif(self.robot, self.trajectory)}


@report_of.register(Design)
def _of_design(
    design: Design, designer: Designer | None = None, robot: Robot | None = None, rate: float = 100.0
) -> Report:
    limits = None if designer is None else designer.limits
    samples = Designer.samples if designer is None else len(designer.objective.matrices[0])
    sections: tuple[ReportSection, ...] = (
        DesignSection(design, designer, robot),
        AccuracySection(design, samples),
        TrajectorySection(design.trajectory, limits, rate),
    )
    if robot is not None:
        sections += (AnimationSection(robot, design.trajectory),)
    return Report(f"Excitation of {design.trajectory.robot or 'the robot'}", sections, json="excitation.json")


def _violation_text(design: Design, constraint: StateConstraint) -> str:
    where = "at all poses" if design.trajectory.basis.static else "on a grid 10 times finer"
    text = f"largest violation {design.violations[constraint.name]:.2g} {where}"
    return "; ".join(filter(None, (text, constraint.certificate(design.trajectory))))


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


def motion_figure(trajectory: Trajectory, limits: MotionLimits) -> Figure:
    """Position, velocity and acceleration of all joints between their limits (dashed); of static poses the position.

    One row a joint, whose marks are its limits, or its own extremes where it has none.
    """
    n, poses = trajectory.n, trajectory.basis.static
    figure = new_figure(7.0 if poses else 12.0, 0.8 * n + 1.4, "Motion against its limits", layout=None)
    grid = figure.subplots(1, 1 if poses else 3, squeeze=False)[0]
    figure.subplots_adjust(0.17 if poses else 0.1, 0.5 / figure.get_figheight(), 0.98, 1 - 0.7 / figure.get_figheight())
    start, end = trajectory.basis.span
    t = trajectory.basis.samples(2) if poses else np.linspace(start, end, 800)
    middles, colours = 1.0 * np.arange(n)[::-1], link_colours(n)
    for order, axes in enumerate(grid):
        values = trajectory.derivative(t, order).T
        lower, upper = limits.lower[order], limits.upper[order]
        low = np.where(np.isfinite(lower), lower, values.min(axis=1))
        high = np.where(np.isfinite(upper), upper, values.max(axis=1))
        rows = 0.8 * (values.T - (low + high) / 2) / np.maximum(high - low, 1e-9) + middles
        for k in range(n):
            axes.plot(t + (1.0 if poses else -start), rows[:, k], "o" if poses else "-", ms=3, lw=1.4, color=colours[k])
        bounded = np.concatenate([(middles - 0.4)[np.isfinite(lower)], (middles + 0.4)[np.isfinite(upper)]])
        axes.hlines(bounded, 0, 1, RED, linewidth=0.9, linestyles=(0, (4, 3)), transform=axes.get_yaxis_transform())
        axes.set_yticks([*(middles - 0.4), *(middles + 0.4)], [f"{value:.3g}" for value in (*low, *high)])
        tidy(axes, "x", x="pose" if poses else "time [s]", title=f"{_NAMES[order]} [{_UNITS[order]}]")
        axes.tick_params(labelsize=7)
    for k, name in enumerate(trajectory.joints):
        where = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "xytext": (-34, 0)}
        grid[0].annotate(name, (0, middles[k]), **where, fontsize=8, ha="right", va="center", color=colours[k])
    return figure


def singular_values_figure(observation: Observation, trajectory: Trajectory, samples: int) -> Figure:
    """Singular values of the observation matrix, largest first."""
    figure = new_figure(9.0, 4.6, "Singular values of the observation matrix")
    axes = figure.subplots()
    values = np.linalg.svd(observation.matrix(trajectory.sample(samples)), compute_uv=False)
    text = f"this motion: condition number {values[0] / values[-1]:.4g}"
    axes.semilogy(np.arange(1, len(values) + 1), values, "o-", color=BLUE, ms=4, linewidth=1.2, label=text)
    axes.axhspan(values[-1], values[0], color=BLUE, alpha=0.06, linewidth=0)
    tidy(axes, x="number", y="singular value", legend=True)
    return figure


def deviations_figure(names: tuple[str, ...], deviations: Array, alone: Array) -> Figure:
    """Predicted standard deviation of every base parameter; hollow: if all others were known."""
    r = len(names)
    figure = new_figure(max(8.0, 0.19 * r + 2.0), 4.8, "Predicted standard deviations")
    axes = figure.subplots()
    at = np.arange(r)
    axes.vlines(at, alone, deviations, color=FAINT, linewidth=2.0)
    axes.plot(at, alone, "o", mfc="white", mec=MUTED, ms=4, label="if all other parameters were known")
    axes.plot(at, deviations, "o", color=GREEN, ms=5, label="standard deviation")
    axes.set_yscale("log")
    axes.set_xticks(at, names, rotation=90, fontsize=7)
    axes.set_xlim(-1, r)
    tidy(axes, "y", y="SI unit of the parameter", legend=True)
    axes.tick_params(axis="x", labelsize=7)
    return figure


def _points(robot: Robot, q: Array) -> Array:
    """Origins of base, moved joints and link frames, and of the flange, shape (2 + 2 links, 3, samples) [m]."""
    symbols, links = ca.SX.sym("q", robot.n), len(robot.links)
    kinematics = Kinematics(robot, symbols)
    points = [ca.SX.zeros(3)]
    for k in range(links):
        points += [kinematics.joints[k][1], kinematics.links[k][1]]
    points.append(kinematics.placement(robot.flange.name)[:3, 3])
    function = ca.Function("points", [symbols], [ca.vertcat(*points)]).map(q.shape[1])
    return np.asarray(function(q).full()).reshape(2 + 2 * links, 3, -1)


def animation_gif(robot: Robot, trajectory: Trajectory) -> bytes:
    """Animated skeleton of the arm along the motion, with the path of its last frame, as a GIF that loops."""
    name = trajectory.robot or robot.name
    if trajectory.basis.static:
        t = trajectory.basis.samples(2)
        labels = [f"pose {k + 1}" for k in range(len(t))]
        return skeleton_gif(robot, trajectory.derivative(t, 0).T, labels, name, 0.3)
    start, end = trajectory.basis.span
    t = np.linspace(start, end, _FRAMES, endpoint=not trajectory.basis.periodic)
    fine = trajectory.derivative(np.linspace(start, end, 600), 0).T
    labels = [f"{instant - start:5.1f} s" for instant in t]
    twice_as_fast = (end - start) / _FRAMES / 2
    return skeleton_gif(robot, trajectory.derivative(t, 0).T, labels, name, twice_as_fast, fine)


def skeleton_gif(
    robot: Robot, q: Array, labels: Sequence[str], title: str, seconds: float, path: Array | None = None
) -> bytes:
    """Animated skeleton of the arm, as a GIF that loops.

    Parameters
    ----------
    q
        Joint positions of every picture, shape (n, pictures).
    labels
        One text for each picture.
    title
        Common text of all pictures.
    seconds
        Duration of each picture [s].
    path
        Joint positions along which the last frame draws its path, shape (n, samples), evenly spread over the pictures.
    """
    points = _points(robot, q)
    drawn = np.zeros((3, 0)) if path is None else _points(robot, path)[-1]
    cloud = np.hstack([points[:-1].transpose(1, 0, 2).reshape(3, -1), drawn])
    middle, half = 0.5 * (cloud.min(axis=1) + cloud.max(axis=1)), 0.52 * float(np.ptp(cloud, axis=1).max())
    colours = link_colours(len(robot.links))
    images = []
    for k, label in enumerate(labels):
        figure = new_figure(4.6, 4.6, layout=None)
        axes = cast("Axes3D", figure.add_axes((0, 0, 1, 1), projection="3d"))
        if path is not None:
            axes.plot(*drawn, "-", color=FAINT, linewidth=0.9)
            passed = round(drawn.shape[1] * k / max(1, len(labels) - 1))
            axes.plot(*drawn[:, :passed], "-", color=BLUE, linewidth=1.1)
        _draw(axes, robot, points[:, :, k], colours)
        for set_limits, centre in zip((axes.set_xlim, axes.set_ylim, axes.set_zlim), middle, strict=True):
            set_limits(centre - half, centre + half)
        figure.text(0.04, 0.94, label, fontsize=11, color=INK)
        figure.text(0.04, 0.90, title, fontsize=9, color=MUTED)
        buffer = io.BytesIO(png_bytes(figure, dpi=80))
        images.append(Image.open(buffer).convert("P", palette=Image.Palette.ADAPTIVE, colors=64))
    out = io.BytesIO()
    images[0].save(
        out, format="GIF", save_all=True, append_images=images[1:], duration=max(20, round(1000 * seconds)), loop=0
    )
    return out.getvalue()


def _draw(axes: Axes3D, robot: Robot, points: Array, colours: list[str]) -> None:
    ring = np.linspace(0, 2 * np.pi, 60)
    axes.plot(0.12 * np.cos(ring), 0.12 * np.sin(ring), 0 * ring, color=MUTED, linewidth=1)
    for k, joint in enumerate(robot.joints):
        chain = [points[0] if joint.parent < 0 else points[2 + 2 * joint.parent], points[1 + 2 * k], points[2 + 2 * k]]
        axes.plot(*np.array(chain).T, "-", color=colours[k], linewidth=5, solid_capstyle="round")
        axes.plot(*points[1 + 2 * k], "o", color=INK, ms=4)
    axes.plot(*points[-2:].T, "-", color=MUTED, linewidth=3)
    axes.set_box_aspect((1, 1, 1), zoom=1.25)
    axes.view_init(elev=18, azim=-55)
    axes.set_axis_off()
