"""Text tables as controllers write them: any encoding, separator and decimal mark, preambles, several header lines.

`find_layout` finds how one file is laid out (`TextLayout`), with evidence; `read_cells` reads it.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from casid.errors import DatasetError
from casid.files import reason, shown
from casid.measurement._defects import MOST_LOST
from casid.measurement._names import meaning, unit_cells

#: One column: its name, and numbers or, where a cell is none, the cells as text.
Cells = tuple[tuple[str, NDArray[Any]], ...]
#: What begins a comment.
COMMENTS = ("#", "%", "//")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+,\d+")
_CLOCK = re.compile(r"(?:^|[T\s])(\d{1,2}):(\d{2})(?::(\d{2}(?:[.,]\d+)?))?\s*([AaPp][Mm])?")


@dataclass(frozen=True)
class TextLayout:
    """How a text table is laid out.

    Attributes
    ----------
    encoding : str
        A codec of Python, e.g. ``"utf-8-sig"``, ``"cp1252"``, ``"utf-16"``.
    separator : str
        Between cells: one character, or a blank for any number of blanks.
    decimal : str
        Decimal mark, a point or a comma.
    header : tuple of int
        Lines that name the columns, counted from 1; their words are joined. Empty: columns are called ``column 1`` ...
    first : int, optional
        First line of numbers; by default the one below the header.
    """

    encoding: str = "utf-8-sig"
    separator: str = ","
    decimal: str = "."
    header: tuple[int, ...] = (1,)
    first: int | None = None

    def __post_init__(self) -> None:
        try:
            codecs.lookup(self.encoding)
        except (LookupError, ValueError):
            raise DatasetError(f"text.encoding: {shown(self.encoding)} is no encoding that Python knows") from None
        if len(self.separator) != 1 or self.separator in '"\r\n' or self.separator == self.decimal == ".":
            raise DatasetError(f"text.separator: expected one character, got {shown(self.separator)}")
        if self.decimal not in (".", ","):
            raise DatasetError(f'text.decimal: expected "." or ",", got {shown(self.decimal)}')
        lines = (*self.header, *(() if self.first is None else (self.first,)))
        if not all(type(k) is int and k > 0 for k in lines) or list(lines) != sorted(set(lines)):
            raise DatasetError(
                f"text.header, text.first: expected ascending numbers of lines from 1, got {shown(lines)}"
            )

    @classmethod
    def of(cls, given: Mapping[str, Any], where: str) -> TextLayout:
        """From the table ``text`` of a recording's TOML.

        Raises
        ------
        DatasetError
            Naming the key that is not known or of another kind.
        """
        kinds: dict[str, Any] = {
            "encoding": str,
            "separator": str,
            "decimal": str,
            "header": (list, tuple),
            "first": int,
        }
        for key, value in given.items():
            if key not in kinds or not isinstance(value, kinds[key]):
                raise DatasetError(f"{where}: text.{key}: expected {', '.join(kinds)}, got {shown(value)}")
        settings: dict[str, Any] = {key: tuple(value) if key == "header" else value for key, value in given.items()}
        return cls(**settings)


def text_lines(content: bytes, encoding: str, where: str) -> list[str]:
    """Lines of a text.

    Raises
    ------
    DatasetError
        If the bytes are no text in this encoding.
    """
    try:
        return content.decode(encoding).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    except (UnicodeError, LookupError) as problem:
        raise DatasetError(f"{where}: it is no text in {encoding}: {reason(problem)}") from None


def split_line(line: str, separator: str) -> list[str]:
    """Cells of one line."""
    if separator == " ":
        return line.split()
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])]
    except csv.Error:
        return []


def joined_names(rows: Sequence[Sequence[str]], width: int) -> tuple[str, ...]:
    """Names of columns from one or several header lines; an empty cell above another line repeats the one before it."""
    filled = []
    for k, row in enumerate(rows):
        cells = [*row, *[""] * (width - len(row))][:width]
        for j in range(1, width):
            if not cells[j] and k < len(rows) - 1:
                cells[j] = cells[j - 1]
        filled.append(cells)
    names = (" ".join(filter(None, column)) for column in zip(*filled, strict=True)) if filled else [""] * width
    return tuple(name or f"column {k}" for k, name in enumerate(names, start=1))


def read_cells(content: bytes, layout: TextLayout, where: str) -> tuple[Cells, tuple[str, ...]]:
    """Columns of a text table by name, and notes on what was left out at its end.

    Raises
    ------
    DatasetError
        If there is no line of numbers, or one between others has another number of cells; it is named.
    """
    lines = text_lines(content, layout.encoding, where)
    first = layout.first or (layout.header[-1] + 1 if layout.header else 1)
    body = [(k, line) for k, line in enumerate(lines[first - 1 :], start=first) if _counts(line)]
    rows = [split_line(line, layout.separator) for _, line in body]
    if not rows:
        raise DatasetError(f"{where}: there are no numbers from line {first} on")
    width = len(rows[0])
    heads = [split_line(uncommented(lines[k - 1]), layout.separator) for k in layout.header if k <= len(lines)]
    if all(len(row) < width or not row[-1] for row in (*rows[: len(rows) // 2], *heads)):  # separators end the lines
        width = width - 1 if not rows[0][-1] else width
    end = len(rows)
    while end and not _fits(rows[end - 1], width):
        end -= 1
    torn = next((k for k in range(end) if not _fits(rows[k], width)), None)
    if torn is not None:
        raise DatasetError(
            f"{where}: line {body[torn][0]} has {len(rows[torn])} cells, line {body[0][0]} has {width}; mend or "
            "remove this line"
        )
    named = max((len(row) - (not row[-1]) for row in heads if row), default=width)
    if named > width or (named < width - 1 and len(heads) == 1):
        raise DatasetError(f"{where}: {named} column names for {width} columns")
    if named == width - 1 and len(heads) == 1:  # names of rows, as R writes them
        heads = [["row", *heads[0]]]
    names = joined_names(heads, width)
    notes = [] if end == len(rows) else [f"{where}: line {body[end][0]} and what follows is no row: left out"]
    columns = [[row[k] for row in rows[:end]] for k in range(width)]
    cells = tuple(zip(names, (_numbers(column, layout.decimal) for column in columns), strict=True))
    holes = [(k, np.flatnonzero(~np.isfinite(value))) for k, (_, value) in enumerate(cells) if value.dtype.kind == "f"]
    holes = [(k, off) for k, off in holes if 0 < len(off) < MOST_LOST * end]
    if holes:
        k, off = min(holes, key=lambda hole: int(hole[1][0]))
        row = int(off[0])
        count, place = sum(len(of) for _, of in holes), f"line {body[row][0]}, column {shown(names[k])}"
        notes.append(f"{where}: {count} cells hold no number, the first in {place}: {shown(columns[k][row])}")
    for k, (name, value) in enumerate(cells):  # columns of words
        wrong = [] if value.dtype.kind == "f" else [not is_number(cell, layout.decimal) for cell in columns[k]]
        if 2 * sum(wrong) < len(wrong):
            at, what = wrong.index(True), f"one of {sum(wrong)} cells that are no numbers: the column is not read"
            notes.append(f"{where}: line {body[at][0]}, column {shown(name)}: {shown(columns[k][at])}, {what}")
    return cells, tuple(notes)


def clock_seconds(cells: NDArray[Any], where: str) -> NDArray[np.float64]:
    """Seconds from the first of times of day such as ``2026-05-01T12:30:00.125``; midnight may lie between them.

    Raises
    ------
    DatasetError
        Naming the first cell that is no time; without any.
    """
    if not len(cells):
        raise DatasetError(f"{where}: no time of day: the column is empty")
    found = np.empty(len(cells))
    for k, cell in enumerate(cells):
        match = _CLOCK.search(str(cell))
        if match is None:
            raise DatasetError(f"{where}: sample {k} is {shown(str(cell))}: neither a number nor a time of day")
        hours, minutes, seconds, half = match.groups()
        hour = int(hours) % 12 + 12 * (half.lower() == "pm") if half else int(hours)
        found[k] = 3600.0 * hour + 60.0 * int(minutes) + float((seconds or "0").replace(",", "."))
    day = 24 * 3600.0
    found += day * np.concatenate([[0], np.cumsum(np.diff(found) < -day / 2)])
    elapsed: NDArray[np.float64] = np.round(found - found[0], 9)
    return elapsed


def uncommented(line: str) -> str:
    """A header line without the sign of a comment before it."""
    text = line.strip()
    for sign in COMMENTS:
        text = text[len(sign) :].lstrip() if text.startswith(sign) else text
    return text


def is_number(cell: str, decimal: str) -> bool:
    """Whether a cell is a finite number with this decimal mark."""
    return _NUMBERS[decimal].fullmatch(cell) is not None


_NUMBERS = {
    ".": re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eEdD][+-]?\d+)?"),
    ",": re.compile(r"[+-]?(\d+(,\d*)?|,\d+|\d{1,3}(\.\d{3})+,\d+)([eEdD][+-]?\d+)?"),
}


def _counts(line: str) -> bool:
    text = line.strip()
    return bool(text) and not text.startswith(COMMENTS)


def _fits(row: Sequence[str], width: int) -> bool:
    return len(row) == width or (len(row) == width + 1 and not row[-1])


def _numbers(column: list[str], decimal: str) -> NDArray[Any]:
    """Numbers, NaN for empty cells and the few that are none; the cells where more than `MOST_LOST` are none."""
    plain = column
    if decimal == ",":
        plain = [
            c.replace(".", "").replace(",", ".") if _THOUSANDS.fullmatch(c) else c.replace(",", ".") for c in column
        ]
    plain = [cell or "nan" for cell in plain] if any(column) else plain
    try:
        return np.array(plain, dtype=str).astype(np.float64)
    except ValueError:
        values = np.array([float(cell) if is_number(cell, ".") else np.nan for cell in plain])
        return values if np.isnan(values).mean() < MOST_LOST else np.array(column, dtype=str)


# ---------------------------------------------------------------------- finding the layout

#: Lines that are looked at, and fewest in a row that are a table.
_LOOKED, _RUN = 400, 5
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}
#: Two numbers that a wrong separator left together.
_TOGETHER = re.compile(r"\d\s*[;,\t|]\s*[-+]?\d")
#: A date or a time of day.
_TIME = re.compile(r"\d{1,4}[-./:]\d{1,2}[-./:]\d{1,4}.*")


def find_layout(content: bytes, where: str) -> tuple[TextLayout, tuple[tuple[str, str, str], ...]]:
    """Layout of a text table, and lines of evidence: what, the guess, why.

    Raises
    ------
    DatasetError
        If there is no table in the text, or it can be read in two ways.
    """
    encoding, why = _encoding(content)
    lines = text_lines(content, encoding, where)[:_LOOKED]
    if not any(line.strip() for line in lines):
        raise DatasetError(f"{where}: is empty")
    scores = {(s, d): _score(lines, s, d) for s in _SEPARATORS for d in ".," if (s, d) != (",", ",")}
    scores[(",", ",")] = _score([line for line in lines if '"' in line], ",", ",")  # quoted cells
    separator, decimal = max(scores, key=lambda pair: scores[pair][0])
    score, width, first = scores[separator, decimal]
    if score <= 0:
        raise DatasetError(
            f"{where}: no table of numbers found: fewer than {_RUN} lines in a row with as many cells, one a sample"
        )
    if (separator, decimal) == (",", ","):
        first = _score(lines, ",", ",")[2]
    header = _header(lines, first, separator, decimal, width)
    evidence = [
        ("encoding", encoding, why),
        ("cells", f"separated by {_SEPARATORS[separator]}", f"{width} cells a line from line {first} on"),
        ("decimal mark", {".": "point", ",": "comma"}[decimal], f"line {first}: {shown(lines[first - 1].strip())}"),
    ]
    for k in header:
        evidence.append((f"header, line {k}", "names of columns", shown(lines[k - 1].strip())))
    above = next((line for line in reversed(lines[: first - 1]) if line.strip()), "")
    named = len(split_line(uncommented(above), separator))
    if not header and any(_header(lines, k, separator, decimal, width) for k in range(2, first)):
        raise DatasetError(
            f"{where}: line {first - 1} has {named} cells, the lines from line {first} on have {width}: "
            f"{shown(above.strip())}"
        )
    if separator == "," and not header and 2 < named and width >= 2 * named - 2:
        raise DatasetError(
            f"{where}: {named} names for {width} cells, separated by commas: these seem to be decimal commas, which "
            "look like separators; export it with semicolons or tabs between cells, or with decimal points"
        )
    return TextLayout(encoding, separator, decimal, header, first), tuple(evidence)


def _encoding(content: bytes) -> tuple[str, str]:
    head = content[: 2**16]
    for mark, name in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if head.startswith(mark):
            return name, "byte order mark"
    for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        if len(head) > 20 and head[start::2].count(0) > len(head) / 4:
            return name, "every other byte is zero"
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as problem:
        byte = content[problem.start]
        try:
            return "cp1252", f"not UTF-8; byte 0x{byte:02x} is {content.decode('cp1252')[problem.start]!r} there"
        except UnicodeDecodeError:
            return "latin-1", f"not UTF-8 (byte 0x{byte:02x}), not cp1252"
    return "utf-8", "plain ASCII" if content.isascii() else "valid UTF-8"


def _score(lines: Sequence[str], separator: str, decimal: str) -> tuple[float, int, int]:
    """Numbers less torn cells of the largest table that this reading gives, its width and first line."""
    rows = [split_line(line, separator) if not line.strip().startswith(COMMENTS) else [] for line in lines]
    numeric = [sum(is_number(cell, decimal) for cell in row) for row in rows]
    timed = [n + any(_TIME.fullmatch(cell) for cell in row) for n, row in zip(numeric, rows, strict=True)]
    like = [len(row) if n >= 2 and 2 * n >= sum(map(bool, row)) else 0 for n, row in zip(timed, rows, strict=True)]
    widths = Counter(width for width in like if width)
    if not widths:
        return 0.0, 0, 0
    width = widths.most_common(1)[0][0]
    for k in range(len(rows)):
        if all(one == width for one in like[k : k + _RUN]) and len(like[k : k + _RUN]) == _RUN:
            cells = [cell for row in rows[k:] for cell in row if not is_number(cell, decimal)]
            torn = sum(bool(_TOGETHER.search(cell)) and not _TIME.fullmatch(cell) for cell in cells)
            good = sum(n for n, size in zip(numeric[k:], like[k:], strict=True) if size == width)
            while k and like[k - 1] == width and numeric[k - 1] >= numeric[k]:
                k -= 1
            return good - 3.0 * torn, width - (not any(row[-1] for row in rows[k : k + 50] if row)), k + 1
    return 0.0, 0, 0


def _header(lines: Sequence[str], first: int, separator: str, decimal: str, width: int) -> tuple[int, ...]:
    """Numbers of the lines above the table that name its columns."""
    found: list[tuple[int, list[str]]] = []
    for k in range(first - 1, 0, -1):
        cells = split_line(uncommented(lines[k - 1]), separator)
        if not cells or not any(any(c.isalnum() for c in cell) for cell in cells):
            continue  # empty, or a ruler
        least = max(2, width // 2) if found else width - 1  # names of groups may end early
        if least <= len(cells) <= width + 1 and sum(is_number(cell, decimal) for cell in cells) <= len(cells) / 2:
            found.append((k, cells))
        else:
            break
    if not found:
        return ()
    nearest = found[0][1]
    names = [cell for cell in nearest if cell]
    if len(found) == 1 or not (unit_cells(nearest) or len(set(names)) < len(names) or _bare(names)):
        return (found[0][0],)
    above = found[1][1]
    deeper = len(found) > 2 and unit_cells(nearest) and len({c for c in above if c}) < len([c for c in above if c])
    return tuple(k for k, _ in reversed(found[: 3 if deeper else 2]))


def _bare(names: Sequence[str]) -> bool:
    """Whether names say joints and no signal, which then stands in the line above."""
    return sum(meaning(name).signal == "" for name in names) > len(names) / 2
