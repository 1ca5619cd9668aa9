"""Formats of recordings: each turns a file into named arrays. A new format is one more class in `FORMATS`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np

from casid.errors import DatasetError
from casid.files._read import data_limit, decode, gunzip, matlab_arrays, npz_arrays, read_bytes
from casid.files._texts import CsvTable, csv_table
from casid.files._words import reason, shown
from casid.measurement._columns import Columns, group_columns
from casid.measurement._dataset import Array
from casid.measurement._learning_files import LeRobot, TorchFile
from casid.measurement._rosbag import read_joint_states
from casid.measurement._text import TextLayout, read_cells

_WHAT = "recording"


class RecordingFormat(Protocol):
    """How files of one kind are read."""

    #: How a message names it, e.g. ``.npz``.
    name: str

    def accepts(self, path: Path) -> bool:
        """Whether a path looks like this format."""

    def read(self, path: Path, topic: str | None) -> Columns:
        """Arrays of the file; `DatasetError` if it cannot be read."""


class Npz:
    """NumPy archives."""

    name = ".npz"

    def accepts(self, path: Path) -> bool:
        """By the ending."""
        return path.suffix == ".npz"

    def read(self, path: Path, topic: str | None) -> Columns:
        """All arrays of the archive."""
        content = read_bytes(path, _WHAT, DatasetError, data_limit())
        return Columns(npz_arrays(content, str(path), _WHAT, DatasetError))


class Mat:
    """MATLAB files up to version 7.2."""

    name = ".mat"

    def accepts(self, path: Path) -> bool:
        """By the ending."""
        return path.suffix == ".mat"

    def read(self, path: Path, topic: str | None) -> Columns:
        """All numeric variables."""
        content = read_bytes(path, _WHAT, DatasetError, data_limit())
        return Columns(matlab_arrays(content, str(path), _WHAT, DatasetError))


class Csv:
    """Text with a line of column names, separated by commas, semicolons, tabs, bars or blanks; may be gzipped."""

    name = ".csv, .csv.gz"

    def accepts(self, path: Path) -> bool:
        """By the ending."""
        return path.suffix in (".csv", ".tsv") or path.name.endswith((".csv.gz", ".tsv.gz"))

    def read(self, path: Path, topic: str | None) -> Columns:
        """Columns, those of one signal gathered."""
        content = text_content(path)
        table = csv_table(decode(content, str(path), _WHAT, DatasetError), path.name, DatasetError)
        del content
        header = table.header
        if all(_is_number(word) for word in header):
            raise DatasetError(f"{path.name}: the first line must name the columns, e.g. t,q1,...,dq1,...,tau1,...")
        numbers = _numbers(table, path.name)
        return replace(group_columns(header, numbers, path.name), cells=tuple(zip(header, numbers.T, strict=True)))


class Bag:
    """rosbag2 folders and files, MCAP."""

    name = ".mcap, .db3 or a rosbag2 folder"

    def accepts(self, path: Path) -> bool:
        """By the ending; every folder counts as a bag."""
        try:
            return path.is_dir() or path.suffix in (".mcap", ".db3")
        except OSError:  # a name too long for the file system: the reader of files reports it
            return False

    def read(self, path: Path, topic: str | None) -> Columns:
        """Joint states of one topic."""
        arrays, joints = read_joint_states(path, topic)
        return Columns(arrays, {name: joints for name in arrays if name != "t"})


#: Formats in the order in which they are tried.
FORMATS: tuple[RecordingFormat, ...] = (Npz(), Csv(), Mat(), TorchFile(), LeRobot(), Bag())


def read_columns(path: Path, topic: str | None, layout: TextLayout | None = None, *, whole: bool = True) -> Columns:
    """Arrays of a recording of any format.

    Parameters
    ----------
    layout
        Of a text table with any ending that differs from a plain csv.
    whole
        Gather the columns of such a table by signal; not needed where every one is named.

    Raises
    ------
    DatasetError
        If the file is of no known format, or it cannot be read.
    """
    if layout is not None:
        cells, notes = read_cells(text_content(path), layout, path.name)
        numeric = [(name, value) for name, value in cells if value.dtype.kind == "f"]
        if not whole or not numeric:
            return Columns({}, cells=cells, notes=notes)
        table = group_columns([name for name, _ in numeric], np.column_stack([v for _, v in numeric]), path.name)
        return replace(table, cells=cells, notes=notes)
    for one in FORMATS:
        if one.accepts(path):
            return one.read(path, topic)
    raise DatasetError(f"'{path.name}': recordings are {', '.join(one.name for one in FORMATS)}, or a .toml about one")


def text_content(path: Path) -> bytes:
    """Bytes of a text table, unpacked."""
    content = read_bytes(path, _WHAT, DatasetError, data_limit())
    return gunzip(content, str(path), _WHAT, DatasetError) if path.suffix == ".gz" else content


def _numbers(table: CsvTable, where: str) -> Array:
    """All cells below the header as numbers."""
    decimal_comma = table.delimiter == ";" and "," in table.body
    lines = _lines(table.body.replace(",", ".") if decimal_comma else table.body)
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), None)
    if first is None:
        raise DatasetError(f"{where}: it has a header and no samples")
    cells = first.split(None if table.delimiter == " " else table.delimiter)
    if len(cells) != len(table.header):
        hint = ""
        if table.delimiter == "," and len(cells) > len(table.header):
            hint = "; are these decimal commas? Separate the cells by semicolons then, or write decimal points"
        raise DatasetError(f"{where}: {len(table.header)} column names for {len(cells)} columns{hint}")
    delimiter = None if table.delimiter == " " else table.delimiter
    try:
        return np.loadtxt(_chain(first, lines), delimiter=delimiter, ndmin=2)
    except (ValueError, OverflowError, MemoryError) as error:
        raise DatasetError(f"{where}: {_spoilt(table, decimal_comma) or reason(error)}") from None


def _spoilt(table: CsvTable, decimal_comma: bool) -> str:
    """Which line is no row of numbers, and why; rows are counted from 1 below the header, comments and blanks aside."""
    row = 0
    for line in _lines(table.body):
        content = line.partition("#")[0]
        if not content.strip():
            continue
        row += 1
        cells = content.split(None if table.delimiter == " " else table.delimiter)
        if len(cells) != len(table.header):
            return f"row {row} below the header has {len(cells)} cells, the header names {len(table.header)} columns"
        for name, cell in zip(table.header, cells, strict=True):
            number = cell.strip().replace(",", ".") if decimal_comma else cell.strip()
            if not _is_number(number):
                what = f"is no number: {shown(number)}" if number else "is empty"
                return f"row {row} below the header, column '{name}' {what}"
    return ""


def _lines(text: str) -> Iterator[str]:
    """Lines of a long text, one at a time."""
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield text[start:end]
        start = end + 1


def _chain(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
