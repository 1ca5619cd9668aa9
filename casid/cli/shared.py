"""What commands share: the end by Ctrl-C, arguments, lists, the console, progress, reports, errors and warnings.

Ctrl-C ends a command within a second, with exit code 130 and what is kept.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

import casid
from casid._annexes import commands, loaded
from casid.errors import CasidError, CasidWarning, ExportError

if TYPE_CHECKING:
    from rich.console import Console


#: Exit code of a command that Ctrl-C ended.
INTERRUPTED = 130
#: The process ends so many seconds after Ctrl-C, whatever it is in [s].
PATIENCE = 0.7


@dataclass
class _Ending:
    """What the running command keeps when Ctrl-C ends it, and whether that was pressed."""

    kept: str = "nothing was written"
    pressed: bool = False


_ENDING: ContextVar[_Ending | None] = ContextVar("ending", default=None)


def end_on_interrupt() -> None:
    """Let Ctrl-C end this process: with a message, as `KeyboardInterrupt`, and after `PATIENCE` in any case."""
    ending = _Ending()
    _ENDING.set(ending)

    def pressed(number: int, frame: Any) -> None:
        if not ending.pressed:
            ending.pressed = True
            sys.stderr.flush()
            os.write(2, f"\ninterrupted: {ending.kept}\n".encode())
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # for what compiled code writes about the interruption
            timer = threading.Timer(PATIENCE, os._exit, (INTERRUPTED,))
            timer.daemon = True
            timer.start()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, pressed)


def keeping(text: str) -> None:
    """State what is kept if Ctrl-C ends the running command."""
    ending = _ENDING.get()
    if ending is not None:
        ending.kept = text


def interrupted() -> bool:
    """Whether Ctrl-C was pressed."""
    ending = _ENDING.get()
    return ending is not None and ending.pressed


RobotArgument = Annotated[
    str, typer.Argument(metavar="ROBOT", help="A shipped robot's name, or a .toml, .urdf, .xml (MJCF) or .sdf file.")
]
ProblemArgument = Annotated[
    str, typer.Argument(metavar="PROBLEM", help="A shipped problem's name, or a .py file with a function 'build'.")
]
TermsOption = Annotated[str, typer.Option(metavar="NAME,...", help="Joint terms: viscous,coulomb,offset,rotor.")]

#: Columns of a table that goes to a file or a pipe, unless COLUMNS says otherwise.
_PLAIN_WIDTH = 150
#: Seconds between two lines of progress where stderr is not a terminal; the first comes after as many.
LINE_EVERY = 10.0
#: Folders that the running command makes for its results, innermost first.
_MADE: ContextVar[list[Path]] = ContextVar("made")


class _Outlet(io.FileIO):
    """Standard output; what a reader that has closed its end (``| head``) does not take is dropped."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return super().write(data)


def outlast_readers() -> None:
    """Let a command go on, and write its files, after whoever reads its output has closed the pipe."""
    old = sys.stdout
    if isinstance(old, io.TextIOWrapper) and not old.isatty():
        raw = _Outlet(old.fileno(), "w", closefd=False)
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), old.encoding, old.errors, line_buffering=True)


