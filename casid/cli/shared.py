"""What commands share: arguments, lists, the console, progress, errors and warnings."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterable
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from casid.errors import CasidError, CasidWarning

if TYPE_CHECKING:
    from rich.console import Console

    from casid.description import Written

RobotArgument = Annotated[
    str, typer.Argument(metavar="ROBOT", help="A shipped robot's name, or a .toml, .urdf, .xml (MJCF) or .sdf file.")
]
ProblemArgument = Annotated[
    str, typer.Argument(metavar="PROBLEM", help="A shipped problem's name, or a .py file with a function 'build'.")
]
TermsOption = Annotated[str, typer.Option(metavar="NAME,...", help="Joint terms: viscous,coulomb,offset,rotor.")]

#: Columns of a table that goes to a file or a pipe.
_PLAIN_WIDTH = 150
#: Folders that the running command makes for its results, innermost first.
_MADE: ContextVar[list[Path]] = ContextVar("made")


class Group(TyperGroup):
    """Turns every `CasidError` into a sentence and exit code 1, every `CasidWarning` into a line."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; nothing but its own bugs ends in a traceback, and no empty folder stays behind."""
        made: list[Path] = []
        token = _MADE.set(made)
        try:
            return self._invoke(ctx)
        finally:
            _MADE.reset(token)
            for folder in made:
                with contextlib.suppress(OSError):  # not empty, or gone
                    folder.rmdir()

    def _invoke(self, ctx: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("always", CasidWarning)
            warnings.showwarning = _show_warning  # restored on leaving the block
            try:
                return super().invoke(ctx)
            except CasidError as error:
                typer.echo("\n".join(filter(None, (f"error: {error.message}", error.detail))), err=True)
                raise typer.Exit(1) from error


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    name = "warning" if issubclass(category, CasidWarning) else category.__name__
    typer.echo(f"{name}: {' '.join(str(message).split())}", err=True)


def console() -> Console:
    """Standard output, as wide as the terminal, or wide enough for every table."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=_PLAIN_WIDTH)


def out_folder(out: Path | None) -> Path | None:
    """The folder that a command writes to, made at once so that one that cannot be is told before the work.

    Folders that the command has made and left empty, because it failed, are removed when it ends.
    """
    from casid.files._write import prepare_directory

    if out is None:
        return None
    missing = [folder for folder in (out, *out.parents) if not folder.exists()]
    _MADE.get().extend(missing)
    return prepare_directory(out)


def out_file(path: Path | None, *suffixes: str) -> Path | None:
    """A file that a command writes, checked before the work: its ending, that it is no folder, that its folder exists.

    Raises
    ------
    ExportError
        Naming the path, and the endings it may have.
    """
    from casid.errors import ExportError

    if path is None:
        return None
    if path.is_dir():
        raise ExportError(f"'{path}' is a folder; give the name of a file to write")
    if suffixes and path.suffix.lower() not in suffixes:
        raise ExportError(f"'{path}': name the file with the ending {' or '.join(suffixes)}")
    if not path.parent.is_dir():
        raise ExportError(f"'{path}' cannot be written: there is no folder '{path.parent}'")
    return path


def refuse(context: typer.Context, options: Iterable[str], why: str) -> None:
    """BadParameter for options that were given and would change nothing.

    Parameters
    ----------
    context
        Of the running command.
    options
        Their names in Python.
    why
        Follows the option's name in the message.
    """
    for name in options:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise typer.BadParameter(f"--{name.replace('_', '-')} {why}")


def say_written(folder: Path, files: Iterable[Path]) -> None:
    """Name the files that a command has written."""
    typer.echo(f"Written to {folder}: {', '.join(path.name for path in files)}")


def say_conversion(written: Written) -> None:
    """Name the files of a written robot, what had to change and what its format cannot hold."""
    for note in written.notes:
        typer.echo(f"note: {note}", err=True)
    robot, *beside = written.files
    typer.echo(f"Written to {robot.parent}: {robot.name}")
    if beside:
        typer.echo(f"Beside it {beside[0].name}, for what this format cannot hold: {'; '.join(written.sidecar)}")
