"""Commands about what a robot carries: ``payload``, ``gains``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from casid.cli import options as o
from casid.cli.shared import RobotArgument, console, names, say_written

Loaded = Annotated[Path, typer.Argument(metavar="LOADED", help="Recording with the load.")]
Without = Annotated[Path | None, typer.Option(metavar="RECORDING", help="Recording without the load.")]
Terms = Annotated[str | None, typer.Option(help="Joint terms, separated by commas. Default viscous,coulomb,offset.")]
Drift = Annotated[bool, typer.Option(help="Fit a change of offsets and Coulomb friction between the recordings.")]


def payload(
    robot: RobotArgument,
    loaded: Loaded,
    without: Without = None,
    identification: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="identification.json of the robot alone, in place of a recording."),
    ] = None,
    frame: Annotated[
        str | None, typer.Option(help="Frame of the robot for the result; default: the last on it.")
    ] = None,
    drift: Drift = True,
    terms: Terms = None,
    cutoff: o.Cutoff = None,
    cutoff_torque: o.CutoffTorque = None,
    velocity: o.Velocity = None,
    trim: o.Trim = None,
    every: o.Every = None,
    tau: o.Torque = None,
    lock: o.Lock = None,
    gravity: o.Gravity = None,
    angle_tolerance: o.AngleTolerance = None,
    out: Annotated[Path | None, typer.Option(help="Folder for payload.json.")] = None,
) -> None:
    """Identify a load on the last link: mass, centre of mass, inertia, and what to type into the controller."""
    from casid.errors import DatasetError
    from casid.files import json_bytes, prepare_directory, write_files
    from casid.identification import load_model
    from casid.identification import payload as run
    from casid.report import flange_of, payload_record, payload_tables

    if (without is None) == (identification is None):
        raise DatasetError(
            "give --without RECORDING, made without the load, or --identification FILE of the robot alone"
        )
    folder = None if out is None else prepare_directory(out)
    settings = o.Settings.merged(
        [loaded], terms=terms, cutoff=cutoff, cutoff_torque=cutoff_torque, velocity=velocity, trim=trim, every=every,
        lock=lock, gravity=gravity, angle_tolerance=angle_tolerance,
    )  # fmt: skip
    machine = settings.robot(robot)
    with o.steps() as progress:
        progress("reading", 0, 2)
        data = _prepared(loaded, settings, tau, machine)
        if identification is not None:
            model, parameters = load_model(identification, machine)
            found = run(model, data, parameters=parameters, drift=drift)
        else:
            assert without is not None
            found = run(_model(machine, settings), data, _prepared(without, settings, tau, machine), drift=drift)
        progress("payload", 2, 2)
    name, placement = flange_of(machine, frame)
    screen = console()
    for table in payload_tables(found, name, placement):
        screen.print(table)
    if folder is not None:
        record = payload_record(found, name, placement)
        say_written(folder, write_files(folder, {"payload.json": json_bytes(record)}))


def gains(
    robot: RobotArgument,
    loaded: Loaded,
    without: Annotated[Path, typer.Option(metavar="RECORDING", help="Recording without the load.")],
    mass: Annotated[float, typer.Option(help="Known mass of the load [kg].")],
    drift: Drift = True,
    terms: Terms = None,
    cutoff: o.Cutoff = None,
    cutoff_torque: o.CutoffTorque = None,
    velocity: o.Velocity = None,
    trim: o.Trim = None,
    every: o.Every = None,
    tau: o.Torque = None,
    lock: o.Lock = None,
    gravity: o.Gravity = None,
    angle_tolerance: o.AngleTolerance = None,
) -> None:
    """Calibrate the drives' gains with a load of known mass."""
    from casid.identification import gains as run
    from casid.report import gains_tables

    settings = o.Settings.merged(
        [loaded], terms=terms, cutoff=cutoff, cutoff_torque=cutoff_torque, velocity=velocity, trim=trim, every=every,
        lock=lock, gravity=gravity, angle_tolerance=angle_tolerance,
    )  # fmt: skip
    machine = settings.robot(robot)
    with o.steps() as progress:
        progress("reading", 0, 2)
        data = [_prepared(path, settings, tau, machine) for path in (loaded, without)]
        found = run(_model(machine, settings), data[0], data[1], mass, drift=drift)
        progress("gains", 2, 2)
    screen = console()
    for table in gains_tables(found, [joint.name for joint in machine.coordinates]):
        screen.print(table)


def _prepared(path: Path, settings: o.Settings, tau: str | None, machine: Any) -> Any:
    from casid.measurement import check_against, prepare, read_dataset

    columns = None if tau is None else {"tau": tau}
    return prepare(check_against(read_dataset(path, columns=columns), machine), settings.processing())


def _model(machine: Any, settings: o.Settings) -> Any:
    from casid.dynamics import Model

    given = settings.given.get("terms", "viscous,coulomb,offset")
    return Model(machine, names(given) if isinstance(given, str) else list(given))
