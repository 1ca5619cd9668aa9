"""Tables of plain text: names are shown literally, never read as markup or emoji, and nothing is cut off."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from textwrap import wrap
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

#: Kinds of columns: names and numbers are never broken, texts take several lines where the console is narrow.
NAME: Mapping[str, Any] = {"style": "bold", "no_wrap": True}
NUMBER: Mapping[str, Any] = {"justify": "right", "no_wrap": True}
WORD: Mapping[str, Any] = {"no_wrap": True}
TEXT: Mapping[str, Any] = {}


def numbers(*names: str) -> dict[str, Mapping[str, Any]]:
    """Columns of numbers."""
    return dict.fromkeys(names, NUMBER)


def texts(*names: str) -> dict[str, Mapping[str, Any]]:
    """Columns of texts."""
    return dict.fromkeys(names, TEXT)


#: A cell: text, or text with a style.
Cell = str | Text
#: Least width of a column of texts beside other columns; a table that needs more is shown row by row.
_TEXT = 24


class PlainTable(Table):
    """A table of plain text.

    Where it is wider than the console, texts take several lines, then headers do; where names and numbers do not fit
    side by side even so, each row becomes a block with a line for each of its cells.

    Parameters
    ----------
    title
        Above the table, on the left.
    columns
        Kind of each column by its header.
    rows
        A cell a column; None: a line between the rows before and after.
    note
        Below the table.
    header
        Whether headers are shown.
    """

    def __init__(
        self, title: str, columns: Mapping[str, Mapping[str, Any]], rows: Iterable[Sequence[Cell] | None] = (),
        note: str = "", header: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            *(Column(Text(name), overflow="fold", **kind) for name, kind in columns.items()), title=Text(title, "bold"),
            caption=Text(note, "dim") if note else None, box=box.SIMPLE_HEAD, pad_edge=False, show_header=header,
        )  # fmt: skip
        for row in rows:
            if row is None:
                self.add_section()
            else:
                self.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Title, body and note, none wider than the console."""

        def width(body: Table) -> int:
            return Measurement.get(console, options.update(width=10**5), body).maximum

        yield _text(self.title)
        for narrow in (False, True):
            if width(self._body(narrow, _TEXT)) <= options.max_width:
                yield from self._body(narrow).__rich_console__(console, options)
                break
        else:
            yield from self._blocks()
        if self.caption:
            yield self.caption

    def _body(self, narrow: bool, text: int | None = None) -> Table:
        """The table alone; ``narrow``: headers on several lines; ``text``: largest width of texts."""
        columns = [_sized(column, narrow, text) for column in self.columns]
        body = Table(*columns, box=self.box, pad_edge=False, show_header=self.show_header)
        body.rows = self.rows
        return body

    def _blocks(self) -> RenderResult:
        """A block for each row: its name, then each other cell with its column's name."""
        heads = [_text(column.header).plain for column in self.columns[1:]]
        for first, *rest in rows_of(self):
            yield Text(first.plain, "bold")
            lines = Table.grid(Column(overflow="fold", style="dim"), Column(overflow="fold"), padding=(0, 2))
            for head, cell in zip(heads, rest, strict=True):
                if cell.plain:
                    lines.add_row(Text(f"  {head}"), cell)
            yield lines
        yield Text("")


def _sized(column: Column, narrow: bool, text: int | None) -> Column:
    """The column with its header on several lines if ``narrow``; one of texts at most so wide."""
    if not column.no_wrap:
        return replace(column, max_width=text)
    if not narrow:
        return replace(column)
    words = _text(column.header).plain
    longest = max((len(part) for part in (*words.split(), *(_text(cell).plain for cell in column._cells))), default=1)
    return replace(column, header=Text("\n".join(wrap(words, longest))))


def rows_of(table: Table) -> list[tuple[Text, ...]]:
    """Cells of each row."""
    return list(zip(*(map(_text, column._cells) for column in table.columns), strict=True))


def html_of(table: Table, titled: bool = True) -> str:
    """A table of the terminal as HTML, with the same alignment of columns; what follows its last line is its foot."""
    sides = ["right" if column.justify == "right" else "left" for column in table.columns]

    def line(tag: str, cells: Iterable[Text]) -> str:
        pairs = zip(cells, sides, strict=True)
        inside = "".join(f'<{tag} style="text-align:{side}">{escape(cell.plain)}</{tag}>' for cell, side in pairs)
        return f"<tr>{inside}</tr>"

    lines = [line("td", row) for row in rows_of(table)]
    split = max((k + 1 for k, row in enumerate(table.rows) if row.end_section), default=len(lines))
    head = line("th", (_text(column.header) for column in table.columns)) if table.show_header else ""
    foot = f"<tfoot>{''.join(lines[split:])}</tfoot>" if lines[split:] else ""
    caption = f"<p><small>{escape(_text(table.caption).plain)}</small></p>" if table.caption else ""
    title = f"<b>{escape(_text(table.title).plain)}</b>" if titled else ""
    body = f"<tbody>{''.join(lines[:split])}</tbody>"
    return f"<div>{title}<table><thead>{head}</thead>{body}{foot}</table>{caption}</div>"


def summary_table(title: str, rows: Iterable[tuple[str, str]]) -> Table:
    """Table of two columns: quantity and value."""
    return PlainTable(title, {"what": {"style": "dim", "no_wrap": True}, "value": TEXT}, rows, header=False)


def _text(cell: Any) -> Text:
    return cell if isinstance(cell, Text) else Text(str(cell))
