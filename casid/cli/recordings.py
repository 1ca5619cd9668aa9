"""Commands about recordings and what they gave: ``identify``, ``validate``, ``check``."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from casid.cli import options as o
from casid.cli.progress import steps
from casid.cli.shared import RobotArgument, console, names, out_file, out_folder, refuse, say_conversion, say_written
from casid.errors import InertiaWarning


@o.with_reading
def identify(
    context: typer.Context,
    robot: RobotArgument,
    recording: Annotated[
        list[Path],
        typer.Argument(metavar="RECORDING...", help="npz, csv, mat, mcap, rosbag2, or a toml that describes one."),
    ],
    terms: Annotated[
        str | None,
        typer.Option(
            help="Joint terms, separated by commas; name@joint for a single joint. Default viscous,coulomb,offset."
        ),
    ] = None,
    friction: Annotated[
        str | None, typer.Option(help="linear (default), auto (chosen by cross-validation), or a law such as stribeck.")
    ] = None,
    *,
    reading: dict[str, Any],
    deadband: o.Deadband = None,
    only: o.Only = None,
    total_mass: o.TotalMass = None,
    bounds: o.BoundsOption = None,
    method: Annotated[
        str | None, typer.Option(help="WLS (default), OLS, IRLS, or ML: maximum likelihood, positions noisy too.")
    ] = None,
    consistency: Annotated[str, typer.Option(help="full, or semi (no triangle inequality).")] = "full",
    constraints: Annotated[
        Path | None,
        typer.Option(help="A .py file with a function 'constraints(variables)'; default: the robot's bounds."),
    ] = None,
    prior: Annotated[float, typer.Option(help="Weight of the pull towards the robot's nominal bodies.")] = 0.0,
    believable: Annotated[
        bool, typer.Option(help="Of all parameters that explain the data as well, take the most plausible.")
    ] = True,
    share: o.Share = None,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Also prove between which ends each link's mass lies.")
    ] = False,
    folds: Annotated[int, typer.Option(min=0, help="Parts of the motion held out in turn, two or more; 0: none.")] = 4,
    urdf: Annotated[Path | None, typer.Option(help="Write the identified robot to this URDF.")] = None,
    mjcf: Annotated[Path | None, typer.Option(help="Write the identified robot to this MJCF file (.xml).")] = None,
    sdf: Annotated[Path | None, typer.Option(help="Write the identified robot to this SDF file.")] = None,
    toml: Annotated[Path | None, typer.Option(help="Write the identified robot to this TOML file.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the report, tables and pictures.")] = None,
) -> None:
    """Identify a robot from recordings: consistent, certified parameters and a report."""
    from casid.description import write_robot
    from casid.identification import Checks, Choice, Constraints, ModelOptions
    from casid.identification import identify as run
    from casid.report import identification_tables, write_identification
    from casid.retrieval._load import load_constraints
    from casid.retrieval._objectives import Prior

    if not believable:
        refuse(context, ("share",), "does not go with --no-believable")
    folder = out_folder(out)
    files = [
        out_file(path, *endings)
        for path, *endings in ((urdf, ".urdf"), (mjcf, ".xml", ".mjcf"), (sdf, ".sdf", ".world"), (toml, ".toml"))
    ]
    settings = o.Settings.merged(
        recording,
        terms=terms,
        friction=friction,
        deadband=deadband,
        only=only,
        total_mass=total_mass,
        bounds=bounds,
        method=method,
        **reading,
    )
    loaded = settings.robot(robot)
    given = settings.given
    with steps() as progress:
        data = [settings.recording(path, loaded) for path in recording]
        described: dict[str, Any] = {key: given[key] for key in ("friction",) if key in given}
        if "terms" in given:
            described["terms"] = names(given["terms"]) if isinstance(given["terms"], str) else list(given["terms"])
        result = run(
            loaded,
            data,
            processing=settings.processing(),
            delay=settings.delay(),
            model=ModelOptions(velocity_deadband=float(given.get("deadband", 0.0)), **described),
            estimator=given.get("method", "WLS"),
            constraints=Constraints(
                "default" if constraints is None else load_constraints(constraints),
                settings.bounds() or {},
                cast(Literal["full", "semi", "none"], consistency),
                prior=Prior(loaded, loaded.standard_parameters(), prior) if prior else None,
            ),
            choice=Choice(believable, share=share),
            checks=Checks(folds, intervals=intervals),
            progress=progress,
        )
    screen = console()
    for table in identification_tables(result):
        screen.print(table)
    if folder is not None:
        say_written(folder, write_identification(result, folder))
    for path in files:
        if path is not None:
            say_conversion(write_robot(loaded.with_parameters(result.parameters), path))


@o.with_reading
def validate(
    robot: RobotArgument,
    identification: Annotated[
        Path,
        typer.Argument(metavar="IDENTIFICATION", help="identification.json, solution.json or a csv."),
    ],
    recording: Annotated[Path, typer.Argument(metavar="RECORDING", help="A recording that was not used for it.")],
    *,
    reading: dict[str, Any],
    only: o.Only = None,
    refit_friction: Annotated[
        str | None, typer.Option(metavar="LAW", help="Fit this friction law to the recording first, links unchanged.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for validation.json and the picture.")] = None,
) -> None:
    """Predict the torques of another recording by Newton-Euler and compare.

    The recording goes through the processing of the identification, unless an option says otherwise.
    """
    from casid.dynamics import Model
    from casid.identification import load_model, predict
    from casid.identification import refit_friction as refit
    from casid.identification._identification import load_processing, read_record
    from casid.report import validation_tables, write_validation

    folder = out_folder(out)
    settings = o.Settings.merged([recording], only=only, **reading)
    loaded = settings.robot(robot)
    record = read_record(identification)
    model, parameters = load_model(identification, loaded)
    if "gravity" in settings.given:  # mounted another way since
        model = Model(loaded, model.terms, velocity_deadband=model.velocity_deadband)
    data = settings.recording(recording, loaded)
    if refit_friction is not None:
        fitted = refit(model, parameters, settings.prepared(data, load_processing(record), model), refit_friction)
        model, parameters = fitted.model, fitted.values
    prediction = predict(model, parameters, settings.prepared(data, load_processing(record), model))
    joints = [joint.name for joint in loaded.coordinates]
    screen = console()
    for table in validation_tables(prediction, joints):
        screen.print(table)
    for note in prediction.dataset.notes:
        typer.echo(f"note: {note}", err=True)
    found_for = record.get("robot", loaded.name)
    if found_for != loaded.name:
        typer.echo(f"note: {identification} was found for robot '{found_for}', not for '{loaded.name}'", err=True)
    if folder is not None:
        say_written(folder, write_validation(prediction, joints, folder))


def check(
    parameters: Annotated[
        str,
        typer.Argument(metavar="PARAMETERS", help="A robot, its file, an identification.json or a csv of parameters."),
    ],
    robot: Annotated[
        str | None,
        typer.Option(metavar="ROBOT", help="Whose parameters a json or csv holds."),
    ] = None,
    lock: o.Lock = None,
    gravity: o.Gravity = None,
    angle_tolerance: o.AngleTolerance = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the repaired file.")] = None,
) -> None:
    """Say which links are unphysical and whether the dynamics are, and write a repaired file. Exit code 1 if any is.

    The repair keeps the base parameters, and with them the dynamics, wherever a consistent set has them.
    """
    from casid.files import write_files
    from casid.identification.repair._check import check_file
    from casid.report import check_table

    folder = out_folder(out)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InertiaWarning)  # the table says more
        owner = None if robot is None else o.robot_of(robot, lock, gravity, angle_tolerance)
        result = check_file(parameters, owner, **o.reading_options(lock, gravity, angle_tolerance))
    console().print(check_table(parameters, result))
    if folder is not None:
        say_written(folder, write_files(folder, {result.repaired_name: result.repaired}))
    if result.unphysical:
        raise typer.Exit(1)


@o.with_reading
def reverse_engineer(
    context: typer.Context,
    robot: RobotArgument,
    samples: Annotated[
        Path,
        typer.Argument(
            metavar="SAMPLES", help="npz with q (N, n), g (N, n) and, if known, M (N, n, n) of a controller."
        ),
    ],
    recording: Annotated[
        Path | None, typer.Argument(metavar="[RECORDING]", help="Positions and torques: for friction and validation.")
    ] = None,
    friction: Annotated[
        str, typer.Option(help="Law fitted to what the coefficients leave of the torques.")
    ] = "sigmoid",
    largest_sd: Annotated[
        float, typer.Option(help="Coefficients with a larger standard deviation are left out [%].")
    ] = 30.0,
    *,
    reading: dict[str, Any],
    out: Annotated[Path | None, typer.Option(help="Folder for solution.json, identification.json and tables.")] = None,
) -> None:
    """Find feasible links behind a controller's mass matrices and gravity torques, and friction from a recording."""
    from casid.errors import DatasetError
    from casid.files import write_files
    from casid.files._arrays import npz_arrays
    from casid.files._read import read_bytes
    from casid.files._texts import json_bytes
    from casid.identification import reverse_engineered
    from casid.report import solution_tables, validation_tables, write_solution, write_validation

    if recording is None:
        refuse(context, ("friction", *o.OF_RECORDINGS), "needs a RECORDING")
    if not largest_sd > 0:
        raise typer.BadParameter(f"--largest-sd: expected a positive percentage, got {largest_sd}")
    folder = out_folder(out)
    settings = o.Settings.merged([] if recording is None else [recording], **reading)
    loaded = settings.robot(robot)
    arrays = npz_arrays(read_bytes(samples, "samples", DatasetError), str(samples), "samples", DatasetError)
    for name in ("q", "g"):
        if name not in arrays:
            known = ", ".join(arrays) or "none"
            raise DatasetError(f"{samples}: array '{name}' is missing; needed are q, g and M, there are {known}")
    data = None if recording is None else settings.recording(recording, loaded)
    result = reverse_engineered(
        loaded, arrays["q"], arrays.get("M"), arrays["g"], data, gravity=None, friction=friction, largest_sd=largest_sd,
        processing=settings.processing(),
    )  # fmt: skip
    screen = console()
    estimate = result.estimate
    if "M" not in arrays:
        rest = "the recording's torques tell the rest" if recording else "only what gravity depends on is determined"
        typer.echo(f"note: no mass matrices 'M': {rest}", err=True)
    screen.print(
        f"{estimate.rank} coefficients, {int(estimate.reliable(largest_sd).sum())} reliable; condition number "
        f"{estimate.condition_number:.4g}, relative error {estimate.relative_error:.4g} %",
        highlight=False,
    )
    for table in solution_tables(result.solution):
        screen.print(table)
    joints = [joint.name for joint in loaded.joints]
    if result.validation is not None:
        for table in validation_tables(result.validation, joints):
            screen.print(table)
    if folder is not None:
        written = write_solution(result.solution, folder)
        written += write_files(folder, {"identification.json": json_bytes(result.record())})
        if result.validation is not None:
            written += write_validation(result.validation, joints, folder)
        say_written(folder, written)
