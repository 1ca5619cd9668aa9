"""Commands that write a file to begin with: ``new robot``, ``new recording``, ``new problem``; ``import`` of a log."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

import casid
from casid._annexes import recordings
from casid.cli import options as o
from casid.cli.shared import Group, RobotArgument, announce_written, console, note, present
from casid.errors import DatasetError, ExportError
from casid.files import comma_list, comma_numbers

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
        note(f"there is no '{data}' yet")
    typer.echo(f"Next: enter in it what is not as casid expects, then  casid identify ROBOT {path} --out result")


@new.command()
def problem(
    path: Annotated[Path, typer.Argument(metavar="FILE.py", help="The file to write.")],
    robot: Annotated[str, typer.Option(metavar="ROBOT", help="A shipped robot's name, or a robot's file.")] = "panda",
    overwrite: Overwrite = False,
) -> None:
    """State a problem of your own: which links, what was identified, constraints."""
    loaded = casid.load_robot(robot)
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
    return casid.files.template("casid.cli", template, slots)


def _write(path: Path, content: str, overwrite: bool) -> None:
    if path.exists() and not overwrite:
        raise ExportError(f"'{path}' exists; choose another name, or --overwrite it")
    casid.files.write_files(casid.files.prepare_directory(path.parent), {path.name: content})
    typer.echo(f"Written to {path}")


@dataclass(frozen=True)
class Answered(o.OptionGroup):
    """What the user says where the log leaves it open."""

    panel = "What the log leaves open"
    columns: list[str] | None = o.option(
        None,
        "Columns of t, q, dq, q_des or tau: a name with *, numbers 2-7, or names with | between; tau=none "
        "leaves torques or currents out. May be repeated.",
        metavar="SIGNAL=COLUMNS",
    )
    time_unit: str = o.option("", "Unit of the time: s, ms, us or ns.")
    angles: str = o.option("", "Unit of the positions: rad or deg.")
    torque_unit: str = o.option("", "Unit of the torques: N.m, mN.m, kN.m.")
    sampling_rate: float | None = o.option(None, "Of a log without time \\[Hz].")
    gains: str = o.option("", "Torque of one unit of the signal at each joint, e.g. drive gains \\[N.m/A].")
    gear: str = o.option("", "Gear ratio of each joint; --gains are torque constants then.")
    reversed: str = o.option("", "Joints whose torque has the other sign, e.g. 2,5; or none.")
    as_is: bool = o.option(False, "Take columns that the dynamics do not explain.", "--as-is")

    def answers(self) -> casid.measurement.Answers:
        """As `propose` takes them."""
        columns = dict(_pair(entry) for entry in self.columns or ())
        gains = comma_numbers(self.gains, "--gains", DatasetError) if self.gains else []
        if self.gear:
            gear = comma_numbers(self.gear, "--gear", DatasetError, len(gains) or None)
            gains = [a * b for a, b in zip(gains, gear, strict=True)] if gains else []
            if not gains:
                raise DatasetError("--gear goes with --gains, the torque constants")
        flips = None
        if self.reversed:
            flips = () if self.reversed.strip().lower() == "none" else tuple(map(_whole, comma_list(self.reversed)))
        return casid.measurement.Answers(
            columns, self.time_unit, self.angles, self.torque_unit, self.sampling_rate, tuple(gains), flips, self.as_is
        )


@o.grouped
def import_(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="A log of any layout: text, npz, mat, parquet, a bag.")],
    robot: RobotArgument,
    *,
    given: Answered,
    options: o.RobotOptions,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="The file to write; default: beside it.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Find out how a controller's log is to be read, show why, and write it to a TOML that every command takes.

    Encoding, separator, decimal mark, header lines, units, the columns of each joint: what the robot's limits and
    dynamics do not decide is asked for. Exit code 2: a question is open, and nothing is written.
    """
    path = log.with_suffix(".toml") if out is None else out
    if path.suffix != ".toml":
        raise DatasetError(f"'{path}': name the file with the ending .toml")
    if path.exists() and not overwrite:
        raise DatasetError(f"'{path}' exists; choose another name (--out), or --overwrite it")
    owner = options.robot(robot)
    found = casid.measurement.propose(log, owner, given.answers())
    if found.questions and sys.stdin.isatty():
        present(casid.report.report_of(found))
        for question in found.questions:
            given = _asked(given, question)
        found = casid.measurement.propose(log, owner, given.answers())
    present(casid.report.report_of(found))
    if found.questions:
        console().print(
            "\n".join(f"Open: {one.text}  ({one.option})" for one in found.questions), highlight=False, markup=False
        )
        raise typer.Exit(2)
    announce_written(path.parent, casid.files.write_files(path.parent, {path.name: found.toml(path.parent)}))
    reader = next(filter(None, (kind.reader(found.settings) for kind in recordings())), None)
    if reader is not None:
        read: object = reader(path, owner)
    else:
        read = casid.measurement.check_against(casid.read_dataset(path), owner)
        note(*read.notes)
    lock = f" --lock {options.lock}" if options.lock else ""
    typer.echo(f"{read!r}\nNext: casid identify {robot} {path}{lock} --out result")


def _asked(given: Answered, question: casid.measurement.Question) -> Answered:
    """The options with the answer to one question; an empty answer leaves it open."""
    option = question.option.split()[0].rstrip(",")
    name, _, signal = option.removeprefix("--").replace("-", "_").partition("=")
    if signal or name == "columns":
        signal = signal or question.option.partition(" ")[2].rstrip("=")
    answer = typer.prompt(f"{question.text}\n{question.option}", default="", show_default=False)
    if not answer:
        return given
    if name == "columns":
        return replace(given, columns=[*(given.columns or ()), answer if "=" in answer else f"{signal}={answer}"])
    if name == "as_is":
        return replace(given, as_is=answer.strip().lower() in ("y", "yes"))
    if name == "sampling_rate":
        (rate,) = comma_numbers(answer, "--sampling-rate", DatasetError, 1)
        return replace(given, sampling_rate=rate)
    return replace(given, **{name: answer})


def _pair(text: str) -> tuple[str, str]:
    signal, sign, columns = text.partition("=")
    if not sign or signal not in ("t", "q", "dq", "q_des", "tau"):
        raise DatasetError(f"--columns: expected SIGNAL=COLUMNS with t, q, dq, q_des or tau, got '{text}'")
    return signal, columns


def _whole(word: str) -> int:
    if not word.isdigit() or int(word) < 1:
        raise DatasetError(f"--reversed: expected numbers of joints from 1, or none, got '{word}'")
    return int(word)
