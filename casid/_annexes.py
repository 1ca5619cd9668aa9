"""The annexes: rooms that nothing in the core imports; what each of them adds to the core stands here, by name.

A new annex is a room of the package and one entry of `ANNEXES`. ``module:function`` is imported at its first use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Command:
    """A command of ``casid``.

    Attributes
    ----------
    function : str
        ``module:function``, as typer takes it.
    panel, help : str
        Panel of the list of commands, and its line there: the first of the function's docstring.
    """

    function: str
    panel: str
    help: str


@dataclass(frozen=True)
class Annex:
    """A room that the core knows by its name only.

    Attributes
    ----------
    name : str
        The room is ``casid.<name>``.
    commands : mapping of str to Command
        By the name that a user types.
    reports : str
        Module that registers the reports of the room's results (`casid.report.report_of`).
    formats : mapping of str to str
        What ``casid export`` writes beside folders of C code, by the name of the option: ``module:function``.
    files : str
        Module whose ``FORMATS`` are further kinds of files of recordings (``accepts`` and ``read``).
    recordings : str
        Module of a kind of recordings that ``identify``, ``excite`` and ``import`` take: functions ``from_commands``,
        ``identify_commands``, ``excite_commands`` and ``reader``, see `casid.drives._cli`.
    """

    name: str
    commands: Mapping[str, Command] = field(default_factory=dict)
    reports: str = ""
    formats: Mapping[str, str] = field(default_factory=dict)
    files: str = ""
    recordings: str = ""


ANNEXES = (
    Annex(
        "loads",
        commands={
            "payload": Command(
                "casid.loads._cli:payload",
                "Daily work",
                "Identify a load on the last link: mass, centre of mass, inertia, and the values for the controller.",
            ),
            "gains": Command(
                "casid.loads._cli:gains",
                "Further analysis",
                "Calibrate the drives' gains with a load of known mass.",
            ),
        },
        reports="casid.loads._report",
    ),
    Annex("online", formats={"online": "casid.online._cli:write"}),
    Annex("ros2", formats={"ros2": "casid.ros2:export_ros2"}),
    Annex("fmu", formats={"fmu": "casid.fmu:export_fmu"}),
    Annex("drives", reports="casid.drives._report", recordings="casid.drives._cli"),
    Annex("learning", files="casid.learning._files"),
    Annex("teaching"),
    Annex("testing"),
)


def loaded(reference: str) -> Any:
    """What ``module:function``, or a module, names."""
    module, _, name = reference.partition(":")
    found = import_module(module)
    return getattr(found, name) if name else found


def commands() -> dict[str, Command]:
    """Commands of all annexes by name."""
    return {name: command for annex in ANNEXES for name, command in annex.commands.items()}


def writer(format: str) -> Any:
    """Function that writes a format beside C code."""
    return loaded(next(annex.formats[format] for annex in ANNEXES if format in annex.formats))


def files() -> list[Any]:
    """Further kinds of files of recordings."""
    return [form for annex in ANNEXES if annex.files for form in loaded(annex.files).FORMATS]


def recordings() -> list[Any]:
    """Modules of further kinds of recordings."""
    return [loaded(annex.recordings) for annex in ANNEXES if annex.recordings]


def register_reports(kind: type) -> bool:
    """Register the reports of the annex that a class is of; whether there are any."""
    room = kind.__module__.split(".")[1:2]
    found = next((annex for annex in ANNEXES if [annex.name] == room and annex.reports), None)
    if found is not None:
        loaded(found.reports)
    return found is not None
