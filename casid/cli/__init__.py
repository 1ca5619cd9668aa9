"""The command line: thin, no logic of its own. Heavy modules are imported by the command that needs them."""

from __future__ import annotations

from typing import Annotated

import typer

from casid.cli import code, convert, doctor, excitation, loads, problems, recordings, robots, simulation, view
from casid.cli.new import new
from casid.cli.shared import Group
from casid.version import __version__

__all__ = ["app", "main"]

app = typer.Typer(
    cls=Group,
    help="Identify robot dynamics and retrieve physically consistent parameters.",
    add_completion=True,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(show: bool) -> None:
    if show:
        typer.echo(f"casid {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


for _command in (  # in the order of the help
    robots.robots,
    robots.base,
    convert.convert,
    robots.ops,
    problems.solve,
    problems.intervals,
    problems.study,
    problems.explain,
    recordings.identify,
    recordings.validate,
    recordings.check,
    loads.payload,
    loads.gains,
    excitation.excite,
    simulation.simulate,
    view.view,
    code.export,
    code.cache,
    doctor.doctor,
):
    app.command()(_command)
app.add_typer(new, name="new")


def main() -> None:
    """Entry point of the command ``casid``."""
    app()
