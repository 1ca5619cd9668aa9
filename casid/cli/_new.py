"""Commands that write a file to begin with: ``new robot``, ``new recording``, ``new problem``."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from casid.cli._shared import Group
from casid.errors import ExportError

new = typer.Typer(cls=Group, help="Write a commented file to begin with.", no_args_is_help=True)

Overwrite = Annotated[bool, typer.Option(help="Replace the file if it exists.")]


@new.command()
def robot(
    path: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The file to write; its name is the robot's.")],
    joints: Annotated[int, typer.Option(min=1, max=60, help="How many joints.")] = 6,
    overwrite: Overwrite = False,
) -> None:
    """Describe a robot: kinematics, limits, what is known of the links."""
    content = _filled("robot.toml.in", name=_name(path, ".toml"), file=str(path))
    turns = (0, -90, 0, 90, -90, 90)
    for k in range(joints):
        content += _filled("joint.toml.in", k=str(k + 1), alpha=str(turns[k % 6]), d="0.3" if k % 2 == 0 else "0.0")
    _write(path, content, overwrite)
    typer.echo(f"Next: fill in the rows, then  casid base {path}  and  casid view {path}")


@new.command()
def recording(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The recording: npz, csv, mat, mcap, rosbag2.")],
    overwrite: Overwrite = False,
) -> None:
    """Describe a recording: which column is what, units, which rows, options of the identification."""
    path = data.with_name(f"{data.name}.toml") if data.is_dir() else data.with_suffix(".toml")
    if path == data:
        raise ExportError(f"'{data}': name the recording itself, its description will be the .toml beside it")
    _write(path, _filled("recording.toml.in", file=data.name, toml=path.name), overwrite)
    if not data.exists():
        typer.echo(f"note: there is no '{data}' yet", err=True)
    typer.echo(f"Next: enter in it what is not as casid expects, then  casid identify ROBOT {path} --out result")


@new.command()
def problem(
    path: Annotated[Path, typer.Argument(metavar="FILE.py", help="The file to write.")],
    robot: Annotated[str, typer.Option(metavar="ROBOT", help="A shipped robot's name, or a robot's file.")] = "panda",
    overwrite: Overwrite = False,
) -> None:
    """State a problem of your own: which links, what was identified, constraints."""
    from casid.description import load_robot

    loaded = load_robot(robot)
    text = _filled(
        "problem.py.in", name=_name(path, ".py"), robot=robot.replace("\\", "/"), file=str(path),
        links=str(len(loaded.joints)), first=loaded.links[0].name,
    )  # fmt: skip
    _write(path, text, overwrite)
    typer.echo(f"Next: casid solve {path} --out out")


def _name(path: Path, suffix: str) -> str:
    if path.suffix != suffix:
        raise ExportError(f"'{path}': name the file with the ending {suffix}")
    if not re.fullmatch(r"[A-Za-z][\w-]*", path.stem):
        raise ExportError(f"'{path.stem}' is not a name: expected letters, digits, _ and -, a letter first")
    return path.stem


def _filled(template: str, **slots: str) -> str:
    text = (files("casid.cli") / "templates" / template).read_text(encoding="utf-8")
    return re.sub(r"@([a-z]+)@", lambda found: slots[found[1]], text)


def _write(path: Path, content: str, overwrite: bool) -> None:
    from casid.files._write import prepare_directory, write_files

    if path.exists() and not overwrite:
        raise ExportError(f"'{path}' exists; choose another name, or --overwrite it")
    write_files(prepare_directory(path.parent), {path.name: content})
    typer.echo(f"Written to {path}")
