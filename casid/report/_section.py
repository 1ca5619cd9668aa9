"""The contract of reports: a section shows one subject of a result in every form, a report lists sections."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from math import isfinite
from pathlib import Path
from typing import Any, Generic, TypeVar

from rich.table import Table

from casid._annexes import register_reports
from casid.errors import CasidError, CasidWarning
from casid.files import json_bytes, near, prepare_directory, reason, write_files
from casid.report._style import Axes, Figure, png_bytes, with_pyplot
from casid.report._tables import html_of
from casid.report.viewer import Page

T = TypeVar("T")


class ReportSection:
    """One subject of a result: its tables, entries of the JSON file, other files, pictures, and part of a page.

    A section overrides the forms that its subject has; by default it has none of them.
    """

    def tables(self) -> Sequence[Table]:
        """Tables for the terminal and for notebooks."""
        return ()

    def record(self) -> Mapping[str, Any]:
        """Entries of the report's JSON file, in SI units."""
        return {}

    def files(self) -> Mapping[str, bytes]:
        """Content of further files by name."""
        return {}

    def pictures(self) -> Mapping[str, Callable[..., Figure]]:
        """Functions that draw a picture each, by name; their options are keywords with defaults."""
        return {}

    def figures(self) -> Mapping[str, Figure]:
        """Pictures that are written, by the name of the file without ``.png``; default: each of `pictures` once."""
        return {name: draw() for name, draw in self.pictures().items()}

    def show(self, page: Page, drawn: Mapping[str, bytes]) -> None:
        """Add the subject to a page; ``drawn`` holds the written pictures as PNG, by file name. Default: all of it."""
        for name in self.pictures():
            page.image(drawn.get(f"{name}.png"))
        page.table(*self.tables(), titled=True)


class SectionOf(ReportSection, Generic[T]):
    """A section about one result, or one part of it."""

    def __init__(self, result: T) -> None:
        self.result = result


@dataclass(frozen=True)
class Report:
    """What is shown and written of one result.

    Attributes
    ----------
    title : str
        Title of the page.
    sections : tuple of ReportSection
        In the order in which they are shown.
    json : str
        Name of the JSON file that holds all records; empty: none is written.
    page : str
        Name of the HTML page; empty: none is written.
    lead : str
        First line of the page.
    folders : mapping
        Further reports whose files are written to sub-folders, by the folder's name.
    """

    title: str
    sections: tuple[ReportSection, ...]
    json: str = ""
    page: str = ""
    lead: str = ""
    folders: Mapping[str, Report] = field(default_factory=dict)

    def tables(self) -> list[Table]:
        """Tables of all sections."""
        return [table for section in self.sections for table in section.tables()]

    def record(self) -> dict[str, Any]:
        """Content of the JSON file."""
        return {key: value for section in self.sections for key, value in section.record().items()}

    def figures(self) -> dict[str, Figure]:
        """Pictures of all sections by name."""
        return {name: figure for section in self.sections for name, figure in section.figures().items()}

    def files(self, progress: Callable[[int, int], None] = lambda done, of: None) -> dict[str, bytes]:
        """Content of all files by name.

        Parameters
        ----------
        progress
            Called with how many of all sections are drawn.

        Warns
        -----
        CasidWarning
            For each picture that cannot be drawn, with the reason; the other files are complete.
        """
        contents = {self.json: json_bytes(self.record())} if self.json else {}
        drawn: dict[str, bytes] = {}
        for number, section in enumerate(self.sections):
            progress(number, len(self.sections))
            contents |= section.files()
            drawn |= pictures(section.figures)
        contents |= drawn
        for name, report in self.folders.items():
            contents |= {f"{name}/{file}": content for file, content in report.files().items()}
        return contents | {self.page: self.html(drawn).encode()} if self.page else contents

    def write(self, folder: str | Path, progress: Callable[[int, int], None] = lambda done, of: None) -> list[Path]:
        """Write all files: every one of them or none.

        Parameters
        ----------
        folder
            Made if it does not exist.
        progress
            Called with how many of all sections are drawn.

        Raises
        ------
        ExportError
            If a file cannot be written or a number is not finite; then no file has changed.
        """
        return write_files(prepare_directory(folder), self.files(progress))

    def html(self, drawn: Mapping[str, bytes] | None = None) -> str:
        """One self-contained HTML page: robots to turn, curves to zoom, tables to sort.

        Parameters
        ----------
        drawn
            Pictures as PNG by file name; default: they are drawn now.
        """
        page = Page(self.title, self.lead)
        drawn = pictures(self.figures) if drawn is None else drawn
        for section in self.sections:
            section.show(page, drawn)
        return page.html()

    def fragment(self) -> str:
        """All tables as a piece of HTML, for notebooks."""
        return "".join(html_of(table) for table in self.tables())

    def plot(self, picture: str, **options: Any) -> tuple[Axes, ...]:
        """Draw one picture with pyplot; its axes, whose ``figure`` may be changed and saved.

        Raises
        ------
        CasidError
            If no section has such a picture, or the result does not hold what it shows.
        """
        known = {name: draw for section in self.sections for name, draw in section.pictures().items()}
        if picture not in known:
            hint = near(picture, known)
            raise CasidError(f"'{self.title}' has no picture '{picture}'{hint}; it has {', '.join(known) or 'none'}")
        with with_pyplot():
            return tuple(known[picture](**options).axes)


