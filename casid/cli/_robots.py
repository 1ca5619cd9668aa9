"""Commands about a robot: ``robots``, ``base``, ``ops``, ``convert``; and ``view``, which shows any file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from casid.cli import options as o
from casid.cli.shared import RobotArgument, TermsOption, announce_conversion, console, note, refuse
from casid.files import comma_list


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
    from casid.description import convert as run
    from casid.description import identified_names, identified_record, load_robot, robot_names
    from casid.report import described_tables, identified_table, identified_tables, robots_table

    if name is None:
        refuse(context, o.ENDINGS, "needs the name of a robot")
        console().print(robots_table(load_robot(each) for each in robot_names()))
        found = {each: identified_record(each) for each in identified_names()}
        console().print(identified_table((load_robot(each), found[each]) for each in found))
        return
    files = written.robots()
    robot = load_robot(name)
    known = name in identified_names()
    for table in identified_tables(robot, identified_record(name)) if known else described_tables(robot):
        console().print(table)
    for path in files:
        announce_conversion(run(name, path))


@o.grouped
def base(robot: RobotArgument, options: o.RobotOptions, terms: TermsOption = "") -> None:
    """Print the base parameters of a robot, with its joint terms if given: rank and groupings."""
    from casid.dynamics import Model
    from casid.report import base_table

    model = Model(options.robot(robot), comma_list(terms))
    console().print(base_table(model.robot.name, model.base))


@o.grouped
def ops(robot: RobotArgument, options: o.RobotOptions, terms: TermsOption = "") -> None:
    """Count the operations of a robot's functions, beside the published counts."""
    from casid.dynamics import Model
    from casid.export import count_robot
    from casid.report import operations_table

    model = Model(options.robot(robot), comma_list(terms))
    console().print(operations_table(f"Operations: {model.robot.name}", count_robot(model)))


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
    from casid.description import convert as run
    from casid.description import write_robot
    from casid.inertia import read_parameters

    if parameters is None:
        announce_conversion(run(source, target, **options.reading()))
    else:
        machine = options.robot(source)
        announce_conversion(write_robot(machine.with_parameters(read_parameters(parameters)), target))


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

    from casid.files import prepare_directory, write_files
    from casid.report.viewer import view as page_of

    content = page_of(file, robot, packages or (), **options.reading())
    if out is None:
        out = Path(tempfile.mkdtemp(prefix="casid-")) / "view.html"
    (written,) = write_files(prepare_directory(out.parent), {out.name: content})
    typer.echo(f"Written to {written}")
    if browser and not webbrowser.open(written.resolve().as_uri()):
        note("no browser found here; open the file with one, on any machine")
