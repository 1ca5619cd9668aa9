"""How a text table is laid out: encoding, separator, decimal mark, header lines; what speaks for it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from casid.errors import DatasetError
from casid.files import shown
from casid.measurement._names import meaning, unit_cells
from casid.measurement._text import (
    COMMENTS,
    TextLayout,
    is_number,
    split_line,
    text_lines,
    uncommented,
)

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
        raise DatasetError(f"{where}: no table of numbers found: fewer than {_RUN} lines in a row with as many cells")
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
        if len(head) > 20 and head[start::2].count(0) > 0.4 * len(head) / 2:
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
