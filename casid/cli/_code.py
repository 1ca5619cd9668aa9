"""Commands about generated C code: ``export``, ``cache``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import typer

import casid
from casid._annexes import writer
from casid.cli import options as o
from casid.cli.shared import RobotArgument, announce_written, console, refuse
from casid.errors import DatasetError
from casid.files import comma_list, comma_numbers


@dataclass(frozen=True)
class Functions(o.OptionGroup):
    """What is written."""

    panel = "C code"
    functions: str | None = o.option(None, "Functions to write; 'all' or see docs/export.md.", metavar="NAME,NAME,...")
    runtime_parameters: str = o.option(
        "none", "Parameters as numbers in the code, or as an argument.", metavar="none|standard|base"
    )
    prefix: str | None = o.option(None, "Beginning of all C names; default: the robot's name.")
    batched: bool = o.option(False, "Add functions for many samples at once (GCC, Clang).")
    languages: str = o.option("", "Also write the functions in python, julia.", metavar="NAME,...")


@dataclass(frozen=True)
class Values(o.OptionGroup):
    """Of which robot."""

    panel = o.MODEL
    parameters: Path | None = o.option(
        None, "Parameters: a .json or .csv that casid wrote, or .npy; with their joint terms."
    )
    terms: str = o.option("", "Joint terms; default: those of the parameters or of the file.", metavar="NAME,...")
    payload: str | None = o.option(None, "A body at --frame: kg, m, kg.m^2.", metavar="MASS,CX,CY,CZ[,IXX,...]")
    frame: str | None = o.option(None, "Frame of the payload and the operational space.")

    def chosen(self, robot: casid.Robot, as_numbers: bool) -> tuple[casid.Model, casid.Parameters | None]:
        """The model with its joint terms, and the parameters that are written as numbers."""
        terms: tuple[Any, ...] = () if self.terms == "none" else tuple(comma_list(self.terms))
        if self.parameters is not None:
            identified, values = casid.identification.load_model(self.parameters, robot)
            given = identified.named(values)
        elif as_numbers and any(joint.terms for joint in robot.joints):
            given = robot.parameters
        else:
            return casid.Model(robot, terms), None
        if not self.terms:
            return casid.Model.of_parameters(robot, given).settled(), given
        chosen = casid.Model(robot, terms)
        return chosen, given.only(chosen.parameter_names)


@dataclass(frozen=True)
class Target(o.OptionGroup):
    """Other targets than a folder of C code."""

    panel = "Other targets"
    ros2: bool = o.option(False, "Write a colcon package: inverse_dynamics_solver plugin and a controller.", "--ros2")
    fmu: bool = o.option(False, "Write an FMU of the forward dynamics; --out is the .fmu file.", "--fmu")
    fmi: int = o.option(3, "--fmu: version of the interface, 2 or 3.")
    author: str = o.option("", "--fmu: who answers for the model; default: the sources of the description.")
    online: str | None = o.option(None, "Write on-line identification of the robot or its load.", metavar="robot|load")
    deviation: str | None = o.option(
        None, "--online: deviation of torques from the model's [N.m].", metavar="S[,S2,...]"
    )
    forgetting: float = o.option(1.0, "--online: weight that a new sample leaves to the old ones.")


@o.grouped
def export(
    context: typer.Context,
    robot: RobotArgument,
    out: Annotated[Path, typer.Option(help="Folder to make.")],
    code: Functions,
    values: Values,
    target: Target,
    options: o.RobotOptions,
    overwrite: Annotated[bool, typer.Option(help="Replace files of an earlier export.")] = False,
) -> None:
    """Write a robot's dynamics, or an estimator of them, as C code; as a ROS 2 package, or as an FMU."""
    _refuse_unused(context, target.online is not None, target.ros2, target.fmu)
    loaded = options.robot(robot)
    machine, given = values.chosen(loaded, code.runtime_parameters == "none")
    common: dict[str, Any] = {
        "parameters": given,
        "payload": None if values.payload is None else comma_numbers(values.payload, "payload", DatasetError),
        "frame": values.frame,
        "overwrite": overwrite,
    }
    made: Any = None
    if target.online is not None:
        settings = target.online, target.deviation, target.forgetting
        made = writer("online")(machine, given, settings, out, code.prefix, overwrite)
    elif target.ros2 or target.fmu:
        version = {"fmi": target.fmi, "author": target.author} if target.fmu else {}
        made = writer("ros2" if target.ros2 else "fmu")(machine, out, **common, **version)
    if made is not None:
        announce_written(made.path, [made.path / name for name in made.files])
        return
    if code.functions is None:
        chosen = casid.export.default_functions(code.runtime_parameters)
    elif code.functions == "all":
        chosen = casid.export.all_functions(loaded, code.runtime_parameters)
    else:
        chosen = tuple(comma_list(code.functions))
    runtime = cast("Any", code.runtime_parameters)  # checked by export_robot
    done = casid.export.export_robot(
        machine, out, chosen, runtime_parameters=runtime, prefix=code.prefix, batched=code.batched,
        languages=tuple(comma_list(code.languages)), **common,
    )  # fmt: skip
    operations = [(f.name, f.operations) for f in done.functions]
    console().print(casid.report.operations_table("Operations of one call", operations))
    announce_written(done.path, [done.path / name for name in done.files])


#: Options that only the folder of C code has.
_FOLDER = ("functions", "runtime_parameters", "batched", "languages")


def _refuse_unused(context: typer.Context, online: bool, ros2: bool, fmu: bool) -> None:
    """BadParameter for targets that exclude each other, and for options that the target does not have."""
    if ros2 and fmu:
        raise typer.BadParameter("--ros2 and --fmu write different things: one at a time")
    if online:
        refuse(context, ("ros2", "fmu", *_FOLDER, "payload", "frame"), "does not go with --online")
    else:
        refuse(context, ("deviation", "forgetting"), "is for --online")
    if not fmu:
        refuse(context, ("fmi", "author"), "is for --fmu")
    if ros2 or fmu:
        target = "--ros2" if ros2 else "--fmu"
        refuse(context, (*_FOLDER, "prefix"), f"is for the folder of C code, not for {target}")


def cache(clear: Annotated[bool, typer.Option("--clear", help="Remove all files of the cache.")] = False) -> None:
    """Show the folder of compiled code, or empty it."""
    if clear:
        typer.echo(f"{casid.codegen.clear_cache()} files removed from {casid.codegen.cache_directory()}")
        return
    sizes = {path.name: path.stat().st_size for path in casid.codegen.cache_entries()}
    typer.echo(f"{casid.codegen.cache_directory()}: {len(sizes)} files, {sum(sizes.values()) / 1e6:.1f} MB")
    for name, size in sizes.items():
        typer.echo(f"{size / 1e3:10.0f} kB  {name}")
