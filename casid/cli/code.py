"""Commands about generated C code: ``export``, ``cache``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from casid.cli import options as o
from casid.cli.shared import RobotArgument, console, names, refuse


def export(
    context: typer.Context,
    robot: RobotArgument,
    out: Annotated[Path, typer.Option(help="Folder to make.")],
    functions: Annotated[
        str | None, typer.Option(metavar="NAME,NAME,...", help="Functions to write; 'all' or see docs/export.md.")
    ] = None,
    parameters: Annotated[
        Path | None, typer.Option(help="Parameters: a .json or .csv that casid wrote, or .npy; with their joint terms.")
    ] = None,
    runtime_parameters: Annotated[
        str, typer.Option(metavar="none|standard|base", help="Parameters as numbers in the code, or as an argument.")
    ] = "none",
    terms: Annotated[
        str, typer.Option(metavar="NAME,...", help="Joint terms; default: those that the parameters or the file hold.")
    ] = "",
    payload: Annotated[
        str | None, typer.Option(metavar="MASS,CX,CY,CZ[,IXX,...]", help="A body at --frame: kg, m, kg.m^2.")
    ] = None,
    frame: Annotated[str | None, typer.Option(help="Frame of the payload and the operational space.")] = None,
    prefix: Annotated[str | None, typer.Option(help="Beginning of all C names; default: the robot's name.")] = None,
    batched: Annotated[bool, typer.Option(help="Add functions for many samples at once (GCC, Clang).")] = False,
    languages: Annotated[str, typer.Option(metavar="NAME,...", help="Also write the functions in python, julia.")] = "",
    lock: o.Lock = None,
    gravity: o.Gravity = None,
    angle_tolerance: o.AngleTolerance = None,
    ros2: Annotated[
        bool, typer.Option("--ros2", help="Write a colcon package: inverse_dynamics_solver plugin and a controller.")
    ] = False,
    fmu: Annotated[
        bool, typer.Option("--fmu", help="Write an FMU (FMI 3) of the forward dynamics; --out is the .fmu file.")
    ] = False,
    online: Annotated[
        str | None, typer.Option(metavar="robot|load", help="Write identification on line, of the robot or its load.")
    ] = None,
    deviation: Annotated[
        str | None, typer.Option(metavar="S[,S2,...]", help="--online: how far torques are from the model's [N.m].")
    ] = None,
    forgetting: Annotated[float, typer.Option(help="--online: share of the old that a new sample leaves.")] = 1.0,
    overwrite: Annotated[bool, typer.Option(help="Replace files of an earlier export.")] = False,
) -> None:
    """Write a robot's dynamics, or an estimator of them, as C code; as a ROS 2 package, or as an FMU."""
    from casid.cli.online_export import export_estimator
    from casid.dynamics import Model
    from casid.dynamics.terms._joint_terms import terms_of
    from casid.export import export_fmu, export_robot, export_ros2
    from casid.export._payload import numbers
    from casid.export._robot import all_functions, default_functions
    from casid.identification import load_model
    from casid.report.tables import operations_table

    _refuse_unused(context, online is not None, ros2, fmu)
    loaded = o.robot_of(robot, lock, gravity, angle_tolerance)
    chosen_terms: tuple[Any, ...] = () if terms == "none" else tuple(names(terms))
    given = None
    if parameters is not None:
        identified, values = load_model(parameters, loaded)  # with the friction law that was chosen
        given = identified.named(values)
        if terms:
            given = given.only(Model(loaded, chosen_terms).parameter_names)
        else:
            chosen_terms = tuple(term.settled() for term in identified.terms)
            kept = [term.name for term in identified.terms if term.memory is not None]
            if kept:
                typer.echo(f"note: {', '.join(kept)} is exported as after a long way at one velocity", err=True)
    elif runtime_parameters == "none" and any(joint.terms for joint in loaded.joints):
        described = loaded.parameters
        chosen_terms = chosen_terms if terms else terms_of(described.terms, [joint.name for joint in loaded.joints])
        given = described.only(Model(loaded, chosen_terms).parameter_names)
    if online is not None:
        model = Model(loaded, chosen_terms)
        export_estimator(model, given, online, deviation, forgetting, out, prefix, overwrite)
        return
    body = None if payload is None else numbers(payload, "payload")
    if ros2 or fmu:
        write: Any = export_ros2 if ros2 else export_fmu
        made = write(loaded, out, parameters=given, terms=chosen_terms, payload=body, frame=frame, overwrite=overwrite)
        typer.echo(f"Written to {made.path}: {', '.join(made.files)}")
        return
    if functions is None:
        chosen = default_functions(runtime_parameters)
    else:
        chosen = all_functions(loaded, runtime_parameters) if functions == "all" else tuple(names(functions))
    done = export_robot(
        loaded,
        out,
        chosen,
        parameters=given,
        runtime_parameters=cast("Any", runtime_parameters),  # checked by export_robot
        terms=chosen_terms,
        payload=body,
        frame=frame,
        prefix=prefix,
        batched=batched,
        languages=tuple(names(languages)),
        overwrite=overwrite,
    )
    screen = console()
    screen.print(operations_table("Operations of one call", [(f.name, f.operations) for f in done.functions]))
    screen.print(f"Written to {done.path}: {', '.join(done.files)}", highlight=False, soft_wrap=True)


#: Options that only the folder of C code has, and only the estimators.
_FOLDER = ("functions", "runtime_parameters", "batched", "languages")
_ONLINE = ("deviation", "forgetting")


def _refuse_unused(context: typer.Context, online: bool, ros2: bool, fmu: bool) -> None:
    """BadParameter for targets that exclude each other, and for options that the target does not have."""
    if ros2 and fmu:
        raise typer.BadParameter("--ros2 and --fmu write different things: one at a time")
    if online:
        refuse(context, ("ros2", "fmu", *_FOLDER, "payload", "frame"), "does not go with --online")
    else:
        refuse(context, _ONLINE, "is for --online")
    if ros2 or fmu:
        target = "--ros2" if ros2 else "--fmu"
        refuse(context, (*_FOLDER, "prefix"), f"is for the folder of C code, not for {target}")


def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove all files of the cache.")] = False,
) -> None:
    """Show the folder of compiled code, or empty it."""
    from casid.codegen import cache_directory, clear_cache
    from casid.codegen._cache import cache_entries

    if clear:
        typer.echo(f"{clear_cache()} files removed from {cache_directory()}")
        return
    entries = cache_entries()
    typer.echo(f"{cache_directory()}: {len(entries)} files, {sum(entry.size for entry in entries) / 1e6:.1f} MB")
    for entry in entries:
        typer.echo(f"{entry.size / 1e3:10.0f} kB  {entry.path.name}")
