"""Tables of plain text: names are shown literally, never read as markup or emoji, and nothing is cut off."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

#: Texts of several words have at least so many columns, their longer words (addresses) are broken after so many.
_TEXT, _WORD = 24, 32
_UNLIMITED = 100_000


class PlainTable(Table):
    """A table of plain text; a cell with a style is given as `rich.text.Text`.

    It adapts to the width of the console: headers take several lines, then texts of several words do; where names and
    numbers do not fit side by side even so, each row becomes a block with a line for each of its cells. Names (the
    first column), numbers (on the right) and columns with ``no_wrap`` are never broken.

    Parameters
    ----------
    title
        Above the table, on the left.
    header
        Whether columns have names.
    """

    def __init__(self, title: str, header: bool = True) -> None:
        super().__init__(
            title=Text(title, style="bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False,
            show_header=header,
        )  # fmt: skip

    def add_column(self, header: RenderableType = "", *args: Any, **options: Any) -> None:
        """Add a column; its name is shown literally."""
        super().add_column(_literal(header), *args, **options)

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        """Add a row; text is shown literally."""
        super().add_row(*(None if cell is None else _literal(cell) for cell in cells), **options)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Title, body and caption, none wider than the console."""
        if self.title:
            yield self.title if isinstance(self.title, Text) else Text(str(self.title))
        if self.columns:
            widths = self._widths(console, options)
            if widths is None:
                yield from self._blocks()
            else:
                yield from self._sized(widths).__rich_console__(console, options)
        if self.caption:
            yield Text(str(self.caption), style="dim")

    def _widths(self, console: Console, options: ConsoleOptions) -> list[int] | None:
        """Width of each column, or None where the table does not fit."""
        free = options.update(width=_UNLIMITED)
        texts = [self._limits(console, free, k) for k in range(len(self.columns))]
        largest = [most for _, most in texts]
        frame = Measurement.get(console, free, self._sized(largest)).maximum - sum(largest)
        room = options.max_width - frame
        smallest = [
            least if self._breaks(k, most, options.max_width) else most for k, (least, most) in enumerate(texts)
        ]
        left = room - sum(smallest)
        if left < 0:
            return None
        widths = list(smallest)
        if self.show_header:  # on one line where there is room
            heads = [Measurement.get(console, free, column.header).maximum for column in self.columns]
            largest = [max(pair) for pair in zip(largest, heads, strict=True)]
        for k in sorted(range(len(widths)), key=lambda k: largest[k] - smallest[k]):  # the easily filled first
            hungry = sum(largest[j] > widths[j] for j in range(len(widths)))
            more = min(largest[k] - widths[k], left // max(hungry, 1))
            widths[k] += more
            left -= more
        return widths

    def _limits(self, console: Console, free: ConsoleOptions, k: int) -> tuple[int, int]:
        """Least and natural width of a column; its header may take several lines."""
        column = self.columns[k]
        cells = [Measurement.get(console, free, cell) for cell in column.cells]
        header = Measurement.get(console, free, column.header) if self.show_header else Measurement(0, 0)
        natural = max((cell.maximum for cell in cells), default=0)
        longest = max((cell.minimum for cell in cells), default=0)
        least = max(min(longest, _WORD), min(natural, _TEXT), header.minimum)
        return least, max(natural, header.minimum)

    def _breaks(self, k: int, natural: int, width: int) -> bool:
        """Whether texts of a column may take several lines."""
        column = self.columns[k]
        if k == 0 and len(self.columns) > 1:
            return natural > width // 2
        return not column.no_wrap and column.justify != "right"

    def _sized(self, widths: list[int]) -> Table:
        """The body with columns of these widths."""
        table = Table(box=self.box, pad_edge=self.pad_edge, show_header=self.show_header)
        for column, width in zip(self.columns, widths, strict=True):
            table.add_column(
                column.header, justify=column.justify, style=column.style, width=width, overflow="fold"
            )  # fmt: skip
        for row, cells in zip(self.rows, self._cells(), strict=True):
            table.add_row(*cells, style=row.style, end_section=row.end_section)
        return table

    def _cells(self) -> list[tuple[RenderableType, ...]]:
        return list(zip(*(list(column.cells) for column in self.columns), strict=True))

    def _blocks(self) -> Iterable[RenderableType]:
        """A block for each row: its name, then each other cell with its column's name."""
        for first, *rest in self._cells():
            yield Text(_plain(first), style="bold")
            lines = Table.grid(
                Column(no_wrap=False, overflow="fold", style="dim"), Column(overflow="fold"), padding=(0, 2)
            )
            for column, cell in zip(self.columns[1:], rest, strict=True):
                if _plain(cell):
                    lines.add_row(Text("  " + _plain(column.header)), cell)
            yield lines
        yield Text("")

    def note(self, text: str) -> None:
        """Text below the table."""
        self.caption, self.caption_justify = Text(text), "left"


def html_of(table: Table) -> str:
    """A table of the terminal as HTML, with the same alignment of columns."""
    sides = ["right" if column.justify == "right" else "left" for column in table.columns]

    def line(tag: str, cells: Iterable[RenderableType]) -> str:
        pairs = zip(cells, sides, strict=True)
        return (
            "<tr>"
            + "".join(f'<{tag} style="text-align:{side}">{_html(cell)}</{tag}>' for cell, side in pairs)
            + "</tr>"
        )

    columns = [list(column.cells) for column in table.columns]
    head = line("th", (column.header for column in table.columns)) if table.show_header else ""
    body = "".join(line("td", row) for row in zip(*columns, strict=True))
    caption = "" if table.caption is None else f"<p><small>{_html(table.caption)}</small></p>"
    title = "" if table.title is None else f"<b>{_html(table.title)}</b>"
    return f"<div>{title}<table><thead>{head}</thead><tbody>{body}</tbody></table>{caption}</div>"


def summary_table(title: str, rows: Iterable[tuple[str, str]]) -> Table:
    """Table of two columns: quantity and value."""
    table = PlainTable(title, header=False)
    table.add_column("what", style="dim", no_wrap=True)
    table.add_column("value")
    for what, value in rows:
        table.add_row(what, value)
    return table


def _plain(cell: RenderableType) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)


def _html(cell: RenderableType) -> str:
    return escape(_plain(cell))


def _literal(cell: RenderableType) -> RenderableType:
    return Text(cell) if isinstance(cell, str) else cell
