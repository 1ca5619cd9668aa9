"""Commands about recordings and what they gave: ``identify``, ``validate``, ``check``."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from casid.cli.shared import RobotArgument, console, names, say_written
from casid.errors import InertiaWarning

Cutoff = Annotated[float, typer.Option(help="Cut-off of the zero-phase low-pass filter [Hz].")]
Order = Annotated[int, typer.Option(help="Order of the filter.")]
Rate = Annotated[float | None, typer.Option(help="Uniform grid [Hz]; default: where time stamps are irregular.")]
Velocity = Annotated[str, typer.Option(help="differentiate or measured.")]
Trim = Annotated[float, typer.Option(help="Seconds dropped at both ends.")]
Every = Annotated[int, typer.Option(help="Keep every so many samples.")]
Torque = Annotated[str | None, typer.Option(help="Name of the torque array in the file.")]


def identify(
    robot: RobotArgument,
    recording: Annotated[
        list[Path],
        typer.Argument(metavar="RECORDING...", help="npz, csv, mat, mcap, rosbag2, or a toml that describes one."),
    ],
    terms: Annotated[
        str, typer.Option(help="Joint terms, separated by commas; name@joint for a single joint.")
    ] = "viscous,coulomb,offset",
    friction: Annotated[str, typer.Option(help="linear, smooth, stribeck or sigmoid (fitted jointly).")] = "linear",
    cutoff: Cutoff = 5.0,
    order: Order = 4,
    rate: Rate = None,
    velocity: Velocity = "differentiate",
    trim: Trim = 0.5,
    every: Every = 10,
    deadband: Annotated[
        float, typer.Option(help="Speed below which the sign of a velocity counts as 0 [rad/s].")
    ] = 0.0,
    tau: Torque = None,
    method: Annotated[str, typer.Option(help="WLS, OLS or IRLS.")] = "WLS",
    consistency: Annotated[str, typer.Option(help="full, or semi (no triangle inequality).")] = "full",
    constraints: Annotated[
        Path | None,
        typer.Option(help="A .py file with a function 'constraints(variables)'; default: the robot's bounds."),
    ] = None,
    prior: Annotated[float, typer.Option(help="Weight of the pull towards the robot's nominal bodies.")] = 0.0,
    out: Annotated[Path | None, typer.Option(help="Folder for the report, tables and pictures.")] = None,
) -> None:
    """Identify a robot from recordings: consistent, certified parameters and a report."""
    from casid.description import load_robot
    from casid.files import prepare_directory
    from casid.identification import identify as run
    from casid.measurement import read_dataset
    from casid.report import identification_tables, write_identification
    from casid.retrieval import Prior, load_constraints, sensible_bounds

    folder = None if out is None else prepare_directory(out)
    loaded = load_robot(robot)
    columns = None if tau is None else {"tau": tau}
    data = [read_dataset(path, columns=columns) for path in recording]
    settings = _processing(cutoff=cutoff, order=order, rate=rate, velocity=velocity, trim=trim, every=every)
    options: dict[str, Any] = {"friction": friction, "method": method, "consistency": consistency}
    result = run(
        loaded,
        data,
        processing=settings,
        terms=names(terms),
        velocity_deadband=deadband,
        constraints=sensible_bounds if constraints is None else load_constraints(constraints),
        prior=Prior(loaded, loaded.standard_parameters(), prior) if prior else None,
        **options,
    )
    screen = console()
    for table in identification_tables(result):
        screen.print(table)
    if folder is not None:
        say_written(folder, write_identification(result, folder))


def validate(
    robot: RobotArgument,
    identification: Annotated[
        Path, typer.Argument(metavar="IDENTIFICATION", help="identification.json of 'casid identify'.")
    ],
    recording: Annotated[Path, typer.Argument(metavar="RECORDING", help="A recording that was not used for it.")],
    cutoff: Cutoff = 5.0,
    order: Order = 4,
    rate: Rate = None,
    velocity: Velocity = "differentiate",
    trim: Trim = 0.5,
    every: Every = 10,
    tau: Torque = None,
    out: Annotated[Path | None, typer.Option(help="Folder for validation.json and the picture.")] = None,
) -> None:
    """Predict the torques of another recording by Newton-Euler and compare."""
    from casid.description import load_robot
    from casid.files import prepare_directory
    from casid.identification import load_model, predict
    from casid.measurement import check_against, read_dataset
    from casid.report import validation_tables, write_validation

    folder = None if out is None else prepare_directory(out)
    loaded = load_robot(robot)
    model, parameters = load_model(identification, loaded)
    columns = None if tau is None else {"tau": tau}
    data = check_against(read_dataset(recording, columns=columns), loaded)
    settings = _processing(cutoff=cutoff, order=order, rate=rate, velocity=velocity, trim=trim, every=every)
    prediction = predict(model, parameters, settings.apply(data))
    joints = [joint.name for joint in loaded.joints]
    screen = console()
    for table in validation_tables(prediction, joints):
        screen.print(table)
    for note in prediction.dataset.notes:
        typer.echo(f"note: {note}", err=True)
    if folder is not None:
        say_written(folder, write_validation(prediction, joints, folder))


def check(
    parameters: Annotated[
        str,
        typer.Argument(metavar="PARAMETERS", help="A .urdf, a robot, an identification.json or a csv of parameters."),
    ],
    out: Annotated[Path | None, typer.Option(help="Folder for the repaired file.")] = None,
) -> None:
    """Say which links are unphysical, by how much, and write the nearest repaired file. Exit code 1 if any is."""
    from casid.files import prepare_directory, write_files
    from casid.identification import check_file
    from casid.report import check_table

    folder = None if out is None else prepare_directory(out)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InertiaWarning)  # the table says more
        result = check_file(parameters)
    console().print(check_table(parameters, result))
    if folder is not None:
        say_written(folder, write_files(folder, {result.repaired_name: result.repaired}))
    if result.unphysical:
        raise typer.Exit(1)


def _processing(rate: float | None, **options: Any) -> Any:
    from casid.measurement import Processing

    return Processing(rate="auto" if rate is None else rate, **options)