def picked(thing: object, *names: str) -> dict[str, Any]:
    """Attributes as entries of a record, by name; None for a number that is not finite."""
    values = {name: getattr(thing, name) for name in names}
    return {name: None if isinstance(v, float) and not isfinite(v) else v for name, v in values.items()}


@singledispatch
def report_of(result: Any, **context: Any) -> Report:
    """Report of a result of any kind; ``report_of.register(Kind)`` adds a kind.

    Parameters
    ----------
    result
        E.g. a `Solution`, `Study`, `Intervals`, `Identification`, `Prediction`, `Payload`, `Gains`, `Design`,
        `Simulation`, `Robot`, `Problem`.
    context
        What the result itself does not hold, by kind: ``verbose`` and ``choice`` of a solution, ``joints`` (names) of
        a prediction and of gains, ``frame`` and ``placement`` of a payload, ``robot``, ``designer`` and ``rate`` of a
        design, ``name`` of a checked file.

    Raises
    ------
    CasidError
        If no report is registered for results of this kind.
    """
    if register_reports(type(result)) and report_of.dispatch(type(result)) is not report_of.dispatch(object):
        return report_of(result, **context)
    raise CasidError(f"there is no report of a {type(result).__name__}; add one with report_of.register")


def html(result: Any) -> str:
    """Tables of a result as HTML, see `casid.display.Drawer`."""
    return report_of(result).fragment()


def plot(result: Any, picture: str, **options: Any) -> tuple[Axes, ...]:
    """Picture of a result, see `casid.display.Drawer`."""
    return report_of(result).plot(picture, **options)


def pictures(make: Callable[[], Mapping[str, Figure]]) -> dict[str, bytes]:
    """Content of PNG files by name; pictures that cannot be drawn are left out.

    Parameters
    ----------
    make
        Makes the figures, by name without ``.png``.

    Warns
    -----
    CasidWarning
        For each picture that cannot be drawn, with the reason.
    """
    drawn: dict[str, bytes] = {}
    try:
        figures = make()
    except Exception as error:  # matplotlib's errors are of many types
        _warn_not_drawn("the pictures", error)
        return drawn
    for name, figure in figures.items():
        try:
            drawn[f"{name}.png"] = png_bytes(figure)
        except Exception as error:  # as above
            _warn_not_drawn(f"{name}.png", error)
    return drawn


def _warn_not_drawn(what: str, error: Exception) -> None:
    warnings.warn(
        f"{what} could not be drawn; all other files are written: {reason(error)}", CasidWarning, stacklevel=4
    )
