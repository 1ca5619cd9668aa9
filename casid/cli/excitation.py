"""The command ``excite``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from casid.cli import options as o
from casid.cli.progress import shown
from casid.cli.shared import RobotArgument, console, names, out_folder, refuse, say_written

if TYPE_CHECKING:
    from casid.description import Robot


def excite(
    context: typer.Context,
    robot: RobotArgument,
    criterion: Annotated[
        str, typer.Option(help="What to make small: condition, d-optimal, a-optimal or largest-sd.")
    ] = "condition",
    parameter: Annotated[
        list[str] | None, typer.Option(help="For largest-sd: a base parameter that matters; may be repeated.")
    ] = None,
    harmonics: Annotated[int, typer.Option(help="Harmonics of the Fourier series.")] = 5,
    duration: Annotated[float, typer.Option(help="Length of one period \\[s].")] = 20.0,
    basis: Annotated[str, typer.Option(help="Kind of motion: fourier, spline or poses.")] = "fourier",
    ramp: Annotated[float, typer.Option(min=0, help="Ramps from and to rest \\[s]; 0: none.")] = 0.0,
    rest: Annotated[bool, typer.Option("--rest", help="Begin and end at rest, without ramps.")] = False,
    poses: Annotated[int, typer.Option(min=1, help="Number of static poses, with --basis poses.")] = 50,
    terms: Annotated[
        str, typer.Option(help="Joint effects that are identified too, separated by commas.")
    ] = "viscous,coulomb,offset",
    payload: Annotated[bool, typer.Option("--payload", help="Only a load on the last link is unknown.")] = False,
    share: Annotated[float, typer.Option(help="Part of the velocity and acceleration limits to use.")] = 1.0,
    collision: Annotated[bool, typer.Option(help="Keep the robot's capsules apart.")] = True,
    torque: Annotated[bool, typer.Option(help="Keep torque limits, with the nominal parameters.")] = True,
    floor: Annotated[float | None, typer.Option(help="Smallest height of the link frames, base frame \\[m].")] = None,
    lock: o.Lock = None,
    gravity: o.Gravity = None,
    angle_tolerance: o.AngleTolerance = None,
    samples: Annotated[int, typer.Option(min=2, help="Samples of the observation matrix.")] = 160,
    starts: Annotated[int, typer.Option(min=1, help="Number of random starts.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first start.")] = 0,
    seconds: Annotated[
        float, typer.Option(min=0.1, help="Time limit of each start \\[s], which then keeps its best motion.")
    ] = 60.0,
    evaluate: Annotated[Path | None, typer.Option(help="Only evaluate this trajectory (TOML).")] = None,
    rate: Annotated[float, typer.Option(help="Rate of the CSV and ROS 2 files [Hz].")] = 100.0,
    out: Annotated[Path | None, typer.Option(help="Folder for the trajectory, pictures and an animation.")] = None,
) -> None:
    """Design a motion (or static poses) that makes identification good. Ctrl-C keeps the best so far."""
    from casid.excitation import DesignSettings
    from casid.motion import read_trajectory
    from casid.report import excitation_tables, write_excitation

    _refuse_unused(context, basis, payload, rest)
    if not 0 < rate < float("inf"):
        raise typer.BadParameter(f"--rate: the sampling rate must be positive [Hz], got {rate}")
    folder = out_folder(out)
    machine = o.robot_of(robot, lock, gravity, angle_tolerance)
    machine = _with_capsules(machine, robot) if collision else machine
    study = DesignSettings(
        criterion=criterion, parameters=tuple(parameter or ()), harmonics=harmonics, duration=duration, basis=basis,
        ramp=ramp, rest=rest, poses=poses, terms=tuple(names(terms)),
        payload=payload, samples=samples, share=share, collision=collision, torque=torque, floor=floor,
    )  # fmt: skip
    if evaluate is None:
        designer = study.designer(machine)
        many = f"{starts} start{'s' if starts > 1 else ''} of at most {seconds:g} s (--seconds)"
        typer.echo(f"{many}; Ctrl-C keeps the best so far", err=True)
        with _design_progress(machine.name) as show:
            design = designer.run(starts, seed, progress=show, max_seconds=seconds, robot=machine.name)
    else:
        designer, design = study.judge(machine, read_trajectory(evaluate))
    screen = console()
    if not (collision and machine.capsules):
        typer.echo("note: no collision check: " + ("switched off" if not collision else "no capsules known"), err=True)
    if not (
        torque
        and any(limit < float("inf") for limit in machine.limits.effort)
        and all(link.inertial for link in machine.links)
    ):
        reason = "switched off" if not torque else "the robot's file gives no effort limits, or no bodies"
        typer.echo(f"note: no torque limits: {reason}", err=True)
    for table in excitation_tables(designer, design):
        screen.print(table)
    if folder is not None:
        say_written(folder, write_excitation(machine, designer, design, folder, rate))


def _refuse_unused(context: typer.Context, basis: str, payload: bool, rest: bool) -> None:
    """BadParameter for options that the others leave without effect."""
    if basis == "poses":
        moving = ("harmonics", "duration", "ramp", "rest", "terms", "share", "payload")
        refuse(context, moving, "is of motions, not of static poses (--basis poses)")
    else:
        refuse(context, ("poses",), "needs --basis poses")
    if basis == "spline":
        refuse(context, ("ramp",), "is of --basis fourier: a spline begins and ends at rest")
    if rest:
        refuse(context, ("ramp",), "and --rest exclude each other")
    if payload:
        refuse(context, ("terms",), "does not go with --payload: only the load is unknown")


def _with_capsules(machine: Robot, name: str) -> Robot:
    """The robot with capsules fitted to its URDF's meshes, where it has none of its own and they are found."""
    if machine.capsules or not name.lower().endswith(".urdf"):
        return machine
    from dataclasses import replace

    from casid.errors import RobotError
    from casid.excitation import fit_capsules

    try:
        return replace(machine, capsules=fit_capsules(name, machine))
    except RobotError as error:
        typer.echo(f"note: no capsules from the meshes: {error}", err=True)
        return machine


@contextmanager
def _design_progress(name: str) -> Iterator[Callable[..., None]]:
    """One line on stderr with the current value of the criterion."""
    with shown(f"{name}: first motion") as update:

        def show(at: Any) -> None:
            where = f"start {at.start}/{at.starts}, stage {at.stage}/{at.stages}, iteration {at.iteration}"
            update(f"{name}: {where}: {at.value:.4g}, best kept {at.best:.4g}", None, None)

        yield show
