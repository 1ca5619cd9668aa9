"""The command line. Modules that are slow to import are imported by the command that needs them."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from casid._annexes import commands
from casid.cli import _code, _doctor, _excitation, _problems, _recordings, _robots, _simulation
from casid.cli._new import import_, new
from casid.cli.shared import INTERRUPTED, Group, end_on_interrupt, interrupted, outlast_readers
from casid.version import __version__


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
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


#: Commands by panel, in the order of the help; those of daily work stand first.
_PANELS = {
    "Daily work": (
        _simulation.simulate,
        import_,
        _recordings.identify,
        _robots.view,
        _robots.convert,
        _recordings.validate,
        _recordings.check,
        _excitation.excite,
        _problems.solve,
        _code.export,
    ),
    "Robots": (_robots.robots, _robots.base, _robots.ops),
    "Further analysis": (
        _problems.intervals,
        _problems.explain,
        _problems.study,
        _recordings.compare,
        _recordings.reverse_engineer,
        _robots.feasible,
    ),
    "Installation": (_doctor.doctor, _code.cache),
}
for _panel, _commands in _PANELS.items():
    for _command in _commands:
        app.command(_command.__name__.strip("_").replace("_", "-"), rich_help_panel=_panel)(_command)
for _name, _annexed in commands().items():
    app.command(_name, rich_help_panel=_annexed.panel, help=_annexed.help)(lambda: None)  # imported by `Group`
app.add_typer(new, name="new", rich_help_panel="Robots")


def main() -> None:
    """Entry point of the command ``casid``."""
    try:
        end_on_interrupt()
        outlast_readers()
        app()
    except BaseException:  # of an interruption compiled code makes any exception
        if not interrupted():
            raise
        sys.stdout.flush()
        os._exit(INTERRUPTED)
