"""The command ``excite``."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import typer

import casid
from casid._annexes import recordings
from casid.cli import options as o
from casid.cli.shared import (
    INTERRUPTED,
    RobotArgument,
    announce_written,
    keeping,
    note,
    out_folder,
    present,
    refuse,
    shown,
)
from casid.errors import RobotError
from casid.files import comma_list, comma_numbers


@dataclass(frozen=True)
class Goal(o.OptionGroup):
    """What the motion is good for."""

    criterion: str = o.option("condition", "What to minimise: condition, d-optimal, a-optimal or largest-sd.")
    parameter: list[str] | None = o.option(
        None, "For largest-sd: a base parameter that matters; may be repeated.", panel=o.ADVANCED
    )
    terms: str = o.option("viscous,coulomb,offset", "Joint terms that are identified too, separated by commas.")
    payload: bool = o.option(False, "Only a load on the last link is unknown.", "--payload")
    position_commands: Path | None = o.option(
        None,
        "Design position commands for servos as in this recording of commands and encoders (or the toml about "
        "it): they make the worst interval of gains, armature, friction and delay small; no torques assumed.",
    )


@dataclass(frozen=True)
class Motion(o.OptionGroup):
    """Kind of motion."""

    panel = "Motion"
    basis: str = o.option("fourier", "Kind of motion: fourier, spline or poses.")
    duration: float = o.option(20.0, "Length of one period \\[s].")
    harmonics: int = o.option(5, "Harmonics of the Fourier series.")
    ramp: float = o.option(0.0, "Ramps from and to rest \\[s]; 0: none.", min=0)
    rest: bool = o.option(False, "Begin and end at rest, without ramps.", "--rest")
    home: str = o.option(
        "", "Pose in which the motion begins and ends at rest, a position a joint \\[rad].", metavar="Q,..."
    )
    poses: int = o.option(50, "Number of static poses, with --basis poses.", min=1)


@dataclass(frozen=True)
class Bounds(o.OptionGroup):
    """What the motion keeps."""

    panel = "Limits of the motion"
    limit_share: float = o.option(1.0, "Used share of the velocity and acceleration limits.")
    collision: bool = o.option(True, "Keep the robot's capsules apart.")
    packages: list[Path] | None = o.option(
        None, "Folder of packages with a URDF's meshes, besides ROS_PACKAGE_PATH; may be repeated.", metavar="DIR"
    )
    torque: bool = o.option(True, "Keep torque limits, with the nominal parameters.")
    floor: float | None = o.option(None, "Smallest height of the link frames, base frame \\[m].")
    workspace: str = o.option(
        "", "Box of the link frames, base frame \\[m]: x=-0.5:0.8,z=0.05:", metavar="AXIS=LOW:HIGH,..."
    )


@dataclass(frozen=True)
class Search(o.OptionGroup):
    """How the motion is searched for."""

    panel = o.ADVANCED
    samples: int = o.option(160, "Samples of the observation matrix.", min=2)
    starts: int = o.option(1, "Number of random starts.", min=1)
    seed: int = o.option(0, "Seed of the first start.", min=0)
    iterations: int = o.option(300, "Iterations of each start; the same on every machine and under any load.", min=1)
    time_limit: float = o.option(1800.0, "Last resort: seconds of each start; the best motion so far is kept.", min=0.1)
    evaluate: Path | None = o.option(None, "Only evaluate this trajectory (TOML).")


@dataclass(frozen=True)
class Output(o.OptionGroup):
    """Files."""

    panel = o.OUTPUT
    out: Path | None = o.option(None, "Folder for the trajectory, pictures and an animation.")
    output_rate: float = o.option(100.0, "Rate of the CSV and ROS 2 files [Hz].")


@o.grouped
def excite(
    context: typer.Context,
    robot: RobotArgument,
    goal: Goal,
    motion: Motion,
    bounds: Bounds,
    search: Search,
    options: o.RobotOptions,
    output: Output,
) -> None:
    """Design a motion (or static poses) that makes identification accurate. Ctrl-C keeps the best so far."""
    with shown("reading"):
        report_of = casid.report.report_of  # slow to import

    _refuse_unused(context, motion.basis, goal.payload, motion.rest)
    if not 0 < output.output_rate < float("inf"):
        raise typer.BadParameter(f"--output-rate: the sampling rate must be positive [Hz], got {output.output_rate}")
    folder = out_folder(output.out)
    machine = options.robot(robot)
    if goal.position_commands is not None:
        unused = ("criterion", "parameter", "terms", "payload", "basis", "harmonics", "ramp", "rest", "poses")
        others = ("collision", "torque", "floor", "workspace", "home", "samples", "starts", "time_limit", "evaluate")
        refuse(context, (*unused, *others), "does not go with --position-commands")
        for kind in recordings():
            kind.excite_commands(
                machine, goal.position_commands, motion.duration, bounds.limit_share, search.iterations, search.seed,
                folder, output.output_rate,
            )  # fmt: skip
        return
    machine = _with_capsules(machine, robot, bounds.packages or []) if bounds.collision else machine
    settings = casid.excitation.DesignSettings(
        criterion=goal.criterion, parameters=tuple(goal.parameter or ()), terms=tuple(comma_list(goal.terms)),
        payload=goal.payload, samples=search.samples, share=bounds.limit_share, collision=bounds.collision,
        torque=bounds.torque, floor=bounds.floor, workspace=_box(bounds.workspace), **_at_home(motion.given()),
    )  # fmt: skip
    if search.evaluate is None:
        designer = settings.designer(machine)
        many = f"{search.starts} start{'s' if search.starts > 1 else ''} of at most {search.iterations} iterations"
        with shown("drawing"):
            casid.report.png_bytes(casid.report.new_figure(1, 1))  # loads what draws: after Ctrl-C a second is left
        typer.echo(f"{many} (--iterations); Ctrl-C keeps the best so far", err=True)
        with shown(f"{machine.name}: first motion") as update:

            def show(at: Any) -> None:  # a stage that ends early makes the rest shorter
                where = f"start {at.start}/{at.starts}, {at.iteration}/{search.iterations}"
                done = (at.start - 1) * search.iterations + min(at.iteration, search.iterations)
                update(f"{where}: {at.value:.3g}, kept {at.best:.3g}", done, at.starts * search.iterations)

            design = designer.run(
                search.starts, search.seed, progress=show, max_seconds=search.time_limit, robot=machine.name,
                iterations=search.iterations,
            )  # fmt: skip
    else:
        designer, design = settings.judge(machine, casid.motion.read_trajectory(search.evaluate))
    report = report_of(design, designer=designer, robot=machine, rate=output.output_rate)
    found, accuracy, motion_files, animation = report.sections  # drawing the animation takes longer than all else
    if design.interrupted:
        _keep(replace(report, sections=(found, motion_files)), design, folder)
    _note_unchecked(machine, bounds)
    present(replace(report, sections=(found, accuracy, motion_files)), folder)
    if folder is not None:
        keeping(f"all but the animation is written to {folder}")
        with shown("animation"):
            files = animation.files()
        announce_written(folder, casid.files.write_files(folder, files))


def _at_home(given: dict[str, Any]) -> dict[str, Any]:
    """The settings of the motion with the pose of --home as numbers; BadParameter for anything else."""
    text = given.get("home", "")
    home = comma_numbers(text, "--home", typer.BadParameter) if text else []
    if not all(map(math.isfinite, home)):
        raise typer.BadParameter(f"--home: positions are finite numbers, got '{text}'")
    return {**given, "home": tuple(home)}


def _box(text: str) -> tuple[tuple[float, float], ...]:
    """Bounds of x, y and z of ``x=LOW:HIGH,...``; none where the text is empty."""
    found = dict.fromkeys("xyz", (-math.inf, math.inf))
    for word in comma_list(text):
        axis, _, ends = word.partition("=")
        if axis.strip() not in found or ":" not in ends:
            raise typer.BadParameter(f"--workspace: expected x=LOW:HIGH, y=... or z=..., got '{word}'")
        found[axis.strip()] = o.interval(f"--workspace, {axis}", ends)
    return tuple(found.values()) if text else ()


def _keep(report: casid.report.Report, design: casid.excitation.Design, folder: Path | None) -> NoReturn:
    """End an interrupted design with the files of its motion and their picture; the others take longer to draw."""
    value = f"the best motion so far keeps all limits, {design.criterion} {design.value:.5g}"
    if folder is None:
        typer.echo(f"interrupted: {value}; nothing was written (--out)", err=True)
    else:
        names = ", ".join(path.name for path in report.write(folder))
        typer.echo(f"interrupted: {value}; written to {folder}: {names}", err=True)
    raise typer.Exit(INTERRUPTED)


def _note_unchecked(machine: casid.Robot, bounds: Bounds) -> None:
    """Print which limits are not kept, and why."""
    if not (bounds.collision and machine.capsules):
        reason = "no capsules known" if bounds.collision else "switched off"
        note(f"no collision check: {reason}")
    limited = any(limit < float("inf") for limit in machine.limits.effort)
    if not (bounds.torque and limited and all(link.inertial for link in machine.links)):
        reason = "the robot's file gives no effort limits, or no bodies" if bounds.torque else "switched off"
        note(f"no torque limits: {reason}")


def _refuse_unused(context: typer.Context, basis: str, payload: bool, rest: bool) -> None:
    """BadParameter for options that the others leave without effect."""
    if basis == "poses":
        moving = ("harmonics", "duration", "ramp", "rest", "home", "terms", "limit_share", "payload")
        refuse(context, moving, "is of motions, not of static poses (--basis poses)")
    else:
        refuse(context, ("poses",), "needs --basis poses")
    if basis == "spline":
        refuse(context, ("ramp",), "is of --basis fourier: a spline begins and ends at rest")
    if rest:
        refuse(context, ("ramp",), "and --rest exclude each other")
    if payload:
        refuse(context, ("terms",), "does not go with --payload: only the load is unknown")


def _with_capsules(machine: casid.Robot, name: str, packages: list[Path]) -> casid.Robot:
    """The robot with capsules fitted to its URDF's meshes, where it has none of its own.

    Raises
    ------
    RobotError
        If a user's file gives no capsules: a motion without them may let the robot collide with itself.
    """
    ending = Path(name).suffix.lower()
    if machine.capsules or ending not in (".urdf", ".xml", ".mjcf", ".sdf", ".world"):
        return machine
    last = "--no-collision designs without: the robot may collide with itself"
    if ending != ".urdf":
        raise RobotError(f"{name}: capsules are fitted to the meshes of a URDF only; convert it, or {last}")
    try:
        return replace(machine, capsules=casid.excitation.fit_capsules(name, machine, packages))
    except RobotError as error:
        raise RobotError(f"{error.message}. --packages DIR (or ROS_PACKAGE_PATH) finds packages; {last}") from None
