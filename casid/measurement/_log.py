"""A log of any layout as a recording, where the robot's dynamics leave nothing open."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from casid.description import Robot
from casid.errors import DatasetError
from casid.measurement._dataset import Dataset
from casid.measurement._proposal import Answers, Proposal
from casid.measurement._proposing import propose
from casid.measurement._readers import read_dataset

#: What a note says of a proposal, where it says it.
_NOTED = ("positions", "torques", "time", "angles", "unit of torques")


def read_log(path: str | Path, robot: Robot, **options: Any) -> Dataset:
    """A recording as `read_dataset` reads it, or else as `propose` finds it to be read without a question.

    Parameters
    ----------
    path
        The file.
    robot
        Its joints, limits and dynamics are the measure of what is found.
    options
        Of `read_dataset`. Where they name columns, nothing is looked for.

    Returns
    -------
    Dataset
        Its notes say what was found.

    Raises
    ------
    DatasetError
        Why the file cannot be read as it is, with what is open where that is all that is missing.
    """
    path, options = Path(path), {name: value for name, value in options.items() if value is not None}
    try:
        return read_dataset(path, **options)
    except DatasetError as error:
        if path.suffix == ".toml" or not path.exists() or "columns" in options:
            raise
        reason = str(error)
    try:
        found = propose(path, robot, Answers(rate=options.get("rate_without_time")))
    except DatasetError:
        raise DatasetError(reason) from None
    _check_closed(found)
    data = read_dataset(path, **{**found.settings, **options})
    guesses = "; ".join(f"{what}: {guess}" for what, guess, _ in found.evidence if what in _NOTED)
    note = f"{path.name} is read as its names and the robot's dynamics say ({guesses}); `casid import` writes it down"
    return replace(data, notes=(*data.notes, note))


def command_settings(path: str | Path, robot: Robot) -> dict[str, Any] | None:
    """How a log without torques whose names are not understood is read, as `read_commands` takes it.

    Returns
    -------
    dict or None
        None where it is no such log, or no table at all.

    Raises
    ------
    DatasetError
        If it is one and something is left open.
    """
    path = Path(path)
    if path.suffix == ".toml" or not path.exists():
        return None
    try:
        found = propose(path, robot)
    except DatasetError:
        return None
    if "q_des" not in found.settings.get("columns", {}):
        return None
    _check_closed(found)
    return dict(found.settings)


def _check_closed(found: Proposal) -> None:
    """Refuse a log that leaves something open, by the first question."""
    for question in found.questions[:1]:
        raise DatasetError(
            f"{found.path.name}: `casid import {found.path} ROBOT` finds how to read it; open is: {question.text} "
            f"({question.option})"
        )
