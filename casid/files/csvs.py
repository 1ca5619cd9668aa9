"""CSV: tables with a header, any usual delimiter; written with all digits."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from casid.errors import CasidError
from casid.files.jsons import plain
from casid.files.words import reason

#: Longest column name, and most columns.
_NAME, _COLUMNS = 200, 10_000
#: What separates cells, where the first line has it; else blanks.
_DELIMITERS = (",", ";", "\t", "|")


@dataclass(frozen=True)
class CsvTable:
    """Header and lines of a CSV text.

    Attributes
    ----------
    header : tuple of str
        Cells of the first line, blanks stripped.
    delimiter : str
        What separates cells: a comma, semicolon, tab, bar, or blanks.
    body : str
        Everything after the first line.
    """

    header: tuple[str, ...]
    delimiter: str
    body: str

    def rows(self, where: str, error: type[CasidError]) -> list[list[str]]:
        """Cells of all lines below the header, blank lines and comments (#) left out; as many cells as the header."""
        lines = (line for line in self.body.splitlines() if line.strip() and not line.startswith("#"))
        if self.delimiter == " ":
            rows = [line.split() for line in lines]
        else:
            try:
                rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=self.delimiter)]
            except csv.Error as problem:
                raise error(f"{where}: not valid CSV: {reason(problem)}") from None
        for number, row in enumerate(rows, start=1):
            if len(row) != len(self.header):
                raise error(f"{where}: row {number} has {len(row)} cells, the header names {len(self.header)} columns")
        return rows


def csv_table(text: str, where: str, error: type[CasidError]) -> CsvTable:
    """Header and lines of a CSV text; the delimiter is found from the first line.

    Raises
    ------
    CasidError
        Of the class ``error`` if there is no first line, or it cannot be a header.
    """
    lines = text.lstrip("\r\n")
    first, _, body = lines.replace("\r\n", "\n").replace("\r", "\n").partition("\n")
    if not first.strip():
        raise error(f"{where}: is empty")
    delimiter = max(_DELIMITERS, key=first.count)
    if not first.count(delimiter):
        delimiter = " " if len(first.split()) > 1 else ","
    try:
        cells = first.split() if delimiter == " " else next(csv.reader([first], delimiter=delimiter), [])
    except csv.Error as problem:
        raise error(f"{where}: not valid CSV: {reason(problem)}") from None
    header = tuple(cell.strip() for cell in cells)
    if len(header) > _COLUMNS or any(len(name) > _NAME for name in header):
        raise error(f"{where}: the first line must name the columns, at most {_COLUMNS} names of {_NAME} characters")
    return CsvTable(header, delimiter, body)


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """CSV with a header; numbers with all their digits.

    Raises
    ------
    ExportError
        If a number is NaN or infinite; the message names its column and row.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    for k, row in enumerate(rows):
        cells = zip(header, row, strict=True)
        writer.writerow([plain(value, f"row {k + 1}, column '{name}'") for name, value in cells])
    return buffer.getvalue().encode()