class Group(TyperGroup):
    """Group of commands: a `CasidError` is one message and exit code 1, a `CasidWarning` one line on stderr."""

    _listed = False

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The list of commands, without importing those of annexes."""
        self._listed = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listed = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by name; that of an annex is imported."""
        annexed = None if self._listed else commands().get(cmd_name)
        if annexed is None:
            return super().get_command(ctx, cmd_name)
        alone = typer.Typer(add_completion=False)
        alone.command(cmd_name)(loaded(annexed.function))
        return typer.main.get_command(alone)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; folders that it made and left empty are removed."""
        made: list[Path] = []
        token = _MADE.set(made)
        with warnings.catch_warnings():
            warnings.simplefilter("always", CasidWarning)
            warnings.showwarning = _show_warning  # restored on leaving the block
            try:
                return super().invoke(ctx)
            except CasidError as error:
                typer.echo("\n".join(filter(None, (f"error: {error.message}", error.detail))), err=True)
                raise typer.Exit(1) from error
            except KeyboardInterrupt:
                ending = _ENDING.get()
                if ending is not None and not ending.pressed:  # a step that takes Ctrl-C as a request had no result yet
                    typer.echo(f"interrupted: {ending.kept}", err=True)
                raise typer.Exit(INTERRUPTED) from None
            finally:
                _MADE.reset(token)
                for folder in made:
                    with contextlib.suppress(OSError):  # not empty, or gone
                        folder.rmdir()


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    name = "warning" if issubclass(category, CasidWarning) else category.__name__
    typer.echo(f"{name}: {' '.join(str(message).split())}", err=True)


def console(err: bool = False) -> Console:
    """Standard output or error, as wide as the terminal or as COLUMNS says; else wide enough for every table."""
    from rich.console import Console

    given = os.environ.get("COLUMNS", "").isdigit() or (sys.stderr if err else sys.stdout).isatty()
    return Console(stderr=err, width=None if given else _PLAIN_WIDTH)


def say(text: object, err: bool = False) -> None:
    """Print sentences as they are, in lines no wider than the `console`, on standard output or error."""
    from rich.text import Text

    console(err).print(Text(str(text)))


def out_folder(out: Path | None) -> Path | None:
    """The folder that a command writes to, made before the work, so that an impossible one is reported at once.

    Folders that the command has made and left empty, because it failed, are removed when it ends.
    """
    if out is None:
        return None
    missing = [folder for folder in (out, *out.parents) if not folder.exists()]
    _MADE.get().extend(missing)
    return casid.files.prepare_directory(out)


def out_file(path: Path | None, *suffixes: str) -> Path | None:
    """A file that a command writes, checked before the work: ending, not a folder, its folder exists.

    Raises
    ------
    ExportError
        Naming the path, and the endings it may have.
    """
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


def note(*texts: object) -> None:
    """Print remarks, each from a line of its own, on stderr."""
    for text in texts:
        say(f"note: {text}", err=True)


def announce_written(folder: Path, files: Iterable[Path]) -> None:
    """Print the names of the files that a command has written."""
    names = ", ".join(path.relative_to(folder).as_posix() for path in files)
    say(f"Written to {folder}: {names}")


def announce_conversion(written: casid.description.Written) -> None:
    """Print the files of a written robot, what was changed and what its format cannot hold."""
    note(*written.notes)
    robot, *beside = written.files
    announce_written(robot.parent, [robot])
    if beside:
        say(f"Beside it {beside[0].name}, for what this format cannot hold: {'; '.join(written.sidecar)}")


def present(report: casid.report.Report, folder: Path | None = None) -> list[Path]:
    """Write the files of a report to a folder, if one is given; then print its tables, and their names."""
    screen = console()
    with shown("tables" if folder is None else "tables and pictures") as update:
        tables = report.tables()
        written = [] if folder is None else report.write(folder, lambda done, of: update("pictures", done, of))
    for table in tables:
        screen.print(table)
    if folder is not None:
        announce_written(folder, written)
    return written


@contextmanager
def shown(text: str) -> Iterator[Callable[[str, float | None, float | None], None]]:
    """Progress on stderr: a bar with what is left on a terminal, a line now and then in a file or a pipe.

    Yields a function of a text, and of how much is done of how much, if that is known.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    screen = Console(stderr=True)
    if not screen.is_terminal:
        yield _lines()
        return
    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(16), TextColumn("{task.fields[share]}"),
        TimeElapsedColumn(), TextColumn("{task.fields[left]}"),
    )  # fmt: skip
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task(text, total=None, share="", left="")

        def update(text: str, done: float | None, of: float | None) -> None:
            part = None if done is None or not of else done / of
            elapsed = bar.tasks[0].elapsed
            left = f"{elapsed * (1 / part - 1):.0f} s left" if part and elapsed else ""
            share = "" if part is None else f"{100 * part:.0f} %"
            bar.update(task, description=text, completed=part or 0, total=1 if part else None, share=share, left=left)

        yield update


def _lines() -> Callable[[str, float | None, float | None], None]:
    began = last = monotonic()

    def line(text: str, done: float | None, of: float | None) -> None:
        nonlocal last
        now = monotonic()
        if now - last >= LINE_EVERY:
            last = now
            count = "" if done is None or not of else f", {100 * done / of:.0f} %"
            typer.echo(f"{text}{count} ({now - began:.0f} s)", err=True)

    return line


@contextmanager
def starts_bar(text: str, total: int) -> Iterator[Callable[..., None]]:
    """Progress of ``total`` starts; yields a function to call after each start."""
    done = 0
    with shown(text) as update:

        def advance(*_: object) -> None:
            nonlocal done
            done += 1
            update(f"{text}, {done} of {total}", done, total)

        yield advance
