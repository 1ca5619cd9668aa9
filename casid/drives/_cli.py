"""``identify`` for recordings that have commands and encoders and no torques."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from casid.cli.shared import announce_written, note, present, say, shown
from casid.errors import DatasetError

if TYPE_CHECKING:
    from casid.description import Robot
    from casid.drives import CommandRecording, Servo


def from_commands(robot: Robot, recordings: Sequence[Path]) -> Sequence[tuple[Path, Mapping[str, Any] | None]] | None:
    """Recordings that are identified by simulation and how each is read (None: as it is); None where they are not.

    Raises
    ------
    DatasetError
        If some are and others are not, or what a log holds is left open.
    """
    from casid.measurement import command_settings, described_files, has_commands_only

    found: dict[Path, Mapping[str, Any] | None] = {}
    for path in recordings:
        known = has_commands_only(path)
        settings = None if known is False or (known and _readable(path, robot)) else command_settings(path, robot)
        if known or settings is not None:
            found[path] = settings
    if found and len(found) < len(recordings):
        other = next(path for path in recordings if path not in found)
        raise DatasetError(f"{next(iter(found)).name} has commands and no torques, {other.name} has torques, or is not "
                           "understood: identify them apart")  # fmt: skip
    return [
        (path, settings if file is None else {"file": file})
        for path, settings in found.items()
        for file in described_files(path)
    ] or None


def reader(settings: Mapping[str, Any]) -> Callable[[Path, Robot], CommandRecording] | None:
    """What reads a recording with these settings; None where it is of another kind."""
    from casid.drives import read_commands

    return read_commands if "q_des" in settings.get("columns", {}) else None


def _readable(path: Path, robot: Robot) -> bool:
    """Whether a recording reads as its names and its TOML say."""
    from casid.drives import read_commands

    try:
        read_commands(path, robot)
    except DatasetError:
        return False
    return True


def _described(recordings: Sequence[Path]) -> Servo | None:
    """The servo as TOMLs of recordings describe it; None where none does."""
    from casid.drives import Servo
    from casid.drives._servo import servo_from
    from casid.files import read_toml

    made = {path.name: servo_from(read_toml(path, "recording", DatasetError), path.name)
            for path in recordings if path.suffix == ".toml"}  # fmt: skip
    if len(set(map(repr, made.values()))) > 1:
        raise DatasetError(f"{', '.join(made)} describe the servos differently; say it alike in all of them")
    return next((one for one in made.values() if one != Servo()), None)


def identify_commands(
    robot: Robot, recordings: Sequence[tuple[Path, Mapping[str, Any] | None]], files: Sequence[Path],
    folder: Path | None, actuators: Sequence[Path] = (), profile: Sequence[str] = (),
) -> None:  # fmt: skip
    """Identify a robot by simulation, print the report, write files of the robot and of its servos.

    Raises
    ------
    DatasetError
        If recordings describe their servos differently.
    """
    from casid.description import write_robot
    from casid.drives import identify_from_commands, read_commands, write_actuators
    from casid.drives._actuators import format_of
    from casid.drives._mjcf import identified_robot
    from casid.report import report_of

    for path in actuators:
        format_of(path)
    with shown("reading") as progress:
        data = [read_commands(path, robot, settings) for path, settings in recordings]
        servo = _described([path for path, _ in recordings])
        result = identify_from_commands(robot, data, servo, progress=progress, profile=profile)
    present(report_of(result), folder)
    for path in (*files, *actuators):
        if path in actuators or path.suffix in (".xml", ".mjcf"):
            notes = write_actuators(result, path)[1]
        else:
            notes = write_robot(identified_robot(result), path).notes
        note(*notes)
        typer.echo(f"Written to {path.parent}: {path.name}")


def excite_commands(
    robot: Robot, recording: Path, duration: float, share: float, iterations: int, seed: int, folder: Path | None,
    rate: float,
) -> None:  # fmt: skip
    """Design position commands for the servos of a recording, print the deviations to be expected, write them."""
    from casid.drives import design_commands, identify_from_commands, read_commands
    from casid.excitation import MotionLimits
    from casid.files import write_files
    from casid.motion import trajectory_text

    limits = MotionLimits.of_robot(robot, share)
    with shown("reading") as progress:
        data = [read_commands(recording, robot)]
        found = identify_from_commands(robot, data, _described([recording]), progress=progress)
        design = design_commands(
            found.runs, found.theta, limits, duration=duration, iterations=iterations, seed=seed,
            progress=lambda done, total, value: progress(f"commands: {100 * value:.3g} %", done, total),
        )  # fmt: skip
    say(f"{design.evaluations} motions tried; expected standard deviation of the worst parameter, "
        f"{design.worst}: {100 * design.value:.3g} % (first motion {100 * design.first:.3g} %)")  # fmt: skip
    if folder is not None:
        texts = {f"commands.{form}": trajectory_text(design.trajectory, form, rate) for form in ("toml", "csv")}
        announce_written(folder, write_files(folder, texts))
