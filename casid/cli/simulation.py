"""The command ``simulate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from casid.cli import options as o
from casid.cli.shared import RobotArgument, assignments, console, out_folder, refuse, say_written, three


def simulate(
    context: typer.Context,
    robot: RobotArgument,
    controller: Annotated[
        str,
        typer.Option(
            help="passive, pd, pd-gravity, feed-forward, computed-torque, operational-space or "
            "velocity-operational-space."
        ),
    ] = "computed-torque",
    trajectory: Annotated[
        Path | None, typer.Option(help="Motion to follow (TOML of `casid excite`); default: sines.")
    ] = None,
    duration: Annotated[float | None, typer.Option(help="Seconds; default: the motion's, at most 10 of sines.")] = None,
    amplitude: Annotated[float, typer.Option(help="Of the sines, lowest to highest point \\[rad or m].")] = 0.5,
    frequency: Annotated[float, typer.Option(help="Of the first joint's sine [Hz]; of the last: twice.")] = 0.25,
    parameters: Annotated[
        Path | None,
        typer.Option(help="Parameters and joint terms of the robot (.json, .csv, .npy); default: its description's."),
    ] = None,
    friction: Annotated[
        str,
        typer.Option(
            metavar="TERM=VALUE,...", help="Joint terms, one value for all joints, instead of the description's."
        ),
    ] = "",
    exact: Annotated[bool, typer.Option("--exact", help="Exact dry friction with sticking (dormand-prince).")] = False,
    smooth: Annotated[float, typer.Option(help="Speed at which smooth dry friction is reached \\[rad/s].")] = 1e-2,
    believed: Annotated[
        Path | None, typer.Option(help="Parameters that the controller believes; default: those of the robot's links.")
    ] = None,
    bandwidth: Annotated[float, typer.Option(help="Of the controller's error \\[rad/s].")] = 10.0,
    kp: Annotated[str | None, typer.Option(metavar="NUMBER,...", help="Proportional gains instead.")] = None,
    kd: Annotated[str | None, typer.Option(metavar="NUMBER,...", help="Derivative gains instead.")] = None,
    frame: Annotated[str | None, typer.Option(help="Frame of the operational space; default: the flange.")] = None,
    rate: Annotated[float, typer.Option(help="Samples of the controller a second [Hz].")] = 1000.0,
    delay: Annotated[float, typer.Option(help="From a sample to its torque \\[s].")] = 0.0,
    limits: Annotated[bool, typer.Option(help="Cut torques off at the robot's limits.")] = True,
    integrator: Annotated[
        str | None,
        typer.Option(help="runge-kutta, euler, dormand-prince, cvodes, idas; default: as friction needs."),
    ] = None,
    step: Annotated[
        float | None, typer.Option(help="Step \\[s] of runge-kutta (default) and euler, tolerance of the others.")
    ] = None,
    noise: Annotated[
        str,
        typer.Option(metavar="Q,DQ,TAU", help="Standard deviations of the sensors \\[rad, rad/s, N.m]."),
    ] = "0,0,0",
    seed: Annotated[int, typer.Option(min=0, help="Of the sensors' errors.")] = 0,
    lock: o.Lock = None,
    gravity: o.Gravity = None,
    angle_tolerance: o.AngleTolerance = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the recording, pictures and an animation.")] = None,
) -> None:
    """Simulate a robot under a controller: a recording that `identify` reads, pictures, the book of energy."""
    from casid.control import ControllerSettings, Saturated, controller_of
    from casid.export._payload import numbers
    from casid.inertia import read_parameters
    from casid.motion import Follow, Sine, read_trajectory
    from casid.report import simulation_table, write_simulation
    from casid.simulation import ExactCoulomb, Plant, Sensor, SmoothCoulomb
    from casid.simulation import simulate as run
    from casid.simulation.integrators._catalogue import integrator_of

    _refuse_unused(context, controller, trajectory is not None, exact, kp is not None and kd is not None)
    folder = out_folder(out)
    loaded = o.robot_of(robot, lock, gravity, angle_tolerance)
    given = loaded.parameters if parameters is None else read_parameters(parameters)
    plant = Plant.of(
        loaded,
        ExactCoulomb() if exact else SmoothCoulomb(smooth),
        None,
        given,
        **assignments(friction),
    )
    if trajectory is None:
        reference: Follow | Sine = Sine.within(loaded, amplitude, frequency, 10.0 if duration is None else duration)
    else:
        reference = Follow(read_trajectory(trajectory))
    links, inertial = plant.links
    settings = ControllerSettings(
        links, inertial if believed is None else read_parameters(believed).standard, reference.at(0.0).q[0],
        bandwidth, frame or loaded.flange.name, None if kp is None else numbers(kp, "kp"),
        None if kd is None else numbers(kd, "kd"),
    )  # fmt: skip
    law = controller_of(controller, settings)
    chosen = integrator or ("dormand-prince" if exact else "runge-kutta")
    position, velocity, torque = three(noise, "noise")
    done = run(
        plant,
        Saturated(law, loaded.limits.effort) if limits else law,
        reference,
        reference.span[1] if duration is None else duration,
        integrator=integrator_of(chosen, step) if integrator or exact or step is not None else None,
        rate=rate,
        delay=delay,
        sensor=Sensor(position, velocity, torque, seed),
    )
    screen = console()
    screen.print(simulation_table(done))
    book = done.energy
    screen.print(
        f"Energy [J]: work {book.work[-1]:.6g}, taken by joint terms {book.dissipated[-1]:.6g}, "
        f"imbalance {book.relative_imbalance:.1e} of the largest entry"
    )
    if folder is not None:
        written = write_simulation(done, folder)
        say_written(folder, written)
        if all(path.name != "recording.npz" for path in written):
            typer.echo(f"note: no recording.npz: {len(done)} samples are too few", err=True)
    if not done.end.finished:
        raise typer.Exit(2)


def _refuse_unused(context: typer.Context, controller: str, follows: bool, exact: bool, both_gains: bool) -> None:
    """BadParameter for options that the others leave without effect."""
    if follows:
        refuse(context, ("amplitude", "frequency"), "is of the sines, not of a --trajectory")
    if controller == "passive":
        refuse(context, ("bandwidth", "kp", "kd", "believed"), "means nothing to the controller 'passive'")
    if not controller.endswith("operational-space"):
        refuse(context, ("frame",), f"means nothing to the controller '{controller}'")
    if both_gains:
        refuse(context, ("bandwidth",), "has no effect where --kp and --kd are given")
    if exact:
        refuse(context, ("smooth",), "contradicts --exact")
