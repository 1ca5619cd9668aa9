"""Commands about a robot: ``robots``, ``base``, ``feasible``, ``ops``, ``convert``; ``view`` shows any file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

import casid
from casid.cli import options as o
from casid.cli.shared import RobotArgument, TermsOption, announce_conversion, console, note, out_folder, present, refuse
from casid.errors import DatasetError
from casid.files import comma_list, listed, near


@o.grouped
def robots(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A robot, to show all that is known of it.")
    ] = None,
    *,
    written: o.RobotFiles,
) -> None:
    """List the robots that ship with casid: descriptions, and identified ones with their source and verdict."""
    from casid.description import identified_names, identified_record, load_robot
    from casid.report import described_tables, identified_tables

    if name is None:
        refuse(context, o.ENDINGS, "needs the name of a robot")
        console().print(casid.report.robots_table(load_robot(each) for each in casid.robot_names()))
        found = {each: identified_record(each) for each in identified_names()}
        console().print(casid.report.identified_table((load_robot(each), found[each]) for each in found))
        return
    files = written.robots()
    robot = load_robot(name)
    known = name in identified_names()
    for table in identified_tables(robot, identified_record(name)) if known else described_tables(robot):
        console().print(table)
    for path in files:
        announce_conversion(casid.description.convert(name, path))


@o.grouped
def base(robot: RobotArgument, options: o.RobotOptions, terms: TermsOption = "") -> None:
    """Print the base parameters of a robot, with its joint terms if given: rank and groupings."""
    model = casid.Model(options.robot(robot), comma_list(terms))
    console().print(casid.report.base_table(model.robot.name, model.base))


@o.grouped
def ops(robot: RobotArgument, options: o.RobotOptions, terms: TermsOption = "") -> None:
    """Count the operations of a robot's functions, beside the published counts."""
    model = casid.Model(options.robot(robot), comma_list(terms))
    counts = casid.export.count_robot(model)
    console().print(casid.report.operations_table(f"Operations: {model.robot.name}", counts))


@o.grouped
def convert(
    source: Annotated[str, typer.Argument(metavar="A", help="A shipped robot's name, or a robot file.")],
    target: Annotated[
        Path, typer.Argument(metavar="B", help="File to write: .toml, .urdf, .xml (MJCF) or .sdf, by its suffix.")
    ],
    options: o.RobotOptions,
    parameters: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Links and joint terms of an identification.json, solution.json or csv."),
    ] = None,
) -> None:
    """Convert a robot file into another format. A file beside it holds what that format cannot."""
    if parameters is None:
        announce_conversion(casid.description.convert(source, target, **options.reading()))
    else:
        machine = options.robot(source).with_parameters(casid.inertia.read_parameters(parameters))
        announce_conversion(casid.description.write_robot(machine, target))


@o.grouped
def view(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A robot, a .json or folder that a command wrote, trajectory.toml, a recording."
        ),
    ],
    robot: Annotated[
        str | None,
        typer.Option(metavar="ROBOT", help="Robot of the parameters or motion in FILE, if not named there."),
    ] = None,
    packages: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR", help="Folder of packages with a URDF's meshes, besides ROS_PACKAGE_PATH; may be repeated."
        ),
    ] = None,
    *,
    options: o.RobotOptions,
    out: Annotated[Path | None, typer.Option(help="Write the page here; default: a temporary file.")] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Show any file of casid in the browser: the robot to turn and move, curves to zoom. One page, no network."""
    import tempfile
    import webbrowser

    content = casid.report.viewer.view(file, robot, packages or (), **options.reading())
    if out is None:
        out = Path(tempfile.mkdtemp(prefix="casid-")) / "view.html"
    (written,) = casid.files.write_files(casid.files.prepare_directory(out.parent), {out.name: content})
    typer.echo(f"Written to {written}")
    if browser and not webbrowser.open(written.resolve().as_uri()):
        note("no browser found here; open the file with one, on any machine")


@o.grouped
def feasible(
    robot: RobotArgument,
    values: Annotated[
        Path,
        typer.Argument(
            metavar="BETA", help="CSV of base parameters: columns 'parameter' (as `casid base` names them) and 'value'."
        ),
    ],
    options: o.RobotOptions,
    consistency: Annotated[
        Literal["full", "semi"],
        typer.Option("--set", help="full: bodies that can exist; semi: only m > 0 and I > 0 (Sousa 2014)."),
    ] = "full",
    terms: TermsOption = "",
    out: Annotated[Path | None, typer.Option(help="Folder for the nearest feasible parameters.")] = None,
) -> None:
    """Test whether base parameters are feasible, proven; the nearest feasible ones. Exit code 1 if they are not."""
    from casid.identification.repair import feasibility_test

    folder = out_folder(out)
    model = casid.Model(options.robot(robot), comma_list(terms))
    found = feasibility_test(model, _values(values, model.base), consistency=consistency)
    present(casid.report.report_of(found, base=model.base, consistency=consistency), folder)
    if not found.feasible:
        raise typer.Exit(1)


def _values(path: Path, base: casid.dynamics.BaseParameters) -> casid.arrays.Array:
    """Values of the base parameters in their order, by leading parameter or expression."""
    import numpy as np

    from casid.files import csv_table, number_list, read_text

    table = csv_table(read_text(path, "base parameters", DatasetError), str(path), DatasetError)
    header = [name.lower() for name in table.header]
    missing = [name for name in ("parameter", "value") if name not in header]
    if missing:
        raise DatasetError(f"{path}: needs the columns 'parameter' and 'value', it has {listed(table.header)}")
    known = {name: k for k, names in enumerate(zip(base.names, base.expressions, strict=True)) for name in names}
    found = np.full(base.rank, np.nan)
    for number, row in enumerate(table.rows(str(path), DatasetError), start=1):
        name, text = (row[header.index(column)].strip() for column in ("parameter", "value"))
        if name not in known:
            raise DatasetError(
                f"{path}, row {number}: '{name}' is no base parameter of this robot{near(name, known)}; they are "
                f"{listed(base.names)} (other joint terms: --terms)"
            )
        numbers = number_list([text])
        if numbers is None or not np.isfinite(numbers[0]):
            raise DatasetError(f"{path}, row {number}, column 'value': expected a finite number, got '{text}'")
        found[known[name]] = numbers[0]
    absent = [name for name, value in zip(base.names, found, strict=True) if np.isnan(value)]
    if absent:
        raise DatasetError(f"{path}: no value of {listed(absent)}; all {base.rank} base parameters are needed")
    return found
