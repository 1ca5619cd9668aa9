"""CSV, JSON and TOML as plain values: nothing that is not finite, no key twice, all digits.

Tables of CSV have a header and any usual delimiter.
"""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from casid.errors import CasidError, ExportError
from casid.files._read import read_text
from casid.files._words import reason, shown

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

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


def read_json(path: str | Path, what: str, error: type[CasidError]) -> Any:
    """Content of a JSON file; see `parse_json`."""
    return parse_json(read_text(path, what, error), f"{what} '{path}'", error)


def parse_json(text: str | bytes, where: str, error: type[CasidError]) -> Any:
    """Plain values of a JSON text.

    Raises
    ------
    CasidError
        Of the class ``error``: not JSON, nested too deeply, a number that is not finite, a key that is given twice.
    """
    try:
        return json.loads(text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_unique)
    except (ValueError, RecursionError, MemoryError) as problem:
        raise error(f"cannot read {where}: not valid JSON: {reason(problem)}") from None


def finite_number(value: object, where: str, error: type[CasidError]) -> float:
    """A finite number, from an int or a float and nothing else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise error(f"{where}: expected a number, got {shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise error(f"{where}: must be a finite number, got {shown(value)}")
    return number


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {shown(text)} is too large")
    return number


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"key {shown(twice)} is given twice")
    return found


def json_bytes(record: Mapping[str, Any], indent: int | None = 2) -> bytes:
    """JSON of a record with numpy values in it; one line without an ``indent``.

    Raises
    ------
    ExportError
        If a number is NaN or infinite; the message names its place. ``None`` stands for what is not known.
    """
    return json.dumps(plain(record, ""), indent=indent, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def open_end(value: float) -> float | None:
    """A quantity that may be open, for a record: null where it is infinite; NaN stays and is refused by `plain`."""
    return None if np.isinf(value) else float(value)


def plain(value: Any, where: str) -> Any:
    """Plain Python in place of numpy, mappings and tuples; refuses numbers that are not finite."""
    if isinstance(value, Mapping):
        return {str(key): plain(item, f"{where}.{key}".lstrip(".")) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item, f"{where}[{k}]") for k, item in enumerate(value)]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise ExportError(f"result '{where}' is {value}: it is not written; the solve it comes from cannot be trusted")
    return value


#: Largest TOML file [bytes], and most parts of a dotted key or levels of brackets: parsers take quadratic time in them.
_LIMIT, _DEPTH = 8 * 2**20, 100
_BREAKS = str.maketrans(dict.fromkeys(",={}[]\"'#", "\n") | dict.fromkeys(" \t"))


def read_toml(path: str | Path, what: str, error: type[CasidError]) -> dict[str, Any]:
    """Content of a TOML file; see `parse_toml`."""
    return parse_toml(read_text(path, what, error, _LIMIT), Path(path).name, error)


def parse_toml(text: str, where: str, error: type[CasidError]) -> dict[str, Any]:
    """Plain values of a TOML text; ``where`` names its file.

    Raises
    ------
    CasidError
        Of the class ``error`` if it is not TOML, or keys or brackets are nested more than 100 deep.
    """
    dotted = max((word.count(".") for word in text.translate(_BREAKS).split("\n") if len(word) > _DEPTH), default=0)
    if dotted > _DEPTH or "[" * _DEPTH in text or text.count('".') + text.count("'.") > 100 * _DEPTH:
        raise error(f"{where}: not valid TOML: keys or arrays are nested more than {_DEPTH} deep")
    try:
        values: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError, MemoryError, OverflowError, TypeError) as problem:
        raise error(f"{where}: not valid TOML: {reason(problem)}") from None
    return values
