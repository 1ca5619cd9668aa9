"""Commands about what a robot carries: ``payload``, ``gains``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from casid.cli import options as o
from casid.cli.progress import steps
from casid.cli.shared import RobotArgument, console, out_folder, refuse, say_written
from casid.files._words import comma_list

if TYPE_CHECKING:
    from casid.description import Robot
    from casid.dynamics import Model
    from casid.measurement import Dataset

Loaded = Annotated[Path, typer.Argument(metavar="LOADED", help="Recording with the load.")]
Without = Annotated[Path | None, typer.Option(metavar="RECORDING", help="Recording without the load.")]
Terms = Annotated[str | None, typer.Option(help="Joint terms, separated by commas. Default viscous,coulomb,offset.")]
Drift = Annotated[bool, typer.Option(help="Fit a change of offsets and Coulomb friction between the recordings.")]


@o.with_reading
def payload(
    context: typer.Context,
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
    deadband: o.Deadband = None,
    *,
    reading: dict[str, Any],
    only: o.Only = None,
    out: Annotated[Path | None, typer.Option(help="Folder for payload.json.")] = None,
) -> None:
    """Identify a load on the last link: mass, centre of mass, inertia, and what to type into the controller."""
    from casid.errors import DatasetError
    from casid.files import write_files
    from casid.files._texts import json_bytes
    from casid.identification import load_model
    from casid.identification import payload as run
    from casid.report import flange_of, payload_record, payload_tables

    if (without is None) == (identification is None):
        raise DatasetError(
            "give --without RECORDING, made without the load, or --identification FILE of the robot alone"
        )
    if identification is not None:
        refuse(context, ("terms", "deadband"), "is that of the --identification")
    folder = out_folder(out)
    settings = o.Settings.merged(
        [loaded] if without is None else [without, loaded], terms=terms, deadband=deadband, only=only, **reading
    )
    machine = settings.robot(robot)
    with steps() as progress:
        progress("reading", 0, 2)
        if identification is not None:
            model, parameters = load_model(identification, machine)
            found = run(model, _prepared(loaded, settings, model), parameters=parameters, drift=drift)
        else:
            assert without is not None
            model = _model(machine, settings)
            data = [_prepared(path, settings, model) for path in (loaded, without)]
            found = run(model, *data, drift=drift)
        progress("payload", 2, 2)
    name, placement = flange_of(machine, frame)
    screen = console()
    for table in payload_tables(found, name, placement):
        screen.print(table)
    if folder is not None:
        record = payload_record(found, name, placement)
        say_written(folder, write_files(folder, {"payload.json": json_bytes(record)}))


@o.with_reading
def gains(
    robot: RobotArgument,
    loaded: Loaded,
    without: Annotated[Path, typer.Option(metavar="RECORDING", help="Recording without the load.")],
    mass: Annotated[float, typer.Option(help="Known mass of the load \\[kg].")],
    drift: Drift = True,
    terms: Terms = None,
    deadband: o.Deadband = None,
    *,
    reading: dict[str, Any],
    only: o.Only = None,
) -> None:
    """Calibrate the drives' gains with a load of known mass."""
    from casid.identification import gains as run
    from casid.report import gains_tables

    settings = o.Settings.merged([without, loaded], terms=terms, deadband=deadband, only=only, **reading)
    machine = settings.robot(robot)
    with steps() as progress:
        progress("reading", 0, 2)
        model = _model(machine, settings)
        data = [_prepared(path, settings, model) for path in (loaded, without)]
        found = run(model, data[0], data[1], mass, drift=drift)
        progress("gains", 2, 2)
    screen = console()
    for table in gains_tables(found, [joint.name for joint in machine.coordinates]):
        screen.print(table)


def _prepared(path: Path, settings: o.Settings, model: Model) -> Dataset:
    return settings.prepared(settings.recording(path, model.robot), None, model)


def _model(machine: Robot, settings: o.Settings) -> Model:
    from casid.dynamics import Model

    given = settings.given.get("terms", "viscous,coulomb,offset")
    return Model(
        machine,
        comma_list(given) if isinstance(given, str) else list(given),
        velocity_deadband=float(settings.given.get("deadband", 0.0)),
    )
