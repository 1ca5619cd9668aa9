"""The command line: thin, no logic of its own. Heavy modules are imported by the command that needs them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

import casid
from casid.errors import CasidError, CasidWarning

if TYPE_CHECKING:
    from rich.console import Console

#: Columns of a table that goes to a file or a pipe.
_PLAIN_WIDTH = 150


class _Group(TyperGroup):
    """Turns every `CasidError` into a sentence and exit code 1, every `CasidWarning` into a line."""

    def invoke(self, ctx: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("always", CasidWarning)
            warnings.showwarning = _show_warning  # restored on leaving the block
            try:
                return super().invoke(ctx)
            except CasidError as error:
                typer.echo(f"error: {error}", err=True)
                raise typer.Exit(1) from error


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    name = "warning" if issubclass(category, CasidWarning) else category.__name__
    typer.echo(f"{name}: {' '.join(str(message).split())}", err=True)


app = typer.Typer(
    cls=_Group,
    help="Identify robot dynamics and retrieve physically consistent parameters.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(show: bool) -> None:
    if show:
        typer.echo(f"casid {casid.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def robots() -> None:
    """List the robots that ship with casid."""
    from casid.description import load_robot, robot_names
    from casid.report.tables import robots_table

    _console().print(robots_table(load_robot(name) for name in robot_names()))


@app.command()
def base(
    robot: Annotated[str, typer.Argument(metavar="ROBOT", help="A shipped robot's name, or a .toml or .urdf file.")],
) -> None:
    """Print the base parameters of a robot: rank and groupings."""
    from casid.description import load_robot
    from casid.dynamics import Model
    from casid.report.tables import base_table

    model = Model(load_robot(robot))
    _console().print(base_table(model.robot.name, model.base))


@app.command()
def solve(
    problem: Annotated[
        str, typer.Argument(metavar="PROBLEM", help="A shipped problem's name, or a .py file with a function 'build'.")
    ],
    starts: Annotated[
        int | None, typer.Option(min=1, help="Number of random starts; without it, one deterministic start.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random starts.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Folder for solution.json, CSV files and pictures.")] = None,
) -> None:
    """Solve a problem, certify the solution, and write it to a folder."""
    from casid import retrieval
    from casid.report import prepare_directory, solution_tables, write_solution

    folder = None if out is None else prepare_directory(out)
    loaded = retrieval.load_problem(problem)
    result: retrieval.Solution | retrieval.MultiStart
    if starts is None:
        result = retrieval.solve(loaded)
    else:
        with _progress(f"{loaded.name}: {starts} starts", starts) as advance:
            result = retrieval.multistart(loaded, starts=starts, seed=seed, progress=advance)
    console = _console()
    for table in solution_tables(result):
        console.print(table)
    if folder is not None:
        files = write_solution(result, folder)
        typer.echo(f"Written to {folder}: {', '.join(path.name for path in files)}")


@app.command()
def export(
    robot: Annotated[str, typer.Argument(metavar="ROBOT", help="A shipped robot's name, or a .toml or .urdf file.")],
    out: Annotated[Path, typer.Option(help="Folder to make.")],
    functions: Annotated[
        str | None, typer.Option(metavar="NAME,NAME,...", help="Functions to write; 'all' or see docs/export.md.")
    ] = None,
    parameters: Annotated[
        Path | None, typer.Option(help="Parameters: .json (as `casid solve --out` writes), .csv or .npy.")
    ] = None,
    runtime_parameters: Annotated[
        str, typer.Option(metavar="none|standard|base", help="Parameters as numbers in the code, or as an argument.")
    ] = "none",
    terms: Annotated[str, typer.Option(metavar="NAME,...", help="Joint terms: viscous,coulomb,offset,rotor.")] = "",
    payload: Annotated[
        str | None, typer.Option(metavar="MASS,CX,CY,CZ[,IXX,...]", help="A body at --frame: kg, m, kg.m^2.")
    ] = None,
    frame: Annotated[str | None, typer.Option(help="Frame of the payload and the operational space.")] = None,
    prefix: Annotated[str | None, typer.Option(help="Beginning of all C names; default: the robot's name.")] = None,
    batched: Annotated[bool, typer.Option(help="Add functions for many samples at once (GCC, Clang).")] = False,
    overwrite: Annotated[bool, typer.Option(help="Replace files of an earlier export.")] = False,
) -> None:
    """Write a robot's dynamics as C code for a controller."""
    from casid.description import load_robot
    from casid.dynamics import Model
    from casid.export import all_functions, default_functions, export_robot, numbers, read_parameters
    from casid.report.tables import operations_table

    loaded, chosen_terms = load_robot(robot), _names(terms)
    if functions is None:
        chosen = default_functions(runtime_parameters)
    else:
        chosen = all_functions(loaded, runtime_parameters) if functions == "all" else tuple(_names(functions))
    done = export_robot(
        loaded,
        out,
        chosen,
        parameters=None if parameters is None else read_parameters(parameters, Model(loaded, chosen_terms)),
        runtime_parameters=runtime_parameters,  # type: ignore[arg-type]  # checked by export_robot
        terms=chosen_terms,
        payload=None if payload is None else numbers(payload, "payload"),
        frame=frame,
        prefix=prefix,
        batched=batched,
        overwrite=overwrite,
    )
    console = _console()
    console.print(operations_table("Operations of one call", [(f.name, f.operations) for f in done.functions]))
    console.print(f"Written to {done.path}: {', '.join(done.files)}", highlight=False, soft_wrap=True)


@app.command()
def ops(
    robot: Annotated[str, typer.Argument(metavar="ROBOT", help="A shipped robot's name, or a .toml or .urdf file.")],
    terms: Annotated[str, typer.Option(metavar="NAME,...", help="Joint terms: viscous,coulomb,offset,rotor.")] = "",
) -> None:
    """Count the operations of a robot's functions, beside the published counts."""
    from casid.description import load_robot
    from casid.dynamics import Model
    from casid.export import count_robot
    from casid.report.tables import operations_table

    model = Model(load_robot(robot), _names(terms))
    _console().print(operations_table(f"Operations: {model.robot.name}", count_robot(model)))


@app.command()
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove all files of the cache.")] = False,
) -> None:
    """Show the folder of compiled code, or empty it."""
    from casid.codegen import cache_directory, cache_entries, clear_cache

    if clear:
        typer.echo(f"{clear_cache()} files removed from {cache_directory()}")
        return
    entries = cache_entries()
    typer.echo(f"{cache_directory()}: {len(entries)} files, {sum(entry.size for entry in entries) / 1e6:.1f} MB")
    for entry in entries:
        typer.echo(f"{entry.size / 1e3:10.0f} kB  {entry.path.name}")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


@contextmanager
def _progress(text: str, total: int) -> Iterator[Callable[..., None]]:
    """Progress bar on stderr; the function it gives is called once for each finished start."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(text, total=total)
        yield lambda *_: bar.advance(task)


def _console() -> Console:
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=_PLAIN_WIDTH)


def main() -> None:
    """Entry point of the command ``casid``."""
    app()
