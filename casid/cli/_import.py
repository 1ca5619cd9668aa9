"""The command ``import``: a controller's log of any layout becomes a recording's TOML, with evidence for each guess."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from casid.cli import _options as o
from casid.cli._shared import RobotArgument, announce_written, console, present
from casid.errors import DatasetError
from casid.files._words import comma_list, comma_numbers

if TYPE_CHECKING:
    from casid.measurement.importing import Answers
    from casid.measurement.importing._proposal import Question


@dataclass(frozen=True)
class Answered(o.OptionGroup):
    """What the user says where the log leaves it open."""

    panel = "What the log leaves open"
    columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SIGNAL=COLUMNS",
            help="Columns of t, q, dq or tau: a name with *, numbers 2-7, or names with | between; may be repeated.",
        ),
    ] = None
    time_unit: Annotated[str, typer.Option(help="Unit of the time: s, ms, us or ns.")] = ""
    angles: Annotated[str, typer.Option(help="Unit of the positions: rad or deg.")] = ""
    torque_unit: Annotated[str, typer.Option(help="Unit of the torques: N.m, mN.m, kN.m.")] = ""
    sampling_rate: Annotated[float | None, typer.Option(help="Of a log without time \\[Hz].")] = None
    gains: Annotated[
        str, typer.Option(help="Torque of one unit of the signal at each joint, e.g. drive gains \\[N.m/A].")
    ] = ""
    gear: Annotated[str, typer.Option(help="Gear ratio of each joint; --gains are torque constants then.")] = ""
    reversed: Annotated[str, typer.Option(help="Joints whose torque has the other sign, e.g. 2,5; or none.")] = ""
    as_is: Annotated[bool, typer.Option("--as-is", help="Take columns that the dynamics do not explain.")] = False

    def answers(self) -> Answers:
        """As `propose` takes them."""
        from casid.measurement.importing import Answers

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
        return Answers(
            columns, self.time_unit, self.angles, self.torque_unit, self.sampling_rate, tuple(gains), flips, self.as_is
        )


@o.grouped
def import_(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="A log of any layout: text, npz, mat, parquet, a bag.")],
    robot: RobotArgument,
    *,
    given: Answered,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="The file to write; default: beside it.")
    ] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace the file if it exists.")] = False,
) -> None:
    """Find out how a controller's log is to be read, show why, and write it to a TOML that every command takes.

    Encoding, separator, decimal mark, header lines, units, the columns of each joint: what the robot's limits and
    dynamics do not decide is asked for. Exit code 2: a question is open, and nothing is written.
    """
    from casid.description import load_robot
    from casid.files._write import write_files
    from casid.measurement import read_dataset
    from casid.measurement._checks import check_against
    from casid.measurement.importing import propose
    from casid.report import report_of

    path = log.with_suffix(".toml") if out is None else out
    if path.suffix != ".toml" or path.parent.resolve() != log.parent.resolve():
        raise DatasetError(f"'{path}': the description is a .toml in the folder of the log")
    if path.exists() and not overwrite:
        raise DatasetError(f"'{path}' exists; choose another name (--out), or --overwrite it")
    owner = load_robot(robot)
    found = propose(log, owner, given.answers())
    if found.questions and sys.stdin.isatty():
        present(report_of(found))
        for question in found.questions:
            given = _asked(given, question)
        found = propose(log, owner, given.answers())
    present(report_of(found))
    if found.questions:
        console().print("\n".join(f"Open: {one.text}  ({one.option})" for one in found.questions), highlight=False)
        raise typer.Exit(2)
    announce_written(path.parent, write_files(path.parent, {path.name: found.toml()}))
    data = check_against(read_dataset(path), owner)
    for note in data.notes:
        typer.echo(f"note: {note}", err=True)
    typer.echo(f"{data!r}\nNext: casid identify {robot} {path} --out result")


def _asked(given: Answered, question: Question) -> Answered:
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
    return replace(given, sampling_rate=float(answer)) if name == "sampling_rate" else replace(given, **{name: answer})


def _pair(text: str) -> tuple[str, str]:
    signal, sign, columns = text.partition("=")
    if not sign or signal not in ("t", "q", "dq", "tau"):
        raise DatasetError(f"--columns: expected SIGNAL=COLUMNS with t, q, dq or tau, got '{text}'")
    return signal, columns


def _whole(word: str) -> int:
    if not word.isdigit() or int(word) < 1:
        raise DatasetError(f"--reversed: expected numbers of joints from 1, or none, got '{word}'")
    return int(word)
